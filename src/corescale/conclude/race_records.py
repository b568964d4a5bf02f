# SPDX-License-Identifier: Apache-2.0
"""From records to the arrays of a race, and back to a statement that holds at any moment."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude import constraints
from corescale.conclude.response import response, table
from corescale.conclude.standing import Field, Standing, regrets, standing
from corescale.conclude.stats import Floats, Regret
from corescale.declare.study import Experiment, configurations, today
from corescale.records import Configuration, Record


@dataclass(frozen=True, slots=True)
class Raced:
    """Who is in the race, and what was measured of them."""

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


def raced(records: Sequence[Record], experiment: Experiment) -> Raced:
    """Of the measuring blocks; the field is today's launch first."""
    everyone, now = configurations(experiment), today(experiment)
    lost = _lost(records, experiment)
    chosen = tuple(c for c in everyone if c not in lost) or (now,)
    times = table(records, experiment.response, value=_at_least)
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
    answer = _simplest(race, found, bounds)
    lead = found.belief.mean - found.belief.mean[found.best]
    known = {
        c: Regret(max(0.0, math.expm1(lead[k])), _share(bounds[k]), int(found.fit.counts[k]))
        for k, c in enumerate(race.configurations)
        if found.fit.counts[k]
    }
    return Statement(
        race.configurations[answer],
        _share(bounds[answer]),
        experiment.stop.confidence,
        tried,
        len(race.configurations),
        known,
    )


def _simplest(race: Raced, found: Standing, bounds: Floats) -> int:
    """Of those proved to be within the tolerance the one with the fewest changes from today's; else the favourite."""
    proved = np.flatnonzero(bounds <= race.field.tolerance)
    if not proved.size:
        return found.favourite
    changes = (race.field.codes != race.field.codes[race.field.today]).sum(axis=1)
    return int(min(proved, key=lambda c: (changes[c], found.belief.mean[c])))


def _share(bound: float) -> float | None:
    return math.expm1(max(bound, 0.0)) if math.isfinite(bound) else None


STRIKES = 2
"""launches killed because they had lost, after which a configuration has"""


def _at_least(record: Record, name: str) -> float:
    """A capped launch counts with the time until it was killed, so its configuration seems better than it is."""
    return record.wall if record.status == "capped" else response(record, name)


def _lost(records: Sequence[Record], experiment: Experiment) -> set[Configuration]:
    timed = [record for record in records if record.phase == "measure"]
    silent = {r.configuration for r in timed if not _at_least(r, experiment.response) > 0}
    capped = Counter(r.configuration for r in timed if r.status == "capped")
    return (
        silent | {c for c, count in capped.items() if count >= STRIKES} | set(constraints.violated(timed, experiment))
    )


def _codes(experiment: Experiment, chosen: Sequence[Configuration]) -> "np.typing.NDArray[np.int64]":
    names = list(dict.fromkeys(name for configuration in chosen for name, _ in configuration.levels)) or [""]
    levels: dict[str, dict[object, int]] = {name: {} for name in names}
    rows = [[levels[n].setdefault(c.get(n), len(levels[n])) for n in names] for c in chosen]
    return np.array(rows, dtype=np.int64)
