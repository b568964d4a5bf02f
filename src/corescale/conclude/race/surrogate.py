# SPDX-License-Identifier: Apache-2.0
"""A surrogate of log time over a grid of factors: effects of single factors, of pairs, and of each configuration alone.

A Gaussian process whose covariance counts the factors, and the pairs of factors, on which two configurations agree.
It shares what launches say among configurations, so it knows early where to look. It only orders; a configuration is
never discarded by it, because an additive law may be wrong just where it matters.
"""

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


def believe(codes: Codes, blocks: Floats, noise: Floats) -> Belief:
    """The posterior of all configurations from log times of blocks x configurations, NaN where not launched.

    `noise`: the variance of one launch of each configuration. What a block has in common is taken out as far as blocks
    differ by more than noise: where they do not, launches of different blocks tell as much as those of one.
    """
    present = np.isfinite(blocks)
    if not present.any():
        return Belief(np.zeros(len(codes)), np.eye(len(codes)))
    grid, launches = agreement(codes), present.sum(axis=0)
    filled, weights = np.where(present, blocks, 0.0), present / noise
    typical = float(np.average(noise, weights=launches))
    spread = OPTIONS.blocks_differ * typical
    shift, least = np.zeros(len(blocks)), OPTIONS.blocks_differ_least * typical
    for _ in range(OPTIONS.turns):
        with np.errstate(invalid="ignore", divide="ignore"):
            means = (filled.sum(axis=0) - shift @ present) / np.where(launches, launches, np.nan)
        found = _posterior(grid, means, noise / np.maximum(launches, 1))
        precision = weights.sum(axis=1) + 1 / spread
        shift = ((filled - present * found.mean) * weights).sum(axis=1) / precision
        shift -= shift.mean()
        spread = max(least, float((shift**2 + 1 / precision).mean()))
    return found


def _posterior(grid: tuple[Floats, Floats], means: Floats, variances: Floats) -> Belief:
    """Belief by the mean log times of those tried (NaN: untried) and their variances, on the likeliest scale."""
    tried = np.flatnonzero(np.isfinite(means))
    seen, noise = means[tried], variances[tried]
    centre = float(np.average(seen, weights=1 / noise))
    small = grid[0][np.ix_(tried, tried)], grid[1][np.ix_(tried, tried)]
    likelihoods = [_log_likelihood(_covariance(*small, scale), seen - centre, noise) for scale in OPTIONS.scales]
    scale = OPTIONS.scales[int(np.argmax(likelihoods))]
    covariance = _covariance(*grid, scale)
    factor = scipy.linalg.cho_factor(covariance[np.ix_(tried, tried)] + np.diag(noise))
    cross = covariance[:, tried]
    mean = centre + cross @ scipy.linalg.cho_solve(factor, seen - centre)
    return Belief(mean, covariance - cross @ scipy.linalg.cho_solve(factor, cross.T))


def _covariance(single: Floats, pairs: Floats, scale: Scale) -> Floats:
    return scale[0] ** 2 * single + scale[1] ** 2 * pairs + scale[2] ** 2 * np.eye(len(single))


def _log_likelihood(covariance: Floats, seen: Floats, noise: Floats) -> float:
    try:
        factor = scipy.linalg.cho_factor(covariance + np.diag(noise), lower=True)
    except scipy.linalg.LinAlgError:
        return -np.inf
    return float(-0.5 * seen @ scipy.linalg.cho_solve(factor, seen) - np.log(np.diag(factor[0])).sum())
