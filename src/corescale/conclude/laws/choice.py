# SPDX-License-Identifier: Apache-2.0
"""Which law to show: the simplest that no other one surely beats at predicting a level of p it has not seen.

What is not told apart is not the same: parameters and forecasts of the law that is shown are as unsure as those of all
that stand.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corescale.conclude.laws.bootstrap import REFIT_STEPS, draws
from corescale.conclude.laws.centres import summarise
from corescale.conclude.laws.fit import Fit, fit
from corescale.conclude.laws.law import Law
from corescale.conclude.laws.least_squares import gauss_newton
from corescale.conclude.stats import Floats, fewest_blocks

AGREEMENT = 0.975
"""share of the resamples of blocks that must prefer the same law"""
RESAMPLES = 499
LEVELS = 6
"""Levels of p from which laws are compared: held-out levels of fewer are extrapolations from almost nothing."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The fits of all laws, and the one to show; None where no law is identifiable."""

    best: Fit | None
    fits: Mapping[str, Fit]
    held_out: Mapping[str, float]
    """root mean square of log(mean time / prediction), each level predicted from the others; NaN where too few"""
    distinguishable: bool
    """whether the levels tell at least one law from a better one"""
    statement: str


def choose(laws: Mapping[str, Law], p: npt.ArrayLike, log_times: npt.ArrayLike, confidence: float = 0.95) -> Choice:
    """Fit every law, and show the simplest that stands beside the one with the least held-out error.

    A law falls where >= 97.5% of the resamples predict worse by it. Laws of equally many terms stand in the order of
    the table. Below six levels of p none is compared. What tells a law from a simpler one is always said with its
    interval.
    """
    fits = {name: fit(law, p, log_times, confidence) for name, law in laws.items()}
    known = sorted((name for name in laws if fits[name].identifiable), key=lambda name: len(laws[name].terms))
    if not known:
        return Choice(
            None,
            fits,
            dict.fromkeys(laws, np.nan),
            False,
            "no law can be fitted: " + "; ".join({f.doubt for f in fits.values()}),
        )
    errors = {
        name: _held_out_errors(laws[name], np.asarray(p, np.float64), np.asarray(log_times, np.float64))
        for name in known
    }
    held_out = {name: float(errors[name][0]) if name in errors else np.nan for name in laws}
    enough = np.unique(np.asarray(p)[np.isfinite(np.asarray(log_times)).any(axis=0)]).size >= LEVELS
    comparable = [name for name in known if enough and np.isfinite(errors[name][0])]
    winner = min(comparable, key=lambda name: held_out[name], default=known[0])
    beaten = [name for name in known if enough and _beats(errors[winner], errors[name])]
    chosen = next(name for name in known if name not in beaten)
    statement = _statement(chosen, winner, beaten, comparable, known) + _beyond(laws, fits)
    rivals = tuple(fits[name] for name in known if name not in beaten and name != chosen)
    return Choice(fits[chosen].beside(rivals), fits, held_out, bool(beaten), statement)


def _statement(chosen: str, winner: str, beaten: list[str], comparable: list[str], known: list[str]) -> str:
    if len(known) == 1:
        return f"{chosen} is the only law that these levels of p determine"
    if len(comparable) < len(known):
        few = f"too few levels of p (below {LEVELS}) or blocks"
        return f"{' and '.join(known)} are not compared: {few}; {chosen} is the simpler"
    if beaten:
        simplest = "" if len(beaten) == len(known) - 1 else f"; {chosen} is the simplest of the others"
        return f"{winner} predicts held-out levels better than {' and '.join(beaten)}{simplest}"
    return f"{' and '.join(known)} predict held-out levels equally well; {chosen} is the simpler"


def _beyond(laws: Mapping[str, Law], fits: Mapping[str, Fit]) -> str:
    """`; kappa = 0.002 [0, 0.005]`: the parameters that tell a law from a simpler one."""
    found = [(laws[name].beyond, fits[name].parameters.get(laws[name].beyond)) for name in laws]
    return "".join(
        f"; {name} = {value.estimate:.2g} [{value.low:.2g}, {value.high:.2g}]"
        for name, value in found
        if value is not None and value.low is not None and value.high is not None
    )


def _beats(winner: Floats, rival: Floats) -> bool:
    """The root mean square errors of one law: row 0 is of the data, the others are of the resamples."""
    usable = np.isfinite(winner[1:]) & np.isfinite(rival[1:])
    return bool(usable.sum() >= 0.9 * (RESAMPLES) and np.mean(winner[1:][usable] < rival[1:][usable]) >= AGREEMENT)


def _held_out_errors(law: Law, p: Floats, log_times: Floats) -> Floats:
    """Root mean square error over held-out levels: of the data, then of each resample; NaN where there is none."""
    columns = np.isfinite(log_times).any(axis=0)
    rows = np.isfinite(log_times).any(axis=1)
    p, log_times = p[columns], log_times[np.ix_(rows, columns)]
    blocks = log_times.shape[0]
    if blocks < fewest_blocks(2 * AGREEMENT - 1) or np.unique(p).size <= len(law.terms):
        return np.full(1 + RESAMPLES, np.nan)
    means = summarise(log_times, np.vstack([np.ones(blocks), draws(blocks, RESAMPLES)])).centres
    basis, weights = law.basis(p), np.isfinite(log_times).sum(axis=0) / blocks
    with np.errstate(all="ignore"):
        squares = [_held_out(basis, means, np.where(p == level, 0.0, weights), p == level) for level in np.unique(p)]
    mean_square: Floats = np.mean(squares, axis=0)
    return np.sqrt(mean_square)


def _held_out(basis: Floats, means: Floats, weights: Floats, out: npt.NDArray[np.bool_]) -> Floats:
    start = gauss_newton(basis[~out], means[0][~out], weights[~out])
    terms = gauss_newton(basis[~out], means[:, ~out], weights[~out], start=start, steps=REFIT_STEPS)
    predicted = terms @ basis[out].T
    error = means[:, out] - np.log(np.where(predicted > 0, predicted, np.nan))
    impossible = np.any(predicted <= 0, axis=1)
    squares: Floats = np.where(impossible, np.inf, np.mean(error**2, axis=1))
    return squares
