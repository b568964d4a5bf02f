# SPDX-License-Identifier: Apache-2.0
"""Landscapes whose budget would allow the gain to be found: twice the launches that normal theory asks for.

These are one launch of each configuration, and pairs of the best one and today's launch as many as a z test at 95%
needs to tell the gain with a probability of 95%, by the variance of the logarithm of such pairs' ratio.
"""

import functools
import math
import random
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from race_adversaries import ADVERSARIES, Adversary, few
from scipy.special import ndtri

from corescale.declare.experiment import Experiment
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


@functools.cache
def variance(noise: str) -> float:
    """Of the logarithm of the ratio of two launches, one behind the other."""
    drawn = stream(Disturbance.model_validate(NOISES[noise]), random.Random(1))
    logs = [added for added, _ in islice(drawn, 2 * DRAWN)]
    return statistics.pvariance([a - b for a, b in zip(logs[::2], logs[1::2], strict=True)])


def launches(configurations: int, gain: float, noise: str) -> int:
    """By normal theory, where all launches have this noise; three pairs at least."""
    reach = float(ndtri(0.975) + ndtri(0.95))
    return configurations + 2 * max(3, math.ceil(variance(noise) * (reach / math.log(gain)) ** 2))


@dataclass(frozen=True, kw_only=True)
class Affordable(Adversary):
    """Its budget is known when it is raced: to draw all noises takes most of a second, too long for an import."""

    name: str
    """of its noise"""
    gain: float

    @functools.cached_property
    def experiment(self) -> Experiment:
        """With the budget that allows the gain to be found."""
        budget = ENOUGH * launches(len(self.times), self.gain, self.name)
        return Adversary(self.times, self.noise, self.why, options={"budget": f"{budget}x"}).experiment


def gain_of(gain: float, configurations: int, noise: str) -> Affordable:
    """One is faster than today's launch by so much, and the others are not, or by 1.5% at most."""
    drawn = random.Random(configurations)
    others = {f"m{k}": round(drawn.uniform(0.985, 1.1), 3) for k in range(configurations - 2)}
    times = {"today": 1.0, "best": 1 / gain} | others
    return Affordable(times, NOISES[noise], f"{ENOUGH} times what normal theory asks for", name=noise, gain=gain)


GAINS = {
    f"{gain - 1:.0%} among {configurations}, {name}": gain_of(gain, configurations, name)
    for gain in (1.051, 1.1)
    for configurations in (2, 6, 12)
    for name in NOISES
}
