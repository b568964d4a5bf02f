# SPDX-License-Identifier: Apache-2.0
"""The published form: B = (a G + d0) / (b0 T + b1 R + b2 W + b3 C + d1), over scaled inputs (Shuai 2021).

Inputs are 100 x L3 domains, threads, log2 of the bytes read and written, and p where the computation is 1024**p;
each below 1 counts as 1. The weights share a free scale. The paper prints the quotient truncated. It is negative on
part of any grid, past a pole near which blocks grow without bound: such a choice is clamped to a thread's share, as
the library's policy has it (runtime/src/parallel_for/policies.cpp).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import least_squares, minimize

from corescale.conclude.block_size.columns import Case, Column
from corescale.conclude.block_size.regret import Choose
from corescale.conclude.stats import Floats
from corescale.errors import UsageError

WEIGHTS = np.array([-61.84, 1558.31, -10.48, -33.71, -34.50, -26.84, 693.13])
"""a, d0, b0, b1, b2, b3, d1 as printed"""

OUTLIER = 8.0
"""iterations: labels are powers of two that contradict each other by more"""
STARTS = 24
"""starts of a fit: the weights as printed, and others around them; several starts then find the best ends"""


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


def inputs(case: Case) -> tuple[float, float, float, float, float]:
    """The scaled inputs of a case."""
    read, write = (max(1.0, math.log2(max(size, 1))) for size in (case.read, case.write))
    return 100.0 * case.groups, float(case.threads), read, write, max(1.0, case.computation)


def raw(weights: Floats, scaled: Floats) -> Floats:
    """The quotient as it is, negative or infinite where it is so: scaled[n, 5] -> [n]."""
    with np.errstate(divide="ignore"):
        return np.asarray((weights[0] * scaled[:, 0] + weights[1]) / (scaled[:, 1:] @ weights[2:6] + weights[6]))


def block(weights: Floats, case: Case) -> float:
    """The quotient, from 1 to a thread's share."""
    found, share = float(raw(weights, np.array([inputs(case)]))[0]), math.ceil(case.iterations / case.threads)
    if 1 <= found <= share:
        return found
    return 1.0 if 0 <= found < 1 else float(share)


def chosen(weights: Floats, case: Case) -> float:
    """The choice: whole iterations, truncated."""
    return float(math.floor(block(weights, case)))


@dataclass(frozen=True)
class Published:
    """The model with the weights as printed; nothing is fitted."""

    def fit(self, columns: Sequence[Column]) -> Choose:
        """The printed formula."""
        return lambda case: chosen(WEIGHTS, case)


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


@dataclass(frozen=True)
class Constant:
    """Nothing is fitted."""

    block: int

    def fit(self, columns: Sequence[Column]) -> Choose:
        """Always `block`."""
        return self._choose

    def _choose(self, case: Case) -> float:
        return float(self.block)
