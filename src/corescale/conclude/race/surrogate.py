# SPDX-License-Identifier: Apache-2.0
"""A surrogate of log time over a grid of factors: effects of single factors, of pairs, and of each configuration alone.

A Gaussian process whose covariance counts the factors, and the pairs of factors, on which two configurations agree.
It shares what launches say among configurations, so it knows early where to look. It only orders; a configuration is
never discarded by it, because an additive law may be wrong just where it matters.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from corescale.conclude.stats import Floats

Codes = npt.NDArray[np.int64]

_SHARES = tuple((pairs, alone) for pairs in (0.15, 0.6) for alone in (0.1, 0.6))
SCALES = (
    (0.003, 0.003, 0.003),
    *((main, main * pairs, main * alone) for main in (0.02, 0.1, 0.4) for pairs, alone in _SHARES),
)
"""Standard deviations of log time per factor, per pair and alone, among which the likelihood chooses."""


TURNS = 4
"""in which configurations and blocks are estimated by turns"""
BLOCKS_DIFFER = 0.1
"""the variance of blocks in that of a launch, as a first guess; and a hundredth of it at least"""


@dataclass(frozen=True, slots=True)
class Belief:
    """Log time of every configuration, up to a common constant."""

    mean: Floats
    """shape (configurations,)"""
    covariance: Floats
    """shape (configurations, configurations)"""

    @property
    def deviation(self) -> Floats:
        """Of each configuration alone."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))


def agreement(codes: Codes) -> tuple[Floats, Floats]:
    """How many factors, and pairs of factors, each two configurations have in common; shapes (k, k).

    `codes` has a row a configuration and a column a factor, levels as numbers.
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
    spread = BLOCKS_DIFFER * float(np.average(noise, weights=launches))
    shift, least = np.zeros(len(blocks)), spread / 100
    for _ in range(TURNS):
        with np.errstate(invalid="ignore", divide="ignore"):
            means = (filled.sum(axis=0) - shift @ present) / np.where(launches, launches, np.nan)
        found = _posterior(grid, means, noise / np.maximum(launches, 1))
        precision = weights.sum(axis=1) + 1 / spread
        shift = ((filled - present * found.mean) * weights).sum(axis=1) / precision
        shift -= shift.mean()
        spread = max(least, float((shift**2 + 1 / precision).mean()))
    return found


def _posterior(grid: tuple[Floats, Floats], means: Floats, variances: Floats) -> Belief:
    """From the mean log times of those tried (NaN: untried) and their variances, on the scale of most likelihood."""
    tried = np.flatnonzero(np.isfinite(means))
    seen, noise = means[tried], variances[tried]
    centre = float(np.average(seen, weights=1 / noise))
    small = tuple(part[np.ix_(tried, tried)] for part in grid)
    scale = max(SCALES, key=lambda scale: _log_likelihood(_covariance(small[0], small[1], scale), seen - centre, noise))
    covariance = _covariance(*grid, scale)
    factor = cho_factor(covariance[np.ix_(tried, tried)] + np.diag(noise))
    cross = covariance[:, tried]
    mean = centre + cross @ cho_solve(factor, seen - centre)
    return Belief(mean, covariance - cross @ cho_solve(factor, cross.T))


def _covariance(single: Floats, pairs: Floats, scale: tuple[float, float, float]) -> Floats:
    return scale[0] ** 2 * single + scale[1] ** 2 * pairs + scale[2] ** 2 * np.eye(len(single))


def _log_likelihood(covariance: Floats, seen: Floats, noise: Floats) -> float:
    try:
        factor = cho_factor(covariance + np.diag(noise), lower=True)
    except LinAlgError:
        return -np.inf
    return float(-0.5 * seen @ cho_solve(factor, seen) - np.log(np.diag(factor[0])).sum())
