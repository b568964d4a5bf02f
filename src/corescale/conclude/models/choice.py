# SPDX-License-Identifier: Apache-2.0
"""Chooses the model to show: the simplest one than which no other surely predicts held-out levels of p better.

Tied models are not equal: the intervals of the shown model's parameters and forecasts also cover those of its ties.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corescale.conclude.models.bootstrap import AGREEMENT, REFIT_STEPS, draws, summarise, surely_less
from corescale.conclude.models.fit import Fit, fit, with_times
from corescale.conclude.models.least_squares import gauss_newton
from corescale.conclude.models.model import ScalingModel
from corescale.conclude.stats import Floats, fewest_blocks

RESAMPLES = 499
LEVELS = 6
"""Fewest levels of p for which models are compared; with fewer, almost nothing predicts a held-out level."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The fits of all models, and the one to show; None if no model is identifiable."""

    best: Fit | None
    fits: Mapping[str, Fit]
    statement: str


def choose(
    models: Mapping[str, ScalingModel], p: npt.ArrayLike, log_times: npt.ArrayLike, confidence: float = 0.95
) -> Choice:
    """Fit every model, and show the simplest that is tied with the one with the least held-out error.

    A model is excluded if it predicts worse in >= 97.5% of the resamples. Models with the same number of terms are in
    the order of the table. Below six levels of p, models are not compared. The parameter that a simpler model lacks is
    always shown with its interval.
    """
    fits = {name: fit(model, p, log_times, confidence) for name, model in models.items()}
    known = sorted((name for name in models if fits[name].identifiable), key=lambda name: len(models[name].terms))
    if not known:
        none = "no model can be fitted: " + "; ".join(dict.fromkeys(f.warning for f in fits.values()))
        return Choice(None, fits, none)
    levels, times = with_times(p, log_times)
    errors = {name: _held_out_errors(models[name], levels, times) for name in known}
    enough = np.unique(levels).size >= LEVELS
    comparable = [name for name in known if enough and np.isfinite(errors[name][0])]
    winner = min(comparable, key=lambda name: float(errors[name][0]), default=known[0])
    beaten = [name for name in known if enough and surely_less(errors[winner][1:], errors[name][1:])]
    chosen = next(name for name in known if name not in beaten)
    statement = _statement(chosen, winner, beaten, comparable, known) + _beyond(models, fits)
    rivals = tuple(fits[name] for name in known if name not in beaten and name != chosen)
    return Choice(fits[chosen].beside(rivals), fits, statement)


def _statement(chosen: str, winner: str, beaten: list[str], comparable: list[str], known: list[str]) -> str:
    if len(known) == 1:
        return f"{chosen} is the only model that these levels of p determine"
    if len(comparable) < len(known):
        few = f"too few levels of p (below {LEVELS}) or blocks"
        return f"{' and '.join(known)} are not compared: {few}; {chosen} is the simpler"
    if beaten:
        simplest = "" if len(beaten) == len(known) - 1 else f"; {chosen} is the simplest of the others"
        return f"{winner} predicts held-out levels better than {' and '.join(beaten)}{simplest}"
    return f"{' and '.join(known)} predict held-out levels equally well; {chosen} is the simpler"


def _beyond(models: Mapping[str, ScalingModel], fits: Mapping[str, Fit]) -> str:
    """The parameters that a simpler model lacks, such as `; kappa = 0.002 [0, 0.005]`."""
    found = [(models[name].beyond, fits[name].parameters.get(models[name].beyond)) for name in models]
    return "".join(
        f"; {name} = {value.estimate:.2g} [{value.low:.2g}, {value.high:.2g}]"
        for name, value in found
        if value is not None and value.low is not None and value.high is not None
    )


def _held_out_errors(model: ScalingModel, p: Floats, log_times: Floats) -> Floats:
    """Root mean square error over held-out levels: of the data, then of each resample; NaN if there is none."""
    blocks = log_times.shape[0]
    if blocks < fewest_blocks(2 * AGREEMENT - 1) or np.unique(p).size <= len(model.terms):
        return np.full(1 + RESAMPLES, np.nan)
    means = summarise(log_times, np.vstack([np.ones(blocks), draws(blocks, RESAMPLES)])).centres
    basis, weights = model.basis(p), np.isfinite(log_times).sum(axis=0) / blocks
    with np.errstate(all="ignore"):
        squares = [_held_out(basis, means, np.where(p == level, 0.0, weights), p == level) for level in np.unique(p)]
    return np.asarray(np.sqrt(np.mean(squares, axis=0)))


def _held_out(basis: Floats, means: Floats, weights: Floats, out: npt.NDArray[np.bool_]) -> Floats:
    start = gauss_newton(basis[~out], means[0][~out], weights[~out])
    terms = gauss_newton(basis[~out], means[:, ~out], weights[~out], start=start, steps=REFIT_STEPS)
    predicted = terms @ basis[out].T
    error = means[:, out] - np.log(np.where(predicted > 0, predicted, np.nan))
    return np.asarray(np.where(np.any(predicted <= 0, axis=1), np.inf, np.mean(error**2, axis=1)))
