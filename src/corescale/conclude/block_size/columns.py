# SPDX-License-Identifier: Apache-2.0
"""A column of a table: one loop on some threads, timed at several block sizes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corescale.errors import UsageError

ITERATIONS = 4096
"""iterations of the published tables; the paper is silent, and their knees at large blocks fit this"""


@dataclass(frozen=True, slots=True)
class Case:
    """What a model may look at."""

    threads: int
    groups: int
    """L3 domains (cores that share an L3) that the threads span"""
    read: int
    """bytes an iteration reads"""
    write: int
    """bytes an iteration writes"""
    computation: float
    """p where an iteration computes 1024**p steps"""
    iterations: int = ITERATIONS


@dataclass(frozen=True)
class Column:
    """`times[i]` is the time of the whole loop at `blocks[i]`; blocks ascend."""

    platform: str
    case: Case
    blocks: tuple[int, ...]
    times: tuple[float, ...]

    @property
    def best(self) -> int:
        """The block of the shortest time."""
        return self.blocks[int(np.argmin(self.times))]

    def lost(self, block: float) -> float:
        """log(time at this block / best time), linear in log block between the tabled ones, which bound it."""
        logs = np.log(np.asarray(self.times) / min(self.times))
        return float(np.interp(math.log(max(block, 1.0)), np.log(self.blocks), logs))


def columns(rows: Iterable[Mapping[str, str]]) -> tuple[Column, ...]:
    """Rows as `data/faa/tables.csv` has them, one for each block. A suspect time gives way to its neighbours' mean.

    Raises UsageError, which names row and field, for a missing field, a value that is not a positive number, and a
    column with fewer than two blocks.
    """
    found: dict[tuple[str, Case], list[tuple[int, float, bool]]] = {}
    for number, row in enumerate(rows, start=2):
        key = row.get("platform") or "", _case(row, number)
        block, time = _positive(row, "block_size", number), _positive(row, "clocks", number)
        found.setdefault(key, []).append((int(block), time, bool(row.get("suspect"))))
    return tuple(_column(platform, case, sorted(cells)) for (platform, case), cells in found.items())


def _column(platform: str, case: Case, cells: Sequence[tuple[int, float, bool]]) -> Column:
    if len({block for block, _, _ in cells}) != len(cells) or len(cells) < 2:
        raise UsageError(
            f"{platform}, {case.threads} threads: needs two blocks or more, each once", where="block table"
        )
    times = [time for _, time, _ in cells]
    for k in range(1, len(cells) - 1):
        if cells[k][2]:
            times[k] = math.sqrt(cells[k - 1][1] * cells[k + 1][1])
    return Column(platform, case, tuple(block for block, _, _ in cells), tuple(times))


def _case(row: Mapping[str, str], number: int) -> Case:
    return Case(
        threads=int(_positive(row, "threads", number)),
        groups=int(_positive(row, "core_groups", number)),
        read=int(_positive(row, "unit_read", number)),
        write=int(_positive(row, "unit_write", number)),
        computation=_positive(row, "unit_comp_log1024", number),
    )


def _positive(row: Mapping[str, str], field: str, number: int) -> float:
    try:
        value = float(row[field])
    except (KeyError, TypeError, ValueError):
        raise UsageError(f"row {number} has no number in {field!r}", where="block table") from None
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"row {number}: {field} is {row[field]}, it must be above 0", where="block table")
    return value
