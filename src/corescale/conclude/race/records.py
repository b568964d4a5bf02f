# SPDX-License-Identifier: Apache-2.0
"""From records to the arrays of a race, and back to a statement that holds at any moment."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude.answers import constraints
from corescale.conclude.race import elimination
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.rehearsal import Rehearsal, rehearsed
from corescale.conclude.race.standing import Field, Standing, regrets, simplest, standing
from corescale.conclude.response import at_least, table
from corescale.conclude.stats import Floats, Regret, excess
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations, today
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


def raced(records: Sequence[Record], experiment: Experiment) -> Raced:
    """The race by its measuring blocks; the field has today's launch first."""
    now, rehearsal = today(experiment), rehearsed(records, experiment)
    everyone = configurations(experiment) if rehearsal is None else rehearsal.kept
    lost = _lost(records, experiment)
    chosen = tuple(c for c in everyone if c not in lost) or (now,)
    times = table(records, experiment.response, value=at_least)
    blocks = np.full((len(times.blocks), len(chosen)), np.nan)
    for column, configuration in enumerate(chosen):
        if configuration in times.configurations:
            blocks[:, column] = np.log(times.column(configuration))
    field = Field(
        codes=_codes(experiment, chosen),
        today=chosen.index(now) if now in chosen else 0,
        within=experiment.stop.within,
        confidence=experiment.stop.confidence,
    )
    return Raced(chosen, field, blocks[np.isfinite(blocks).any(axis=1)])


def statement(records: Sequence[Record], experiment: Experiment) -> Statement:
    """The answer if measuring ended now. Its bound holds whenever one asks, and for whatever reason."""
    race = raced(records, experiment)
    tried = int(np.isfinite(race.blocks).any(axis=0).sum())
    if tried == 0:
        return Statement(today(experiment), None, experiment.stop.confidence, 0, len(race.configurations), {})
    found = standing(race.field, race.blocks)
    bounds = regrets(race.field, found)
    answer = simplest(race.field, found)
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
        _not_told_apart(race, found, answer),
        rehearsed(records, experiment),
    )


def _not_told_apart(race: Raced, found: Standing, answer: int) -> tuple[tuple[Configuration, float | None], ...]:
    """Configurations by their bounds against the answer, the nearest first."""
    upper = elimination.upper_bounds(found.rows, found.fit, answer, race.field.tail)
    order = np.argsort(np.nan_to_num(found.belief.mean, nan=np.inf), kind="stable")
    return tuple((race.configurations[c], excess(upper[c])) for c in order if c != answer and upper[c] > 0)


def _lost(records: Sequence[Record], experiment: Experiment) -> set[Configuration]:
    timed = [record for record in records if record.phase == "measure"]
    silent = {r.configuration for r in timed if not at_least(r, experiment.response) > 0}
    capped = Counter(r.configuration for r in timed if r.status == "capped")
    struck = {c for c, count in capped.items() if count >= OPTIONS.strikes}
    return silent | struck | set(constraints.violated(timed, experiment))


def _codes(experiment: Experiment, chosen: Sequence[Configuration]) -> "np.typing.NDArray[np.int64]":
    names = list(dict.fromkeys(name for configuration in chosen for name, _ in configuration.levels)) or [""]
    levels: dict[str, dict[object, int]] = {name: {} for name in names}
    rows = [[levels[n].setdefault(c.get(n), len(levels[n])) for n in names] for c in chosen]
    return np.array(rows, dtype=np.int64)
