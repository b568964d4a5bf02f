# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one sentence for each kind of answer)
"""The sentences that sum up a run: the same words in the terminal, the report and every export."""

import math
import re
from collections.abc import Iterator, Sequence

from corescale.conclude.answers.averages import Averages
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Row, Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.answers.verdict import Comparison
from corescale.conclude.conclusion import Conclusion
from corescale.conclude.laws import LAWS, Fit
from corescale.conclude.stats import Interval, fewest_blocks
from corescale.endings import ending
from corescale.records import Configuration
from corescale.show import text
from corescale.show.alone import alone, timed
from corescale.show.naming import counted, label
from corescale.show.result import Result
from corescale.show.statements import findings, nearness

TIES_SHOWN = 4

MATTERS = 0.0005
"""share below which a difference is not mentioned"""


def headline(result: Result, between: str = "; ") -> str:
    """The first line: what was found, with its interval, and that it is fake or simulated where it is."""
    said = conclusion_headline(result.conclusion, result.confidence, between, result.experiment.response)
    return f"{said} ({', '.join(result.origins)})" if result.origins else said


def conclusion_headline(conclusion: Conclusion, confidence: float, between: str = "; ", response: str = "wall") -> str:
    """What a conclusion says: one sentence, or one for each comparison; of a metric also which direction is better."""
    if isinstance(conclusion, Study):
        return findings(conclusion.answers) or scan(conclusion.found, confidence)
    said = (
        recommendation(conclusion) if isinstance(conclusion, Recommendation) else
        scan(conclusion, confidence) if isinstance(conclusion, Scan) else
        compared(conclusion, confidence, between, response)
    )  # fmt: skip
    direction = not text.is_time(response) and re.search("faster|slower|fastest", said)
    return f"{said} (less {text.amount_of(response)} is better)" if direction else said


def compared(found: tuple[Comparison, ...], confidence: float, between: str, response: str) -> str:
    """A sentence for each comparison; the time of a command that has nothing beside it."""
    if (one := alone(found)) is not None:
        return timed(name(found[0].reference), one, response, found[0].failures[0])
    return between.join(comparison(one, confidence, response) for one in found) or none_gave(response)


def none_gave(response: str) -> str:
    """Where launches succeeded, and have nothing that can be compared."""
    return "no launch succeeded" if response == "wall" else f"no launch gave {text.clean(response)}"


def scan(found: Scan, confidence: float) -> str:
    """The largest speedup, behind the warning that cores were not used where that is so; then what failed at times."""
    if (one := alone(found)) is not None:
        return timed(name(found.rows[0].configuration), one, found.response, found.rows[0].failures)
    return _scaled(found, confidence) + _flaky(found)


def _flaky(found: Scan) -> str:
    """`; 2 of 8 launches of 2 threads failed`, of the level with the most; empty where none or all of one did."""
    row = max(found.rows, key=lambda row: row.failures, default=None)
    if row is None or not 0 < row.failures < row.launches:
        return ""
    return f"; {row.failures} of {text.count(row.launches, 'launch', 'launches')} of {at(found, row)} failed"


def _scaled(found: Scan, confidence: float) -> str:
    ran, lost = [row for row in found.rows if row.speedup.estimate > 0], failed(found)
    if not ran:
        gave = any(row.failures < row.launches for row in found.rows)
        zero = " above 0" if any(row.timing for row in found.rows) else ""
        return lost or (none_gave(found.response) + zero if gave else "no launch succeeded")
    if lost:
        return lost
    if found.weak is not None:
        return found.weak.refusal or weak(found, ran)
    if len({row.p for row in ran}) == 1 and not found.baseline.startswith("serial"):
        return _apart(found, ran)
    others = [row for row in ran if row.configuration != row.reference] or ran
    best = max(others, key=lambda row: row.speedup.estimate)
    reference = "the serial program" if found.baseline.startswith("serial") else f"p={best.reference.layout.p}"
    most = max((row.speedup.estimate if row.speedup.high is None else row.speedup.high for row in others), default=0)
    if most <= 1:
        said = f"never faster than {reference}"
    elif best.speedup.low is not None and best.speedup.low <= 1:
        said = f"no speedup over {reference} shown: {at(found, best)} give {text.join(text.times(best.speedup))}"
    else:
        said = f"{at(found, best)}: {_faster(best.speedup, confidence)} than {reference}"
    warning = idle(ran)
    return f"{warning}; {said}" if warning else said


def _apart(found: Scan, rows: Sequence[Row]) -> str:
    """Levels of one p: the fastest and the slowest."""
    write = text.quantity(found.response)
    least, most = (pick(rows, key=lambda row: row.time.estimate) for pick in (min, max))
    ends = (f"{at(found, row)}: {text.join(write(row.time))}" for row in (least, most))
    return f"from {' to '.join(ends)}"


def failed(found: Scan) -> str:
    """`2 threads: all 3 launches failed`, of the largest p that never succeeded; empty for none."""
    never = [row for row in found.rows if row.failures and row.failures == row.launches]
    if not never:
        return ""
    row = max(never, key=lambda row: row.p)
    others, write = [other for other in found.rows if other.time.estimate > 0], text.quantity(found.response)
    launches = "the only launch" if row.launches == 1 else f"all {row.launches} launches"
    more = f", as at {len(never) - 1} more levels" if len(never) > 1 else ""
    rest = f"; {at(found, others[0])} took {text.join(write(others[0].time))}" if len(others) == 1 else ""
    return f"{at(found, row)}: {launches} failed{more}{rest}"


def weak(found: Scan, rows: Sequence[Row]) -> str:
    """The efficiency at the largest p, the worst over loads."""
    most = max(row.p for row in rows)
    worst = min((row for row in rows if row.p == most), key=lambda row: row.efficiency.estimate)
    said = f"weak scaling: efficiency {text.join(text.share(worst.efficiency))} at {at(found, worst)}"
    warning = idle(rows)
    return f"{warning}; {said}" if warning else said


def idle(rows: Sequence[Row]) -> str:
    """`asked for 8 threads, used 1.0 cores`, of the largest p at which cores were left idle; empty for none."""
    found = [row for row in rows if row.idle]
    if not found:
        return ""
    row = max(found, key=lambda row: row.p)
    return f"asked for {counted(row.configuration)}, used {row.effective_cores:.1f} cores"


def parameters(fit: Fit, response: str) -> Iterator[str]:
    """`T1 = 236 ms [230, 241]`: each parameter of a law in its unit; none where the levels do not determine it."""
    write = text.quantity(response)
    for one in LAWS[fit.law].parameters:
        if (value := fit.parameters.get(one.name)) is not None:
            yield f"{one.name} = {text.join((write if one.unit == 's' else text.number)(value))}"


def at(found: Scan, row: Row) -> str:
    """`4 threads` and what else the row's curve holds constant."""
    curve = next(curve for curve in found.curves if row in curve.rows)
    others = [f"{name}={level}" for name, level in curve.levels]
    return text.clean(" ".join([counted(row.configuration), *others]))


def recommendation(found: Recommendation) -> str:
    """What to do, what it gains, and how far from the best it may be."""
    if (said := _excluding_today(found)) is not None:
        return said
    if found.others and not found.compared:
        return "no answer: the budget ended before anything was compared with today's launch"
    if found.candidates and not found.measured:
        return f"no answer: {text.clean(found.candidates[0].excluded or 'no launch succeeded')}"
    bound = _bound(found)
    gains = found.decided and not found.keep_today
    near = "" if bound is None else nearness(bound, found.confidence, _raced(found), beside=gains)
    rest = _fallen(found) + _flaky_one(found) + _not_shown(found)
    if not found.decided:
        return f"not decided{f', {near}' if near else ''}: {why_keep(found)}{_others(found)}{rest}"
    if found.keep_today:
        return f"keep today's launch{f', {near}' if near else ''}: {why_keep(found)}{rest}"
    if found.gain is None:
        raise ValueError("a change is recommended only after confirmation")
    value, ends = text.times(found.gain)
    than = text.join(("today's", ends))
    by = " by a t interval" if found.fresh is not None and found.fresh.by == "t" else ""
    sure = f", {near}" if near else f" at {text.percent(found.confidence)}"
    failing = "" if found.failing is None else f"; today's launch {found.failing}"
    return f"{value} faster than {than}{by}{sure}{failing}{rest}"


def _others(found: Recommendation) -> str:
    """Where fresh blocks refute the favourite and nothing is proved of the others: that these may be faster."""
    if found.fresh is None or found.fresh.verdict != "not faster":
        return ""
    if found.untried:
        return f"; {found.untried} of {found.others + 1} were never launched"
    return "; whether another one is faster is not shown"


def _fallen(found: Recommendation) -> str:
    """Favourites that failed before one's eyes, which is why another one was confirmed."""
    return "".join(f"; {label(c.configuration)} {text.clean(c.excluded or '')}" for c in found.fallen)


def _flaky_one(found: Recommendation) -> str:
    """`; MODE=b looked 1.11x faster and failed in 1 of 20 launches`, which is why another one is named."""
    if (one := found.flaky) is None:
        return ""
    launches = text.count(one.launches, "launch", "launches")
    return f"; {label(one.configuration)} looked {one.faster:.2f}x faster and failed in {one.failures} of {launches}"


def _not_shown(found: Recommendation) -> str:
    """What the launch to use is neither shown to meet nor to break, with its number."""
    return "".join(f"; {text.clean(said)}" for said in found.not_shown)


def _excluding_today(found: Recommendation) -> str | None:
    """Where today's launch failed or breaks a constraint: what does not, or that nothing does.

    None for neither, and where failures are beside the point, as another one is shown to be faster.
    """
    if found.broken is None and (found.failing is None or _shown_faster(found)):
        return None
    if found.winner == found.today and found.broken is not None:
        return f"no answer: nothing that was tried meets the constraint (today's launch: {text.clean(found.broken)})"
    cost = (
        "" if found.gain is None else f"; it takes {text.join(text.times(found.gain.map(lambda g: 1 / g)))} of its time"
    )
    if found.failing is not None:
        said = f"{label(found.winner)} is the fastest that did not fail, and today's launch {found.failing}"
        said = f"not decided: {said}, which may be chance" if found.by_chance else said
    else:
        meets = "is not shown to break" if found.not_shown else "meets"
        said = f"{label(found.winner)} is the fastest that {meets} the constraint, and today's launch does not"
    return f"{said}{cost}{_fallen(found)}{_flaky_one(found)}{_not_shown(found)}"


def _shown_faster(found: Recommendation) -> bool:
    return found.gain is not None and found.gain.low is not None and found.gain.low > 1


def _bound(found: Recommendation) -> float | None:
    bound = next((c.regret.bound for c in found.candidates if c.configuration == found.chosen), None)
    return bound if bound is not None and bound <= text.BOUND else None


def exploratory(found: Recommendation) -> str:
    """What the ratios of the table are not."""
    fresh = "" if found.gain is None else " The gain in the first line comes from fresh confirmation blocks alone."
    return f"T(today) / T is exploratory: the best of many looks better than it is.{fresh}"


def _raced(found: Recommendation) -> str:
    """What a claim is about where a rehearsal left some configurations out."""
    rehearsal = found.rehearsal
    left_out = rehearsal is not None and rehearsal.trusted and len(rehearsal.kept) < rehearsal.of
    return f" of the {len(rehearsal.kept)} raced" if rehearsal is not None and left_out else ""


def _tied(configuration: Configuration, most: float | None) -> str:
    by = "" if most is None or not MATTERS <= most <= text.BOUND else f" (faster by {text.at_most(most)} at most)"
    return label(configuration) + by


def _on_average(found: Recommendation, means: Averages) -> str:
    """`on average over its fresh launches it is 1.06x faster: of threads=2 3 of 20 take 1.5 times its median`."""
    slow = ((label(found.winner), means.slow), ("today's", means.slow_today))
    said = [
        f"of {name} {one.count} of {one.of} take {one.times:.2g} times its median" for name, one in slow if one.count
    ]
    much = f"{means.ratio:.2f}x faster" if means.ratio >= 1 else f"{1 / means.ratio:.2f}x slower"
    return f"on average over its fresh launches it is {much}" + (f": {', '.join(said)}" if said else "")


def beside(found: Recommendation, response: str) -> list[str]:
    """What else there is beside the answer, a line each."""
    lines = [found.rehearsal.says] if found.rehearsal is not None else []
    if found.same:
        lines.append(f"not tried: {text.count(found.same, 'combination')} with other threads, which nothing reads")
    if found.averages is not None:
        lines.append(_on_average(found, found.averages))
    if (other := found.cheaper) is not None:
        lost = f"about {other.slower:.0%} slower" if other.slower >= 0.005 else "no slower"
        lines.append(
            f"cheaper: {label(other.configuration)}: {lost}, {other.fewer:.0%} fewer core-seconds"
            f" ({text.count(other.blocks, 'block')})"
        )
    for front in found.fronts:
        points = [f"{label(c)} ({text.value(time, response)}, {value:.6g})" for c, time, value in front.points]
        lines.append(f"front of {text.quantity_name(response)} and {text.clean(front.metric)}: {'; '.join(points)}")
    if found.not_told_apart:
        shown = [_tied(c, most) for c, most in found.not_told_apart[:TIES_SHOWN]]
        more = len(found.not_told_apart) - len(shown)
        lines.append(f"not told apart from it: {'; '.join(shown)}" + (f"; {more} more" if more else ""))
    return lines


def why_keep(found: Recommendation) -> str:
    """Why nothing is certainly gained by a change."""
    name = label(found.winner)
    if not found.others:
        return "there is nothing else to try"
    if found.winner == found.today:
        return "nothing that was tried is faster" if found.proved else "nothing tried so far looks faster than today's"
    if found.gain is None:
        return f"{name} looks faster, but no fresh blocks confirmed it"
    return _not_confirmed(found, found.gain, name)


def _not_confirmed(found: Recommendation, gain: Interval, name: str) -> str:
    """What fresh blocks say of a favourite that is not certainly faster."""
    seen = text.join(text.times(gain))
    if gain.low is None and gain.estimate > 1:
        return f"{name} looks {seen} faster, but there is {text.no_interval(found.confidence)}"
    if found.fresh is not None and found.fresh.verdict is None:
        more = "" if found.fresh.more is None else f"; about {text.count(found.fresh.more, 'more block')} would tell"
        return f"{name}: {seen}{more}"
    if gain.estimate > 1:
        return f"{name} looked faster; in fresh blocks it is {seen} faster, which may be nothing"
    slower = text.join(text.times(gain.map(lambda ratio: 1 / ratio)))
    return f"{name} looked faster, but takes {slower} of today's time in fresh blocks"


def comparison(found: Comparison, confidence: float, response: str = "wall") -> str:
    """`B is 1.31x faster than A [1.27, 1.36] at 95%`, and how many launches failed that count (-i)."""
    said = _comparison(found, confidence, response)
    if found.decision == "failed" or found.never or not any(found.failures):
        return said
    pairs = zip((found.reference, found.other), found.failures, strict=True)
    return f"{said} ({', '.join(f'{failures} launches of {name(of)} failed' for of, failures in pairs if failures)})"


def _comparison(found: Comparison, confidence: float, response: str) -> str:
    a, b = name(found.reference), name(found.other)
    if found.never:
        return "; ".join(f"{name(r.configuration)} never succeeded: its last launch {ending(r)}" for r in found.never)
    if math.isnan(found.ratio.estimate):
        did = "succeed" if response == "wall" else f"give {text.clean(response)} above 0"
        return f"no verdict on {b} against {a}: in no block did both {did}"
    if found.decision == "failed":
        return f"no verdict on {b} against {a}: {found.failures[0]} and {found.failures[1]} launches failed"
    at_level = f"at {text.percent(confidence)}"
    if found.decision == "no difference shown":
        takes = f"{text.join(text.times(found.ratio))} of the {text.amount_of(response)}"
        return f"no difference shown: {b} takes {takes} of {a} {at_level}"
    inverse = found.ratio.map(lambda ratio: 1 / ratio)
    faster = inverse.estimate >= 1
    value, ends = text.times(inverse if faster else found.ratio)
    equal = value == "1.00x"
    if found.decision == "too few blocks":
        few = text.no_interval(confidence, fewest_blocks(found.confidence))
        looks = f"as fast as {a}" if equal else f"{value} {'faster' if faster else 'slower'} than {a}"
        return f"{b} looks {looks}, but {few}"
    said = "less than 0.5%" if equal else value
    return f"{b} is {said} {found.decision} than {text.join((a, ends))} {at_level}"


def name(configuration: Configuration) -> str:
    """A command of a comparison by its own name, with the levels of other factors."""
    levels = [str(level) if factor == "command" else f"{factor}={level}" for factor, level in configuration.levels]
    return text.clean(" ".join(levels)) or "as given"


def stop(result: Result) -> str:
    """How much was measured and why no more; "width not reached" is said with the tolerance that was."""
    launches = len(result.timed) or len(result.records)
    amount = f"{text.count(result.blocks, 'block')}, {text.count(launches, 'launch', 'launches')}"
    if result.confirmations:
        amount += f", {text.count(result.confirmations, 'fresh block')} to confirm"
    decision, asked = result.stop, result.experiment.stop
    if asked.rule == "replicates" and asked.binding and result.blocks < asked.min_blocks:
        return f"{amount}; budget spent, {asked.min_blocks} blocks asked"
    if decision is None or not decision.stop:
        return amount
    if result.experiment.stop.rule == "replicates" or not result.records:
        return amount
    width = _bound(result.conclusion) if isinstance(result.conclusion, Recommendation) else decision.reached_width
    reached = "" if width is None or width > text.BOUND else f" at {text.at_most(width)}"
    wanted = text.percent(result.experiment.stop.width)
    if decision.reason == "width":
        return f"{amount}; every interval within {wanted}"
    why = "budget spent" if decision.reason == "budget" else "all blocks made"
    if width is not None and width <= result.experiment.stop.width:
        return f"{amount}; {why}"
    return f"{amount}; {why}{reached}, not at the {wanted} wanted" if reached else f"{amount}; {why}"


def undisturbed(result: Result) -> str:
    """The headline without the flagged blocks; empty where none was flagged."""
    if result.undisturbed is None:
        return ""
    response = result.experiment.response
    return f"without the noisy blocks: {conclusion_headline(result.undisturbed, result.confidence, response=response)}"


def _faster(speedup: Interval, confidence: float) -> str:
    value, ends = text.times(speedup)
    return f"{value} faster {ends} at {text.percent(confidence)}" if ends else (
        f"{value} faster ({text.no_interval(confidence)})")  # fmt: skip
