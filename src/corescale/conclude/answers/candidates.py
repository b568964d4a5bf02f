# SPDX-License-Identifier: Apache-2.0
"""Candidates for the recommendation: every launched configuration, with its data from the measuring blocks.

Also finds a cheaper configuration, and failures. All of these are exploratory estimates.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude import stats
from corescale.conclude.constraints import broken
from corescale.conclude.race.answer import RaceAnswer, Why
from corescale.conclude.response import median, of, table
from corescale.conclude.stats import Interval, Regret
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline
from corescale.endings import ending
from corescale.records import Configuration, Record


@dataclass(frozen=True, slots=True)
class Candidate:
    """One configuration in the measuring blocks. `ratio` is T_baseline / T: exploratory, and inflated for the best."""

    configuration: Configuration
    time: Interval
    ratio: Interval
    regret: Regret
    effective_cores: float
    core_seconds: float
    """median CPU time, seconds; NaN if unknown"""
    metrics: Mapping[str, float]
    """medians of the declared ones"""
    excluded: str | None
    """why it may not win: a failure with its message, a violated constraint; None if it may"""
    launches: int
    oversubscribed: bool
    failed: tuple[int, int] = (0, 0)
    """how many of its launches failed, and how many there were; both include confirmation pairs"""
    capped: bool = False
    """whether it is excluded because most of its launches were too slow and were killed"""


def candidates(records: Sequence[Record], experiment: Experiment, racing: RaceAnswer) -> tuple[Candidate, ...]:
    """Every launched configuration, fastest first; excluded ones come last. Their regrets are the race's estimates."""
    times, now, breaking = table(records, experiment.response), baseline(experiment), broken(records, experiment)
    confidence = experiment.stop.confidence

    def candidate(c: Configuration) -> Candidate:
        launches, why = of(records, c), racing.eliminated.get(c)
        every = [record for record in records if record.timed and record.configuration == c]
        good = [record for record in launches if record.ok]
        ratios = times.log_ratio(now, c) if now in times.places else np.zeros(0)
        return Candidate(
            configuration=c,
            time=stats.median_interval(times.column(c), confidence),
            ratio=stats.hodges_lehmann(ratios, confidence).map(math.exp),
            regret=racing.regrets.get(c, Regret(math.nan, None, 0)),
            effective_cores=median([record.effective_cores for record in good]),
            core_seconds=median([record.cpu for record in good]),
            metrics={name: median([r.metrics.get(name, math.nan) for r in good]) for name in experiment.metrics},
            excluded=_excluded(records, c, experiment, why) or breaking.get(c),
            launches=len(launches),
            oversubscribed=any(record.oversubscribed for record in launches),
            failed=(sum(record.status not in ("ok", "capped") for record in every), len(every)),
            capped=why == "capped",
        )

    def rank(one: Candidate) -> tuple[bool, float]:
        """The sort key: the race's estimate of the regret, because times of different blocks cannot be compared."""
        typical = float(stats.typical_times(times.column(one.configuration)[:, None])[0])
        known = one.regret.estimate if one.configuration in racing.regrets else typical
        return one.excluded is not None, known if math.isfinite(known) else math.inf

    return tuple(sorted(map(candidate, times.configurations), key=rank))


def _excluded(records: Sequence[Record], c: Configuration, experiment: Experiment, why: Why | None) -> str | None:
    """Why `c` may not win, or None. Failures in confirmation pairs count, except for the baseline. `why`: the reason
    why the race eliminated `c`, or None.

    If launches may fail (-i), failures exclude only configurations that the race has eliminated or that never
    succeeded; the baseline only if it never did, in a pair either.
    """
    fresh, own = of(records, c, "confirm"), c == baseline(experiment)
    launches = (*of(records, c), *(record for record in fresh if not record.ok and not own))
    spared = (None, "failed") if own else (None,)
    if experiment.ignore_failure and why in spared and any(record.ok for record in (*launches, *fresh)):
        return None
    bad = [record for record in launches if not record.ok and (record.status != "capped" or why == "capped")]
    if bad:
        return ending(bad[0]) + (" while it was confirmed" if bad[0].phase == "confirm" else "")
    silent = any(math.isnan(record.response(experiment.response)) for record in launches if record.ok)
    return f"gave no {experiment.response}" if silent else None


SLOWER = 0.10
"""a cheaper launch is slower by at most this share"""
CHEAPER = 0.05
"""a cheaper launch saves at least this share of core-seconds, and a larger share than it loses in time"""


@dataclass(frozen=True, slots=True)
class Cheaper:
    """A launch that takes a little longer and far fewer core-seconds than the answer."""

    configuration: Configuration
    slower: float
    """T / T(answer) - 1"""
    fewer: float
    """1 - core-seconds / core-seconds of the answer"""
    blocks: int
    """blocks in which both were launched"""


@dataclass(frozen=True, slots=True)
class Flaky:
    """A configuration that looked faster than the answer and failed in some launches."""

    configuration: Configuration
    faster: float
    """T_baseline / T by the measuring blocks: exploratory"""
    failures: int
    launches: int
    """all launches that count, of which `failures` failed"""


def cheaper(
    records: Sequence[Record], experiment: Experiment, found: Sequence[Candidate], answer: Configuration
) -> Cheaper | None:
    """Of the configurations that are at most SLOWER, the one that saves most core-seconds, if it saves enough."""
    times, cost = table(records, experiment.response), table(records, "cpu")
    if answer not in times.places:
        return None
    rivals = [c.configuration for c in found if c.excluded is None and c.configuration != answer]
    trades = []
    for c in rivals:
        lost, saved = times.log_ratio(c, answer), cost.log_ratio(c, answer)
        both = np.isfinite(lost) & np.isfinite(saved)
        if both.any():
            slower, fewer = (math.expm1(stats.hodges_lehmann(each[both]).estimate) for each in (lost, saved))
            trades.append(Cheaper(c, slower, -fewer, int(both.sum())))
    worthy = [t for t in trades if t.slower <= SLOWER and t.fewer >= CHEAPER and t.fewer > t.slower and t.blocks > 1]
    return max(worthy, key=lambda t: t.fewer, default=None)


def fastest_flaky(
    records: Sequence[Record], experiment: Experiment, found: Sequence[Candidate], chosen: Configuration
) -> Flaky | None:
    """The fastest configuration that failed at times and looks faster than answer and baseline by more than the
    tolerance.

    Configurations that failed only in confirmation pairs are left out: the result of the confirmation names them.
    """
    answers = next((c.ratio.estimate for c in found if c.configuration == chosen and c.ratio.estimate > 0), 1.0)
    faster = [c for c in found if c.excluded and c.ratio.estimate > max(1, answers) * (1 + experiment.stop.within)]
    for candidate in sorted(faster, key=lambda c: -c.ratio.estimate):
        made = [r for r in records if r.timed and r.configuration == candidate.configuration]
        failed = [r for r in made if r.status not in ("ok", "capped")]
        if any(r.phase == "measure" for r in failed):
            return Flaky(candidate.configuration, candidate.ratio.estimate, len(failed), len(made))
    return None


def baseline_failures(
    records: Sequence[Record], experiment: Experiment, other: Configuration
) -> tuple[str, bool] | None:
    """How the baseline failed, and whether it may be chance that another configuration never failed.

    Uses Fisher's exact test, with Bonferroni over the configurations that were passed over for the other because they
    failed.
    """
    now, timed = baseline(experiment), [record for record in records if record.timed]
    own = [one for one in (timed if experiment.ignore_failure else records) if one.configuration == now]
    made = [record.ok for record in own if record.timed]
    worked, bad = any(record.ok for record in own), made.count(False)
    if not bad or other == now or (experiment.ignore_failure and worked):
        return None
    if not worked:
        return f"never succeeded: its last launch {ending(own[-1])}", False
    count = sum(record.configuration == other for record in timed)
    equal = math.comb(len(made), bad) / math.comb(len(made) + count, bad)
    passed = {r.configuration for r in timed if not r.ok and r.status != "capped"} - {now}
    by_chance = equal * (1 + len(passed)) > 1 - experiment.stop.confidence
    launches = "launch" if len(made) == 1 else "launches"
    return f"failed in {bad} of {len(made)} {launches}", by_chance
