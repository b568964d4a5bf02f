# SPDX-License-Identifier: Apache-2.0
"""Statistics of two unpaired samples: the ratio of two machines' times, and change points over a project's commits."""

import functools
import math
from collections.abc import Sequence

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


FEWEST = 4
"""least number of commits on either side of a change point; with fewer, no p-value can be as small as LEVEL"""
LEVEL = 0.01
"""error for a whole series: of 100 histories that never change, one shows a change point"""


def change_points(values: Sequence[float]) -> tuple[int, ...]:
    """The positions of the first value after each change. `values`: positive numbers, one for each commit in order."""
    return tuple(sorted(_split(np.asarray(values, dtype=np.float64), 0)))


def _split(values: np.ndarray[tuple[int], np.dtype[np.float64]], first: int) -> list[int]:
    places = range(FEWEST, values.size - FEWEST + 1)
    if not places:
        return []
    confidence = 1 - LEVEL / len(places)
    found = {k: unpaired_ratio(values[k:], values[:k], confidence) for k in places}
    shown = {k: abs(math.log(one.estimate)) for k, one in found.items() if one.low is not None and not one.covers(1.0)}
    if not shown:
        return []
    # The place with the clearest difference: the shift, divided by the standard error of a difference of two such
    # means.
    at = max(shown, key=lambda k: shown[k] * math.sqrt(k * (values.size - k)))
    return [*_split(values[:at], first), first + at, *_split(values[at:], first + at)]
