# SPDX-License-Identifier: Apache-2.0
"""Studentised bootstrap over whole blocks of robust typical log times: every resample refits the model.

Blocks are resampled whole, so that what the launches of a block share (a slow hour, the same T(1) in every ratio) is
kept. Studentising (Efron & Tibshirani 1993, ch. 12) repairs most of the percentile bootstrap's under-coverage at few
blocks: each resample brings its own standard error. Symmetric intervals covered 1 to 3 points better than equal-tailed
ones at 8 and 15 blocks (Hall 1988 says why).

The typical time is the 20% trimmed mean (Tukey & McLaughlin 1963; Wilcox 2012, ch. 4). If there are few blocks, a burst
in one of them dominates the plain mean: intervals of models fitted to the plain mean covered the truth in only 65 to
90% of experiments with bursts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from corescale.conclude.models.least_squares import gauss_newton, influence
from corescale.conclude.stats import Floats, Interval

TRIM = 0.2
"""share of the launches that is cut off at each end"""


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """The typical time at each of L levels, for one data set or for each of R resamples: [..., L]."""

    centres: Floats
    """centres of log time"""
    covariance: Floats
    """covariance of the centres, [..., L, L], from the scatter of blocks"""


def summarise(log_times: Floats, counts: Floats) -> Summary:
    """Centres and their covariance for blocks x levels (NaN: no time) where block b occurs counts[..., b] times.

    NaN for a level that no chosen block has. O(R blocks L) time and memory.
    """
    order = np.argsort(log_times, axis=0)
    present, values = np.isfinite(log_times), np.where(np.isfinite(log_times), log_times, 0.0)
    weights = counts[..., :, None] * present
    with np.errstate(all="ignore"):
        in_order = np.take_along_axis(weights, np.broadcast_to(order, weights.shape), axis=-2)
        centres, low, high = _trimmed(np.take_along_axis(values, order, axis=0), in_order)
        clipped = np.clip(values, low[..., None, :], high[..., None, :])
        sizes = weights.sum(axis=-2)
        scores = clipped - (np.sum(weights * clipped, axis=-2) / sizes)[..., None, :]
        influences = scores * present / ((1 - 2 * TRIM) * sizes)[..., None, :]
        n = np.sum(counts, axis=-1)[..., None, None]
        scatter = np.swapaxes(counts[..., :, None] * influences, -1, -2) @ influences
        return Summary(centres, scatter * n / (n - 1))


def _trimmed(values: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Trimmed mean of sorted values [n, L] with weights [..., n, L], and the smallest and largest value it keeps."""
    upto = np.cumsum(weights, axis=-2)
    total = upto[..., -1:, :]
    ends = TRIM * total, (1 - TRIM) * total
    kept = np.clip(upto, *ends) - np.clip(upto - weights, *ends)
    kept = np.where(kept > 1e-9, kept, 0.0)
    low = np.min(np.where(kept > 0, values, np.inf), axis=-2)
    high = np.max(np.where(kept > 0, values, -np.inf), axis=-2)
    return np.sum(kept * values, axis=-2) / np.sum(kept, axis=-2), low, high


RESAMPLES = 1999
SEED = 20_090_601
"""seed, which is fixed so that equal records give equal intervals"""
REFIT_STEPS = 4
"""steps from the fit to all blocks to a resample's fit, which differs little from it"""
COMPLEX_STEP = 1e-30
AGREEMENT = 0.975
"""share of the resamples of blocks that must prefer the same model"""


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """The unconstrained fits of the data and of each resample, with covariances for their standard errors."""

    terms: Floats
    """terms of the fit of the data, [k]"""
    covariance: Floats
    """covariance of the terms, [k, k]"""
    resampled_terms: Floats
    """terms of the fits of the resamples, [R, k]"""
    resampled_covariance: Floats
    """covariances of these terms, [R, k, k]"""

    def interval(self, of: Callable[[Floats], Floats], confidence: float) -> tuple[float, float] | None:
        """Symmetric bootstrap-t interval of an analytic function of the terms; None if many resamples have no fit."""
        value, error = of(self.terms), _standard_error(of, self.terms, self.covariance)
        with np.errstate(all="ignore"):
            scores = (of(self.resampled_terms) - value) / _standard_error(
                of, self.resampled_terms, self.resampled_covariance
            )
        usable = scores[np.isfinite(scores)]
        if usable.size < 0.9 * scores.size or not np.isfinite(value) or not np.isfinite(error):
            return None
        reach = np.quantile(np.abs(usable), confidence) * error
        return float(value - reach), float(value + reach)


def resample(basis: Floats, log_times: Floats, weights: Floats, resamples: int = RESAMPLES) -> Resamples:
    """Fit the data, blocks x levels, and `resamples` draws of the same number of whole blocks. NaN means no time."""
    blocks = log_times.shape[0]
    drawn = draws(blocks, resamples)
    here, there = summarise(log_times, np.ones(blocks)), summarise(log_times, drawn)
    with np.errstate(all="ignore"):
        terms = gauss_newton(basis, here.centres, weights)
        others = gauss_newton(basis, there.centres, weights, start=terms, steps=REFIT_STEPS)
        covariance = _terms_covariance(basis, terms, weights, here)
        return Resamples(terms, covariance, others, _terms_covariance(basis, others, weights, there))


def draws(blocks: int, resamples: int) -> Floats:
    """How often each block occurs in each resample, [R, blocks]; the same for the same arguments."""
    return np.random.default_rng(SEED).multinomial(blocks, np.full(blocks, 1 / blocks), resamples).astype(np.float64)


def surely_less(a: Floats, b: Floats, by: float = 0.0) -> bool:
    """Whether nearly all resamples agree that one model has a smaller error than another."""
    usable = np.isfinite(a) & np.isfinite(b)
    return bool(usable.sum() >= 0.9 * a.size and np.mean(a[usable] + by < b[usable]) >= AGREEMENT)


def _terms_covariance(basis: Floats, terms: Floats, weights: Floats, summary: Summary) -> Floats:
    gain = influence(basis / (terms @ basis.T)[..., None], weights)
    return gain @ summary.covariance @ np.swapaxes(gain, -1, -2)


def _standard_error(of: Callable[[Floats], Floats], terms: Floats, covariance: Floats) -> Floats:
    """Standard errors by the delta method; the gradient by a complex step, exact to rounding."""
    steps = np.eye(terms.shape[-1]) * 1j * COMPLEX_STEP
    gradient = np.stack([np.imag(of(terms + step)) / COMPLEX_STEP for step in steps], axis=-1)
    variance: Floats = np.einsum("...i,...ij,...j", gradient, covariance, gradient)
    return np.sqrt(np.where(variance >= 0, variance, np.nan))  # below 0 by rounding: unknown


def interval_of(
    estimate: float, ends: tuple[float, float] | None, allowed: tuple[float, float], confidence: float, n: int
) -> Interval:
    """An interval, clipped to the range that the model allows, but never so that it excludes the estimate."""
    if ends is None:
        return Interval(estimate, None, None, None, n)
    low, high = (float(np.clip(end, *allowed)) for end in sorted(ends))
    return Interval(estimate, min(low, estimate), max(high, estimate), confidence, n)
