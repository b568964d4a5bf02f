# SPDX-License-Identifier: Apache-2.0
"""The guarantee of a race: simultaneous upper bounds of log(T_c / T_j), valid whenever one looks.

Launches come in blocks; what is compared are log times within a block. Only comparisons with the truly best
configuration can make a statement of the form "c is within x of the best" false (Hsu 1981), so the error is shared by
k - 1 comparisons, and by the planned looks at each. Between looks a bound is that of the last look, with all that
belongs to it. That makes it valid at any moment, also one chosen for what was seen: Ctrl-C, or the end of a race.

What is bounded is the centre of the log ratios within blocks, their pseudomedian, as everywhere in conclude. With few
common blocks the bound is that of a t test: the variance of the pair's differences, moderated by that of the other
configurations (Smyth 2004), with a prior of bounded worth (RaceOptions.prior). As soon as there are enough for it
(RaceOptions.ranks) it is that of the signed ranks (Wilcoxon 1945), which bursts and slow modes do not ruin: it is exact
if the machine's noise hits both of a pair alike.
"""

import functools
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy

from corescale.conclude.race.options import OPTIONS
from corescale.conclude.stats import Floats, tail_count, walsh_bounds

Columns = npt.NDArray[np.intp]
K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fit:
    """The additive fit of log time = block + configuration. Shapes (configurations,)."""

    effects: Floats
    """NaN where never launched"""
    counts: npt.NDArray[np.intp]
    squares: Floats
    """squares of the residuals, as if no block effect had been fitted; of outliers as if they were at the fence"""
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
    """The fit of log times by block and configuration, NaN where there was no launch. O(size of rows)."""
    present = np.isfinite(rows)
    counts = present.sum(axis=0)
    effects, residuals = _additive(np.where(present, rows, 0.0), present)
    size = present.sum(axis=1, keepdims=True)
    shared = present & (size > 1)
    residuals = _fenced(residuals, shared)
    squares = np.where(shared, residuals**2 * size / np.maximum(size - 1, 1), 0.0).sum(axis=0)
    degrees = np.maximum(shared.sum(axis=0) - 1.0, 0.0)
    left = np.where(shared, 1 - 1 / np.maximum(size, 1), 0.0).sum(axis=0) / np.maximum(shared.sum(axis=0), 1)
    residual = left * degrees
    return Fit(
        np.where(counts > 0, effects, np.nan), counts, squares, degrees, residual, _prior(squares, degrees, residual)
    )


class Bounds:
    """Upper bounds of log(T_c / T_j) by rows of log times, for whichever c is asked for.

    `rows`: blocks x configurations, NaN where not launched. Each bound is wrong with probability <= `tail` a look.
    """

    def __init__(self, rows: Floats, tail: float) -> None:
        self._rows, self._tail, self._names = rows, tail, _names(rows)

    def of(self, c: int) -> Floats:
        """Bounds of log(T_c / T_j) for every j; inf where not compared."""
        rows, tail = self._rows, self._tail
        differences = rows[:, [c]] - rows
        order = np.isfinite(differences).cumsum(axis=0)
        looked = _looks_by_count()[np.minimum(order[-1], OPTIONS.last_look)]
        until = np.argmax(order == looked, axis=0) + 1
        bounds, compared = np.full(rows.shape[1], np.inf), (looked > 1) & (np.arange(rows.shape[1]) != c)
        ranked = compared & (looked >= ranked_from(tail))
        for row in np.unique(until[compared & ~ranked]):
            columns = compared & ~ranked & (until == row)
            bounds[columns] = _t_bounds(self._names[row - 1], rows[:row], c, tail)[columns]
        for j in np.flatnonzero(ranked):
            told = differences[: until[j], j]
            bounds[j] = _rank_bound(told[np.isfinite(told)].tobytes(), tail)
        bounds[c] = 0.0
        return bounds


def upper_bounds(rows: Floats, c: int, tail: float) -> Floats:
    """Those of one configuration alone."""
    return Bounds(rows, tail).of(c)


def ranked_from(tail: float) -> int:
    """Common blocks from which a bound is that of signed ranks: a multiple of the fewest that allow one."""
    return math.ceil(OPTIONS.ranks * -math.log2(tail))


def _t_bounds(name: bytes, rows: Floats, c: int, tail: float) -> Floats:
    """Bounds against every other configuration at a look, by all rows until then; inf below two common blocks.

    The variance is that of the pair's differences, moderated by what the others tell until this look. They lend no more
    degrees of freedom than they have, so that two configurations alone have those of their blocks.
    """
    return _remembered(_LOOKS, (name, c, tail), lambda: _looked(_fit_of(name, rows), rows, c, tail))


def _looked(fitted: Fit, rows: Floats, c: int, tail: float) -> Floats:
    differences = rows[:, [c]] - rows
    common = np.isfinite(differences)
    n = common.sum(axis=0)
    told = np.maximum(n, 2)
    mean = np.where(common, differences, 0.0).sum(axis=0) / told
    squares = np.where(common, (differences - mean) ** 2, 0.0).sum(axis=0)
    lent, variance = _of_the_others(fitted, c, told)
    freedom = lent + told - 1
    distinct, which = np.unique(freedom, return_inverse=True)
    quantiles = scipy.special.stdtrit(distinct, 1 - tail)[which]
    return np.where(n > 1, mean + quantiles * np.sqrt((lent * variance + squares) / freedom / told), np.inf)


@functools.lru_cache(maxsize=1 << 14)
def _rank_bound(differences: bytes, tail: float) -> float:
    """Of the differences of a look, which never change; the number of blocks is what makes it slow."""
    told = np.frombuffer(differences)
    return float(walsh_bounds(told, tail_count(told.size, tail))[2])


def _of_the_others(fitted: Fit, c: int, n: Columns) -> tuple[Floats, Floats]:
    """For c and each configuration, with n common blocks: the degrees of freedom that the others lend, and the
    variance of a difference by them."""

    def others(values: Floats) -> Floats:
        return np.asarray(np.maximum(values.sum() - values[c] - values, 0.0))

    degrees = others(fitted.degrees)
    variance = 2 * np.divide(others(fitted.squares), degrees, out=np.zeros(degrees.size), where=degrees > 0)
    most = np.where(n < OPTIONS.settled, min(fitted.prior, OPTIONS.early_prior), fitted.prior)
    return np.where(degrees > 0, np.minimum(most, others(fitted.residual)), 0.0), variance


def _names(rows: Floats) -> list[bytes]:
    """A name of the rows until each of them: what has the same name is the same."""
    digest, names = hashlib.blake2b(str(rows.shape[1]).encode(), digest_size=16), []
    for row in np.ascontiguousarray(rows):
        digest.update(row)
        names.append(digest.digest())
    return names


_FITS: dict[bytes, Fit] = {}
_LOOKS: dict[tuple[bytes, int, float], Floats] = {}
"""What was found at a look stays as it was, so it is found once."""


def _fit_of(name: bytes, rows: Floats) -> Fit:
    """The fit of the rows until a look."""
    return _remembered(_FITS, name, lambda: fit(rows))


def _remembered(kept: dict[K, T], key: K, make: Callable[[], T]) -> T:
    """What was made of this key, of the last ones."""
    if key not in kept:
        if len(kept) >= OPTIONS.remembered:
            kept.clear()
        kept[key] = make()
    return kept[key]


def forget() -> None:
    """Drops what was found at looks, before an experiment with other constants."""
    _FITS.clear()
    _LOOKS.clear()


def _fenced(residuals: Floats, shared: npt.NDArray[np.bool_]) -> Floats:
    """Outliers moved to the fence: one launch in a burst would widen every bound that it is lent to.

    What was launched once has no residual of its own, so it does not tell where the fence is.
    """
    telling = shared & (shared.sum(axis=0) > 1)
    if not telling.any():
        return residuals
    fence = OPTIONS.fence * float(np.median(np.abs(residuals[telling])))
    return np.clip(residuals, -fence, fence) if fence > 0 else residuals


def tail(confidence: float, configurations: int) -> float:
    """The error that each comparison may have at each look, so that all of them hold with `confidence`."""
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
    logs = np.log(squares[known] / degrees[known]) - scipy.special.digamma(half) + np.log(half)
    excess = float(logs.var(ddof=1) - scipy.special.polygamma(1, half).mean())
    return OPTIONS.prior if excess <= 0 else min(OPTIONS.prior, max(1.0, 2 * _inverse_trigamma(excess)))


def _inverse_trigamma(value: float) -> float:
    low, high = 1e-3, 1e6
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if scipy.special.polygamma(1, middle) > value else (low, middle)
    return low


@functools.cache
def _looks_by_count() -> npt.NDArray[np.intp]:
    counts = np.zeros(OPTIONS.last_look + 1, dtype=np.intp)
    for look in OPTIONS.looks:
        counts[look:] = look
    return counts
