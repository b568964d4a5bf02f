# SPDX-License-Identifier: Apache-2.0
"""The score of a model: time lost against the best block of the same column, as a ratio less 1."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from corescale.conclude.block_size.columns import Case, Column

Choose = Callable[[Case], float]
"""The block for a case, 1 or more"""


class BlockModel(Protocol):
    """A form with numbers in it that columns determine."""

    def fit(self, columns: Sequence[Column]) -> Choose:
        """Fit the form to these columns and return what it chooses."""


@dataclass(frozen=True, slots=True)
class Score:
    """Over columns, each as time / best time - 1."""

    mean: float
    """geometric"""
    worst: float
    lost: tuple[float, ...]
    """loss of each column, in their order"""

    def of(self, chosen: Sequence[bool]) -> "Score":
        """The score over some of the columns."""
        return score([np.log1p(one) for one, kept in zip(self.lost, chosen, strict=True) if kept])


def score(logs: Sequence[float]) -> Score:
    """Score by the columns' log(time / best time)."""
    return Score(float(np.expm1(np.mean(logs))), float(np.expm1(max(logs))), tuple(np.expm1(logs).tolist()))


def replicates(column: Column) -> object:
    """What columns share that differ in computation alone: compilers fold the published inner loop away."""
    case = column.case
    return column.platform, case.threads, case.groups, case.read, case.write


HOLD_OUT: Mapping[str, Callable[[Column], object] | None] = {
    "in-sample": None,
    "column held out": replicates,
    "platform held out": lambda column: column.platform,
}
"""What is left out of the fit before a column is scored: all columns with the same key."""


def scored(model: BlockModel, columns: Sequence[Column], key: Callable[[Column], object] | None = None) -> Score:
    """The model fitted to all columns, or, for each key, to the columns with another key."""
    if key is None:
        choose = model.fit(columns)
        return score([column.lost(choose(column.case)) for column in columns])
    lost: dict[int, float] = {}
    for left_out in dict.fromkeys(key(column) for column in columns):
        choose = model.fit([column for column in columns if key(column) != left_out])
        lost |= {id(c): c.lost(choose(c.case)) for c in columns if key(c) == left_out}
    return score([lost[id(column)] for column in columns])


def floor(columns: Sequence[Column]) -> Score:
    """What an oracle loses that takes a column's block from its replicates: below this the tables are noise.

    The oracle minimises the mean log time lost over the other replicates of the column, on the tabled blocks. Columns
    without a replicate are left out.
    """
    logs = []
    for column in columns:
        others = [one for one in columns if one is not column and replicates(one) == replicates(column)]
        if others:
            best = min(column.blocks, key=lambda block: sum(one.lost(block) for one in others))
            logs.append(column.lost(best))
    return score(logs)
