# SPDX-License-Identifier: Apache-2.0
"""The guarantee of a race: simultaneous upper bounds of log(T_c / T_j), valid whenever one looks.

Launches come in blocks; what is compared are log times within a block. Only comparisons with the truly best
configuration can make a statement of the form "c is within x of the best" false (Hsu 1981), so the error is shared by
k - 1 comparisons, and by the planned looks at each. Between looks a bound is that of the last look. That makes it valid
at any moment, also one chosen for what was seen, such as Ctrl-C or the end of a race.

The variance of each configuration is its own, moderated by that of all (Smyth 2004), with a prior of bounded worth
(RaceOptions.prior).
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, polygamma, stdtrit

from corescale.conclude.race.options import OPTIONS
from corescale.conclude.stats import Floats

Columns = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Fit:
    """The additive fit of log time = block + configuration. Shapes (configurations,)."""

    effects: Floats
    """NaN where never launched"""
    counts: npt.NDArray[np.intp]
    variances: Floats
    """of one launch, moderated"""
    freedom: Floats
    """degrees of freedom of each variance; 0 where there is no estimate at all"""


def fit(rows: Floats) -> Fit:
    """Of log times by block and configuration, NaN where not launched. O(size of rows)."""
    present = np.isfinite(rows)
    counts = present.sum(axis=0)
    effects, residuals = _additive(np.where(present, rows, 0.0), present)
    size = present.sum(axis=1, keepdims=True)
    squares = (residuals**2 * size / np.maximum(size - 1, 1)).sum(axis=0)
    variances, freedom = _moderated(squares, np.maximum(counts - 1, 0).astype(np.float64))
    return Fit(np.where(counts > 0, effects, np.nan), counts, variances, freedom)


def upper_bounds(rows: Floats, fitted: Fit, c: int, tail: float) -> Floats:
    """Of log(T_c / T_j) for every j, each wrong with probability <= `tail` per look; inf where not yet compared."""
    differences = rows[:, [c]] - rows
    common = np.isfinite(differences)
    order = common.cumsum(axis=0)
    looked = _looks_by_count()[np.minimum(order[-1], OPTIONS.last_look)]
    mean = np.where(common & (order <= looked), differences, 0.0).sum(axis=0) / np.maximum(looked, 1)
    half = half_width(fitted, c, looked, tail)
    bounds = np.where((looked > 0) & np.isfinite(half), mean + half, np.inf)
    bounds[c] = 0.0
    return bounds


def half_width(fitted: Fit, c: int, blocks: npt.NDArray[np.intp] | int, tail: float) -> Floats:
    """Of the bounds after so many common blocks."""
    a, b = fitted.variances[c], fitted.variances
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (a + b) ** 2 / (a**2 / fitted.freedom[c] + b**2 / fitted.freedom)
        width = stdtrit(np.nan_to_num(freedom), 1 - tail) * np.sqrt((a + b) / np.maximum(blocks, 1))
    return np.where((freedom > 0) & np.isfinite(width), width, np.inf)


def tail(confidence: float, configurations: int) -> float:
    """What each comparison may err at each look, so that all of them hold with `confidence`."""
    return (1 - confidence) / (max(configurations - 1, 1) * len(OPTIONS.looks))


def joined(blocks: Floats, today: int) -> Floats:
    """The blocks with the opening as one row: those before every configuration had its first launch.

    The order of the opening is chosen, not drawn, so a change of the machine meanwhile would favour what came first.
    As far as today's launches show more change than noise, it is taken out.
    """
    tried = np.isfinite(blocks).cumsum(axis=0).astype(bool).all(axis=1)
    length = int(np.argmax(tried)) + 1 if tried.any() else len(blocks)
    if length <= 1:
        return blocks
    opening = blocks[:length] - _shift(blocks, length, today)[:, None]
    with np.errstate(invalid="ignore"):
        present = np.isfinite(opening)
        row = np.where(present, opening, 0).sum(axis=0) / np.where(present.any(axis=0), present.sum(axis=0), np.nan)
    return np.vstack([row, blocks[length:]])


def _shift(blocks: Floats, length: int, today: int) -> Floats:
    having = np.flatnonzero(np.isfinite(blocks[:length, today]))
    if having.size < OPTIONS.anchors:
        return np.zeros(length)
    anchors = blocks[having, today] - blocks[having, today].mean()
    noise, total = float((np.diff(anchors) ** 2).mean() / 2), float(anchors.var(ddof=1))
    share = max(0.0, 1 - noise / total) if total > 0 else 0.0
    trend = np.polynomial.Polynomial.fit(having, anchors, min(OPTIONS.bends, having.size - 2))(np.arange(length))
    return np.asarray(share * trend, dtype=np.float64)


def _additive(filled: Floats, present: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Least squares by turns. Designs here are nearly nested, for which it converges in a few."""
    in_block, launches = np.maximum(present.sum(axis=1), 1), np.maximum(present.sum(axis=0), 1)
    effects = np.zeros(filled.shape[1])
    block = np.zeros(len(filled))
    for _ in range(OPTIONS.sweeps):
        block = (filled.sum(axis=1) - present @ effects) / in_block
        effects = (filled.sum(axis=0) - block @ present) / launches
    return effects, np.where(present, filled - effects - block[:, None], 0.0)


def _moderated(squares: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    own = freedom > 0
    if not own.any() or not squares[own].any():
        return np.zeros(squares.size), np.zeros(squares.size)
    pooled, prior = squares.sum() / freedom.sum(), min(_prior(squares[own], freedom[own]), OPTIONS.prior, freedom.sum())
    return (prior * pooled + squares) / (prior + freedom), prior + freedom


def _prior(squares: Floats, freedom: Floats) -> float:
    """How much alike the variances are, in degrees of freedom (Smyth 2004, section 6.2)."""
    if squares.size < 3 or not squares.all():
        return OPTIONS.prior
    logs = np.log(squares / freedom) - digamma(freedom / 2) + np.log(freedom / 2)
    excess = float(logs.var(ddof=1) - polygamma(1, freedom / 2).mean())
    return OPTIONS.prior if excess <= 0 else max(1.0, 2 * _inverse_trigamma(excess))


def _inverse_trigamma(value: float) -> float:
    low, high = 1e-3, 1e6
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if polygamma(1, middle) > value else (low, middle)
    return low


@functools.cache
def _looks_by_count() -> npt.NDArray[np.intp]:
    counts = np.zeros(OPTIONS.last_look + 1, dtype=np.intp)
    for look in OPTIONS.looks:
        counts[look:] = look
    return counts
