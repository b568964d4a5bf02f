# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one kind of model, what tests it and how far it reaches)
"""Overhead as a sum of factors: f = a1 x1 + a2 x2 (Qiu et al. 2010, equation 4), by least squares without an intercept.

f = p T(p) / (p_ref T(p_ref)) - 1 is linear in T, so overheads add up in it. Each size of the problem has its own
T(p_ref), whose point is left out: there f is 0 by definition. A factor is the number of processes p, the number of
nodes n, p^2, or the inverse grain size p / N. By p / N that study described three sizes at once. Such a line fails
where the overhead is very large: `reach` fits a sum to small overheads, and compares its forecasts with the measured
times of large ones.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt

from corescale.conclude.models import bootstrap
from corescale.conclude.models.bootstrap import RESAMPLES, Resamples, Summary, draws, interval_of, summarise
from corescale.conclude.models.fit import off_measured
from corescale.conclude.stats import Floats, Interval, fewest_blocks
from corescale.declare.claimed_range import EQUAL


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Times of one system under several t x m x n and sizes."""

    times: Floats
    """seconds, blocks x configurations; NaN for no time"""
    p: Floats
    reference: npt.NDArray[np.intp]
    """the column of each configuration's T(p_ref): the same size at its smallest p"""

    @classmethod
    def of(cls, times: Floats, p: Floats, sizes: Sequence[Hashable]) -> Self:
        """Configurations of equal size share the T(p_ref) of the smallest p among them."""
        smallest: dict[Hashable, int] = {}
        for k in np.argsort(p, kind="stable"):
            smallest.setdefault(sizes[k], int(k))
        return cls(times, p, np.array([smallest[size] for size in sizes], dtype=np.intp))

    def overheads(self) -> tuple[npt.NDArray[np.intp], Floats]:
        """The columns that are no reference and have an f in some block, and their f in each block."""
        columns = np.flatnonzero(self.reference != np.arange(self.p.size))
        base = self.reference[columns]
        ratio = self.p[columns] * self.times[:, columns] / (self.p[base] * self.times[:, base])
        some = np.isfinite(ratio).any(axis=0)
        return columns[some], ratio[:, some] - 1

    def up_to(self, limit: float) -> npt.NDArray[np.intp]:
        """The columns whose f is at most `limit` over all blocks, and their references; ValueError if none is."""
        columns, overheads = self.overheads()
        near = columns[summarise(overheads, np.ones(overheads.shape[0])).centres <= limit]
        if not near.size:
            raise ValueError(f"no configuration has an overhead of at most {limit:g}")
        return np.union1d(near, self.reference[near])

    def only(self, kept: npt.NDArray[np.intp]) -> Self:
        """These columns, in ascending order, with their references among them."""
        return type(self)(self.times[:, kept], self.p[kept], np.searchsorted(kept, self.reference[kept]))


@dataclass(frozen=True, slots=True)
class OverheadFit:
    """One choice of factors."""

    factors: tuple[str, ...]
    coefficients: Mapping[str, Interval]
    residual: float
    """root mean square of f - a x over the configurations"""
    held_out: Interval
    """the same error when each configuration is predicted from the others; NaN if there are too few"""
    excess: float
    """lower bound of `held_out` at the confidence, after subtracting the part due to noise; NaN if there are too few"""
    typical: float
    """root mean square of f itself"""
    confidence: float
    blocks: int
    warning: str
    misfit: str
    """a warning that the times of a configuration refute the sum; empty for none"""
    _terms: Floats = field(repr=False, compare=False)
    _resamples: Resamples | None = field(repr=False, compare=False)
    _errors: Floats = field(repr=False, compare=False)
    """held-out error in each resample of blocks"""
    _excess: Floats = field(repr=False, compare=False)
    """the square of the held-out error in each resample, minus the part due to noise"""

    @property
    def model(self) -> str:
        """`grain + p`."""
        return " + ".join(self.factors)

    @property
    def untested(self) -> bool:
        """Whether no configuration can be left out, so that the fit passes through every point."""
        return math.isnan(self.held_out.estimate)

    def overhead(self, values: Mapping[str, float]) -> Interval:
        """The expected f where the factors have these values."""
        return self._of(values, lambda f: f, -1.0)

    def time(self, values: Mapping[str, float], p: float, p_ref: float, reference_seconds: float) -> Interval:
        """T(p) = p_ref T(p_ref) (1 + f) / p, for a known T(p_ref)."""
        return self._of(values, lambda f: p_ref * reference_seconds * (1 + f) / p, 0.0)

    def _of(self, values: Mapping[str, float], shown: Callable[[Floats], Floats], low: float) -> Interval:
        row = np.array([values[name] for name in self.factors])
        ends = self._resamples and self._resamples.interval(lambda terms: shown(terms @ row), self.confidence)
        estimate = float(shown(self._terms @ row))
        return interval_of(estimate, ends or None, (min(low, estimate), math.inf), self.confidence, self.blocks)


@dataclass(frozen=True, slots=True)
class OverheadChoice:
    """All fits, simplest first, and the one to show."""

    best: OverheadFit | None
    fits: tuple[OverheadFit, ...]
    statement: str


def fit(measured: Measured, factors: Mapping[str, Floats], confidence: float = 0.95) -> OverheadFit:
    """The least-squares fit; `factors` has a value for each configuration. ValueError if it is not determined."""
    columns, overheads = measured.overheads()
    design = np.column_stack([values[columns] for values in factors.values()])
    largest = np.abs(design).max(axis=0, initial=0.0)
    if zero := [name for name, most in zip(factors, largest, strict=True) if columns.size and most == 0]:
        raise ValueError(f"{zero[0]} is 0 in every configuration")
    if design.shape[0] < design.shape[1] or np.linalg.matrix_rank(design / largest) < len(factors):
        raise ValueError(f"{design.shape[0]} configurations cannot separate {' and '.join(factors)}")
    blocks = overheads.shape[0]
    here, there = summarise(overheads, np.ones(blocks)), summarise(overheads, draws(blocks, RESAMPLES))
    gain, centres = np.linalg.pinv(design).astype(np.float64), here.centres
    weights, terms = _residuals(design), gain @ centres
    errors = _held_out(weights, there.centres)
    drawn = None
    if blocks >= fewest_blocks(confidence):
        with np.errstate(all="ignore"):
            drawn = Resamples(terms, _spread(gain, here), there.centres @ gain.T, _spread(gain, there))
    excess = errors**2 - _noise(weights, here) - _noise(weights, there)
    return OverheadFit(
        factors=tuple(factors),
        coefficients={name: _coefficient(k, terms, drawn, confidence, blocks) for k, name in enumerate(factors)},
        residual=float(np.sqrt(np.mean((centres - design @ terms) ** 2))),
        held_out=error_interval(float(_held_out(weights, centres[None])[0]), errors, confidence, blocks),
        excess=_lower(excess, blocks, confidence),
        typical=float(np.sqrt(np.mean(centres**2))),
        confidence=confidence,
        blocks=blocks,
        warning=_warning(design, blocks, confidence),
        misfit=_misfit(design, gain, here, measured.p[columns], blocks),
        _terms=terms,
        _resamples=drawn,
        _errors=errors,
        _excess=excess,
    )


def choose(
    measured: Measured,
    factors: Mapping[str, Floats],
    candidates: Sequence[Sequence[str]],
    confidence: float = 0.95,
) -> OverheadChoice:
    """Fits the candidates. One with more factors is shown only if it surely predicts held-out configurations better."""
    fits: list[OverheadFit] = []
    reasons: list[str] = []
    for names in sorted(candidates, key=len):
        try:
            fits.append(fit(measured, {name: factors[name] for name in names}, confidence))
        except ValueError as error:
            reasons.append(str(error))
    if not fits:
        return OverheadChoice(None, (), "no fit: " + "; ".join(reasons))
    best, statement = fits[0], "the configurations are too few for any other model"
    for rival in fits[1:]:
        names, verb = " and ".join(rival.factors), "are" if len(rival.factors) > 1 else "is"
        if surely_better(rival, best):
            best, statement = rival, f"{names} {verb} shown to predict held-out configurations better"
        else:
            less = " and ".join(best.factors)
            statement = f"{names} {verb} not shown to predict held-out configurations better than {less}"
    return OverheadChoice(best, tuple(fits), statement)


def surely_better(rival: OverheadFit, known: OverheadFit, by: float = EQUAL) -> bool:
    """Whether nearly all resamples of blocks agree that the rival's held-out error is smaller, by at least `by`.

    False with fewer blocks than an interval needs.
    """
    return known._resamples is not None and bootstrap.surely_less(rival._errors, known._errors, by)


def surely_better_elsewhere(rival: OverheadFit, known: OverheadFit) -> bool:
    """The same for fits to different configurations of the same blocks. Noise's part of each error is subtracted. Each
    error is relative to its own overheads, because those of one side may be larger."""
    if known._resamples is None:
        return False
    return bootstrap.surely_less(rival._excess / rival.typical**2, known._excess / known.typical**2, EQUAL)


def _spread(gain: Floats, summary: Summary) -> Floats:
    spread: Floats = gain @ summary.covariance @ gain.T
    return spread


def _coefficient(k: int, terms: Floats, drawn: Resamples | None, confidence: float, blocks: int) -> Interval:
    ends = drawn and drawn.interval(lambda x: x[..., k], confidence)
    return interval_of(float(terms[k]), ends or None, (-math.inf, math.inf), confidence, blocks)


def error_interval(estimate: float, errors: Floats, confidence: float, blocks: int) -> Interval:
    """A held-out error with the percentile interval of the resamples, asymmetric since noise only enlarges errors."""
    if blocks < fewest_blocks(confidence) or not np.isfinite(errors).all():
        return Interval(estimate, None, None, None, blocks)
    low, high = np.quantile(errors, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(estimate, min(float(low), estimate), max(float(high), estimate), confidence, blocks)


def _warning(design: Floats, blocks: int, confidence: float) -> str:
    reasons = []
    if blocks < fewest_blocks(confidence):
        reasons.append(f"fewer than {fewest_blocks(confidence)} blocks: no intervals")
    if design.shape[0] == design.shape[1]:
        reasons.append("as many factors as configurations: the fit passes through every point and is not tested")
    return "; ".join(reasons)


def _misfit(design: Floats, gain: Floats, here: Summary, p: Floats, blocks: int) -> str:
    """The warning that models of p have, from log(1 + f), as time is proportional to 1 + f."""
    with np.errstate(all="ignore"):
        off = np.log((1 + here.centres) / np.maximum(1 + design @ gain @ here.centres, 0.0))
    left = np.eye(p.size) - design @ gain
    errors = np.sqrt(np.diagonal(left @ here.covariance @ left.T)) / (1 + here.centres)
    return off_measured("p", p, off, errors, blocks) if design.shape[0] > design.shape[1] else ""


def _lower(squares: Floats, blocks: int, confidence: float) -> float:
    """The root of the lower percentile of squares from which noise was subtracted; NaN if there can be no interval."""
    if blocks < fewest_blocks(confidence) or not np.isfinite(squares).all():
        return math.nan
    return math.sqrt(max(0.0, float(np.quantile(squares, (1 - confidence) / 2))))


def _noise(weights: Floats, summary: Summary) -> Floats:
    """The part of a held-out mean square error that is due to the noise of the centres; NaN if there is no error."""
    return np.asarray(np.mean(np.einsum("ij,...jk,ik->...i", weights, summary.covariance, weights), axis=-1))


def _held_out(weights: Floats, centres: Floats) -> Floats:
    """Root mean square error of each configuration predicted from the others, for centres [R, L]; NaN if too few."""
    return np.asarray(np.sqrt(np.mean(np.square(centres @ weights.T), axis=1)))


def _residuals(design: Floats) -> Floats:
    """The error of each left-out configuration as a linear function of the centres, [configurations, L]; or NaN."""
    size, width = design.shape
    rows = []
    for out in range(size if size > width else 0):
        rest = np.arange(size) != out
        if np.linalg.matrix_rank(design[rest]) == width:
            row = np.zeros(size)
            row[out], row[rest] = 1.0, -design[out] @ np.linalg.pinv(design[rest])
            rows.append(row)
    return np.array(rows or [np.full(size, np.nan)])


@dataclass(frozen=True, slots=True)
class Reach:
    """The fit to small overheads, with its errors for small overheads and for larger ones."""

    fit: OverheadFit
    near: Interval
    """root mean square of (forecast - measured) / measured time, in sample, for f of at most the limit"""
    far: Interval
    """the same for launches beyond the limit, which are not in the fit"""
    beyond: int
    """configurations beyond the limit"""


def reach(measured: Measured, factors: Mapping[str, Floats], limit: float, confidence: float = 0.95) -> Reach:
    """The fit where f <= `limit`, compared with the configurations beyond; ValueError if either set is empty."""
    columns, overheads = measured.overheads()
    blocks, near = overheads.shape[0], np.isin(columns, kept := measured.up_to(limit))
    if near.all():
        raise ValueError(f"no configuration has an overhead above {limit:g}")
    fitted = fit(measured.only(kept), {name: values[kept] for name, values in factors.items()}, confidence)
    design = np.column_stack([values[columns] for values in factors.values()])
    here = _errors(design, summarise(overheads, np.ones(blocks)).centres[None], near)
    there = _errors(design, summarise(overheads, draws(blocks, RESAMPLES)).centres, near)
    off_near, off_far = (
        error_interval(float(one[0]), many, confidence, blocks) for one, many in zip(here, there, strict=True)
    )
    return Reach(fitted, off_near, off_far, int((~near).sum()))


def _errors(design: Floats, centres: Floats, near: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The relative errors of the time, [R] for overheads near and [R] for those far, from centres [R, L]."""
    terms = centres[:, near] @ np.linalg.pinv(design[near]).T
    off = np.square((terms @ design.T - centres) / (1 + centres))
    return np.sqrt(off[:, near].mean(axis=1)), np.sqrt(off[:, ~near].mean(axis=1))
