# SPDX-License-Identifier: Apache-2.0
"""The published form: B = (a G + d0) / (b0 T + b1 R + b2 W + b3 C + d1), over scaled inputs (Shuai 2021).

Inputs are 100 x L3 domains, threads, log2 of the bytes read and written, and p of a computation of 1024**p steps;
each below 1 counts as 1. Scaling all weights changes nothing. The paper prints the truncated quotient. The quotient has
a pole, near which blocks grow without bound and beyond which they are negative. Such a choice is clamped to a thread's
share, as in the library's policy (runtime/src/parallel_for/policies.cpp).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude.block_size.columns import Case, Choose, Column
from corescale.conclude.stats import Floats

WEIGHTS = np.array([-61.84, 1558.31, -10.48, -33.71, -34.50, -26.84, 693.13])
"""a, d0, b0, b1, b2, b3, d1 as printed"""


def inputs(case: Case) -> tuple[float, float, float, float, float]:
    """The scaled inputs of a case."""
    read, write = (max(1.0, math.log2(max(size, 1))) for size in (case.read, case.write))
    return 100.0 * case.groups, float(case.threads), read, write, max(1.0, case.computation)


def raw(weights: Floats, scaled: Floats) -> Floats:
    """The quotient without any bound: it may be negative or infinite. scaled[n, 5] -> [n]."""
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
class Cost:
    """Cost(T, N, L) = N / B L + O(N) / T: for any L it is least at the largest block, which is a thread's share."""

    def fit(self, columns: Sequence[Column]) -> Choose:
        """The largest possible block, whatever L and O(N) are."""
        return lambda case: float(math.ceil(case.iterations / case.threads))


@dataclass(frozen=True)
class Constant:
    """Nothing is fitted."""

    block: int

    def fit(self, columns: Sequence[Column]) -> Choose:
        """Always `block`."""
        return lambda case: float(self.block)
