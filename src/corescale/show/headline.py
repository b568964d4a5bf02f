# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one sentence for each kind of answer)
"""The sentences that sum up a run. Terminal, report and exports use the same ones."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from corescale.conclude.answers.candidates import Candidate
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Curve, Row, Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.answers.timing import Slow
from corescale.conclude.answers.verdict import Comparison, Gated
from corescale.conclude.conclusion import Conclusion
from corescale.conclude.race.rehearsal import Rehearsal
from corescale.conclude.stats import Interval, decide
from corescale.endings import ending
from corescale.records import Configuration
from corescale.show import text
from corescale.show.naming import counted, current, label
from corescale.show.result import Result
from corescale.show.statements import alone, findings, nearness, timed

TIES_SHOWN = 4

MATTERS = 0.0005
"""differences below this share are not mentioned"""


def headline(result: Result, between: str = "; ") -> str:
    """The first line: the answer with its interval, and whether it is fake or simulated. Launches of several builds
    have none."""
    if result.changed:
        return "no answer: the launches are not all of one build"
    said = conclusion_headline(result.conclusion, result.confidence, between, result.experiment.response)
    return f"{said} ({', '.join(result.origins)})" if result.origins else said


def conclusion_headline(conclusion: Conclusion, confidence: float, between: str = "; ", response: str = "wall") -> str:
    """A conclusion in one sentence, or one for each comparison, with the better direction of a metric."""
    if isinstance(conclusion, Study):
        return findings(conclusion.answers) or scan(conclusion.found, confidence)
    said = (
        recommendation(conclusion) if isinstance(conclusion, Recommendation) else
        scan(conclusion, confidence) if isinstance(conclusion, Scan) else
        compared(conclusion, confidence, between, response)
    )  # fmt: skip
    directed = not text.is_time(response) and _compares(conclusion) and said not in UNREAD.values()
    return f"{said} (less {text.amount_of(response)} is better)" if directed else said


def _compares(found: Recommendation | Scan | tuple[Comparison, ...]) -> bool:
    """Whether the sentence says that one number is better than another."""
    if isinstance(found, Recommendation):
        return found.compared
    ratios = [row.speedup for row in found.rows] if isinstance(found, Scan) else [one.ratio for one in found]
    return alone(found) is None and any(ratio.estimate > 0 for ratio in ratios)


def compared(found: tuple[Comparison, ...], confidence: float, between: str, response: str) -> str:
    """A sentence for each comparison (failed gates first, then the fastest), or the time of a single command."""
    if (one := alone(found)) is not None:
        return timed(label(found[0].reference), one, response, found[0].failures[0])

    def place(one: Comparison) -> tuple[bool, float]:
        ratio = one.ratio.estimate
        return one.gate not in ("crashed", "failed"), ratio if ratio > 0 else -1.0  # NaN: no verdict

    order = sorted(found, key=place)
    return between.join(comparison(one, confidence, response) for one in order) or none_gave(response)


def none_gave(response: str) -> str:
    """The line for launches that succeeded but did not report the response."""
    return "no launch succeeded" if response == "wall" else f"no launch gave {text.clean(response)}"


def scan(found: Scan, confidence: float) -> str:
    """The largest speedup. A warning about unused cores comes before it, and a note on failures after it."""
    if (one := alone(found)) is not None:
        (row,) = found.rows
        name = "the program" if row.beyond else at(found, row)
        said = timed(name, one, found.response, row.failures)
        return "; ".join(filter(None, (misused(found), said)))
    return _scaled(found, confidence) + _flaky(found)


def _flaky(found: Scan) -> str:
    """`; 2 of 8 launches of 2 threads failed`, for the level with most failures; empty if none or one always failed."""
    row = max(found.rows, key=lambda row: row.failures, default=None)
    if row is None or not 0 < row.failures < row.launches:
        return ""
    return f"; {row.failures} of {text.count(row.launches, 'launch', 'launches')} of {at(found, row)} failed"


def _scaled(found: Scan, confidence: float) -> str:
    ran = [row for row in found.rows if row.speedup.estimate > 0]
    if lost := failed(found):
        return lost
    if not ran:
        gave = any(row.failures < row.launches for row in found.rows)
        zero = " above 0" if any(row.timing for row in found.rows) else ""
        return none_gave(found.response) + zero if gave else "no launch succeeded"
    if found.weak is not None and found.weak.refusal:
        return found.weak.refusal
    if found.levels and found.best is not None:
        said = _leveled(found, found.best, confidence)
        return "; ".join(filter(None, (misused(found), said)))
    said = (
        weak(found, confidence) if found.weak is not None else
        _apart(found, ran, confidence) if found.best is None else
        _speedup(found, found.best, confidence)
    )  # fmt: skip
    note = misused(found)
    noise = note == UNREAD["threads"] and not found.serial  # equal launches can differ only by noise
    return note if noise else "; ".join(filter(None, (note, said)))


def _speedup(found: Scan, best: Row, confidence: float) -> str:
    """The gain of the best level. "No level gains" is said only if the intervals of all levels show it."""
    reference = "the serial program" if found.serial else counted(best.reference)
    if found.never_faster and sum(row.configuration != row.reference for row in found.rows) > 1:
        return f"nothing is {text.words(found.response).better} than {reference} at {text.percent(confidence)}"
    short, curve = re.sub(" (thread|rank|node)$", "", reference), curve_of(found, best)
    where = f"at {text.clean(curve.label)}" if curve.label else ""
    where += f" (the largest speedup of {len(found.curves)} curves)" if len(found.curves) > 1 else ""
    this = f"{counted(best.configuration)}{' (oversubscribed)' * best.oversubscribed}"
    said = _than(found, this, short, best, confidence)
    return f"{where}, {said}" if where else said


def _than(found: Scan, this: str, than: str, best: Row, confidence: float) -> str:
    """The sentence about a row and its reference, with the names of both."""
    agree = _agree(best.speedup, best.time, _time(found, best))
    return text.than(this, than, best.speedup, confidence, found.response, agree=agree)


def _time(found: Scan, row: Row) -> Interval:
    """The time of a row's reference; its own if that is not known."""
    others = (*found.rows, *filter(None, [found.serial]))
    return next((each.time for each in others if each.configuration == row.reference), row.time)


def _agree(gain: Interval, time: Interval, reference: Interval) -> bool:
    """Whether the typical times, which the table shows, have the order that the gain within blocks says."""
    return (gain.estimate - 1) * (reference.estimate - time.estimate) >= 0


def _leveled(found: Scan, best: Row, confidence: float) -> str:
    """The gain at one p of the best configuration over the baseline; their differing levels name them."""
    one, other = best.configuration, best.reference
    differ = {name for name, level in one.levels if other.get(name) != level}
    this, than = (text.clean(" ".join(f"{name}={level}" for name, level in each.levels if name in differ))
                  for each in (one, other))  # fmt: skip
    if found.never_faster and len(found.levels) > 1:
        return f"nothing is {text.words(found.response).better} than {label(other)} at {text.percent(confidence)}"
    return _than(found, this, than, best, confidence)


def _apart(found: Scan, rows: Sequence[Row], confidence: float) -> str:
    """The fastest and the slowest of the levels whose reference never ran."""
    write = text.quantity(found.response)
    least, most = (pick(rows, key=lambda row: row.time.estimate) for pick in (min, max))
    ends = " to ".join(f"{text.join(write(row.time))} at {at(found, row)}" for row in (least, most))
    return f"looks like {ends}, but there is {text.no_interval(confidence)}" if found.unsure else f"from {ends}"


def failed(found: Scan) -> str:
    """`2 threads: each of 3 launches failed with exit code 1`, for a serial program or else the largest p that never
    succeeded; empty if there is none."""
    never = [row for row in (*found.rows, *filter(None, [found.serial])) if 0 < row.launches == row.failures]
    if not never:
        return ""
    row = max(never, key=lambda row: (row is found.serial, row.p))
    others, write = [other for other in found.rows if other.time.estimate > 0], text.quantity(found.response)
    launches = "the only launch" if row.launches == 1 else f"each of {row.launches} launches"
    same = [other for other in never if other is not row]
    where = at(found, same[0]) if len(same) == 1 else f"{len(same)} more levels"
    more = f", as at {where}" if same else ""
    rest = f"; {at(found, others[0])} took {text.join(write(others[0].time))}" if len(others) == 1 else ""
    return f"{at(found, row)}: {launches} {row.ended or 'failed'}{more}{rest}"


def weak(found: Scan, confidence: float) -> str:
    """The efficiency at the largest p, with the load where it is worst."""
    worst = found.worst
    assert worst is not None, "a level ran"
    share = text.join(text.share(worst.efficiency))
    looks, unsure = ("looks like ", f", but there is {text.no_interval(confidence)}") if found.unsure else ("", "")
    beside = sum(row.p == worst.p and row.speedup.estimate > 0 for row in found.rows)
    least = f", the least of {beside}" * (beside > 1)
    return f"weak scaling: efficiency {looks}{share} at {at(found, worst)}{least}{unsure}"


UNREAD = {
    "threads": "the program reads no number of threads: put {threads}, or {ranks} of MPI, where it goes",
    "ranks": "no rank asked for its number: it is no MPI program, and each did the same work",
}
"""the sentence about a number of threads or ranks that the programs do not read"""


def misused(found: Scan) -> str:
    """`asked for 8 threads, used 1.0 cores`, with the explanation if it is known. It is about the largest p that left
    cores idle, or else about the smallest p with more threads than asked for. Empty if there is no such p."""
    if found.unread and (found.unread == "ranks" or len({row.p for row in found.rows}) > 1):
        return UNREAD[found.unread]
    ran = [row for row in found.rows if row.speedup.estimate > 0]
    idle, beyond = [row for row in ran if row.idle], [row for row in ran if row.beyond]
    if not idle and not beyond:
        return ""
    row = max(idle, key=lambda row: row.p) if idle else min(beyond, key=lambda row: row.p)
    used = f"used {row.effective_cores:.1f} cores"
    wanted = f"and {row.running:.1f} threads wanted cores"
    return f"asked for {counted(row.configuration)}, {used if row.idle or row.effective_cores >= row.p else wanted}"


def curve_of(found: Scan, row: Row) -> Curve:
    """The curve that has the row."""
    return next(curve for curve in found.curves if row in curve.rows)


def at(found: Scan, row: Row) -> str:
    """`4 threads`, followed by the constant levels of the row's curve, and by a note if they are oversubscribed."""
    if row is found.serial:
        return "the serial program"
    others = [f"{name}={level}" for name, level in curve_of(found, row).levels]
    said = [counted(row.configuration), *others, *["(oversubscribed)"] * row.oversubscribed]
    return text.clean(" ".join(filter(None, said))) or "the program"


def recommendation(found: Recommendation) -> str:
    """What to do, its gain, and how far from the best it may be. If all ranks did the same work, that is said first."""
    warning = f"{UNREAD['ranks']}; " if found.unread == "ranks" else ""
    return warning + _recommended(found)


def _recommended(found: Recommendation) -> str:
    if (said := _excluding_baseline(found)) is not None:
        return said
    if why := _unanswered(found):
        return f"no answer: {why}"
    rest = _rest(found)
    if not found.decided:
        return f"not decided: {why_keep(found)}{_others(found)}{_quantised(found)}{rest}"
    bound = _bound(found)
    near = "" if bound is None else nearness(bound, found.confidence, _raced(found), beside=not found.keep_baseline)
    if found.keep_baseline:
        if near and found.winner == found.baseline and found.proved:
            return f"keep {current(found.untyped)}: it is {near}{rest}"
        return f"keep {current(found.untyped)}{f', {near}' if near else ''}: {why_keep(found)}{rest}"
    assert found.gain is not None, "a change is recommended only after confirmation"
    gain = text.multiple(found.gain, found.response)
    than = f"{gain.word} {gain.link} {text.join((current(found.untyped), gain.ends))}"
    by = " by a t interval" if found.confirmation is not None and found.confirmation.by == "t" else ""
    claimed = f", {near}" if near else text.at_confidence(found.confidence)
    failing = "" if found.failing is None else f"; {current(found.untyped)} {found.failing}"
    return f"{gain.value} {than}{by}{claimed}{failing}{rest}"


def _unanswered(found: Recommendation) -> str:
    """Why nothing is known of any launch, or of any but the baseline; empty otherwise."""
    if found.others and not found.compared:
        return f"the budget ended before anything was compared with {current(found.untyped)}"
    if found.no_preload and not found.others:
        none = f"no allocator can be preloaded ({text.clean(found.no_preload)})"
        return "; ".join(filter(None, [none, _same(found.ineffective)]))
    if found.candidates and not found.measured:
        return text.clean(found.candidates[0].excluded or "no launch succeeded")
    if found.candidates and all(one.excluded is not None for one in found.candidates):
        each = (f"{label(one.configuration, found.ineffective)} {one.excluded}" for one in found.candidates)
        return text.clean("; ".join(each))
    return ""


def _others(found: Recommendation) -> str:
    """The note that another configuration may be faster: pairs refuted the candidate, and nothing else is proved."""
    refuted = found.confirmation is not None and found.confirmation.verdict == "not faster"
    return f"; whether another one is {text.words(found.response).better} is not shown" if refuted else ""


def _quantised(found: Recommendation) -> str:
    """The note that only the step in which the response is reported keeps the answer open."""
    what = text.amount_of(found.response)
    return f"; more blocks cannot decide it, as {what} is reported in steps of {found.step:g}" if found.step else ""


def _rest(found: Recommendation) -> str:
    """Notes on the launch to use: its failures, and constraints that it is not shown to meet. Then notes on candidates
    that failed during confirmation, and on a faster candidate that failed at times."""
    said = [f"{label(c.configuration, found.ineffective)} {c.excluded or ''}" for c in found.eliminated]
    compared = {found.winner} if found.failing is not None else {found.winner, found.baseline}
    said += [
        f"{label(c.configuration, found.ineffective)} failed in"
        f" {c.failed[0]} of {text.count(c.failed[1], 'launch', 'launches')}"
        for c in found.candidates
        if c.configuration in compared and c.failed[0] and c.excluded is None
    ]
    if (one := found.flaky) is not None:
        failed = f"failed in {one.failures} of {text.count(one.launches, 'launch', 'launches')}"
        looked = _looked(one.faster, found.response, "looked", "had")
        said.append(f"{label(one.configuration, found.ineffective)} {looked} and {failed}")
    return "".join(f"; {text.clean(one)}" for one in (*said, *found.not_shown))


def _looked(gain: float, response: str, *verbs: str) -> str:
    """`looked 1.08x faster`, `is 1.06x slower`, `had 0.93x the m`; `verbs` of a time, and of a metric."""
    said = text.multiple(Interval(gain, None, None, None, 0), response)
    value = f"{said.shown.estimate:.2f}x"
    return f"{verbs[0] if text.is_time(response) else verbs[1]} {value} {said.word}"


def _excluding_baseline(found: Recommendation) -> str | None:
    """The launch to use instead of a baseline that failed or breaks a constraint, or the words that there is none. None
    if the baseline did neither. None also if another launch is shown to be faster: failures do not matter then.
    """
    faster = found.gain is not None and found.gain.low is not None and found.gain.low > 1
    if found.broken is None and (found.failing is None or faster):
        return None
    now = current(found.untyped)
    if found.winner == found.baseline and found.broken is not None:
        return f"no answer: nothing that was tried meets the constraint ({now}: {text.clean(found.broken)})"
    cost, winner = "", label(found.winner, found.ineffective)
    best = f"{'among ' if found.tied_with else ''}the {text.words(found.response).best}"
    if found.gain is not None:
        gain = text.multiple(found.gain, found.response)
        timed = text.is_time(found.response)
        than = f"is {text.join(text.times(found.gain))} as fast" if timed else f"has {text.join(gain[:2])} {gain.word}"
        cost = f"; {winner} {than}"
    if found.failing is not None:
        failed, made = next(c.failed for c in found.candidates if c.configuration == found.winner)
        least = "succeeded" if failed else "never failed"
        said = f"{winner} is {best} that {least}; {now} {found.failing}"
        if found.by_chance:
            both = f"{now} {found.failing}, and {winner} in {failed} of {made}"
            said = f"not decided: {both}, which may be chance"
    else:
        meets = "is not shown to break" if found.not_shown else "meets"
        said = f"{winner} is {best} that {meets} the constraint, and {now} breaks it"
    return f"{said}{cost}{_rest(found)}"


def _bound(found: Recommendation) -> float | None:
    """The largest share by which the launch to use may be slower than the best; None if it is not known.

    If nothing is decided, it is also None if an estimate in the same table is larger. The estimate comes from other
    launches, but a reader would see a contradiction.
    """
    bound = next((c.regret.bound for c in found.candidates if c.configuration == found.chosen), None)
    if bound is None or bound > text.BOUND or len(_allowed(found)) < 2:
        return None
    sure = found.gain is not None and found.gain.low is not None and found.gain.low > 1
    if sure and {c.configuration for c in _allowed(found)} == {found.winner, found.baseline}:
        return None  # the pairs show that it is the best
    estimates = {c.configuration: c.ratio.estimate for c in _allowed(found)}
    most = (1 + bound) * estimates.get(found.chosen, 1.0)
    return bound if found.decided or not any(ratio > most for ratio in estimates.values()) else None


def exploratory(found: Recommendation) -> str:
    """The note that the ratios of the table are exploratory."""
    sure = found.gain is not None and found.gain.low is not None
    fresh = (
        ""
        if not sure
        else f" The ratio of {label(found.winner, found.ineffective)} comes only from confirmation pairs."
    )
    ratio = text.of_response("T(baseline) / T", found.response)
    return f"{ratio} is exploratory: the best of many looks better than it is.{fresh}"


def _allowed(found: Recommendation) -> Sequence[Candidate]:
    """The candidates that a claim covers: not those that failed or break a constraint, which may be faster."""
    return [c for c in found.candidates if c.excluded is None or c.capped]


def _looks_faster(candidate: Candidate) -> bool:
    """Whether its ratio, as the table shows it, is above 1."""
    return 1 < round(candidate.ratio.estimate, text.decimals(candidate.ratio)) < math.inf


def _raced(found: Recommendation) -> str:
    """The words that limit a claim, if a rehearsal, a failure or a constraint left some configurations out."""
    rehearsal = found.rehearsal
    if rehearsal is not None and len(rehearsal.kept) < rehearsal.of:
        return f" of the {len(rehearsal.kept)} raced"
    allowed = len(_allowed(found))
    return f" of the {allowed} not excluded" if allowed < len(found.candidates) else ""


def _tied(found: Recommendation, configuration: Configuration, most: float | None) -> str:
    better = text.words(found.response).better
    by = "" if most is None or not MATTERS <= most <= text.BOUND else f" ({better} by {text.at_most(most)} at most)"
    return label(configuration, found.ineffective) + by


def beside(found: Recommendation, *, rehearses: bool = False) -> list[str]:
    """Further notes besides the answer, one line each. `rehearses`: a rehearsal was asked for."""
    lines = [rehearsal(found.rehearsal)] if found.rehearsal is not None else []
    if rehearses and not lines:
        why = "the budget ended in it" if found.others and not found.same else "there is nothing to choose from"
        lines.append(f"rehearsal: not used, because {why}")
    if found.same and found.others:
        lines.append(f"not tried: {text.count(found.same, 'combination')}; {_same(found.ineffective)}")
    if found.untried and found.others:
        of = len(found.rehearsal.kept) if found.rehearsal is not None else found.others + 1
        lines.append(f"not measured: {found.untried} of {of} configurations")
    if found.averages is not None:
        means = found.averages
        slow = ((label(found.winner, found.ineffective), means.slow), (current(found.untyped), means.slow_baseline))
        lines.append(_averaged("on average over its confirmation launches", means.ratio, slow, found.response))
    if (other := found.cheaper) is not None:
        worse = text.words(found.response).worse
        lost = f"about {other.slower:.0%} {worse}, but" if other.slower >= 0.005 else f"not {worse}, and"
        lines.append(
            f"cheaper: {label(other.configuration, found.ineffective)} is {lost} uses {other.fewer:.0%} fewer"
            f" core-seconds (by {text.count(other.blocks, 'block')})"
        )
    if found.tied_with:
        shown = [_tied(found, c, most) for c, most in found.tied_with[:TIES_SHOWN]]
        more = len(found.tied_with) - len(shown)
        worse = text.words(found.response).worse
        lines.append(f"not shown to be {worse}: {'; '.join(shown)}" + (f"; {more} more" if more else ""))
    return lines


def rehearsal(found: Rehearsal) -> str:
    """What the rehearsal with the smaller input decided."""
    if found.failure is not None:
        return f"rehearsal: all {found.of} are raced, as the baseline {ending(found.failure)}"
    if found.margin is None:
        return "rehearsal: too few launches succeeded to check it; all are raced"
    left = "all" if len(found.kept) == found.of else f"the {len(found.kept)} of {found.of}"
    return f"rehearsal: {left} within {math.expm1(found.margin):.0%} of its best, or checked, are raced"


def _same(factors: Sequence[str]) -> str:
    """Why levels of these factors are the same launch."""
    others = [name for name in factors if name not in UNREAD]
    said = [UNREAD[name] for name in factors if name in UNREAD]
    return "; ".join([*said, *[f"the program does not read {' or '.join(others)}"] * bool(others)])


def _alone(found: Recommendation) -> str:
    """Why only the baseline is left; with the reason, if that excluded one configuration."""
    others = [one for one in found.candidates if one.configuration != found.baseline]
    why = f" ({label(others[0].configuration, found.ineffective)} {others[0].excluded})" if len(others) == 1 else ""
    return f"all else is excluded{text.clean(why)}"


def why_keep(found: Recommendation) -> str:
    """Why there is no certain gain from a change."""
    name, better = label(found.winner, found.ineffective), text.words(found.response).better
    if not found.others:
        has = "has" if len(found.constant) == 1 else "have"
        said = f"{' and '.join(found.constant)} {has} one level; " if found.constant else ""
        return said + _same(found.ineffective) if found.same else "there is nothing else to try"
    if found.winner == found.baseline and found.proved:
        return f"nothing{_raced(found) or ' that was tried'} is {better}" if len(_allowed(found)) > 1 else _alone(found)
    if found.winner == found.baseline or found.gain is None:
        looks = found.winner != found.baseline and any(map(_looks_faster, _allowed(found)))
        which = "tried so far" if found.flaky is None else "that never failed so far"
        than = f"nothing {which} looks {better} than {current(found.untyped)}"
        return f"{name} looks {better}, but is not confirmed yet" if looks else than
    now, gain = current(found.untyped), found.gain
    if gain.low is None:  # the table's own ratio, because a gain without an interval is not in it
        rows = {c.configuration: c for c in found.candidates}
        row, before = rows[found.winner], rows[found.baseline]
        ratio = replace(row.ratio, low=None, high=None)
        return text.than(name, now, ratio, found.confidence, found.response, agree=_agree(ratio, row.time, before.time))
    seen = text.as_fast(name, now, gain, found.confidence, found.response)
    if found.confirmation is None or found.confirmation.verdict is not None:
        return f"{name} looked {better}, but in confirmation pairs it {seen.removeprefix(name).strip()}"
    more = found.confirmation.more
    return seen if more is None else f"{seen}; about {text.count(more, 'more block')} would decide it"


def comparison(found: Comparison, confidence: float, response: str = "wall") -> str:
    """`B is 1.31x faster than A [1.27, 1.36] at 95%`, and the number of failed launches that count (-i)."""
    said = _comparison(found, confidence, response)
    if found.decision == "failed" or found.never or not any(found.failures):
        return said
    return f"{said} ({_failures(found)})"


def _failures(found: Comparison) -> str:
    """`2 launches of new failed`, for each command with failures."""
    pairs = zip((found.reference, found.other), found.failures, strict=True)
    return ", ".join(f"{text.count(n, 'launch', 'launches')} of {label(of)} failed" for of, n in pairs if n)


def _comparison(found: Comparison, confidence: float, response: str) -> str:
    a, b = label(found.reference), label(found.other)
    if found.never:
        return "; ".join(f"{label(r.configuration)} never succeeded: its last launch {ending(r)}" for r in found.never)
    if math.isnan(found.ratio.estimate):
        did = "succeed" if response == "wall" else f"give {text.clean(response)} above 0"
        return f"no verdict on {b} against {a}: in no block did both {did}"
    if found.decision == "failed":
        return f"no verdict on {b} against {a}: {_failures(found)}"
    if found.ineffective:
        return f"no verdict on {b} against {a}: they are the same launch; {_same(found.ineffective)}"
    if found.decision == "no difference shown":  # print the table's ratio, in the same direction
        much = f"{text.join(text.times(found.ratio))} the {text.amount_of(response)} of {a}"
        return f"{found.decision}: {b} takes {much}{text.at_confidence(confidence)}{_mean(found, response)}"
    gain = found.ratio.map(lambda ratio: 1 / ratio)
    agree = _agree(gain, found.time, found.reference_time)
    return text.than(b, a, gain, confidence, response, agree=agree) + _mean(found, response)


def _mean(found: Comparison, response: str) -> str:
    """`; on average it is 1.06x slower: of new 3 of 40 take 1.5 times its median`, if that number differs. Without the
    ratio if its interval shows none."""
    ratio, mean = found.ratio, found.mean_ratio
    covered = ratio.covers(mean.estimate) and mean.covers(ratio.estimate)
    alike = covered or math.isclose(ratio.estimate, mean.estimate)
    if found.slow is None or ratio.low is None or (alike and (mean.low is None or decide(mean) == decide(ratio))):
        return ""
    slow = [(label(found.reference), found.slow[0]), (label(found.other), found.slow[1])]
    if decide(mean) != "no difference shown":
        return "; " + _averaged("on average", 1 / mean.estimate, slow, response)
    return "; ".join(["", *filter(None, [_slow(slow)])])


def means(found: Sequence[Comparison], response: str) -> str:
    """An explanation of the mean ratio, if its interval contradicts the first line; empty otherwise."""
    known = [one for one in found if one.mean_ratio.low is not None and one.decision != "failed"]
    if all(decide(one.mean_ratio) == one.decision for one in known):
        return ""
    of = "mean times, which slow" if text.is_time(response) else "means, which high"
    return f"mean ratio: of {of} launches raise; the first line is about typical launches"


def _averaged(what: str, gain: float, slow: Sequence[tuple[str, Slow]], response: str) -> str:
    return ": ".join(filter(None, [f"{what} it {_looked(gain, response, 'is', 'has')}", _slow(slow)]))


def _slow(slow: Sequence[tuple[str, Slow]]) -> str:
    """`of new 3 of 40 take 1.5 times its median`, for each command with slow launches."""
    every = (
        f"of {name} {one.count} of {one.of} take {one.times:.3g} times its median" for name, one in slow if one.count
    )
    return ", ".join(every)


def gate(found: Comparison, one: Gated, response: str) -> str:
    """`new: time 1.02x [1.01, 1.03], at most 1.05x allowed`, or the failed launches if they decide it."""
    if one.verdict == "crashed":
        return _failures(found)
    name = text.quantity_name(response)
    of = {"time": name, "mean": f"mean {name}", "cpu": "CPU time", "memory": "peak memory of a process"}[one.of]
    if math.isnan(one.ratio.estimate):
        return f"{label(found.other)}: {of} is known in no pair of launches: it is a lower bound there"
    return f"{label(found.other)}: {of} {text.join(text.times(one.ratio))}, at most {1 + one.limit:.4g}x allowed"


def stop(result: Result) -> str:
    """How much was measured, and why it ended; "width not reached" has the width that was reached."""
    launches = len(result.timed) or len(result.records)
    amount = f"{text.count(result.blocks, 'block')}, {text.count(launches, 'launch', 'launches')}"
    if result.confirmations:
        amount += f", {text.count(result.confirmations, 'confirmation pair')} to confirm"
    decision, asked = result.stop, result.experiment.stop
    if asked.rule == "replicates" and asked.binding and result.blocks < asked.min_blocks:
        return f"{amount}; {_spent(result)}, {asked.min_blocks} blocks asked"
    settled = decision is None or decision.reason in (None, "proved", "nothing to compare")
    if decision is None or settled or asked.rule == "replicates" or not result.records:
        return amount
    wanted = text.percent(asked.width)
    if decision.reason == "width":
        return f"{amount}; every interval within {wanted}"
    ends = {"budget": _spent(result), "interrupted": "interrupted", "decided": "every finding is decided"}
    why = ends.get(str(decision.reason), "all blocks made")
    found = result.conclusion
    width = _bound(found) if isinstance(found, Recommendation) else decision.reached_width
    if width is None or not asked.width < width <= text.BOUND:
        return f"{amount}; {why}"
    if isinstance(found, Recommendation):
        return f"{amount}; {why}: {_chosen(found)} is {nearness(width, found.confidence)}, {wanted} wanted"
    return f"{amount}; {why} at {text.at_most(width)}, not at the {wanted} wanted"


def _chosen(found: Recommendation) -> str:
    """The launch to use in a sentence."""
    return current(found.untyped) if found.keep_baseline else label(found.winner, found.ineffective)


def _spent(result: Result) -> str:
    """`budget spent (launches took 1.2 ms of 2 s, checks ...)`; the time of launches is given if it is below half."""
    budget, took = result.experiment.stop.budget, sum(record.wall for record in result.records)
    small = budget is not None and took < budget / 2
    rest = ", checks and start-up the rest"
    return "budget spent" + (f" (launches took {text.seconds(took)} of {budget:g} s{rest})" if small else "")


def too_few(result: Result) -> str:
    """The note that there were too few blocks for intervals; it names a race's bounds. Empty for enough blocks."""
    if not 0 < result.blocks < result.fewest_blocks:
        return ""
    why = f"{text.no_interval(result.confidence)} below {result.fewest_blocks} blocks"
    if isinstance(result.conclusion, Recommendation):
        why = "a race of so few blocks claims by t bounds"
    return f"{why}: numbers without brackets are estimates only"


def undisturbed(result: Result) -> str:
    """The headline without the flagged blocks; empty if none was flagged."""
    if result.undisturbed is None:
        return ""
    said, again = (
        conclusion_headline(found, result.confidence, response=result.experiment.response)
        for found in (result.conclusion, result.undisturbed)
    )
    return f"without the noisy blocks: {'the same' if said == again else again}"
