# SPDX-License-Identifier: Apache-2.0
"""The Universal Scalability Law (Gunther 1993): Amdahl's law and crosstalk, which every further core makes worse.

Throughput X(p) = lambda p / (1 + sigma (p - 1) + kappa p (p - 1)) launches a second, with T(p) = 1 / X(p), is a sum of
three terms: T(p) = parallel / p + serial + crosstalk (p - 1), where lambda = 1 / T1, sigma = serial / T1 and
kappa = crosstalk / T1. It is fastest at p = sqrt((1 - sigma) / kappa) = sqrt(parallel / crosstalk).
"""

import math

import numpy as np

from corescale.conclude.laws.law import Law, Parameter, exp

USL = Law(
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
