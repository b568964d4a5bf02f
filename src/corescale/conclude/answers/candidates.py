# SPDX-License-Identifier: Apache-2.0
"""What may be recommended: every configuration that was launched, as the measuring blocks saw it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude import stats
from corescale.conclude.constraints import broken
from corescale.conclude.race.answer import RaceAnswer
from corescale.conclude.response import median, of, table
from corescale.conclude.stats import Interval, Regret
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline
from corescale.endings import ending
from corescale.records import Configuration, Record


@dataclass(frozen=True, slots=True)
class Candidate:
    """One configuration as the measuring blocks saw it. `ratio` is T_baseline / T: exploratory, inflated for the
    best."""

    configuration: Configuration
    time: Interval
    ratio: Interval
    regret: Regret
    effective_cores: float
    core_seconds: float
    """median CPU time, seconds"""
    metrics: Mapping[str, float]
    """medians of the declared ones"""
    excluded: str | None
    """why it may not win: a failure with its message, a violated constraint; None where it may"""
    launches: int
    oversubscribed: bool
    capped: bool = False
    """whether it is excluded because most of its launches were killed as too slow"""


def candidates(records: Sequence[Record], experiment: Experiment, racing: RaceAnswer) -> tuple[Candidate, ...]:
    """Every configuration that was launched, fastest first, those that may not win last; regrets are of the race."""
    times, now, breaking = table(records, experiment.response), baseline(experiment), broken(records, experiment)
    confidence = experiment.stop.confidence

    def candidate(c: Configuration) -> Candidate:
        launches, capped = of(records, c), racing.eliminated.get(c) == "capped"
        good = [record for record in launches if record.ok]
        ratios = times.log_ratio(now, c) if now in times.configurations else np.zeros(0)
        return Candidate(
            configuration=c,
            time=stats.median_interval(times.column(c), confidence),
            ratio=stats.hodges_lehmann(ratios, confidence).map(math.exp),
            regret=racing.regrets.get(c, Regret(math.nan, None, 0)),
            effective_cores=median([record.effective_cores for record in good]),
            core_seconds=median([record.user + record.system for record in good]),
            metrics={name: median([r.metrics.get(name, math.nan) for r in good]) for name in experiment.metrics},
            excluded=_excluded(_judged(records, c, now), experiment, lost=capped) or breaking.get(c),
            launches=len(launches),
            oversubscribed=any(record.oversubscribed for record in launches),
            capped=capped,
        )

    def rank(one: Candidate) -> tuple[bool, float]:
        """Launches of a race lie in different blocks, so its estimates of the regret rank them, and not plain times."""
        typical = float(stats.typical_times(times.column(one.configuration)[:, None])[0])
        known = one.regret.estimate if one.configuration in racing.regrets else typical
        return one.excluded is not None, known if math.isfinite(known) else math.inf

    return tuple(sorted(map(candidate, times.configurations), key=rank))


def _judged(records: Sequence[Record], c: Configuration, now: Configuration) -> tuple[Record, ...]:
    """Its launches; failures while it was to be confirmed count, but those of the baseline do not bar it then."""
    fresh = () if c == now else of(records, c, "confirm")
    return (*of(records, c), *(record for record in fresh if not record.ok))


def _excluded(launches: Sequence[Record], experiment: Experiment, *, lost: bool) -> str | None:
    """`lost`: it was killed in most of its launches."""
    bad = [record for record in launches if not record.ok and (record.status != "capped" or lost)]
    if bad:
        return ending(bad[0]) + (" while it was confirmed" if bad[0].phase == "confirm" else "")
    silent = any(math.isnan(record.response(experiment.response)) for record in launches if record.ok)
    return f"gave no {experiment.response}" if silent else None
