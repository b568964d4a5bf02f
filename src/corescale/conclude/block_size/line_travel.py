# SPDX-License-Identifier: Apache-2.0
"""Our model: the block that balances the travel of the counter's cache line against the wait for the last block.

A loop of N iterations, each of time w, on T threads claims N / B blocks. A claim moves one cache line, which takes
`near` within an L3 domain and `far` more for each of the G domains beyond the first. The tail is half a block on
average. So, for each thread,

    time(B) = N w / T + (N / (T B)) (near + far (G - 1)) + B w / 2,   1 <= B <= N / T

and the best block is sqrt(2 N (near + far (G - 1)) / (T w)). Longer iterations vary more, because they wait for memory
that others use too. So the tail grows as w**spread; spread = 1 is the plain balance.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares, minimize

from corescale.conclude.block_size.columns import Case, Choose, Column
from corescale.conclude.stats import Floats

START = np.array([np.log(500.0), np.log(500.0), 1.0])
"""log near and log far in clocks, and spread; moving a line takes some hundred clocks"""
PLAUSIBLE = np.array([1.5, 1.5, 0.5])
"""the distance of each from START that costs PRICE; without such a prior, the few columns with several L3 domains
determine too little"""
PRICE = 0.002
"""the cost of that distance from START, in mean log time lost"""
USUAL = 1000.0
"""clocks of a usual iteration, whose time `spread` does not scale in the library's policy `trained`"""


@dataclass(frozen=True)
class Iteration:
    """Time of one iteration: base + read * bytes read + write * bytes written + operation * operations.

    Its unit is that of the tables. If the compiler removed the computation, an operation takes no time.
    """

    base: float
    read: float
    write: float
    operation: float = 0.0

    @property
    def typical(self) -> float:
        """The clocks of an iteration that reads and writes 1 KiB."""
        return self.base + 1024 * (self.read + self.write)

    def clocks(self, case: Case) -> float:
        """The time of an iteration of this case."""
        if case.iteration_ns:
            return case.iteration_ns
        operations = math.pow(1024, case.computation)
        return self.base + self.read * case.read + self.write * case.write + self.operation * operations


@dataclass(frozen=True)
class LineTravel:
    """Constants come only from these columns, so a held-out platform is predicted from the others."""

    computes: bool = False
    """whether operations take time; in the published tables the compiler had removed them"""
    unit: float = 1.0
    """clocks per unit of the columns' times: 1e9 for seconds, because a clock is taken as a nanosecond"""

    def fit(self, columns: Sequence[Column]) -> Choose:
        """The block that `block` finds by the fitted constants."""
        constants, iteration = self._constants(columns)
        return lambda case: block(constants, iteration, case)

    def weights(self, columns: Sequence[Column]) -> Mapping[str, float]:
        """The fitted constants that some column determines, as the library's policy `trained` reads them."""
        (near, far, spread), iteration = self._constants(columns)
        counts = (USUAL / iteration.typical) ** (1 - spread)
        found = {"trained_near": math.exp(near) * counts, "trained_spread": max(float(spread), 0.01)}
        several = any(column.case.groups > 1 for column in columns)
        return found | ({"trained_far": math.exp(far) * counts} if several else {})

    def _constants(self, columns: Sequence[Column]) -> tuple[Floats, Iteration]:
        """Fits the clocks of an iteration to the best times, and then near, far and spread to the time lost."""
        iteration = iteration_of(columns, self.unit, computes=self.computes)

        def lost(constants: Floats) -> float:
            belief = PRICE * float(np.sum(((constants - START) / PLAUSIBLE) ** 2))
            return float(np.mean([c.lost(block(constants, iteration, c.case)) for c in columns])) + belief

        near_and_far = (np.zeros(3), np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), np.array([1.0, 1.0, 0.5]))
        found = [minimize(lost, START + step, method="Nelder-Mead", tol=1e-6) for step in near_and_far]
        return np.asarray(min(found, key=lambda one: one.fun).x), iteration


def block(constants: Floats, iteration: Iteration, case: Case) -> float:
    """The best block of the model, from 1 to N / T."""
    near, far, spread = float(np.exp(constants[0])), float(np.exp(constants[1])), float(constants[2])
    claim = near + far * (case.groups - 1)
    tail = iteration.typical * (iteration.clocks(case) / iteration.typical) ** spread
    most = max(1.0, case.iterations / case.threads)
    return float(np.clip(np.sqrt(2 * case.iterations * claim / (case.threads * tail)), 1.0, most))


def iteration_of(columns: Sequence[Column], unit: float = 1.0, *, computes: bool = False) -> Iteration:
    """The time of an iteration. If every case has a measured one, it is the geometric mean of these. Otherwise it is a
    fit to log(T x best time / N), by a soft loss, because some tables are off by 30%."""
    cases = [column.case for column in columns]
    if all(case.iteration_ns for case in cases):
        return Iteration(float(np.exp(np.mean(np.log([case.iteration_ns for case in cases])))), 0, 0)
    seen = np.log([unit * c.case.threads * min(c.times) / c.case.iterations for c in columns])

    def residuals(logs: Floats) -> Floats:
        one = Iteration(*np.exp(logs))
        return np.log([one.clocks(case) for case in cases]) - seen

    start = [300.0, 0.5, 0.5, 0.3] if computes else [300.0, 0.5, 0.5]
    found = least_squares(residuals, np.log(start), loss="soft_l1")
    return Iteration(*np.exp(found.x))
