# SPDX-License-Identifier: Apache-2.0
"""What may be recommended: every configuration that was launched, as the measuring blocks saw it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude import stats
from corescale.conclude.constraints import broken
from corescale.conclude.race.answer import RaceAnswer, Why
from corescale.conclude.response import Table, median, of, table
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


def winner(found: Sequence[Candidate], now: Configuration) -> Configuration:
    """The fastest that may win; the baseline where none may."""
    return next((candidate.configuration for candidate in found if candidate.excluded is None), now)


def candidates(
    records: Sequence[Record], experiment: Experiment, racing: RaceAnswer | None = None
) -> tuple[Candidate, ...]:
    """Every configuration that was launched, fastest first, those that may not win last.

    Regrets are those of the race, which hold whenever it ends; without one the number of blocks was fixed beforehand.
    """
    times = table(records, experiment.response)
    if not times.configurations:
        return ()
    now, breaking = baseline(experiment), broken(records, experiment)
    out = racing.eliminated if racing is not None else {}
    reasons = {
        c: _excluded(_judged(records, c, now), experiment, lost=out.get(c) is Why.CAPPED) or breaking.get(c)
        for c in times.configurations
    }
    eligible = [k for k, c in enumerate(times.configurations) if reasons[c] is None]
    regrets = racing.regrets if racing is not None else _regrets(times, eligible, experiment)
    rows = [
        _candidate(
            records,
            times,
            c,
            experiment,
            regrets.get(c, Regret(math.nan, None, 0)),
            reasons[c],
            out.get(c) is Why.CAPPED,
        )
        for c in times.configurations
    ]
    return tuple(sorted(rows, key=lambda row: (row.excluded is not None, _rank(row, times, racing))))


def _regrets(times: Table, eligible: Sequence[int], experiment: Experiment) -> Mapping[Configuration, Regret]:
    if not eligible:
        return {}
    found = stats.within_of_best(np.log(times.values[:, eligible]), experiment.stop.confidence)
    return {times.configurations[k]: regret for k, regret in zip(eligible, found, strict=True)}


def _rank(row: Candidate, times: Table, racing: RaceAnswer | None) -> float:
    """Launches of a race lie in different blocks, so its estimates of the regret rank them, and not plain times."""
    if racing is not None and row.configuration in racing.regrets:
        return row.regret.estimate
    typical = float(stats.typical_times(times.column(row.configuration)[:, None])[0])
    return typical if math.isfinite(typical) else math.inf


def _candidate(
    records: Sequence[Record],
    times: Table,
    c: Configuration,
    experiment: Experiment,
    regret: Regret,
    excluded: str | None,
    capped: bool,
) -> Candidate:
    launches, now, confidence = of(records, c), baseline(experiment), experiment.stop.confidence
    good = [record for record in launches if record.ok]
    ratio = (
        stats.hodges_lehmann(times.log_ratio(now, c), confidence).map(math.exp)
        if now in times.configurations
        else _unknown()
    )
    return Candidate(
        configuration=c,
        time=stats.median_interval(times.column(c), confidence),
        ratio=ratio,
        regret=regret,
        effective_cores=median([record.effective_cores for record in good]),
        core_seconds=median([record.user + record.system for record in good]),
        metrics={name: median([record.metrics.get(name, math.nan) for record in good]) for name in experiment.metrics},
        excluded=excluded,
        launches=len(launches),
        oversubscribed=any(record.oversubscribed for record in launches),
        capped=capped,
    )


def _unknown() -> Interval:
    return Interval(math.nan, None, None, None, 0)


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
