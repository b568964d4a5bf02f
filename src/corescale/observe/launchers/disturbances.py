# SPDX-License-Identifier: Apache-2.0
"""Kinds of noise that a landscape can have. A new kind is a function and a line in the table."""

import math
import random
from collections.abc import Callable, Iterator

from corescale.observe.launchers.landscape import Disturbance

Stream = Iterator[tuple[float, bool]]
"""For each launch, without end: the logarithm to add, and whether the machine was slow."""


def _none(noise: Disturbance, rng: random.Random) -> Stream:
    del noise, rng
    while True:
        yield 0.0, False


def _normal(noise: Disturbance, rng: random.Random) -> Stream:
    """Times, not their logarithms, are normal; cut off at 1% of the truth."""
    while True:
        yield math.log(max(0.01, 1 + noise.size * rng.gauss())), False


def _lognormal(noise: Disturbance, rng: random.Random) -> Stream:
    while True:
        yield noise.size * rng.gauss(), False


def _bimodal(noise: Disturbance, rng: random.Random) -> Stream:
    while True:
        fast, slow = noise.size * rng.gauss(), rng.random() < noise.share
        yield fast + (noise.gap if slow else 0.0), slow


def _ar1(noise: Disturbance, rng: random.Random) -> Stream:
    """Stationary: every launch scatters by `size`."""
    fresh = math.sqrt(1 - noise.memory**2)
    state = rng.gauss()
    while True:
        yield noise.size * state, False
        state = noise.memory * state + fresh * rng.gauss()


def _bursts(noise: Disturbance, rng: random.Random) -> Stream:
    """Noise of a hypervisor that takes the cores for a while: slower by `gap` during a burst."""
    bursting = False
    while True:
        bursting = rng.random() < (noise.memory if bursting else noise.share)
        yield noise.size * rng.gauss() + (noise.gap if bursting else 0.0), bursting


def stream(noise: Disturbance, rng: random.Random) -> Stream:
    """The noise of this kind, drawn from `rng`."""
    return DISTURBANCES[noise.kind](noise, rng)


DISTURBANCES: dict[str, Callable[[Disturbance, random.Random], Stream]] = {
    "none": _none,
    "normal": _normal,
    "lognormal": _lognormal,
    "bimodal": _bimodal,
    "ar1": _ar1,
    "bursts": _bursts,
}
