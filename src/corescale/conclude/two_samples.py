# SPDX-License-Identifier: Apache-2.0
"""Statistics of two unpaired samples: the ratio of two machines' times, and change points over a project's commits."""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import scipy

from corescale.conclude.stats import Floats, Interval, finite, positive


def unpaired_ratio(times_a: npt.ArrayLike, times_b: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """T_a / T_b of two independent samples: the shift of log time with its rank-sum interval (Mann & Whitney 1947).

    Exact for continuous times that differ only by a factor. Estimate and ends are those of Hodges & Lehmann (1963).
    """
    a, b = (finite(np.log(positive(each))) for each in (times_a, times_b))
    shifts = np.sort(np.subtract.outer(a, b).ravel())
    if not shifts.size:
        return Interval(math.nan, None, None, None, 0)
    n, chances = min(a.size, b.size), _rank_sums(a.size, b.size)
    tail = int(np.searchsorted(chances, (1 - confidence) / 2 * (1 + 1e-12), side="right")) - 1
    estimate = math.exp(float(np.median(shifts)))
    if tail < 0:
        return Interval(estimate, None, None, None, n)
    low, high = math.exp(shifts[tail]), math.exp(shifts[-1 - tail])
    return Interval(estimate, low, high, 1 - 2 * float(chances[tail]), n)


@functools.lru_cache(maxsize=64)
def _rank_sums(m: int, n: int) -> Floats:
    """P(U <= 0), P(U <= 1), ... of the rank sum U of m and n values; normal beyond MOST_RANK_SUMS."""
    if m * n > MOST_RANK_SUMS:
        counts = np.arange(m * n // 2)
        deviation = math.sqrt(m * n * (m + n + 1) / 12)
        return np.asarray(scipy.special.ndtr((counts + 0.5 - m * n / 2) / deviation), dtype=np.float64)
    chances: Floats = np.zeros(m * n + 1)
    chances[0] = 1.0
    for k in range(1, m + 1):  # Gaussian binomials: times (1 - x^(n + k)) / (1 - x^k); k / (n + k) keeps the sum at 1
        if n + k <= m * n:
            chances[n + k :] -= chances[: -(n + k)].copy()
        for start in range(k):
            chances[start::k] = np.cumsum(chances[start::k])
        chances *= k / (n + k)
    return np.cumsum(chances)


MOST_RANK_SUMS = 1600
"""largest product of two sample sizes for which the exact null distribution of the rank sum is computed"""


FEWEST = 3
"""least number of commits on either side of a change point"""
LEVEL = 0.05
"""error that is divided among all cuts; as they overlap, 1 to 2 of 100 series that never change show a change point"""


def change_points(values: Sequence[float]) -> tuple[int, ...]:
    """The positions of the first value after each change. `values`: positive numbers, one for each commit in order."""
    return tuple(sorted(_split(np.log(np.asarray(values, dtype=np.float64)), 0)))


def _split(logs: Floats, first: int) -> list[int]:
    """Half of the error is for cuts of the whole series; half for cuts of parts, without which a change that is
    reversed later may be hidden by what follows."""
    for windows in ([(0, logs.size)], list(_parts(logs.size))):
        if (at := _clearest(logs, windows, LEVEL / 2)) is not None:
            return [*_split(logs[:at], first), first + at, *_split(logs[at:], first + at)]
    return []


def _parts(size: int) -> Iterator[tuple[int, int]]:
    """Shorter and shorter windows, each length by a factor of 2 ** (1 / 4), which overlap by about three quarters: the
    seeded intervals of Kovacs, Li, Buehlmann and Munk (2023)."""
    for k in itertools.count(1):
        length = math.ceil(size / 2 ** (k / 4))
        if length < 2 * FEWEST:
            return
        for start in np.linspace(0, size - length, 4 * math.ceil(2 ** (k / 4)) - 1):
            yield round(start), round(start) + length


def _clearest(logs: Floats, windows: Sequence[tuple[int, int]], level: float) -> int | None:
    """The place at which a window is cut, of those whose means differ at this level for all cuts: that with the largest
    difference, divided by its standard error.

    A t-test, since a rank test of a step of few commits cannot be as sure as so many cuts ask for. Its variance is the
    larger of two: that of the window, on either side of the cut, and half of the mean squared step from value to value
    of the series, without the step at the cut. So few values that are close by chance do not look certain.
    """
    places = sum(max(end - start - 2 * FEWEST + 1, 0) for start, end in windows)
    steps = np.square(np.diff(logs)) / 2
    clear: dict[int, float] = {}
    for start, end in windows:
        size = end - start
        m = np.arange(FEWEST, size - FEWEST + 1)
        if not m.size:
            continue
        part = logs[start:end] - logs[start]  # so that equal values have no difference, not even by rounding
        sums = np.cumsum(part)
        difference = sums[m - 1] / m - (sums[-1] - sums[m - 1]) / (size - m)
        between = np.square(difference) * m * (size - m) / size
        within = np.maximum(np.square(part).sum() - sums[-1] ** 2 / size - between, 0) / (size - 2)
        from_step_to_step = (steps.sum() - steps[start + m - 1]) / (steps.size - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.sqrt(between / np.maximum(within, from_step_to_step))
        for k in np.flatnonzero(2 * scipy.special.stdtr(size - 2, -ratios) <= level / places):
            at = start + int(m[k])
            clear[at] = max(float(between[k]), clear.get(at, 0.0))
    return max(clear, key=lambda at: clear[at]) if clear else None
