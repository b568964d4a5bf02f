# SPDX-License-Identifier: Apache-2.0
"""The statistics of a race, on arrays of log times: blocks x configurations, NaN where not launched.

"Within x of the best" is false only if the comparison with the truly best configuration fails (Hsu 1981). So the error
is divided among k - 1 comparisons, and in each of them among its planned looks. Between looks a bound uses the blocks
of the last look.
"""

import functools
import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from corescale.conclude.race.options import RaceOptions
from corescale.conclude.stats import Floats, tail_count, walsh_bounds
from corescale.declare.stop import MOST_BLOCKS, growing

Columns = npt.NDArray[np.intp]
Codes = npt.NDArray[np.int64]
FIRST_LOOK = 2  # one block has no variance


@functools.cache
def looks(first: int, growth: float) -> tuple[int, ...]:
    """The numbers of blocks at the planned looks."""
    return tuple(itertools.takewhile(lambda n: n <= max(first, MOST_BLOCKS), growing(first, growth)))


@dataclass(frozen=True, slots=True)
class Fit:
    """The additive model log time = block + configuration. Shapes (configurations,)."""

    launches: Columns
    squares: Floats
    """sums of squares of the residuals"""
    freedom: Floats
    """degrees of freedom of each configuration; they add up to the fit's"""
    tried: Columns
    """the configurations that were launched; the fields below have only these, so thousands of others cost nothing"""
    matrix: Floats
    right: Floats
    """normal equations without the blocks, and their right-hand side. Shapes (tried, tried) and (tried,)"""

    @property
    def noise(self) -> float:
        """Variance of one launch by all residuals; 0 if there are none."""
        return float(self.squares.sum() / self.freedom.sum()) if self.freedom.sum() > 0 else 0.0

    @property
    def variances(self) -> Floats:
        """Variance of one launch of each configuration; 0 if it is not known."""
        return np.divide(self.squares, self.freedom, out=np.zeros(self.freedom.size), where=self.freedom > 0)


def fit(rows: Floats) -> Fit:
    """The fit to rows of log times."""
    launches = np.isfinite(rows).sum(axis=0)
    tried = np.flatnonzero(launches)
    rows, squares = rows[:, tried], np.zeros(launches.size)
    present = np.isfinite(rows)
    filled, size = np.where(present, rows, 0.0), np.maximum(present.sum(axis=1), 1)
    centred = np.where(present, filled - (filled.sum(axis=1) / size)[:, None], 0.0)
    weights = present / np.sqrt(size)[:, None]
    matrix = np.diag(launches[tried].astype(np.float64)) - weights.T @ weights
    right = centred.sum(axis=0)
    effects = np.linalg.lstsq(matrix, right, rcond=None)[0]
    residuals = np.where(present, filled - effects, 0.0)
    residuals = np.where(present, residuals - (residuals.sum(axis=1) / size)[:, None], 0.0)
    squares[tried] = (residuals**2).sum(axis=0)
    count, used = int(launches.sum()), int((present.sum(axis=1) > 0).sum()) + tried.size - 1
    freedom = launches * (max(0, count - used) / max(count, 1))
    return Fit(launches, squares, freedom, tried, matrix, right)


def believe(codes: Codes, fitted: Fit, options: RaceOptions) -> Floats:
    """Log times of all configurations up to a constant, by a ridge over levels and configurations.

    Configurations with equal levels share what their launches show. The result is only used to order configurations; no
    claim rests on it.
    """
    counted = np.flatnonzero(fitted.matrix.any(axis=1))  # all others have no weight
    columns = fitted.tried[counted]
    prior = (codes[:, None, :] == codes[None, columns, :]).sum(axis=-1) / options.level
    prior[columns, np.arange(columns.size)] += 1 / options.interaction
    weighed = np.eye(counted.size) + fitted.matrix[np.ix_(counted, counted)] @ prior[columns]
    return np.asarray(prior @ np.linalg.solve(weighed, fitted.right[counted]))


def trend(mixes: Floats, log_times: Floats) -> Floats | None:
    """Log time of every mix of t threads and m ranks, predicted from those launched. `mixes`: shape (k, 2).
    `log_times`: NaN for mixes not launched.

    p T = c (1 + a1 (t - 1) + a2 (m - 1) + a3 (p - 1)), the overhead of conclude/models/overhead_factors.py, with c as
    another unknown. It is also used only to order. None if the launched mixes do not determine it.
    """
    tried, (threads, ranks) = np.isfinite(log_times), mixes.T
    p, ones = threads * ranks, np.ones_like(threads)
    every = np.stack([ones, threads - 1, ranks - 1, p - 1], axis=-1)
    for design in (every, every[:, :3]):
        if np.linalg.matrix_rank(design[tried] / design[tried].max(axis=0, initial=1.0)) == design.shape[1]:
            work = p[tried] * np.exp(log_times[tried])
            total = design @ scipy.optimize.nnls(design[tried] / work[:, None], ones[tried])[0]  # relative errors
            return np.log(total / p) if (total > 0).all() else None
    return None


def upper(rows: Floats, fitted: Fit, c: int, tail: float, options: RaceOptions) -> Floats:
    """Bounds of log(T_c / T_j) for c and each j, each wrong with probability `tail`; inf below two common blocks."""
    tried, found = fitted.tried, np.full(rows.shape[1], np.inf)
    differences = rows[:, [c]] - rows[:, tried]
    common, planned = np.isfinite(differences), (0, *looks(FIRST_LOOK, options.growth))
    n = np.array(planned)[np.searchsorted(planned, common.sum(axis=0), side="right") - 1]
    seen, count = common & (common.cumsum(axis=0) <= n), np.maximum(n, FIRST_LOOK)
    mean = np.where(seen, differences, 0.0).sum(axis=0) / count
    squares = np.where(seen, (differences - mean) ** 2, 0.0).sum(axis=0)
    # The degrees of freedom that other configurations lend to the pair of c and each j.
    others, residuals = (np.maximum(x.sum() - x[c] - x[tried], 0.0) for x in (fitted.freedom, fitted.squares))
    lent = np.where(others > 1e-9, np.minimum(options.lent, others), 0.0)
    variance = np.divide(2 * residuals, others, out=np.zeros(others.size), where=others > 1e-9)
    freedom = lent + count - 1
    reach = scipy.special.stdtrit(freedom, 1 - tail) * np.sqrt((lent * variance + squares) / freedom / count)
    found[tried] = np.where(n >= FIRST_LOOK, mean + reach, np.inf)
    for j in np.flatnonzero(n >= options.ranked):
        found[tried[j]] = _by_ranks(differences[seen[:, j], j].tobytes(), tail)
    found[c] = 0.0
    return found


@functools.lru_cache(maxsize=4096)
def _by_ranks(differences: bytes, tail: float) -> float:
    """The bound by signed ranks. It is cached, because the blocks of a look never change."""
    values = np.frombuffer(differences)
    return float(walsh_bounds(values, tail_count(values.size, tail))[2])
