# SPDX-License-Identifier: Apache-2.0
"""A surrogate of log time over a grid of factors: effects of single factors, of pairs, and of each configuration alone.

A Gaussian process whose covariance counts the factors, and the pairs of factors, on which two configurations agree.
It shares what launches say among configurations, so it knows early where to look. It only orders; a configuration is
never discarded by it, because an additive law may be wrong just where it matters.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from corescale.conclude.race.options import OPTIONS, Scale
from corescale.conclude.stats import Floats

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Belief:
    """Log time of every configuration, up to a common constant."""

    mean: Floats
    """shape (configurations,)"""
    covariance: Floats
    """shape (configurations, configurations)"""

    @property
    def deviation(self) -> Floats:
        """Standard deviation of each configuration alone."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))


def agreement(codes: Codes) -> tuple[Floats, Floats]:
    """How many factors, and pairs of factors, each two configurations have in common; shapes (k, k).

    `codes` has a row for each configuration and a column for each factor, levels as numbers.
    """
    single = (codes[:, None, :] == codes[None, :, :]).sum(axis=-1).astype(np.float64)
    return single, single * (single - 1) / 2


def tamed(blocks: Floats) -> Floats:
    """Log times with outliers moved to the fence, so that the mean of a few launches is not that of the one slow one.

    By residuals from the medians of configurations, or of configurations and blocks, whichever leaves less. Where a
    configuration's own launches scatter more than most its fence is further away. Of two launches either may be the
    outlier, so nothing is done before there are more of one configuration.
    """
    if np.isfinite(blocks).sum(axis=0).max(initial=0) < OPTIONS.outlying:
        return blocks
    fits = [_medians(blocks, both) for both in (False, True)]
    centre, scale = min(fits, key=lambda found: found[1] or math.inf)
    residuals = blocks - centre
    fence = OPTIONS.fence * np.fmax(scale, _median(np.abs(residuals), 0))
    return centre + np.clip(residuals, -fence, fence) if scale > 0 else blocks


def _medians(blocks: Floats, both: bool) -> tuple[Floats, float]:
    """The fit by medians of configurations, and of blocks, and its median residual; 0 where too few tell of that.

    A fit by medians goes through launches: as many of the smallest residuals as it has cost freedom say nothing.
    """
    present = np.isfinite(blocks)
    rows, columns = (np.maximum(present.sum(axis=axis, keepdims=True), 1) for axis in (1, 0))
    shift = np.zeros((len(blocks), 1))
    effects = _median(blocks, 0)
    for _ in range(OPTIONS.turns if both else 0):
        shift = _median(blocks - effects, 1)
        effects = _median(blocks - shift, 0)
    freedom = (1 - 1 / columns) * (1 - 1 / rows if both else np.ones_like(shift))
    telling = present & (freedom > 0)
    told = np.sort(np.abs(blocks - effects - shift)[telling])[round(float((1 - freedom)[telling].sum())) :]
    return effects + shift, float(np.median(told)) if told.size else 0.0


def _median(values: Floats, axis: int) -> Floats:
    """Of what is not NaN, the axis kept; NaN where all is."""
    ordered, count = np.sort(values, axis=axis), np.isfinite(values).sum(axis=axis, keepdims=True)
    middle = [np.take_along_axis(ordered, np.maximum(place, 0), axis) for place in ((count - 1) // 2, count // 2)]
    return np.asarray(np.where(count > 0, (middle[0] + middle[1]) / 2, np.nan))


def believe(codes: Codes, blocks: Floats, noise: Floats) -> Belief:
    """The posterior of all configurations from log times of blocks x configurations, NaN where not launched.

    `noise`: the variance of one launch of each configuration. What a block has in common is taken out as far as blocks
    differ by more than noise: where they do not, launches of different blocks tell as much as those of one.
    """
    present = np.isfinite(blocks)
    if not present.any():
        return Belief(np.zeros(len(codes)), np.eye(len(codes)))
    launches = present.sum(axis=0)
    filled, weights = np.where(present, blocks, 0.0), present / noise
    typical = float(np.average(noise, weights=launches))
    spread = OPTIONS.blocks_differ * typical
    shift, least = np.zeros(len(blocks)), OPTIONS.blocks_differ_least * typical
    tried = np.flatnonzero(launches)
    grid = agreement(codes)
    priors = _priors((grid[0][np.ix_(tried, tried)], grid[1][np.ix_(tried, tried)]), noise[tried] / launches[tried])
    for _ in range(OPTIONS.turns):
        means = (filled.sum(axis=0) - shift @ present)[tried] / launches[tried]
        prior, centre = _likeliest(priors, means)
        covariance = _covariance(*grid, prior.scale)
        cross = covariance[:, tried]
        mean = centre + cross @ prior.solve(means - centre)
        precision = weights.sum(axis=1) + 1 / spread
        shift = ((filled - present * mean) * weights).sum(axis=1) / precision
        shift -= shift.mean()
        spread = max(least, float((shift**2 + 1 / precision).mean()))
    return Belief(mean, covariance - cross @ prior.solve(cross.T))


@dataclass(frozen=True, slots=True)
class _Prior:
    """What one scale says before the times are seen, with the noise of those tried: it depends on no time."""

    scale: Scale
    noise: Floats
    """variances of the means of those tried"""
    factor: Floats
    """Cholesky factor of the covariance of these means, in its lower half"""

    def log_likelihood(self, centred: Floats) -> float:
        """Of these means less their centre, up to a constant."""
        return float(-0.5 * centred @ self.solve(centred) - np.log(np.diag(self.factor)).sum())

    def solve(self, values: Floats) -> Floats:
        """The covariance of the means, inverted, times these."""
        solved, _ = scipy.linalg.lapack.dpotrs(self.factor, values, lower=1)
        return np.asarray(solved)


def _priors(tried: tuple[Floats, Floats], noise: Floats) -> list[_Prior]:
    """One of each scale whose covariance can be inverted; of the agreement of those tried alone, which is quicker."""
    found = []
    for scale in OPTIONS.scales:
        factor, failed = scipy.linalg.lapack.dpotrf(_covariance(*tried, scale) + np.diag(noise), lower=1)
        if not failed:
            found.append(_Prior(scale, noise, factor))
    return found


def _likeliest(priors: Sequence[_Prior], means: Floats) -> tuple[_Prior, float]:
    """The scale by which these mean log times of those tried are likeliest, and their centre."""
    centre = float(np.average(means, weights=1 / priors[0].noise))
    likelihoods = [prior.log_likelihood(means - centre) for prior in priors]
    return priors[int(np.argmax(likelihoods))], centre


def _covariance(single: Floats, pairs: Floats, scale: Scale) -> Floats:
    return scale[0] ** 2 * single + scale[1] ** 2 * pairs + scale[2] ** 2 * np.eye(len(single))
