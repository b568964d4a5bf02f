# SPDX-License-Identifier: Apache-2.0
"""What fresh blocks of a favourite and today's launch say of the gain, and when they have said enough.

The favourite leads partly by luck, so its gain comes from fresh blocks alone. They are looked at a few times: at a
number planned from the noise that the race has seen, then at one and a half times as many, until the favourite is shown
to be faster, or not to be faster by the tolerance. Four fifths of the error belong to the first look, half of what is
left to each later one, so the interval covers whenever it ends. Between looks it stays that of the last one.

Six blocks are the fewest for a signed-rank interval, which then asks that all of them are faster. Where a budget has
no room for a second look after them, the interval is that of a t test on the fresh pairs, and says so.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from corescale.conclude import stats
from corescale.conclude.race import elimination
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.records import Lead
from corescale.conclude.response import half_steps, response, step, table
from corescale.conclude.stats import Floats, Interval
from corescale.declare.experiment import Experiment
from corescale.declare.grid import today
from corescale.declare.plan import counted_pairs
from corescale.declare.stop import MOST_BLOCKS
from corescale.records import Configuration, Record

Verdict = Literal["faster", "not faster"]


@dataclass(frozen=True, slots=True)
class Gain:
    """The ratio T_today / T of one configuration, from its fresh blocks."""

    ratio: Interval
    """`confidence` is that of the whole sequence of looks"""
    by: Literal["signed ranks", "t"]
    verdict: Verdict | None
    """`not faster`: not by the tolerance; None: not decided"""
    more: int | None
    """blocks that should decide it, by the scatter so far; None where it is decided, or nothing is known"""


def looks(first: int) -> tuple[int, ...]:
    """The numbers of fresh blocks at which the gain is looked at, the first look first."""
    growing = itertools.accumulate(itertools.repeat(OPTIONS.later), lambda n, g: math.ceil(n * g), initial=first)
    return tuple(itertools.takewhile(lambda n: n <= MOST_BLOCKS, growing))


def going_on(begun: tuple[int, ...], confidence: float) -> tuple[int, ...]:
    """The looks of a run that is given more than it began with: the first stays as it was planned.

    Behind one at few blocks, which was to be the only one, come those that signed ranks can tell by.
    """
    first = begun[0]
    if len(begun) > 1:
        return looks(first)
    return (first, *looks(max(math.ceil(first * OPTIONS.later), stats.fewest_blocks(confidence))))


def shares(count: int, error: float, *, spent: bool = False) -> tuple[float, ...]:
    """The error of each look: together at most `error`.

    `spent`: the first had all of it, for it was to be the only one; the others have what later looks always have.
    """
    first = error if spent else error * OPTIONS.at_first
    left = error * (1 - OPTIONS.at_first)
    return (first, *(left / 2**k for k in range(1, count)))


def few(confidence: float) -> int:
    """Fresh blocks, at most, beyond which there may be a second look at them."""
    return looks(stats.fewest_blocks(confidence))[1] - 1


def planned(lead: Lead) -> int:
    """The number of fresh blocks to the first look, planned from the noise that the race has seen."""
    sure = float(scipy.special.stdtrit(OPTIONS.planned_freedom, 1 - OPTIONS.missed))
    needed = (sure / max(OPTIONS.believed * lead.gain, OPTIONS.least_lead)) ** 2 * lead.noise
    return int(min(math.ceil(needed) + OPTIONS.for_ranks, OPTIONS.longest))


def gain(
    records: Sequence[Record],
    experiment: Experiment,
    winner: Configuration,
    planned_looks: tuple[int, ...] = (),
    *,
    spent: bool = False,
) -> Gain | None:
    """The gain by the fresh blocks of this configuration; None where no block has both launches.

    `planned_looks`: blocks at each look; one or none where their number was fixed beforehand. `spent`: the first was to
    be the only one.
    """
    pairs = fresh(records, experiment, winner)
    if not pairs.size:
        return None
    confidence = experiment.stop.confidence
    several = len(planned_looks) > 1
    each = shares(len(planned_looks), 1 - confidence, spent=spent) if several else (1 - confidence,)
    made, share = _looked(pairs.size, planned_looks, each)
    once = spent if several else bool(sum(planned_looks))
    few_asked = once and planned_looks[0] <= few(confidence) and made <= few(confidence)
    if few_asked or stats.tail_count(made, share / 2) < 0:
        found, by = _by_t(_until(records, winner, made), experiment, winner, pairs[:made], share), "t"
    else:
        found, by = stats.hodges_lehmann(pairs[:made], 1 - share), "signed ranks"
    found = Interval(found.estimate, found.low, found.high, confidence, found.n)
    found = _told(found, _off(records, experiment, winner))
    verdict = _verdict(found, experiment)
    more = None if verdict else _more(found, experiment, pairs.size, planned_looks, each)
    return Gain(found.map(math.exp), by, verdict, more)  # type: ignore[arg-type]


def _off(records: Sequence[Record], experiment: Experiment, winner: Configuration) -> float:
    """By how much the log ratio may be off for the digits in which the response is told."""
    blocks = {*counted_pairs(records, winner)}
    times = table([r for r in records if r.block in blocks], experiment.response, "confirm")
    logs = np.log(np.stack([times.column(c) for c in (today(experiment), winner)], axis=1))
    logs = logs[np.isfinite(logs).all(axis=1)]
    variances = logs.var(axis=0, ddof=1) if len(logs) > 1 else np.zeros(2)
    return float(half_steps(logs, variances, step(records, experiment.response)).sum())


def _told(found: Interval, off: float) -> Interval:
    """Wider at both ends."""
    if found.low is None or found.high is None:
        return found
    return Interval(found.estimate, found.low - off, found.high + off, found.confidence, found.n)


def fresh(records: Sequence[Record], experiment: Experiment, winner: Configuration) -> Floats:
    """The values of log(T_today / T) in the fresh blocks of this configuration that count."""
    blocks = {*counted_pairs(records, winner)}
    times = table([r for r in records if r.block in blocks], experiment.response, "confirm")
    now = today(experiment)
    if not {winner, now} <= set(times.configurations):
        return np.empty(0)
    ratios = times.log_ratio(now, winner)
    return ratios[np.isfinite(ratios)]


def _looked(made: int, planned_looks: Sequence[int], each: Sequence[float]) -> tuple[int, float]:
    """The blocks of the last look and its share of the error; all blocks before the first, or where one is planned."""
    passed = [k for k, n in enumerate(planned_looks) if n <= made] if len(planned_looks) > 1 else []
    return (planned_looks[passed[-1]], each[passed[-1]]) if passed else (made, each[0])


def _until(records: Sequence[Record], winner: Configuration, made: int) -> list[Record]:
    """The records without fresh blocks of this one that do not count, or came after so many that do."""
    counted = {*counted_pairs(records, winner)[:made]}
    later = {r.block for r in records if r.phase == "confirm" and r.configuration == winner} - counted
    return [r for r in records if r.block not in later]


def _by_t(
    records: Sequence[Record], experiment: Experiment, winner: Configuration, pairs: Floats, error: float
) -> Interval:
    """A t interval of few fresh pairs.

    The variance is that of the pairs, moderated by what the race tells of noise if it is enough to tell; where all that
    is next to nothing, it is the scatter of all launches of the two, from block to block, which is not too small on
    average.
    """
    n, mean = pairs.size, float(pairs.mean())
    if n < 2:
        return Interval(mean, None, None, None, n)
    fitted = elimination.fit(np.log(table(records, experiment.response).values))
    known = float(fitted.residual.sum())
    lent = min(fitted.prior, known) if known >= OPTIONS.enough else 0.0
    freedom, squares = lent + n - 1, float(((pairs - mean) ** 2).sum())
    variance = (lent * 2 * _pooled(fitted) + squares) / freedom
    if freedom < OPTIONS.enough:
        variance, freedom = _unpaired(records, experiment, winner)
    reach = float(scipy.special.stdtrit(freedom, 1 - error / 2)) * math.sqrt(variance / n)
    return Interval(mean, mean - reach, mean + reach, experiment.stop.confidence, n)


def _pooled(fitted: elimination.Fit) -> float:
    return float(fitted.squares.sum() / max(fitted.degrees.sum(), 1.0))


def _unpaired(records: Sequence[Record], experiment: Experiment, winner: Configuration) -> tuple[float, float]:
    """The variance of a difference, from the scatter of single launches, and its degrees of freedom.

    The same variance for both, unless the favourite scatters more by an F test: many launches of today's, which is
    quiet, say nothing of a noisy favourite then (Welch 1947).
    """
    todays = [r for r in records if r.configuration == today(experiment) and r.timed]
    own = [[r for r in records if r.configuration == winner and r.phase == phase] for phase in ("measure", "confirm")]
    (squares, freedom), (others, few_of_it) = _scatter([todays], experiment), _scatter(own, experiment)
    together = freedom + few_of_it
    if min(freedom, few_of_it) > 0:
        first, second = squares / freedom, others / few_of_it
        if second > first * scipy.special.fdtri(few_of_it, freedom, 1 - OPTIONS.unlike):
            return first + second, (first + second) ** 2 / (first**2 / freedom + second**2 / few_of_it)
    return 2 * (squares + others) / max(together, 1), together


def _scatter(groups: Sequence[Sequence[Record]], experiment: Experiment) -> tuple[float, float]:
    """Squares of the log responses about the mean of each group, and their degrees of freedom."""
    logs = [np.log([x for r in group if (x := response(r, experiment.response)) > 0]) for group in groups]
    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in logs if one.size)
    return squares, float(sum(max(one.size - 1, 0) for one in logs))


def _verdict(found: Interval, experiment: Experiment) -> Verdict | None:
    if found.low is None or found.high is None:
        return None
    if found.low > 0:
        return "faster"
    return "not faster" if found.high < math.log1p(experiment.stop.within) else None


def _more(
    found: Interval, experiment: Experiment, made: int, planned_looks: Sequence[int], each: Sequence[float]
) -> int | None:
    """An interval narrows with the root of its blocks, and each look has less of the error: until a verdict is near.

    Where no look is planned, as if every number of blocks were one with all of the error.
    """
    if found.half_width is None:
        return None
    margin = max(found.estimate, math.log1p(experiment.stop.within) - found.estimate)
    if len(planned_looks) < 2:
        return max(1, math.ceil(found.n * (found.half_width / margin) ** 2) - made)
    reach = -scipy.special.ndtri(np.array(each) / 2) / np.sqrt(planned_looks)
    now = max((k for k, n in enumerate(planned_looks) if n <= made), default=0)
    enough = found.half_width * reach / reach[now] <= margin
    return next((n - made for n, tells in zip(planned_looks, enough, strict=True) if tells and n > made), None)
