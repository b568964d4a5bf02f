# SPDX-License-Identifier: Apache-2.0
"""A column of a table: one loop on some threads, timed at several block sizes; the time that a model's choice loses."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

ITERATIONS = 4096
"""iterations of the published tables, inferred from the knees at large blocks, because the paper does not give it"""


@dataclass(frozen=True, slots=True)
class Case:
    """The inputs of a model."""

    threads: int
    groups: int
    """L3 domains (cores that share an L3) that the threads span"""
    read: int
    """bytes an iteration reads"""
    write: int
    """bytes an iteration writes"""
    computation: float
    """the exponent p; an iteration computes 1024**p steps"""
    iterations: int = ITERATIONS
    iteration_ns: float = 0
    """measured nanoseconds of one iteration; 0: to be computed from what it reads, writes and computes"""


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
        """log(time at this block / best time), interpolated linearly in log block; the ends count beyond them."""
        logs = np.log(np.asarray(self.times) / min(self.times))
        return float(np.interp(math.log(max(block, 1.0)), np.log(self.blocks), logs))


Choose = Callable[[Case], float]
"""The block for a case, 1 or more"""


class BlockModel(Protocol):
    """A formula with constants that columns determine."""

    def fit(self, columns: Sequence[Column]) -> Choose:
        """Fit the form to these columns and return what it chooses."""


@dataclass(frozen=True, slots=True)
class Score:
    """The loss over columns, where a column's loss is time / best time - 1."""

    mean: float
    """geometric mean"""
    worst: float
    lost: tuple[float, ...]
    """loss of each column, in their order"""


def score(logs: Sequence[float]) -> Score:
    """Score by the columns' log(time / best time)."""
    return Score(float(np.expm1(np.mean(logs))), float(np.expm1(max(logs))), tuple(np.expm1(logs).tolist()))


def scored(model: BlockModel, columns: Sequence[Column], key: Callable[[Column], object] | None = None) -> Score:
    """The score of the model when fitted to all columns; with `key`, when fitted to the columns with other keys."""
    if key is None:
        choose = model.fit(columns)
        return score([column.lost(choose(column.case)) for column in columns])
    lost: dict[int, float] = {}
    for left_out in dict.fromkeys(key(column) for column in columns):
        choose = model.fit([column for column in columns if key(column) != left_out])
        lost |= {id(c): c.lost(choose(c.case)) for c in columns if key(c) == left_out}
    return score([lost[id(column)] for column in columns])
