# SPDX-License-Identifier: Apache-2.0
"""A robust typical log time per level, with the covariance that blocks give it: the 20% trimmed mean.

The mean of a few blocks belongs to the burst that hit one of them: models fitted to it covered the truth in 65 to 90%
of simulated experiments with steal bursts. The trimmed mean leaves out the fastest and the slowest fifth, needs no
scale, costs 6% of efficiency where noise is normal, and studentises well (Tukey & McLaughlin 1963; Wilcox 2012, ch. 4).
"""

from dataclasses import dataclass

import numpy as np

from corescale.conclude.stats import Floats

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
        centres, low, high = _trimmed(np.take_along_axis(values, order, axis=0), _sorted(weights, order))
        clipped = np.clip(values, low[..., None, :], high[..., None, :])
        sizes = weights.sum(axis=-2)
        scores = clipped - (np.sum(weights * clipped, axis=-2) / sizes)[..., None, :]
        influences = scores * present / ((1 - 2 * TRIM) * sizes)[..., None, :]
        n = np.sum(counts, axis=-1)[..., None, None]
        scatter = np.swapaxes(counts[..., :, None] * influences, -1, -2) @ influences
        return Summary(centres, scatter * n / (n - 1))


def _sorted(weights: Floats, order: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Floats:
    return np.take_along_axis(weights, np.broadcast_to(order, weights.shape), axis=-2)


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
