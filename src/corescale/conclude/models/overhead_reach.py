# SPDX-License-Identifier: Apache-2.0
"""Whether a sum of factors that describes small overheads goes on to large ones.

Qiu et al. (2010) fit a line in the inverse grain size and conclude that it breaks down where the overhead gets very
large. Here the sum is fitted to the configurations whose f is at most a limit. Its forecast of the time, which is in
proportion to 1 + f, is then compared with what the others took. Resamples of whole blocks refit it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corescale.conclude.models.bootstrap import RESAMPLES, draws, summarise
from corescale.conclude.models.overhead_factors import Measured, OverheadFit, error_interval, fit
from corescale.conclude.stats import Floats, Interval


@dataclass(frozen=True, slots=True)
class Reach:
    """The fit to small overheads, and how far off it is among them and beyond."""

    fit: OverheadFit
    near: Interval
    """root mean square of (forecast - measured) / measured time where f is at most the limit, in sample"""
    far: Interval
    """the same beyond the limit, in none of the fit"""
    beyond: int
    """configurations beyond the limit"""


def reach(measured: Measured, factors: Mapping[str, Floats], limit: float, confidence: float = 0.95) -> Reach:
    """The fit where f <= `limit` against all that is beyond; ValueError where one of the two is missing."""
    columns, overheads = measured.overheads()
    columns, overheads = columns[some := np.isfinite(overheads).any(axis=0)], overheads[:, some]
    blocks = overheads.shape[0]
    centres = summarise(overheads, np.ones(blocks)).centres
    near: npt.NDArray[np.bool_] = centres <= limit
    if near.all():
        raise ValueError(f"no configuration has an overhead above {limit:g}")
    if not near.any():
        raise ValueError(f"no configuration has an overhead of at most {limit:g}")
    kept = np.unique(np.concatenate([columns[near], measured.reference[columns[near]]]))
    small = Measured(measured.times[:, kept], measured.p[kept], np.searchsorted(kept, measured.reference[kept]))
    fitted = fit(small, {name: values[kept] for name, values in factors.items()}, confidence)
    design = np.column_stack([values[columns] for values in factors.values()])
    here = _errors(design, centres[None], near)
    there = _errors(design, summarise(overheads, draws(blocks, RESAMPLES)).centres, near)
    off_near, off_far = (
        error_interval(float(one[0]), many, confidence, blocks) for one, many in zip(here, there, strict=True)
    )
    return Reach(fitted, off_near, off_far, int((~near).sum()))


def _errors(design: Floats, centres: Floats, near: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The relative errors of the time near and far, [R] each, of centres [R, L]."""
    terms = centres[:, near] @ np.linalg.pinv(design[near]).T
    off = np.square((terms @ design.T - centres) / (1 + centres))
    return np.sqrt(off[:, near].mean(axis=1)), np.sqrt(off[:, ~near].mean(axis=1))
