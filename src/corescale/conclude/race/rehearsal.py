# SPDX-License-Identifier: Apache-2.0
"""A smaller input: blocks of everything rank the configurations, full launches of some check that ranking.

What is far behind in it is not raced: by more than twice the range of the shifts from small to full that the check saw.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude.race.options import RaceOptions
from corescale.conclude.response import at_least, table
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.declare.plan import Block
from corescale.endings import ending
from corescale.records import Configuration, Phase, Record

CHECKS = 2  # blocks in full: one has no scatter
FEWEST = 3  # configurations checked: the range of fewer shifts says nothing of the others
Logs = Mapping[Configuration, float]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What the smaller input showed."""

    kept: tuple[Configuration, ...]
    """configurations to race"""
    of: int
    margin: float | None
    """log time behind its best within which they were, or they were checked; None where it could not be checked"""
    failure: Record | None = None
    """of the baseline in it: nothing can be compared with it there"""

    @property
    def says(self) -> str:
        """One line."""
        if self.failure is not None:
            return f"rehearsal: the baseline {ending(self.failure)} in it, so all {self.of} are raced"
        if self.margin is None:
            return "rehearsal: too few launches succeeded to check it; all are raced"
        left = "all" if len(self.kept) == self.of else f"the {len(self.kept)} of {self.of}"
        return f"rehearsal: {left} within {math.expm1(self.margin):.0%} of its best, or checked, are raced"


def next_block(records: Sequence[Record], experiment: Experiment, options: RaceOptions) -> Block | None:
    """The next block of the rehearsal or its check; None where there is none, or both were made."""
    if not experiment.tuning.rehearsal or _failed(records, experiment) is not None:
        return None
    if _blocks(records, "rehearse") < options.rehearsals:
        return Block("rehearse", configurations(experiment))
    if _blocks(records, "measure") < CHECKS:
        return Block("measure", _checked(_logs(records, experiment, "rehearse"), baseline(experiment), options))
    return None


def rehearsed(records: Sequence[Record], experiment: Experiment, options: RaceOptions) -> Rehearsal | None:
    """What the rehearsal showed; None while there is none, or it is not checked yet."""
    if not experiment.tuning.rehearsal:
        return None
    everyone, failure = configurations(experiment), _failed(records, experiment)
    if failure is None and _blocks(records, "measure") < CHECKS:
        return None
    small, now = _logs(records, experiment, "rehearse"), baseline(experiment)
    first = sorted({record.block for record in records if record.phase == "measure"})[:CHECKS]
    full = _logs([record for record in records if record.block in first], experiment, "measure")
    both = [c for c in _checked(small, now, options) if c in small and c in full]
    if failure is not None or now not in both or len(both) < FEWEST:
        return Rehearsal(everyone, len(everyone), None, failure)
    margin = 2 * float(np.ptp([full[c] - small[c] for c in both]))
    kept = tuple(c for c in everyone if c in both or c not in small or small[c] <= min(small.values()) + margin)
    return Rehearsal(kept, len(everyone), margin)


def _failed(records: Sequence[Record], experiment: Experiment) -> Record | None:
    """The baseline where it fails on the smaller input: nothing can be compared with it there."""
    now = baseline(experiment)
    return next((r for r in records if r.phase == "rehearse" and r.configuration == now and not r.ok), None)


def _checked(small: Logs, now: Configuration, options: RaceOptions) -> tuple[Configuration, ...]:
    """The baseline, and others spread over the ranking, its first and last among them."""
    order = sorted(small, key=lambda c: small[c])
    places = sorted({round(place) for place in np.linspace(0, len(order) - 1, options.checked)}) if order else []
    return tuple(dict.fromkeys([now, *(order[place] for place in places)]))


def _logs(records: Sequence[Record], experiment: Experiment, phase: Phase) -> dict[Configuration, float]:
    """Mean log response within blocks, of those that never failed; a launch that was capped counts with its cap."""
    times = table(records, experiment.response, phase, at_least)
    logs = np.log(times.values)
    logs = logs[np.isfinite(logs).any(axis=1)]  # a block in which every launch failed has no mean
    if not logs.size:
        return {}
    means = (logs - np.nanmean(logs, axis=1, keepdims=True)).mean(axis=0)
    return {c: float(mean) for c, mean in zip(times.configurations, means, strict=True) if math.isfinite(mean)}


def _blocks(records: Sequence[Record], phase: Phase) -> int:
    return len({record.block for record in records if record.phase == phase})
