# SPDX-License-Identifier: Apache-2.0
"""Rehearsal: blocks with a smaller input rank all configurations, and launches of some with the full input check the
ranking.

A shift is the change of a configuration's log time from the small to the full input. A configuration is left out if it
is behind by more than twice the range of the shifts in the check.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude.race.options import RaceOptions
from corescale.conclude.response import at_least, table
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline
from corescale.declare.plan import Block
from corescale.records import Configuration, Phase, Record

CHECKS = 2  # blocks with the full input; one block has no scatter
FEWEST = 3  # configurations to check; the range of fewer shifts says nothing about the others


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What the smaller input showed."""

    kept: tuple[Configuration, ...]
    """configurations to race"""
    of: int
    margin: float | None = None
    """log time behind the best, within which a configuration is kept; None if it could not be checked"""
    failure: Record | None = None
    """the baseline's failed launch with the smaller input, if it failed; then nothing can be compared"""


def rehearsed(
    records: Sequence[Record],
    experiment: Experiment,
    everyone: tuple[Configuration, ...],
    options: RaceOptions,
) -> Block | Rehearsal | None:
    """The next block of the rehearsal of `everyone` or of its check, or the result of both. None if no rehearsal was
    asked for, or there is nothing to rank."""
    if not experiment.tuning.rehearsal or len(everyone) < 2:
        return None
    now = baseline(experiment)
    small = [record for record in records if record.phase == "rehearse"]
    if failure := next((record for record in small if record.configuration == now and not record.ok), None):
        return Rehearsal(everyone, len(everyone), failure=failure)
    if len({record.block for record in small}) < options.rehearsals:
        return Block("rehearse", everyone)
    behind = _logs(small, experiment, "rehearse")
    order = sorted(behind, key=lambda c: behind[c])
    places = sorted({round(place) for place in np.linspace(0, len(order) - 1, options.checked)}) if order else []
    checked = tuple(dict.fromkeys([now, *(order[place] for place in places)]))
    blocks = sorted({record.block for record in records if record.phase == "measure"})[:CHECKS]
    if len(blocks) < CHECKS:
        return Block("measure", checked)
    full = _logs([record for record in records if record.block in blocks], experiment, "measure")
    both = [c for c in checked if c in behind and c in full]
    if now not in both or len(both) < FEWEST:
        return Rehearsal(everyone, len(everyone))
    margin = 2 * float(np.ptp([full[c] - behind[c] for c in both]))
    kept = tuple(c for c in everyone if c in both or c not in behind or behind[c] <= min(behind.values()) + margin)
    return Rehearsal(kept, len(everyone), margin)


def _logs(records: Sequence[Record], experiment: Experiment, phase: Phase) -> Mapping[Configuration, float]:
    """Mean log response within blocks of each configuration that never failed. A capped launch counts with its cap."""
    times = table(records, experiment.response, phase, at_least)
    logs = np.log(times.values)
    logs = logs[np.isfinite(logs).any(axis=1)]  # a block in which every launch failed has no mean
    if not logs.size:
        return {}
    means = (logs - np.nanmean(logs, axis=1, keepdims=True)).mean(axis=0)
    return {c: float(mean) for c, mean in zip(times.configurations, means, strict=True) if math.isfinite(mean)}
