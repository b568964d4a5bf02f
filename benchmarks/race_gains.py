# SPDX-License-Identifier: Apache-2.0
"""Landscapes whose budget would allow the gain to be found: twice the launches that normal theory asks for.

These are one launch of each configuration, and pairs of the best one and today's launch as many as a z test at 95%
needs to tell the gain with a probability of 95%, by the variance of the logarithm of such pairs' ratio.
"""

import math
import random
import statistics
from collections.abc import Mapping
from itertools import islice
from typing import Any

from race_adversaries import ADVERSARIES, Adversary, few
from scipy.special import ndtri

from corescale.observe.launchers.disturbances import stream
from corescale.observe.launchers.landscape import Disturbance

ENOUGH = 2
"""times what normal theory asks for"""
DRAWN = 100_000
"""pairs from which their variance is estimated"""

NOISES: Mapping[str, Mapping[str, Any]] = {
    "2% noise": few(0.02),
    "5% noise": few(0.05),
    "bursts": ADVERSARIES["bursts"].noise,
    "slow mode": ADVERSARIES["slow mode"].noise,
}


def launches(configurations: int, gain: float, noise: Mapping[str, Any]) -> int:
    """By normal theory, where all launches have this noise; three pairs at least."""
    logs = [added for added, _ in islice(stream(Disturbance.model_validate(noise), random.Random(1)), 2 * DRAWN)]
    variance = statistics.pvariance([a - b for a, b in zip(logs[::2], logs[1::2], strict=True)])
    reach = float(ndtri(0.975) + ndtri(0.95))
    return configurations + 2 * max(3, math.ceil(variance * (reach / math.log(gain)) ** 2))


def gain_of(gain: float, configurations: int, noise: Mapping[str, Any]) -> Adversary:
    """One is faster than today's launch by so much, and the others are not, or by 1.5% at most."""
    drawn = random.Random(configurations)
    others = {f"m{k}": round(drawn.uniform(0.985, 1.1), 3) for k in range(configurations - 2)}
    asked = launches(configurations, gain, noise)
    why = f"normal theory asks for {asked} launches"
    times = {"today": 1.0, "best": 1 / gain} | others
    return Adversary(times, noise, why, options={"budget": f"{ENOUGH * asked}x"})


GAINS = {
    f"{gain - 1:.0%} among {configurations}, {name}": gain_of(gain, configurations, noise)
    for gain in (1.051, 1.1)
    for configurations in (2, 6, 12)
    for name, noise in NOISES.items()
}
