# SPDX-License-Identifier: Apache-2.0
"""Which launch to use, and how sure that is.

The winner is picked on the measuring blocks, so its lead there is inflated; gain and interval come from fresh
confirmation blocks of winner and today's launch, and from nothing else.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from corescale.conclude import stats
from corescale.conclude.answers.alternatives import Cheaper, Front, cheaper, fronts
from corescale.conclude.answers.constraints import violation
from corescale.conclude.endings import ending
from corescale.conclude.race.records import Statement, statement
from corescale.conclude.race.rehearsal import Rehearsal
from corescale.conclude.response import Table, median, of, response, table
from corescale.conclude.stats import Interval, Regret
from corescale.declare.experiment import Experiment, configurations, today
from corescale.records import Configuration, Phase, Record


@dataclass(frozen=True, slots=True)
class Candidate:
    """One configuration as the measuring blocks saw it. `ratio` is T_today / T: exploratory, inflated for the best."""

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


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The answer of `tune`."""

    today: Configuration
    winner: Configuration
    gain: Interval | None
    """T_today / T_winner from confirmation blocks alone; None where the winner is today's launch, or none were made"""
    within: float | None
    """the winner's time is within this fraction of the best of all, at `confidence`; None where blocks were too few"""
    confidence: float
    candidates: tuple[Candidate, ...]
    """fastest first, excluded ones last"""
    cheaper: Cheaper | None = None
    fronts: tuple[Front, ...] = ()
    not_told_apart: tuple[tuple[Configuration, float | None], ...] = ()
    """of a race: those that may be faster than the answer, and by how much at most; None: cannot be said"""
    rehearsal: Rehearsal | None = None
    others: int = 0
    """configurations beside today's launch"""

    @property
    def compared(self) -> bool:
        """Whether anything but today's launch was measured."""
        return any(candidate.configuration != self.today for candidate in self.candidates)

    @property
    def measured(self) -> bool:
        """Whether any launch gave the response."""
        return any(math.isfinite(candidate.time.estimate) for candidate in self.candidates)

    @property
    def answered(self) -> bool:
        """Whether the question was: with nothing to compare today's launch with there was none."""
        return not self.others or (self.compared and self.measured)

    @property
    def keep_today(self) -> bool:
        """Whether nothing is certainly gained by changing today's launch."""
        return self.winner == self.today or self.gain is None or self.gain.low is None or self.gain.low <= 1

    @property
    def chosen(self) -> Configuration:
        """The launch to use."""
        return self.today if self.keep_today else self.winner


def recommend(records: Sequence[Record], experiment: Experiment, picked: Configuration | None = None) -> Recommendation:
    """The recommendation that the records allow, at any moment of a run; of another's records with its pick."""
    now = today(experiment)
    racing = statement(records, experiment) if experiment.stop.rule == "race" else None
    found = candidates(records, experiment, racing)
    best = picked or (winner(found, now) if racing is None else racing.answer)
    gain = None if best == now else gain_in("confirm", records, experiment, best)
    regret = next((candidate.regret.bound for candidate in found if candidate.configuration == best), None)
    answer = Recommendation(now, best, gain, regret, experiment.stop.confidence, found)
    tied = racing is not None and answer.chosen == racing.answer
    return replace(
        answer,
        cheaper=cheaper(records, experiment, _not_refuted(answer), answer.chosen),
        fronts=fronts(experiment, found),
        not_told_apart=racing.not_told_apart if racing is not None and tied else (),
        rehearsal=racing.rehearsal if racing is not None else None,
        others=len(configurations(experiment)) - 1,
    )


def _not_refuted(answer: Recommendation) -> list[Candidate]:
    """Without a winner that fresh blocks did not confirm: what the measuring blocks say of it is known to flatter."""
    return [
        c for c in answer.candidates if not (answer.keep_today and c.configuration == answer.winner != answer.today)
    ]


def gain_in(
    phase: Phase, records: Sequence[Record], experiment: Experiment, configuration: Configuration
) -> Interval | None:
    """T_today / T of this configuration by the blocks of one phase; None where no block has both."""
    now, times = today(experiment), table(records, experiment.response, phase)
    if not {configuration, now} <= set(times.configurations):
        return None
    found = stats.hodges_lehmann(times.log_ratio(now, configuration), experiment.stop.confidence)
    return found.map(math.exp) if found.n else None


def winner(found: Sequence[Candidate], now: Configuration) -> Configuration:
    """The fastest that may win; today's launch where none may."""
    return next((candidate.configuration for candidate in found if candidate.excluded is None), now)


def candidates(
    records: Sequence[Record], experiment: Experiment, racing: Statement | None = None
) -> tuple[Candidate, ...]:
    """Every configuration that was launched, fastest first, those that may not win last.

    Regrets are those of the race, which hold whenever it ends; without one the number of blocks was fixed beforehand.
    """
    times = table(records, experiment.response)
    if not times.configurations:
        return ()
    now = today(experiment)
    reasons = {c: _excluded(of(records, c), of(records, now), experiment) for c in times.configurations}
    eligible = [k for k, c in enumerate(times.configurations) if reasons[c] is None]
    regrets = racing.regrets if racing is not None else _regrets(times, eligible, experiment)
    rows = [
        _candidate(records, times, c, experiment, regrets.get(c, Regret(math.nan, None, 0)), reasons[c])
        for c in times.configurations
    ]
    return tuple(sorted(rows, key=lambda row: (row.excluded is not None, _rank(row, times, racing))))


def _regrets(times: Table, eligible: Sequence[int], experiment: Experiment) -> Mapping[Configuration, Regret]:
    if not eligible:
        return {}
    found = stats.within_of_best(np.log(times.values[:, eligible]), experiment.stop.confidence)
    return {times.configurations[k]: regret for k, regret in zip(eligible, found, strict=True)}


def _rank(row: Candidate, times: Table, racing: Statement | None) -> float:
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
) -> Candidate:
    launches, now, confidence = of(records, c), today(experiment), experiment.stop.confidence
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
    )


def _unknown() -> Interval:
    return Interval(math.nan, None, None, None, 0)


def _excluded(launches: Sequence[Record], now: Sequence[Record], experiment: Experiment) -> str | None:
    bad = next((record for record in launches if not record.ok), None)
    if bad is not None:
        return ending(bad)
    if any(math.isnan(response(record, experiment.response)) for record in launches):
        return f"gave no {experiment.response}"
    return next(filter(None, (violation(constraint, launches, now) for constraint in experiment.constraints)), None)
