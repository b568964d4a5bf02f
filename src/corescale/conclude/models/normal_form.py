# SPDX-License-Identifier: Apache-2.0
"""Extra-P's performance model normal form (Calotoiu et al. 2013) with one term: T(p) = c0 + c1 p^i log2(p)^j.

Exponents come from a fixed set that includes negative ones, which strong scaling needs. As in Extra-P, the shown pair
(i, j) is the one that best predicts each level from the others. It is fitted only on request and is not in the table
MODELS, because one of so many hypotheses fits well by chance.
"""

import functools
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from corescale.conclude.models.bootstrap import summarise
from corescale.conclude.models.fit import Fit, fit
from corescale.conclude.models.least_squares import bounded_fit
from corescale.conclude.models.model import Parameter, ScalingModel
from corescale.conclude.stats import Floats

EXPONENTS = tuple(sorted({Fraction(k, of) for of in (3, 4) for k in range(3 * of + 1)}))
"""what Extra-P tries for i"""
LOGARITHMS = (0, 1, 2)
"""what Extra-P tries for j"""


@functools.cache
def hypothesis(exponent: Fraction, logarithm: int) -> ScalingModel:
    """The model c0 + c1 p^exponent log2(p)^logarithm."""

    def basis(p: Floats) -> Floats:
        return np.stack([np.ones_like(p), p ** float(exponent) * np.log2(p) ** logarithm], axis=-1)

    power = f" p^{exponent}" if exponent else ""
    log = f" log2(p)^{logarithm}" if logarithm else ""
    return ScalingModel(
        name="normal form",
        formula=f"T(p) = c0 + c1{power}{log}",
        terms=("constant", "growing"),
        basis=basis,
        parameters=(
            Parameter("c0", "seconds at every p", lambda x: x[..., 0], low=0.0, unit="s"),
            Parameter("c1", "seconds of the term in p", lambda x: x[..., 1], low=0.0, unit="s"),
        ),
    )


def hypotheses() -> list[ScalingModel]:
    """The models for every pair of exponents, with both signs of i, except the constant."""
    signed = sorted({sign * one for one in EXPONENTS for sign in (1, -1)}, key=lambda i: (abs(i), -i))
    return [hypothesis(i, j) for i in signed for j in LOGARITHMS if i or j]


def normal_form(p: npt.ArrayLike, log_times: npt.ArrayLike, confidence: float = 0.95) -> tuple[ScalingModel, Fit]:
    """The hypothesis that best predicts each level from the others, and its fit; blocks x levels as for `fit`.

    At equal errors the simplest is chosen, in the order of `hypotheses`.
    ValueError below 4 levels of p, which leave nothing to distinguish hypotheses.
    """
    levels, times = np.asarray(p, np.float64), np.asarray(log_times, np.float64)
    if np.unique(levels).size < 4:
        raise ValueError(f"{np.unique(levels).size} levels of p cannot choose a normal form; measure at least 4")
    centres = summarise(times, np.ones(times.shape[0])).centres
    models = hypotheses()
    errors = [_held_out(model.basis(levels), centres) for model in models]
    best = models[int(np.nanargmin(np.round(errors, 12)))]
    return best, fit(best, levels, times, confidence)


def _held_out(basis: Floats, centres: Floats) -> float:
    """Root mean square error of log time, each level predicted from the others; infinite if one cannot be."""
    squares = []
    for out in range(centres.size):
        rest = np.arange(centres.size) != out
        with np.errstate(all="ignore"):
            terms = bounded_fit(basis[rest], centres[rest], np.ones(int(rest.sum())))
            squares.append(float((centres[out] - np.log(basis[out] @ terms)) ** 2))
    return float(np.sqrt(np.mean(squares))) if np.isfinite(squares).all() else np.inf
