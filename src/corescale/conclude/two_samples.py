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


@functools.lru_cache(maxsize=512)
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


FEWEST = 4
"""least number of commits on either side of a change point"""
LEVEL = 0.05
"""error that is divided among all cuts; as they overlap, 1 to 2 of 100 series that never change show a change point"""


def change_points(values: Sequence[float]) -> tuple[int, ...]:
    """The positions of the first value after each change. `values`: positive numbers, one for each commit in order."""
    return tuple(sorted(_split(np.asarray(values, dtype=np.float64), 0)))


@functools.cache
def commits_for_a_change() -> int:
    """The fewest commits in which a change in the middle can be shown."""
    return next(n for n in itertools.count(2 * FEWEST) if 2 / math.comb(n, n // 2) <= LEVEL / 2 / _places(0, n))


def _split(values: Floats, first: int) -> list[int]:
    """Half of the error is for cuts of the whole series; half for cuts of parts, without which a change that is
    reversed later may be hidden by what follows."""
    for windows in ([(0, values.size)], list(_parts(values.size))):
        if (at := _clearest(values, windows, LEVEL / 2)) is not None:
            return [*_split(values[:at], first), first + at, *_split(values[at:], first + at)]
    return []


def _parts(size: int) -> Iterator[tuple[int, int]]:
    """Shorter and shorter windows, each length by a factor of 2 ** (1 / 4), which overlap by about a half: the seeded
    intervals of Kovacs, Li, Buehlmann and Munk (2023)."""
    for k in itertools.count(1):
        length = math.ceil(size / 2 ** (k / 4))
        if length < 2 * FEWEST:
            return
        for start in np.linspace(0, size - length, 2 * math.ceil(2 ** (k / 4)) - 1):
            yield round(start), round(start) + length


def _places(start: int, end: int) -> int:
    return max(end - start - 2 * FEWEST + 1, 0)


def _clearest(values: Floats, windows: Sequence[tuple[int, int]], level: float) -> int | None:
    """The place at which a window is cut, of those whose rank sums show a difference at this level for all cuts: that
    with the largest difference of the mean logarithms, divided by its standard error."""
    allowed = level / max(sum(_places(*window) for window in windows), 1)
    found: dict[int, float] = {}
    for start, end in windows:
        logs = np.log(values[start:end])
        ranks, sums = np.cumsum(scipy.stats.rankdata(logs)), np.cumsum(logs - logs.mean())
        for m in range(FEWEST, end - start - FEWEST + 1):
            n = end - start - m
            off = abs(float(ranks[m - 1]) - m * (m + n + 1) / 2)
            if 2 * _chance(m * n / 2 - off, m, n) <= allowed:
                clear = abs(float(sums[m - 1])) * math.sqrt((m + n) / (m * n))
                found[start + m] = max(clear, found.get(start + m, 0.0))
    return max(found, key=lambda at: found[at]) if found else None


def _chance(rank_sum: float, m: int, n: int) -> float:
    """P(U <= rank_sum) of m and n values."""
    chances = _rank_sums(m, n)
    return float(chances[min(math.ceil(rank_sum), chances.size - 1)])
