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


@dataclass(frozen=True, slots=True)
class Belief:
    """Log time of every configuration, up to a common constant. Shapes (configurations,)."""

    mean: Floats
    deviation: Floats


def agreement(codes: Codes) -> tuple[Floats, Floats]:
    """How many factors, and pairs of factors, each two configurations have in common; shapes (k, k).

    `codes` has a row a configuration and a column a factor, levels as numbers.
    """
    single = (codes[:, None, :] == codes[None, :, :]).sum(axis=-1).astype(np.float64)
    return single, single * (single - 1) / 2


def believe(codes: Codes, means: Floats, variances: Floats) -> Belief:
    """The posterior of all configurations from the mean log times of those tried (NaN: untried) and their variances."""
    tried = np.flatnonzero(np.isfinite(means))
    if tried.size == 0:
        return Belief(np.zeros(means.size), np.ones(means.size))
    single, pairs = agreement(codes)
    centre = float(np.average(means[tried], weights=1 / variances[tried]))
    seen, noise = means[tried] - centre, variances[tried]
    fits = [(_log_likelihood(_covariance(single, pairs, scale), tried, seen, noise), scale) for scale in SCALES]
    covariance = _covariance(single, pairs, max(fits)[1])
    factor = cho_factor(covariance[np.ix_(tried, tried)] + np.diag(noise))
    cross = covariance[:, tried]
    spread = np.diag(covariance) - np.einsum("ij,ji->i", cross, cho_solve(factor, cross.T))
    return Belief(centre + cross @ cho_solve(factor, seen), np.sqrt(np.maximum(spread, 0.0)))


def _covariance(single: Floats, pairs: Floats, scale: tuple[float, float, float]) -> Floats:
    return scale[0] ** 2 * single + scale[1] ** 2 * pairs + scale[2] ** 2 * np.eye(len(single))


def _log_likelihood(covariance: Floats, tried: npt.NDArray[np.intp], seen: Floats, noise: Floats) -> float:
    try:
        factor = cho_factor(covariance[np.ix_(tried, tried)] + np.diag(noise))
    except LinAlgError:
        return -np.inf
    return float(-0.5 * seen @ cho_solve(factor, seen) - np.log(np.diag(factor[0])).sum())
