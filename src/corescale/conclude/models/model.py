# SPDX-License-Identifier: Apache-2.0
"""Scaling models: sums of terms in p (or another variable), each in seconds and at least 0, with named parameters."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from corescale.conclude.stats import Floats


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter with a name from the literature. Its value is `shown(of(terms))`.

    Intervals are computed for `of`, which varies smoothly with the terms (through 0 too), and mapped by the monotone
    `shown`. `of` maps terms[..., k] to [...], accepts complex terms and must be analytic: its gradient is a complex
    step.
    """

    name: str
    says: str
    of: Callable[[Floats], Floats]
    shown: Callable[[float], float] = float
    low: float = -np.inf
    high: float = np.inf
    """range that the model allows for the value shown"""
    unit: str = ""
    """unit of the value, such as `s` for a time"""


@dataclass(frozen=True, slots=True)
class ScalingModel:
    """T(p) = sum over terms of terms[k] * basis(p)[..., k]."""

    name: str
    formula: str
    terms: tuple[str, ...]
    """names of the terms, each of which is in seconds and at least 0"""
    basis: Callable[[Floats], Floats]
    """function from p[L] to the value of each term there, [L, k]"""
    parameters: tuple[Parameter, ...]
    beyond: str = ""
    """parameter that the simpler model lacks; if it is 0, the two models are equal"""
    variable: str = "p"


def exp(logarithm: float) -> float:
    """The number of a logarithm; inf if it is too large for a number, as the end of an interval may be."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf


AMDAHL = ScalingModel(  # Amdahl 1967
    name="amdahl",
    formula="T(p) = T1 (s + (1 - s) / p)",
    terms=("parallel", "serial"),
    basis=lambda p: np.stack([1 / p, np.ones_like(p)], axis=-1),
    parameters=(
        Parameter("T1", "seconds on one core", lambda x: np.log(x[..., 0] + x[..., 1]), exp, low=0.0, unit="s"),
        Parameter("s", "serial fraction", lambda x: x[..., 1] / (x[..., 0] + x[..., 1]), low=0.0, high=1.0),
        Parameter(
            "limit",
            "speedup that no number of cores exceeds",
            lambda x: x[..., 1] / (x[..., 0] + x[..., 1]),
            lambda s: 1 / s if s > 0 else math.inf,
            low=1.0,
        ),
    ),
)


USL = ScalingModel(  # the Universal Scalability Law, Gunther 1993
    name="usl",
    formula="X(p) = lambda p / (1 + sigma (p - 1) + kappa p (p - 1))",
    terms=("parallel", "serial", "crosstalk"),
    basis=lambda p: np.stack([1 / p, np.ones_like(p), p - 1], axis=-1),
    parameters=(
        Parameter("lambda", "launches a second on one core", lambda x: -np.log(x[..., 0] + x[..., 1]), exp, low=0.0),
        Parameter("sigma", "contention", lambda x: x[..., 1] / (x[..., 0] + x[..., 1]), low=0.0, high=1.0),
        Parameter("kappa", "crosstalk", lambda x: x[..., 2] / (x[..., 0] + x[..., 1]), low=0.0),
        Parameter(
            "peak",
            "p of the shortest time; infinite where crosstalk may be none",
            lambda x: x[..., 2] / x[..., 0],
            lambda r: r**-0.5 if r > 0 else math.inf,
            low=0.0,
        ),
    ),
    beyond="kappa",
)


FLAT = ScalingModel(  # fitted over loads, at each p of a weak scan
    name="flat",
    formula="T = a + b work",
    terms=("flat", "growing"),
    basis=lambda work: np.stack([np.ones_like(work), work], axis=-1),
    parameters=(
        Parameter("a", "seconds that do not grow with the work", lambda x: x[..., 0], low=0.0, unit="s"),
        Parameter("b", "seconds for each unit of work", lambda x: x[..., 1], low=0.0, unit="s"),
    ),
    variable="work",
)
