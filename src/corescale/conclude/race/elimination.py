# SPDX-License-Identifier: Apache-2.0
"""The guarantee of a race: simultaneous upper bounds of log(T_c / T_j), valid whenever one looks.

Launches come in blocks; what is compared are log times within a block. Only comparisons with the truly best
configuration can make a statement of the form "c is within x of the best" false (Hsu 1981), so the error is shared by
k - 1 comparisons, and by the planned looks at each. Between looks a bound is that of the last look. That makes it valid
at any moment, also one chosen for what was seen, such as Ctrl-C or the end of a race.

The variance of a difference is its own, moderated by that of the other configurations (Smyth 2004), with a prior of
bounded worth (RaceOptions.prior).
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
    squares: Floats
    """squares of the residuals, as if no block effect had been fitted"""
    degrees: Floats
    """degrees of freedom of `squares`, if that were so"""
    residual: Floats
    """degrees of freedom that are left of them; all together have those of the fit"""
    prior: float
    """degrees of freedom that all together may lend to one, for how much alike their variances are"""

    @property
    def variances(self) -> Floats:
        """Variance of one launch of each, moderated by all; to plan with. 0 where there is no estimate at all."""
        if not self.degrees.any():
            return np.zeros(self.degrees.size)
        lent = min(self.prior, self.residual.sum())
        pooled = self.squares.sum() / self.degrees.sum()
        return np.asarray((lent * pooled + self.squares) / (lent + self.degrees))


def fit(rows: Floats) -> Fit:
    """Of log times by block and configuration, NaN where not launched. O(size of rows)."""
    present = np.isfinite(rows)
    counts = present.sum(axis=0)
    effects, residuals = _additive(np.where(present, rows, 0.0), present)
    size = present.sum(axis=1, keepdims=True)
    shared = present & (size > 1)
    squares = np.where(shared, residuals**2 * size / np.maximum(size - 1, 1), 0.0).sum(axis=0)
    degrees = np.maximum(shared.sum(axis=0) - 1.0, 0.0)
    left = np.where(shared, 1 - 1 / np.maximum(size, 1), 0.0).sum(axis=0) / np.maximum(shared.sum(axis=0), 1)
    residual = left * degrees
    return Fit(
        np.where(counts > 0, effects, np.nan), counts, squares, degrees, residual, _prior(squares, degrees, residual)
    )


def upper_bounds(rows: Floats, fitted: Fit, c: int, tail: float) -> Floats:
    """Of log(T_c / T_j) for every j, each wrong with probability <= `tail` per look; inf where not yet compared.

    The variance is that of the differences in the blocks of the look, moderated by what the others tell (Smyth 2004):
    they lend no more degrees of freedom than they have, so that two configurations alone have those of their blocks.
    """
    differences = rows[:, [c]] - rows
    common = np.isfinite(differences)
    order = common.cumsum(axis=0)
    looked = _looks_by_count()[np.minimum(order[-1], OPTIONS.last_look)]
    used = common & (order <= looked)
    mean = np.where(used, differences, 0.0).sum(axis=0) / np.maximum(looked, 1)
    squares = np.where(used, (differences - mean) ** 2, 0.0).sum(axis=0)
    lent, variance = _of_the_others(fitted, c)
    freedom = lent + looked - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        width = stdtrit(freedom, 1 - tail) * np.sqrt((lent * variance + squares) / freedom / looked)
    bounds = np.where((looked > 1) & np.isfinite(width), mean + width, np.inf)
    bounds[c] = 0.0
    return bounds


def _of_the_others(fitted: Fit, c: int) -> tuple[Floats, Floats]:
    """For each pair with c, the degrees of freedom that the others lend and the variance of a difference by them."""

    def others(values: Floats) -> Floats:
        return np.asarray(np.maximum(values.sum() - values[c] - values, 0.0))

    degrees = others(fitted.degrees)
    variance = 2 * np.divide(others(fitted.squares), degrees, out=np.zeros(degrees.size), where=degrees > 0)
    return np.where(degrees > 0, np.minimum(fitted.prior, others(fitted.residual)), 0.0), variance


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
    """Least squares over blocks and configurations alternately: designs here are nearly nested, so a few rounds do."""
    in_block, launches = np.maximum(present.sum(axis=1), 1), np.maximum(present.sum(axis=0), 1)
    effects = np.zeros(filled.shape[1])
    block = np.zeros(len(filled))
    for _ in range(OPTIONS.sweeps):
        block = (filled.sum(axis=1) - present @ effects) / in_block
        effects = (filled.sum(axis=0) - block @ present) / launches
    return effects, np.where(present, filled - effects - block[:, None], 0.0)


def _prior(squares: Floats, degrees: Floats, residual: Floats) -> float:
    """How much alike the variances are, in degrees of freedom (Smyth 2004, section 6.2)."""
    known = degrees > 0
    if known.sum() < 3 or not squares[known].all():
        return OPTIONS.prior
    half = residual[known] / 2
    logs = np.log(squares[known] / degrees[known]) - digamma(half) + np.log(half)
    excess = float(logs.var(ddof=1) - polygamma(1, half).mean())
    return OPTIONS.prior if excess <= 0 else min(OPTIONS.prior, max(1.0, 2 * _inverse_trigamma(excess)))


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
