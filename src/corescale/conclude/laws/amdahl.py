# SPDX-License-Identifier: Apache-2.0
"""Amdahl's law (1967): T(p) = T1 (s + (1 - s) / p). A part s of the work never gets faster."""

import math

import numpy as np

from corescale.conclude.laws.law import Law, Parameter, exp

AMDAHL = Law(
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
