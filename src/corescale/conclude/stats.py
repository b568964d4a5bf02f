# SPDX-License-Identifier: Apache-2.0
"""Intervals for paired launches: exact signed-rank intervals, and monotone functions of them.

The unit is the launch; a block launches every configuration once in random order. If the machine's noise hits both
configurations of a pair equally, the order drawn for the block makes the sign of (log-ratio - truth) a fair coin,
whatever the noise looks like: skewed, two modes, correlated over launches, in bursts. The signed-rank interval needs
only that, so it is then exact. docs/measuring.md has the measured coverage, also for noise that hits the two
differently.

Logarithms are natural, times in seconds. NaN marks a launch that failed or was not made; its pairs are left out.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy  # it loads its parts on first use, so a command line that is refused loads none

Floats = npt.NDArray[np.float64]

EXACT_UP_TO = 200
"""Most pairs with the exact null distribution; beyond, the normal one with continuity correction errs by < 1e-4."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its interval. `low` and `high` are both None if n allows no interval; displays must say so."""

    estimate: float
    low: float | None
    high: float | None
    confidence: float | None
    """the confidence attained; ranks are discrete, so it may exceed the one asked for (8 blocks: 96.1% for 95%)"""
    n: int
    """number of blocks (or launches) that it is computed from"""

    @property
    def half_width(self) -> float | None:
        """Half of high - low. If the interval is of log-ratios, this is about the relative half width of the ratio."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def covers(self, value: float) -> bool:
        """Whether the interval does not rule out the value; without an interval, no value is ruled out."""
        return self.low is None or self.high is None or self.low <= value <= self.high

    def map(self, monotone: Callable[[float], float]) -> "Interval":
        """The interval of a monotone function of the same unknown. A decreasing function swaps the ends."""
        estimate = monotone(self.estimate)
        if self.low is None or self.high is None:
            return Interval(estimate, None, None, None, self.n)
        low, high = sorted((monotone(self.low), monotone(self.high)))
        return Interval(estimate, low, high, self.confidence, self.n)


Decision = Literal["faster", "slower", "no difference shown", "too few blocks"]


def decide(ratio: Interval) -> Decision:
    """The decision about `other` from an interval of T_other / T_reference."""
    if ratio.low is None or ratio.high is None:
        return "too few blocks"
    if ratio.high < 1:
        return "faster"
    return "slower" if ratio.low > 1 else "no difference shown"


def hodges_lehmann(log_ratios: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Pseudomedian of the log-ratios of n blocks with its signed-rank interval (Hodges & Lehmann 1963)."""
    values = finite(log_ratios)
    tail = tail_count(values.size, (1 - confidence) / 2)
    estimate, low, high = walsh_bounds(values, tail)
    if tail < 0:
        return Interval(float(estimate), None, None, None, values.size)
    attained = 1 - 2 * float(_null_distribution(values.size)[tail])
    return Interval(float(estimate), float(low), float(high), attained, values.size)


def fewest_blocks(confidence: float) -> int:
    """The fewest blocks whose signed-rank interval reaches the confidence: 6 for 95%, 8 for 99%."""
    return 1 + math.ceil(-math.log2(1 - confidence) - 1e-9)


def ratio_interval(times_a: npt.ArrayLike, times_b: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """T_a / T_b of two configurations, times in block order: above 1 if a is the slower one."""
    return hodges_lehmann(np.log(positive(times_a)) - np.log(positive(times_b)), confidence).map(math.exp)


def ratio_of_means(a: npt.ArrayLike, b: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean a / mean b of pairs, with the t interval of its logarithm by the delta method.

    Slow launches count with their full time. If they are rarer than one in n, the sample may contain none.
    """
    first, second = positive(a), positive(b)
    both = np.isfinite(first) & np.isfinite(second)
    first, second, n = first[both], second[both], int(both.sum())
    if not n:
        return Interval(math.nan, None, None, None, 0)
    ratio = float(first.mean() / second.mean())
    if (quantile := t_quantile(n, confidence)) is None:
        return Interval(ratio, None, None, None, n)
    reach = quantile * float((first / first.mean() - second / second.mean()).std(ddof=1)) / math.sqrt(n)
    return Interval(ratio, ratio * math.exp(-reach), ratio * math.exp(reach), confidence, n)


def t_quantile(n: int, confidence: float) -> float | None:
    """The half width of an interval of the mean of n pairs, in standard errors; None if they allow none."""
    return None if n < fewest_blocks(confidence) else float(scipy.special.stdtrit(n - 1, (1 + confidence) / 2))


def mean_interval(samples: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean of independent samples with its t interval, for samples that need not be symmetric, as ranks suppose."""
    values = finite(samples)
    n, mean = values.size, float(values.mean()) if values.size else math.nan
    if (width := t_quantile(n, confidence)) is None:
        return Interval(mean, None, None, None, n)
    half = width * float(values.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, confidence, n)


def share(part: int, whole: int, confidence: float = 0.95) -> Interval:
    """The share `part` of `whole` that were drawn independently, `whole` above 0 (Wilson 1927)."""
    z = float(scipy.special.ndtri((1 + confidence) / 2))
    middle = (part + z * z / 2) / (whole + z * z)
    reach = z * math.sqrt(part * (whole - part) / whole + z * z / 4) / (whole + z * z)
    low, high = (middle - reach if part else 0.0), (middle + reach if part < whole else 1.0)
    return Interval(part / whole, low, high, confidence, whole)


def speedup(log_ratio: Interval) -> Interval:
    """T(p_ref) / T(p) from the interval of its logarithm."""
    return log_ratio.map(math.exp)


def efficiency(log_ratio: Interval, p_ref: int, p: int) -> Interval:
    """e = p_ref T(p_ref) / (p T(p)) from the interval of log(T(p_ref) / T(p))."""
    return log_ratio.map(lambda r: p_ref / p * math.exp(r))


def overhead(log_ratio: Interval, p_ref: int, p: int) -> Interval:
    """f = 1/e - 1 (Qiu et al. 2010) from the interval of log(T(p_ref) / T(p)); linear in T(p)."""
    return log_ratio.map(lambda r: p / p_ref * math.exp(-r) - 1)


def median_interval(times: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Median of one configuration's times between two order statistics; exact only for independent launches."""
    values = np.sort(finite(times))
    rank = median_rank(values.size, confidence)
    estimate = float(np.median(values)) if values.size else math.nan
    if rank == 0:
        return Interval(estimate, None, None, None, values.size)
    attained = 1 - 2 * float(scipy.special.bdtr(rank - 1, values.size, 0.5))
    return Interval(estimate, float(values[rank - 1]), float(values[-rank]), attained, values.size)


def median_rank(n: int, confidence: float) -> int:
    """The order statistic, from either end, that bounds the median of n times; 0 if none does."""
    return int(np.searchsorted(scipy.special.bdtr(np.arange(n // 2), n, 0.5), (1 - confidence) / 2, side="right"))


def typical_times(times: npt.ArrayLike) -> Floats:
    """Robust location of each column of blocks x configurations: exp of the pseudomedian of log time, or NaN."""
    columns = np.log(positive(times)).T
    return np.array([math.exp(hodges_lehmann(column).estimate) for column in np.atleast_2d(columns)])


def signed_rank_p(log_ratios: npt.ArrayLike) -> float:
    """Two-sided p-value of "the pseudomedian is 0" (Wilcoxon 1945): exact given the mid-ranks, zeros left out.

    NaN if there is no ratio.
    """
    found = finite(log_ratios)
    if found.size == 0:
        return math.nan
    values = found[found != 0]
    if values.size == 0:
        return 1.0
    doubled = np.rint(2 * rankdata(np.abs(values))).astype(np.int64)
    smaller = int(min(doubled[values > 0].sum(), doubled[values < 0].sum()))
    if values.size > EXACT_UP_TO:
        mean, deviation = doubled.sum() / 2, math.sqrt(float(np.square(doubled).sum()) / 4)
        return float(min(1.0, 2 * scipy.special.ndtr((smaller + 1 - mean) / deviation)))
    return float(min(1.0, 2 * np.cumsum(_rank_sum_distribution(tuple(np.sort(doubled).tolist())))[smaller]))


def rankdata(values: npt.ArrayLike) -> Floats:
    """Ranks from 1, ties by mid-ranks."""
    array = np.asarray(values, dtype=np.float64)
    _, inverse, counts = np.unique(array, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse], dtype=np.float64)


def bonferroni(confidence: float, statements: int) -> float:
    """The confidence of each of `statements` that makes all of them true together with `confidence`."""
    return 1 - (1 - confidence) / max(statements, 1)


@dataclass(frozen=True, slots=True)
class Regret:
    """The amount by which a configuration may be slower than the best one, as a fraction of the best time."""

    estimate: float
    """T / T(best) - 1, at least 0"""
    bound: float | None
    """the true regret is at most this, for all configurations together; None if n allows no bound or none ran"""
    n: int
    """least number of blocks of any comparison that it is computed from"""


def excess(log_bound: float) -> float | None:
    """The share by which the bound of a ratio exceeds 1, from its logarithm; None above 1000, which says nothing."""
    return math.expm1(max(log_bound, 0.0)) if log_bound <= math.log(1000) else None


def walsh_bounds(samples: Floats, count: int) -> tuple[Floats, Floats, Floats]:
    """Median and (count+1)-th smallest and largest of the Walsh averages (x_i + x_j) / 2, i <= j, of samples[..., n].

    O(n^2) memory and time per sample; NaN ends for count < 0, all NaN for n = 0.
    """
    n = samples.shape[-1]
    if n == 0:
        nothing = np.full(samples.shape[:-1], np.nan)
        return nothing, nothing, nothing
    first, second = np.triu_indices(n)
    averages = (samples[..., first] + samples[..., second]) / 2
    last = averages.shape[-1] - 1
    middle = (last // 2, (last + 1) // 2)
    averages.partition(sorted({*middle, max(count, 0), last - max(count, 0)}), axis=-1)
    estimate = (averages[..., middle[0]] + averages[..., middle[1]]) / 2
    if count < 0:
        return estimate, np.full_like(estimate, np.nan), np.full_like(estimate, np.nan)
    return estimate, averages[..., count], averages[..., last - count]


@functools.cache
def tail_count(n: int, tail: float) -> int:
    """Largest c with P(W <= c) <= tail for the signed-rank sum W of n pairs; -1 if P(W = 0) = 2^-n exceeds it."""
    return int(np.searchsorted(_null_distribution(n), tail * (1 + 1e-12), side="right")) - 1


@functools.lru_cache(maxsize=256)
def _null_distribution(n: int) -> Floats:
    """P(W <= 0), P(W <= 1), ... up to the mean at least."""
    if n <= EXACT_UP_TO:
        return np.cumsum(_rank_sum_distribution(tuple(range(1, n + 1))))
    mean, deviation = n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return np.asarray(scipy.special.ndtr((np.arange(int(mean)) + 0.5 - mean) / deviation), dtype=np.float64)


@functools.lru_cache(maxsize=256)
def _rank_sum_distribution(ranks: tuple[int, ...]) -> Floats:
    """Probabilities of 0, 1, ... for the sum of ranks, each of which is included with probability 1/2."""
    distribution: Floats = np.zeros(sum(ranks) + 1)
    distribution[0] = 1.0
    for rank in ranks:
        distribution[rank:] = (distribution[rank:] + distribution[: distribution.size - rank]) / 2
        distribution[:rank] /= 2
    return distribution


def finite(values: npt.ArrayLike) -> Floats:
    """The finite values, in their order."""
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[np.isfinite(array)]


def positive(values: npt.ArrayLike) -> Floats:
    """Times as an array, in which values that are not positive and finite are NaN."""
    array = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(array) & (array > 0), array, np.nan)
