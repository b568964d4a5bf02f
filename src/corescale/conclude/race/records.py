# SPDX-License-Identifier: Apache-2.0
"""From records to the arrays of a race, and back to a statement that holds at any moment."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from corescale.conclude.answers import constraints
from corescale.conclude.race.lost import lost
from corescale.conclude.race.rehearsal import Rehearsal, rehearsed
from corescale.conclude.race.standing import Field, Standing, regrets, simplest, standing
from corescale.conclude.response import at_least, half_steps, step, table
from corescale.conclude.stats import Floats, Regret, excess
from corescale.declare.alike import heard, told_apart
from corescale.declare.experiment import Experiment
from corescale.declare.grid import one_at_a_time, plain, today
from corescale.records import Configuration, Record


@dataclass(frozen=True, slots=True)
class Raced:
    """The configurations in the race, and what was measured of them."""

    configurations: tuple[Configuration, ...]
    """without those that failed, broke a constraint, or did not give the response: they cannot win"""
    field: Field
    blocks: Floats
    """log responses, NaN where not launched; shape (blocks, configurations)"""


@dataclass(frozen=True, slots=True)
class Lead:
    """What the race believes of one configuration, to plan fresh blocks with."""

    gain: float
    """log(T_today / T), flattered for the best of many"""
    noise: float
    """variance of that ratio within a block"""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a race knows, whenever it is asked."""

    answer: Configuration
    bound: float | None
    """at `confidence` the answer's time is within this fraction of the best; None while that cannot be said"""
    confidence: float
    tried: int
    of: int
    """configurations launched at least once, and all of them"""
    regrets: dict[Configuration, Regret]
    not_told_apart: tuple[tuple[Configuration, float | None], ...] = ()
    """configurations that may be faster than the answer, and by what fraction of their time at most; None: unknown"""
    rehearsal: Rehearsal | None = None
    next_best: Configuration | None = None
    """the fastest beside the answer that is believed to be faster than today's launch by the tolerance"""
    leads: Mapping[Configuration, "Lead"] = field(default_factory=dict)
    """of every launched configuration over today's launch"""


def raced(records: Sequence[Record], experiment: Experiment) -> Raced:
    """The race by its measuring blocks; the field has today's launch first."""
    now, rehearsal = today(experiment), rehearsed(records, experiment)
    everyone = told_apart(experiment, heard(records)) if rehearsal is None else rehearsal.kept
    out = lost(records, experiment)
    chosen = tuple(c for c in everyone if c not in out) or (now,)
    times = table(records, experiment.response, value=at_least)
    blocks = np.full((len(times.blocks), len(chosen)), np.nan)
    measured = dict(zip(times.configurations, np.log(times.values).T, strict=True))
    for column, configuration in enumerate(chosen):
        if configuration in measured:
            blocks[:, column] = measured[configuration]
    columns, without = {c: column for column, c in enumerate(chosen)}, plain(experiment)
    entered = Field(
        codes=_codes(experiment, chosen),
        today=chosen.index(now) if now in chosen else 0,
        within=experiment.stop.within,
        confidence=experiment.stop.confidence,
        entered=len(everyone),
        alone=tuple(columns[c] for c in one_at_a_time(experiment) if c in columns),
        plain=tuple(columns.get(without[c], -1) for c in chosen),
        mixes=_mixes(chosen),
    )
    return Raced(chosen, entered, blocks[np.isfinite(blocks).any(axis=1)])


def statement(records: Sequence[Record], experiment: Experiment) -> Statement:
    """The answer if measuring ended now. Its bound holds whenever one asks, and for whatever reason."""
    race = raced(records, experiment)
    tried = int(np.isfinite(race.blocks).any(axis=0).sum())
    if tried == 0:
        return Statement(today(experiment), None, experiment.stop.confidence, 0, len(race.configurations), {})
    found = standing(race.field, race.blocks)
    off = half_steps(race.blocks, found.fit.variances, step(records, experiment.response))
    bounds = regrets(found, off)
    barred = constraints.broken(records, experiment)
    answer = simplest(race.field, found, {k for k, c in enumerate(race.configurations) if c in barred})
    lead = found.belief.mean - found.belief.mean[found.best]
    known = {
        c: Regret(max(0.0, math.expm1(lead[k])), excess(bounds[k]), int(found.fit.counts[k]))
        for k, c in enumerate(race.configurations)
        if found.fit.counts[k]
    }
    return Statement(
        race.configurations[answer],
        excess(bounds[answer]),
        experiment.stop.confidence,
        tried,
        len(race.configurations),
        known,
        _not_told_apart(race, found, answer, off),
        rehearsed(records, experiment),
        _next_best(race, found, answer, barred),
        {c: _lead(race, found, k) for k, c in enumerate(race.configurations) if found.fit.counts[k]},
    )


def _lead(race: Raced, found: Standing, c: int) -> Lead:
    mean, noise, now = found.belief.mean, found.noise, race.field.today
    return Lead(float(mean[now] - mean[c]), float(noise[now] + noise[c]))


def _next_best(race: Raced, found: Standing, answer: int, barred: Collection[Configuration]) -> Configuration | None:
    mean = found.belief.mean
    faster = (found.fit.counts > 0) & (mean < mean[race.field.today] - race.field.tolerance)
    order = [int(c) for c in np.argsort(mean, kind="stable") if faster[c] and c != answer]
    return next((race.configurations[c] for c in order if race.configurations[c] not in barred), None)


def _not_told_apart(
    race: Raced, found: Standing, answer: int, off: Floats
) -> tuple[tuple[Configuration, float | None], ...]:
    """Configurations by their bounds against the answer, the nearest first."""
    upper = found.bounds.of(answer) + off + off[answer]
    order = np.argsort(np.nan_to_num(found.belief.mean, nan=np.inf), kind="stable")
    return tuple((race.configurations[c], excess(upper[c])) for c in order if c != answer and upper[c] > 0)


def _mixes(chosen: Sequence[Configuration]) -> Floats | None:
    """None where threads or ranks are the same in all."""
    layouts = [(c.layout.threads_per_rank, c.layout.ranks_per_node * c.layout.nodes) for c in chosen]
    found = np.array(layouts, dtype=np.float64)
    return found if all(np.unique(column).size > 1 for column in found.T) else None


def _codes(experiment: Experiment, chosen: Sequence[Configuration]) -> "np.typing.NDArray[np.int64]":
    names = list(dict.fromkeys(name for configuration in chosen for name, _ in configuration.levels)) or [""]
    levels: dict[str, dict[object, int]] = {name: {} for name in names}
    rows = [[levels[n].setdefault(c.get(n), len(levels[n])) for n in names] for c in chosen]
    return np.array(rows, dtype=np.int64)
