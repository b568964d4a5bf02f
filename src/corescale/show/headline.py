# SPDX-License-Identifier: Apache-2.0
"""The sentences that sum up a run: the same words in the terminal, the report and every export."""

from collections.abc import Iterator, Sequence

from corescale.conclude.answers.findings import Answer, Verdict
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Row, Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.answers.verdict import Comparison
from corescale.conclude.answers.weak import Line
from corescale.conclude.conclusion import Conclusion
from corescale.conclude.laws import LAWS, Fit
from corescale.conclude.stats import Interval
from corescale.records import Configuration
from corescale.show import text
from corescale.show.result import Result

TIES_SHOWN = 4

MATTERS = 0.0005
"""share below which a difference is not mentioned"""


def headline(result: Result, between: str = "; ") -> str:
    """The first line: what was found, with its interval, and that it is fake or simulated where it is."""
    said = conclusion_headline(result.conclusion, result.confidence, between)
    return f"{said} ({', '.join(result.origins)})" if result.origins else said


def conclusion_headline(conclusion: Conclusion, confidence: float, between: str = "; ") -> str:
    """What a conclusion says: one sentence, or one for each comparison."""
    if isinstance(conclusion, Recommendation):
        return recommendation(conclusion)
    if isinstance(conclusion, Study):
        return findings(conclusion.answers) or scan(conclusion.found, confidence)
    if isinstance(conclusion, Scan):
        return scan(conclusion, confidence)
    return between.join(comparison(one, confidence) for one in conclusion) or "nothing was compared"


def findings(answers: Sequence[Answer]) -> str:
    """`4 statements: 2 hold, 1 does not hold, 1 is open`; a statement may be answered at several levels."""
    if not answers:
        return ""
    of = {verdict: sum(answer.verdict == verdict for answer in answers) for verdict in VERDICTS}
    said = [f"{number} {VERDICTS[verdict][number != 1]}" for verdict, number in of.items() if number]
    statements = count(len({answer.finding.name for answer in answers}), "statement")
    answered = "" if len(answers) == len({a.finding.name for a in answers}) else f", {count(len(answers), 'answer')}"
    return f"{statements}{answered}: {', '.join(said)}"


VERDICTS: dict[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "does not hold": ("does not hold", "do not hold"),
    "open": ("is open", "are open"),
    "not measured": ("was not measured", "were not measured"),
}
"""A verdict as a verb, for one and for several."""


def answer(found: Answer) -> str:
    """`at share=15: holds, ratio 1.18 [1.15, 1.22] where >= 1.1 is claimed; from 1.12 at load=1 to 1.25 at load=4`."""
    at = " ".join(f"{name}={level}" for name, level in found.at.items())
    where = f"at {at}: " if at else ""
    if found.verdict == "not measured":
        return text.clean(f"{where}not measured: {found.why}")
    said = f"{where}{found.verdict}, ratio {text.join(text.ratio(found.ratio))} where {found.finding.claim} is claimed"
    if found.ratio.low is None:
        said += f" ({count(found.ratio.n, 'block')}: too few for an interval)"
    if found.extremes:
        (least, low), (most, high) = found.extremes
        said += f"; from {low:.3g} at {least} to {high:.3g} at {most}"
    return text.clean(said)


def flat(line: Line) -> str:
    """`p=2: T = 0.10 s [0.08, 0.12] + 0.30 s [0.29, 0.31] x work: 25% of the time at load=1 does not grow`."""
    if not line.fit.identifiable:
        return text.clean(f"{line.label}: T = a + b work cannot be fitted: {line.fit.doubt}")
    a, b = (text.join(text.time(line.fit.parameters[name])) for name in ("a", "b"))
    return text.clean(f"{line.label}: T = {a} + {b} x work" + (f" (doubt: {line.fit.doubt})" if line.fit.doubt else ""))


def scan(found: Scan, confidence: float) -> str:
    """The largest speedup, behind the warning that cores were not used where that is so."""
    ran = [row for row in found.rows if row.speedup.estimate > 0]
    if not ran:
        return "no launch succeeded"
    if found.weak is not None:
        return found.weak.refusal or weak(found, ran)
    best = max(ran, key=lambda row: row.speedup.estimate)
    reference = "the serial program" if found.baseline.startswith("serial") else f"p={best.reference.layout.p}"
    if best.configuration == best.reference or best.speedup.estimate <= 1:
        said = f"never faster than {reference}"
    elif best.speedup.low is not None and best.speedup.low <= 1:
        said = f"no speedup over {reference} shown: {at(found, best)} give {text.join(text.times(best.speedup))}"
    else:
        said = f"{at(found, best)}: {_faster(best.speedup, confidence)} than {reference}"
    warning = idle(ran)
    return f"{warning}; {said}" if warning else said


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
    return f"asked for {row.p} {unit(row.configuration, row.p)}, used {row.effective_cores:.1f} cores"


def parameters(fit: Fit) -> Iterator[str]:
    """`T1 = 236 ms [230, 241]`: each parameter of a law in its unit; none where the levels do not determine it."""
    for one in LAWS[fit.law].parameters:
        if (value := fit.parameters.get(one.name)) is not None:
            yield f"{one.name} = {text.join((text.time if one.unit == 's' else text.number)(value))}"


def unit(configuration: Configuration, p: int = 2) -> str:
    """What p counts: threads where there is one rank."""
    layout = configuration.layout
    name = "thread" if layout.ranks_per_node * layout.nodes == 1 else "rank x thread"
    return name if p == 1 else name + "s"


def at(found: Scan, row: Row) -> str:
    """`4 threads` and what else the row's curve holds constant."""
    curve = next(curve for curve in found.curves if row in curve.rows)
    others = [f"{name}={level}" for name, level in curve.levels]
    return text.clean(" ".join([f"{row.p} {unit(row.configuration, row.p)}", *others]))


def recommendation(found: Recommendation) -> str:
    """What to do, what it gains, and how far from the best it may be."""
    if found.others and not found.compared:
        return "no answer: the budget ended before anything was compared with today's launch"
    if found.candidates and not found.measured:
        return f"no answer: {text.clean(found.candidates[0].excluded or 'no launch succeeded')}"
    bound = _bound(found)
    near = "" if bound is None else f"{nearness(bound, _raced(found))} at {text.percent(found.confidence)}"
    if not found.decided:
        return f"not decided{f', {near}' if near else ''}: {why_keep(found)}{_fallen(found)}"
    if found.keep_today:
        return f"keep today's launch{f', {near}' if near else ''}: {why_keep(found)}{_fallen(found)}"
    if found.gain is None:
        raise ValueError("a change is recommended only after confirmation")
    value, ends = text.times(found.gain)
    by = " by a t interval" if found.fresh is not None and found.fresh.by == "t" else ""
    sure = f", {near}" if near else f" at {text.percent(found.confidence)}"
    return f"{value} faster than today's {ends}{by}{sure}{_fallen(found)}"


def _fallen(found: Recommendation) -> str:
    """Favourites that failed before one's eyes, which is why another one was confirmed."""
    return "".join(f"; {text.clean(c.configuration.label)} {text.clean(c.excluded or '')}" for c in found.fallen)


def _bound(found: Recommendation) -> float | None:
    bound = next((c.regret.bound for c in found.candidates if c.configuration == found.chosen), None)
    return bound if bound is not None and bound <= text.BOUND else None


def exploratory(found: Recommendation) -> str:
    """What the ratios of the table are not."""
    fresh = "" if found.gain is None else " The gain in the first line comes from fresh confirmation blocks alone."
    return f"T(today) / T is exploratory: the best of many looks better than it is.{fresh}"


def nearness(bound: float, raced: str = "") -> str:
    """How far from the best it can be; a bound of 0 means that it beat every other."""
    return f"within {text.at_most(bound)} of the best{raced}" if bound > 1e-9 else (
        f"the best{raced or ' of all that was tried'}")  # fmt: skip


def _raced(found: Recommendation) -> str:
    """What a claim is about where a rehearsal left some configurations out."""
    rehearsal = found.rehearsal
    left_out = rehearsal is not None and rehearsal.trusted and len(rehearsal.kept) < rehearsal.of
    return f" of the {len(rehearsal.kept)} raced" if rehearsal is not None and left_out else ""


def _tied(configuration: Configuration, most: float | None) -> str:
    by = "" if most is None or not MATTERS <= most <= text.BOUND else f" (faster by {text.at_most(most)} at most)"
    return text.clean(configuration.label) + by


def beside(found: Recommendation, response: str) -> list[str]:
    """What else there is beside the answer, a line each."""
    lines = [found.rehearsal.says] if found.rehearsal is not None else []
    if (other := found.cheaper) is not None:
        lost = f"about {other.slower:.0%} slower" if other.slower >= 0.005 else "no slower"
        lines.append(
            f"cheaper: {text.clean(other.configuration.label)}: {lost}, {other.fewer:.0%} fewer core-seconds"
            f" ({count(other.blocks, 'block')})"
        )
    for front in found.fronts:
        points = [f"{text.clean(c.label)} ({_value(time, response)}, {value:.6g})" for c, time, value in front.points]
        lines.append(f"front of {text.quantity_name(response)} and {text.clean(front.metric)}: {'; '.join(points)}")
    if found.not_told_apart:
        shown = [_tied(c, most) for c, most in found.not_told_apart[:TIES_SHOWN]]
        more = len(found.not_told_apart) - len(shown)
        lines.append(f"not told apart from it: {'; '.join(shown)}" + (f"; {more} more" if more else ""))
    return lines


def _value(estimate: float, response: str) -> str:
    return text.quantity(response)(Interval(estimate, None, None, None, 0))[0]


def why_keep(found: Recommendation) -> str:
    """Why nothing is certainly gained by a change."""
    name = text.clean(found.winner.label)
    if not found.others:
        return "there is nothing else to try"
    if found.winner == found.today:
        return (
            "nothing that may be used is faster" if found.proved else "nothing tried so far looks faster than today's"
        )
    if found.gain is None:
        return f"{name} looks faster, but no fresh blocks confirmed it"
    seen = text.join(text.times(found.gain))
    if found.gain.low is None:
        return f"{name} looks {seen} faster, but there is {text.no_interval(found.confidence)}"
    if found.fresh is not None and found.fresh.verdict is None:
        more = "" if found.fresh.more is None else f"; about {count(found.fresh.more, 'more block')} would tell"
        return f"{name}: {seen}{more}"
    return f"{name} looked faster, but fresh blocks give {seen}"


def comparison(found: Comparison, confidence: float) -> str:
    """`B is 1.31x faster than A [1.27, 1.36] at 95%`."""
    a, b = name(found.reference), name(found.other)
    if found.decision == "failed":
        return f"no verdict on {b} against {a}: {found.failures[0]} and {found.failures[1]} launches failed"
    inverse = found.ratio.map(lambda ratio: 1 / ratio)
    faster = inverse.estimate >= 1
    value, ends = text.times(inverse if faster else found.ratio)
    if found.decision == "too few blocks":
        return f"{b} looks {value} {'faster' if faster else 'slower'} than {a}, but {text.no_interval(confidence)}"
    at_level = f"at {text.percent(confidence)}"
    if found.decision == "no difference shown":
        return f"no difference shown: {b} takes {text.join(text.times(found.ratio))} of the time of {a} {at_level}"
    return f"{b} is {value} {found.decision} than {a} {ends} {at_level}"


def name(configuration: Configuration) -> str:
    """A command of a comparison by its own name, with the levels of other factors."""
    levels = [str(level) if factor == "command" else f"{factor}={level}" for factor, level in configuration.levels]
    return text.clean(" ".join(levels)) or "as given"


def stop(result: Result) -> str:
    """How much was measured and why no more; "width not reached" is said with the tolerance that was."""
    launches = len(result.timed)
    amount = f"{count(result.blocks, 'block')}, {count(launches, 'launch', 'launches')}"
    if result.confirmations:
        amount += f", {count(result.confirmations, 'fresh block')} to confirm"
    decision = result.stop
    if decision is None or not decision.stop:
        return amount
    if result.experiment.stop.rule == "replicates" or not result.records:
        return amount
    width = _bound(result.conclusion) if isinstance(result.conclusion, Recommendation) else decision.reached_width
    reached = "" if width is None else f" at {text.at_most(width)}"
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
    return f"without the noisy blocks: {conclusion_headline(result.undisturbed, result.confidence)}"


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 block`, `2 blocks`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _faster(speedup: Interval, confidence: float) -> str:
    value, ends = text.times(speedup)
    return f"{value} faster {ends} at {text.percent(confidence)}" if ends else (
        f"{value} faster ({text.no_interval(confidence)})")  # fmt: skip
