# SPDX-License-Identifier: Apache-2.0
"""Rehearsing on a smaller input: what it may leave out of the race, and what must agree before it may.

Three blocks of everything on the smaller input rank the configurations. Some of them, spread over that ranking, are
then launched twice in full. Only if these come in the same order is the rehearsal trusted, and then what was far behind
in it is not raced. The margin follows from how far the ratios to today's launch moved with the size of the input.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude.race.options import OPTIONS
from corescale.conclude.response import at_least, table
from corescale.conclude.stats import Floats
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations, today
from corescale.declare.plan import Block
from corescale.endings import ending
from corescale.records import Configuration, Phase, Record

Logs = Mapping[Configuration, float]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What the smaller input told."""

    trusted: bool
    kept: tuple[Configuration, ...]
    """configurations to race"""
    of: int
    says: str
    """one line"""


def next_block(records: Sequence[Record], experiment: Experiment) -> Block | None:
    """The next block of the rehearsal or its check; None where there is none, or both were made."""
    if not experiment.rehearsal:
        return None
    if _failed(records, experiment) is not None:
        return None
    if _blocks(records, "rehearse") < OPTIONS.rehearsals:
        return Block("rehearse", configurations(experiment))
    if _blocks(records, "measure") < OPTIONS.checks:
        return Block("measure", checked(_logs(records, experiment, "rehearse"), today(experiment)))
    return None


def rehearsed(records: Sequence[Record], experiment: Experiment) -> Rehearsal | None:
    """What the rehearsal told; None while there is none, or it is not checked yet."""
    everyone, now = configurations(experiment), today(experiment)
    if (failure := _failed(records, experiment)) is not None:
        said = f"rehearsal: today's launch {ending(failure)} in it, so it is not trusted; all {len(everyone)} are raced"
        return Rehearsal(False, everyone, len(everyone), said)
    if not experiment.rehearsal or _blocks(records, "measure") < OPTIONS.checks:
        return None
    small = _logs(records, experiment, "rehearse")
    sample = checked(small, now)
    first = {record.block for record in records if record.phase == "measure"}
    of_check = [r for r in records if r.phase == "measure" and r.block in sorted(first)[: OPTIONS.checks]]
    full = _logs(of_check, experiment, "measure")
    both = [c for c in sample if c in small and c in full]
    if now not in both or len(both) < OPTIONS.fewest_checked:
        return Rehearsal(
            False, everyone, len(everyone), "rehearsal: too few launches succeeded to check it; all are raced"
        )
    agree, pairs = _agreement(both, small, full, OPTIONS.told_apart * math.log1p(experiment.stop.within))
    if agree < OPTIONS.agreeing * pairs:
        said = f"rehearsal: only {agree} of {pairs} pairs come in the same order in full launches, so it is not trusted"
        return Rehearsal(False, everyone, len(everyone), f"{said}; all {len(everyone)} are raced")
    moved = max(abs((small[c] - small[now]) - (full[c] - full[now])) for c in both)
    margin = max(OPTIONS.margin, OPTIONS.moved * moved)
    best = min(small.values())
    kept = tuple(c for c in everyone if c in both or c not in small or small[c] <= best + margin)
    said = f"rehearsal: {agree} of {pairs} pairs come in the same order in full launches"
    if len(kept) == len(everyone):
        return Rehearsal(True, kept, len(everyone), f"{said}, but none was far enough behind in it; all are raced")
    said += f", so the {len(kept)} of"
    said += f" {len(everyone)} that it had within {math.expm1(margin):.0%} of its best, or that were checked, are raced"
    return Rehearsal(True, kept, len(everyone), said)


def _failed(records: Sequence[Record], experiment: Experiment) -> Record | None:
    """Today's launch where it fails on the smaller input: nothing can be compared with it there."""
    now = today(experiment)
    return next((r for r in records if r.phase == "rehearse" and r.configuration == now and not r.ok), None)


def checked(small: Logs, now: Configuration) -> tuple[Configuration, ...]:
    """Today's launch, and others spread over the ranking, its first and last among them."""
    order = sorted(small, key=lambda c: small[c])
    places = sorted({round(place) for place in np.linspace(0, len(order) - 1, OPTIONS.checked)}) if order else []
    return tuple(dict.fromkeys([now, *(order[place] for place in places)]))


def _agreement(both: Sequence[Configuration], small: Logs, full: Logs, told_apart: float) -> tuple[int, int]:
    pairs = [(a, b) for a, b in itertools.combinations(both, 2) if abs(small[a] - small[b]) > told_apart]
    return sum((small[a] - small[b]) * (full[a] - full[b]) > 0 for a, b in pairs), len(pairs)


def _logs(records: Sequence[Record], experiment: Experiment, phase: Phase) -> dict[Configuration, float]:
    """Mean log response within blocks, of those that never failed; a launch that was capped counts with its cap."""
    times = table(records, experiment.response, phase, at_least)
    logs: Floats = np.log(times.values)
    launched = np.isfinite(logs).any(axis=1)  # a block in which every launch failed has no mean
    logs = logs[launched]
    centred = logs - np.nanmean(logs, axis=1, keepdims=True) if logs.size else logs
    means = centred.mean(axis=0) if logs.size else np.array([])
    return {c: float(mean) for c, mean in zip(times.configurations, means, strict=True) if math.isfinite(mean)}


def _blocks(records: Sequence[Record], phase: Phase) -> int:
    return len({record.block for record in records if record.phase == phase})
