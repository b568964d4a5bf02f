# SPDX-License-Identifier: Apache-2.0
"""Weak scaling: the work grows with the threads, so that ideally the time stays the same.

The declared work per thread must be constant. If the program reports its work (region.h), the reported work per thread
must be constant, too. At each p, the fit T = a + b work over the loads gives the overhead that does not grow with the
work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude.models import Fit, fit
from corescale.conclude.models.model import FLAT
from corescale.conclude.response import Table, median, of, table
from corescale.declare.experiment import Experiment, Weak
from corescale.declare.grid import configurations
from corescale.declare.work import uneven, work_of
from corescale.records import Configuration, Level, Record


@dataclass(frozen=True, slots=True)
class Line:
    """T = a + b work over the loads, at one p and one level of every other factor."""

    p: int
    levels: tuple[tuple[str, Level], ...]
    """levels of the other factors"""
    loads: int
    fit: Fit

    @property
    def label(self) -> str:
        """`p=2 allocator=mimalloc`."""
        return " ".join([f"p={self.p}", *(f"{name}={level}" for name, level in self.levels)])


@dataclass(frozen=True, slots=True)
class WeakScaling:
    """What may be claimed about weak scaling."""

    refusal: str
    """why this is not weak scaling; empty if it is"""
    lines: tuple[Line, ...]


def weak(records: Sequence[Record], experiment: Experiment, declared: Weak) -> WeakScaling:
    """Weak scaling in the measured records; lines in order of p, then of the other factors' levels."""
    times = table(records, experiment.response)
    chosen = [c for c in configurations(experiment) if c in times.places and not experiment.is_serial(c)]
    chosen.sort(key=lambda c: c.layout.p)
    works = {c: work_of(experiment, c) for c in chosen}
    reported = {c: median([r.work for r in of(records, c) if r.ok and r.work]) for c in chosen}
    groups: dict[tuple[object, ...], list[Configuration]] = {}
    for c in chosen:
        groups.setdefault((experiment.beside_p(c, declared.load, declared.work), c.layout.p), []).append(c)
    return WeakScaling(
        uneven(experiment, works) or uneven(experiment, reported, "the program reports"),
        tuple(_line(times, group, works, declared, experiment) for group in groups.values()),
    )


def _line(
    times: Table, group: Sequence[Configuration], works: Mapping[Configuration, float], declared: Weak, e: Experiment
) -> Line:
    order = sorted(group, key=lambda c: works[c])
    with np.errstate(invalid="ignore"):
        logs = np.log(np.column_stack([times.column(c) for c in order]))
    found = fit(FLAT, [works[c] for c in order], logs, e.stop.confidence)
    return Line(group[0].layout.p, e.beside_p(group[0], declared.load, declared.work), len(group), found)
