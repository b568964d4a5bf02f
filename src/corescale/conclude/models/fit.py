# SPDX-License-Identifier: Apache-2.0
"""Fitting a model to blocks x levels of p: parameters and forecasts with intervals, and warnings about them."""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import scipy

from corescale.conclude.models.bootstrap import RESAMPLES, Resamples, Summary, interval_of, resample, summarise
from corescale.conclude.models.least_squares import bounded_fit, influence
from corescale.conclude.models.model import Parameter, ScalingModel
from corescale.conclude.stats import Floats, Interval, fewest_blocks

MISFIT = 0.01
"""probability that the residuals of a true model raise a warning at any level"""


FEWEST_LEVELS = 4
"""least number of levels of p for an interval of an extrapolation: from two levels, extrapolated to 4 times the range,
intervals covered the truth in only 4 to 70% of cases"""


@dataclass(frozen=True, slots=True)
class Forecast:
    """The typical (geometric mean) time at p that the model expects; single launches scatter around it."""

    p: float
    seconds: Interval
    """outside the measured range it assumes that the model still holds there"""


def beyond(seconds: Interval, levels: int) -> Interval:
    """A forecast beyond the measured p, from this many levels: below FEWEST_LEVELS it has no interval."""
    return seconds if levels >= FEWEST_LEVELS else Interval(seconds.estimate, None, None, None, seconds.n)


@dataclass(frozen=True, slots=True)
class Fit:
    """A model fitted to an experiment."""

    model: str
    parameters: Mapping[str, Interval]
    residual: float
    """root mean square of log(mean time / model) over the levels: 0.01 is about 1%"""
    identifiable: bool
    """whether the levels determine the model; if they do not, there are no parameters and no forecast"""
    warning: str
    """warnings about the fit, to print beside its numbers; empty for none"""
    measured: tuple[float, float]
    """smallest and largest p that was measured"""
    confidence: float
    blocks: int
    _model: ScalingModel = field(repr=False, compare=False)
    _terms: Floats = field(repr=False, compare=False)
    _resamples: Resamples | None = field(repr=False, compare=False)
    rivals: tuple["Fit", ...] = field(default=(), repr=False, compare=False)
    """fits of the tied models, if it was chosen among several"""
    levels: int = 0
    """number of distinct p that it was fitted to"""

    def time(self, p: npt.ArrayLike) -> Floats:
        """The fitted curve: seconds at each p, NaN where not identifiable."""
        return self._model.basis(np.asarray(p, dtype=np.float64)) @ self._terms

    def forecast(self, p: float) -> Forecast:
        """T(p) with an interval that also covers its rivals' intervals; raises ValueError if not identifiable."""
        if not self.identifiable:
            raise ValueError(f"no forecast from {self.model}: {self.warning}")
        row = self._model.basis(np.asarray(float(p)))
        ends = self._resamples and self._resamples.interval(lambda terms: terms @ row, self.confidence)
        alone = interval_of(float(self.time(p)), ends or None, (0.0, math.inf), self.confidence, self.blocks)
        seconds = _hull(alone, [rival.forecast(p).seconds for rival in self.rivals])
        within = self.measured[0] <= p <= self.measured[1]
        return Forecast(p, seconds if within else beyond(seconds, self.levels))

    def beside(self, rivals: tuple["Fit", ...]) -> "Fit":
        """This fit, tied with its rivals: its intervals also cover theirs.

        If a rival's first terms are the terms of this model, the rival's interval of each parameter widens this
        model's.
        """
        width = len(self._model.terms)
        larger = [rival for rival in rivals if rival._model.terms[:width] == self._model.terms]
        widened = {
            x.name: _hull(self.parameters[x.name], [rival._first(x, width) for rival in larger])
            for x in self._model.parameters
        }
        return replace(self, parameters=widened, rivals=rivals)

    def _first(self, parameter: Parameter, width: int) -> Interval:
        """A parameter of the simpler model that consists of the first `width` terms of this one."""
        of_first = replace(parameter, of=lambda terms: parameter.of(terms[..., :width]))
        return _parameter(of_first, self._terms, self._resamples, self.confidence, self.blocks)


def fit(
    model: ScalingModel,
    p: npt.ArrayLike,
    log_times: npt.ArrayLike,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Fit:
    """Fit a model by least squares on log time; log_times is blocks x levels, columns as in p, NaN for no time.

    Levels without any time are left out. A level that only some blocks have, such as a long T(1), has a proportionally
    smaller weight.
    """
    p, log_times = with_times(p, log_times)
    blocks, distinct = log_times.shape[0], np.unique(p).size
    if distinct < len(model.terms):
        few = f"too few levels of {model.variable}: {distinct} for {len(model.terms)} terms"
        return _unidentified(model, p, blocks, confidence, few)
    basis, weights = model.basis(p), np.isfinite(log_times).sum(axis=0) / blocks
    summary = summarise(log_times, np.ones(blocks))
    with np.errstate(all="ignore"):
        terms = bounded_fit(basis, summary.centres, weights)
    if not np.isfinite(terms).all():
        alike = f"these levels of {model.variable} cannot separate its terms"
        return _unidentified(model, p, blocks, confidence, alike)
    drawn = resample(basis, log_times, weights, resamples) if blocks >= fewest_blocks(confidence) else None
    fitted, below = basis @ terms, _below(model, drawn, confidence)
    if below and np.allclose(fitted, fitted[0]):
        no = f"the times contradict {' and '.join(f'{name} >= 0' for name in below)}, and what is left is flat"
        return _unidentified(model, p, blocks, confidence, no)
    misfit = summary.centres - np.log(fitted)
    warning = _warning_of_terms(model, terms, below, drawn, confidence)
    warning += _warning_of_shape(model, p, misfit, _misfit_errors(basis, terms, weights, summary), blocks)
    return Fit(
        model=model.name,
        parameters={x.name: _parameter(x, terms, drawn, confidence, blocks) for x in model.parameters},
        residual=math.sqrt(float(np.mean(misfit**2))),
        identifiable=True,
        warning="; ".join(warning),
        measured=(float(p.min()), float(p.max())),
        confidence=confidence,
        blocks=blocks,
        _model=model,
        _terms=terms,
        _resamples=drawn,
        levels=distinct,
    )


def _hull(interval: Interval, others: Sequence[Interval]) -> Interval:
    """The interval, widened to the ends of others; without ends it stays without them."""
    lows = [one.low for one in (interval, *others) if one.low is not None]
    highs = [one.high for one in (interval, *others) if one.high is not None]
    return interval if interval.low is None else replace(interval, low=min(lows), high=max(highs))


def with_times(p: npt.ArrayLike, log_times: npt.ArrayLike) -> tuple[Floats, Floats]:
    """The levels and the blocks that have times, NaN where one is missing."""
    p, times = np.asarray(p, dtype=np.float64), np.asarray(log_times, dtype=np.float64)
    rows, columns = np.isfinite(times).any(axis=1), np.isfinite(times).any(axis=0)
    return p[columns], np.where(np.isfinite(times), times, np.nan)[np.ix_(rows, columns)]


def _unidentified(model: ScalingModel, p: Floats, blocks: int, confidence: float, warning: str) -> Fit:
    measured = (float(p.min()), float(p.max())) if p.size else (math.nan, math.nan)
    nothing = np.full(len(model.terms), np.nan)
    return Fit(model.name, {}, math.nan, False, warning, measured, confidence, blocks, model, nothing, None)


def _parameter(
    parameter: Parameter, terms: Floats, drawn: Resamples | None, confidence: float, blocks: int
) -> Interval:
    with np.errstate(all="ignore"):
        estimate = parameter.shown(float(parameter.of(terms)))
    ends = drawn and drawn.interval(parameter.of, confidence)
    shown = (parameter.shown(ends[0]), parameter.shown(ends[1])) if ends else None
    return interval_of(estimate, shown, (parameter.low, parameter.high), confidence, blocks)


def _below(model: ScalingModel, drawn: Resamples | None, confidence: float) -> list[str]:
    """The terms whose intervals are below 0, which the model does not allow."""
    if drawn is None:
        return []
    ends = [drawn.interval(operator.itemgetter((..., k)), confidence) for k in range(len(model.terms))]
    return _chosen(model, np.array([end is not None and end[1] < 0 for end in ends]))


def _warning_of_terms(
    model: ScalingModel, terms: Floats, below: Sequence[str], drawn: Resamples | None, confidence: float
) -> list[str]:
    """Warnings about terms that are 0 or below, as with superlinear speedup, when more cores bring more cache."""
    reasons = [f"{name} is at the edge of what the model allows" for name in _chosen(model, terms == 0)]
    if drawn is None:
        return [*reasons, f"fewer than {fewest_blocks(confidence)} blocks: no intervals"]
    return reasons + [f"the data contradict {name} >= 0 (superlinear?)" for name in below]


def _chosen(model: ScalingModel, mask: npt.NDArray[np.bool_]) -> list[str]:
    return [name for name, chosen in zip(model.terms, mask, strict=True) if chosen]


def _misfit_errors(basis: Floats, terms: Floats, weights: Floats, summary: Summary) -> Floats:
    """Standard errors of the residuals at each level, with the noise that a block shares; zeros for an exact fit."""
    design = basis / (basis @ terms)[:, None]
    left = np.eye(weights.size) - design @ influence(design, weights)
    if weights.size == terms.size:
        return np.zeros(weights.size)
    return np.sqrt(np.diagonal(left @ summary.covariance @ left.T))


def _warning_of_shape(model: ScalingModel, p: Floats, misfit: Floats, errors: Floats, blocks: int) -> list[str]:
    """A warning if the residuals are more than noise, or cannot be tested."""
    if not errors.any():
        return [f"as many terms as levels of {model.variable}: the model is not tested"]
    off = off_measured(model.variable, p, misfit, errors, blocks)
    return [off] if off else []


def off_measured(variable: str, p: Floats, misfit: Floats, errors: Floats, blocks: int) -> str:
    """Where a model is farthest off the measured times, if that is more than noise: a t test for each level, Bonferroni
    over levels. `misfit`: of log time; `errors`: its standard errors. Empty if all of it may be noise."""
    allowed = float(scipy.special.stdtrit(blocks - 1, 1 - MISFIT / (2 * p.size))) * errors if blocks > 1 else np.inf
    excess = np.where(np.abs(misfit) > allowed, np.abs(misfit), 0.0)
    if not excess.any():
        return ""
    worst = int(np.argmax(excess))
    where, off = f"{variable}={p[worst]:g}", math.expm1(excess[worst])
    return f"at {where} the model is {off:.1%} off the measured time, more than the noise"
