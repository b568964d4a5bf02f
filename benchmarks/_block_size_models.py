# SPDX-License-Identifier: Apache-2.0
"""Block-size models beside each other on the published tables: the tables as columns, and the published form trained.

A model is fitted to columns (one case timed at several blocks) and then chooses a block for any case. `HOLD_OUT` is how
they are scored: in-sample, with one set of replicates held out, and with one platform held out.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import least_squares, minimize

from corescale.conclude.block_size.columns import BlockModel, Case, Choose, Column, Score, score
from corescale.conclude.block_size.line_travel import LineTravel
from corescale.conclude.block_size.loop_time import LoopTime
from corescale.conclude.block_size.published import WEIGHTS, Constant, Cost, Published, block, chosen, inputs, raw
from corescale.conclude.stats import Floats
from corescale.errors import UsageError

OUTLIER = 8.0
"""iterations: labels are powers of two that contradict each other by more"""
STARTS = 24
"""starts of a fit: the weights as printed, and others around them; several starts then find the best ends"""


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


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled example of the paper's training set."""

    inputs: tuple[float, float, float, float, float]
    label: float
    inferred: float
    """what the paper prints as its formula's answer"""


def examples(rows: Iterable[Mapping[str, str]]) -> tuple[Example, ...]:
    """The examples that are printed with an inferred block, of `data/faa/training_examples.csv`."""
    try:
        return tuple(
            Example(
                (float(row["G"]), float(row["T"]), float(row["R"]), float(row["W"]), float(row["C"])),
                float(row["B"]),
                float(row["inferred_B"]),
            )
            for row in rows
            if row["list"] == "inferred_example"
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"a row lacks a number: {error}", where="training examples") from None


@dataclass(frozen=True)
class Trained:
    """The form trained again by the `time` lost, or the best block's error, `squared` (the paper) or `robust`."""

    loss: Literal["squared", "robust", "time"]

    def fit(self, columns: Sequence[Column]) -> Choose:
        """Weights by several starts; the result is the same at each call."""
        scaled = np.array([inputs(column.case) for column in columns])
        labels = np.array([float(column.best) for column in columns])
        weights = train(scaled, labels, robust=self.loss == "robust")
        if self.loss == "time":
            weights = _least_lost(weights, columns)
        return lambda case: chosen(weights, case)


def train(scaled: Floats, labels: Floats, *, robust: bool = False) -> Floats:
    """Weights of least squared error: scaled[n, 5], labels[n] -> [7]. Deterministic; some seconds.

    `robust`: an error of more than OUTLIER counts by its size and not by its square (soft L1).
    """
    loss: Literal["soft_l1", "linear"] = "soft_l1" if robust else "linear"

    def residuals(weights: Floats) -> Floats:
        return np.asarray(np.nan_to_num(raw(weights, scaled), posinf=1e6, neginf=-1e6) - labels)

    found = [
        least_squares(residuals, start, x_scale=np.abs(WEIGHTS), max_nfev=400, loss=loss, f_scale=OUTLIER)
        for start in _starts()
    ]
    return np.asarray(min(found, key=lambda one: one.cost).x)


def _starts() -> list[Floats]:
    rng = np.random.default_rng(1)
    around = [WEIGHTS * rng.normal(1, 0.2, WEIGHTS.size) for _ in range(STARTS - 1)]
    return [WEIGHTS, *around]


def _least_lost(start: Floats, columns: Sequence[Column]) -> Floats:
    """A fit by the simplex: the loss has kinks where a block meets a tabled one, and steps where it is clamped."""

    def lost(weights: Floats) -> float:
        return float(np.mean([column.lost(block(weights, column.case)) for column in columns]))

    ends = [
        minimize(lost, one, method="Nelder-Mead", options={"maxiter": 1500, "adaptive": True})
        for one in (start, WEIGHTS)
    ]
    return np.asarray(min(ends, key=lambda one: one.fun).x)


MODELS: Mapping[str, BlockModel] = {
    "published": Published(),
    "published form, squared loss": Trained("squared"),
    "published form, robust loss": Trained("robust"),
    "published form, time lost": Trained("time"),
    "line travel": LineTravel(),
    "loop time": LoopTime(),
    "N / B L + O(N) / T": Cost(),
    "constant 16": Constant(16),
    "constant 32": Constant(32),
}


def replicates(column: Column) -> object:
    """What columns share that differ only in computation: compilers fold the published inner loop away."""
    case = column.case
    return column.platform, case.threads, case.groups, case.read, case.write


HOLD_OUT: Mapping[str, Callable[[Column], object] | None] = {
    "in-sample": None,
    "column held out": replicates,
    "platform held out": lambda column: column.platform,
}
"""What is left out of the fit before a column is scored: all columns with the same key."""


def over(found: Score, chosen: Sequence[bool]) -> Score:
    """The score over some of the columns."""
    return score([np.log1p(one) for one, kept in zip(found.lost, chosen, strict=True) if kept])


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
