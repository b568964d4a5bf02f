# SPDX-License-Identifier: Apache-2.0
"""The statistics of a race, on arrays of log times: blocks x configurations, NaN where not launched.

Only a comparison with the truly best configuration can make "within x of the best" false (Hsu 1981). So k - 1
comparisons share the error, and the planned looks at each. Between looks a bound uses the blocks of the last look.
"""

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from corescale.conclude.race.options import RaceOptions
from corescale.conclude.stats import Floats, tail_count, walsh_bounds
from corescale.declare.stop import MOST_BLOCKS

Columns = npt.NDArray[np.intp]
Codes = npt.NDArray[np.int64]
FIRST_LOOK = 2  # one block has no variance


@functools.cache
def looks(first: int, growth: float) -> tuple[int, ...]:
    """The numbers of blocks at which one looks."""
    growing = itertools.accumulate(itertools.repeat(growth), lambda n, g: math.ceil(n * g), initial=first)
    return tuple(itertools.takewhile(lambda n: n <= max(first, MOST_BLOCKS), growing))


@functools.cache
def _last_looks(growth: float) -> Columns:
    """By the number of common blocks: the last look that they have passed."""
    counts = np.zeros(MOST_BLOCKS + 1, dtype=np.intp)
    for look in looks(FIRST_LOOK, growth):
        counts[look:] = look
    return counts


@dataclass(frozen=True, slots=True)
class Fit:
    """The additive model log time = block + configuration. Shapes (configurations,)."""

    launches: Columns
    squares: Floats
    """of the residuals"""
    freedom: Floats
    """degrees of freedom; together those of the fit"""

    @property
    def noise(self) -> float:
        """Variance of one launch by all residuals; 0 where there are none."""
        return float(self.squares.sum() / self.freedom.sum()) if self.freedom.sum() > 0 else 0.0

    @property
    def variances(self) -> Floats:
        """Of one launch of each; 0 where they are not known."""
        return np.divide(self.squares, self.freedom, out=np.zeros(self.freedom.size), where=self.freedom > 0)

    def others(self, c: int, most: float) -> tuple[Floats, Floats]:
        """For c and each configuration: degrees of freedom that the others lend, and their variance of a ratio."""
        freedom = np.maximum(self.freedom.sum() - self.freedom[c] - self.freedom, 0.0)
        squares = np.maximum(self.squares.sum() - self.squares[c] - self.squares, 0.0)
        known = freedom > 1e-9
        variance = np.divide(2 * squares, freedom, out=np.zeros(freedom.size), where=known)
        return np.where(known, np.minimum(most, freedom), 0.0), variance


def fit(rows: Floats) -> tuple[Fit, Floats, Floats]:
    """The fit, and its normal equations without the blocks: matrix and right-hand side of the configurations."""
    present = np.isfinite(rows)
    filled, size = np.where(present, rows, 0.0), np.maximum(present.sum(axis=1), 1)
    centred = np.where(present, filled - (filled.sum(axis=1) / size)[:, None], 0.0)
    launches = present.sum(axis=0)
    weights = present / np.sqrt(size)[:, None]
    matrix = np.diag(launches.astype(np.float64)) - weights.T @ weights
    right = centred.sum(axis=0)
    tried = np.flatnonzero(launches)
    effects = np.zeros(rows.shape[1])
    effects[tried] = np.linalg.lstsq(matrix[np.ix_(tried, tried)], right[tried], rcond=None)[0]
    residuals = np.where(present, filled - effects, 0.0)
    residuals = np.where(present, residuals - (residuals.sum(axis=1) / size)[:, None], 0.0)
    count, used = int(launches.sum()), int((present.sum(axis=1) > 0).sum()) + tried.size - 1
    freedom = launches * (max(0, count - used) / max(count, 1))
    return Fit(launches, (residuals**2).sum(axis=0), freedom), matrix, right


def believe(codes: Codes, matrix: Floats, right: Floats, options: RaceOptions) -> Floats:
    """Log times of all configurations up to a constant, by a ridge over levels and configurations.

    It shares what launches show among configurations with equal levels. It only orders; no claim rests upon it.
    """
    told = np.flatnonzero(matrix.any(axis=1))  # all else has no weight: thousands of levels cost what few launches do
    same = (codes[:, None, :] == codes[None, told, :]).sum(axis=-1)
    prior = same / options.level + np.eye(len(codes))[:, told] / options.own
    weighed = np.eye(told.size) + matrix[np.ix_(told, told)] @ prior[told]
    return np.asarray(prior @ np.linalg.solve(weighed, right[told]))


class Bounds:
    """Upper bounds of log(T_c / T_j). Bounds by signed ranks are kept: the blocks of a look never change."""

    def __init__(self, options: RaceOptions) -> None:
        self._options = options
        self._ranks: dict[tuple[int, int, int, float], float] = {}

    def of(self, rows: Floats, fitted: Fit, c: int, tail: float) -> Floats:
        """For c and each j, each wrong with probability `tail`; inf below two common blocks."""
        differences = rows[:, [c]] - rows
        common = np.isfinite(differences)
        order = common.cumsum(axis=0)
        n = _last_looks(self._options.growth)[np.minimum(order[-1], MOST_BLOCKS)]
        seen = common & (order <= n)
        count = np.maximum(n, FIRST_LOOK)
        mean = np.where(seen, differences, 0.0).sum(axis=0) / count
        squares = np.where(seen, (differences - mean) ** 2, 0.0).sum(axis=0)
        lent, variance = fitted.others(c, self._options.lent)
        freedom = lent + count - 1
        reach = scipy.special.stdtrit(freedom, 1 - tail) * np.sqrt((lent * variance + squares) / freedom / count)
        found = np.where(n >= FIRST_LOOK, mean + reach, np.inf)
        for j in np.flatnonzero(n >= self._options.ranked):
            if j != c:
                found[j] = self._by_ranks(differences[seen[:, j], j], c, int(j), tail)
        found[c] = 0.0
        return np.asarray(found)

    def _by_ranks(self, differences: Floats, c: int, j: int, tail: float) -> float:
        key = (c, j, differences.size, tail)
        if key not in self._ranks:
            self._ranks[key] = float(walsh_bounds(differences, tail_count(differences.size, tail))[2])
        return self._ranks[key]
