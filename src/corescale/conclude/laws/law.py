# SPDX-License-Identifier: Apache-2.0
"""What a scaling law is: a sum of terms in p (or another variable), each some seconds >= 0, and numbers with names."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from corescale.conclude.stats import Floats


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number with a name in the field. `shown(of(terms))` is its value.

    Intervals are made for `of`, which varies smoothly in the terms (through 0 too), and carried over by the monotone
    `shown`.
    `of` maps terms[..., k] to [...], accepts complex terms and must be analytic: its gradient is a complex step.
    """

    name: str
    says: str
    of: Callable[[Floats], Floats]
    shown: Callable[[float], float] = float
    low: float = -np.inf
    high: float = np.inf
    """range that the law allows for the value shown"""
    unit: str = ""
    """unit of the value: `s` where it is a time"""


@dataclass(frozen=True, slots=True)
class Law:
    """T(p) = sum over terms of terms[k] * basis(p)[..., k]."""

    name: str
    formula: str
    terms: tuple[str, ...]
    """names of the terms, each of which is in seconds and at least 0"""
    basis: Callable[[Floats], Floats]
    """function from p[L] to the value of each term there, [L, k]"""
    parameters: tuple[Parameter, ...]
    beyond: str = ""
    """parameter that tells it from a simpler law, which it is where this is 0"""
    variable: str = "p"
    least: float = 1.0
    """least value of the variable"""


def exp(logarithm: float) -> float:
    """The number of a logarithm; inf where it is beyond all numbers, as the end of an interval may be."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf
