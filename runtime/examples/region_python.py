# SPDX-License-Identifier: Apache-2.0
"""Integrates 4 / (1 + x^2) over [0, 1] and says how long it took."""

import math

from corescale.region import check, metric, region, work

STEPS = 500_000

with region("integrate"):
    pi = sum(4 / (1 + ((i + 0.5) / STEPS) ** 2) for i in range(STEPS)) / STEPS

metric("error", abs(pi - math.pi))
check("close", abs(pi - math.pi) < 1e-10)
work(STEPS)
print(f"pi is about {pi:.6f}")
