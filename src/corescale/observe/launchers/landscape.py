# SPDX-License-Identifier: Apache-2.0
"""The landscape from which the fake launcher takes times. docs/fake.md has every key."""

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field

from corescale.declare.base import Model
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline
from corescale.declare.study_file import faults
from corescale.errors import UsageError
from corescale.records import Configuration, Level


class Finite(Model, allow_inf_nan=False):
    """A model whose numbers are finite."""


class Disturbance(Finite):
    """How times scatter around the truth."""

    kind: Literal["none", "normal", "lognormal", "bimodal", "ar1", "bursts"] = "lognormal"
    size: float = Field(default=0.02, ge=0)
    gap: float = Field(default=0.1, ge=0)
    share: float = Field(default=0.3, ge=0, le=1)
    memory: float = Field(default=0.7, ge=0, lt=1)
    steal: float = Field(default=0, ge=0, lt=1)


Times = Mapping[str, Mapping[str, Annotated[float, Field(gt=0)]]]
"""factor -> level -> multiplier"""


class Met(Finite):
    """An effect on configurations that have all of `levels`."""

    levels: Mapping[str, Level]


class Interaction(Met):
    """The time is also multiplied by `times`."""

    times: float = Field(gt=0)


class Failure(Met):
    """How a launch ends, with `probability`."""

    levels: Mapping[str, Level] = {}
    status: Literal["failed", "signal", "timeout", "check", "output-differs"] = "failed"
    probability: float = Field(default=1.0, ge=0, le=1)
    exit_code: int = 1
    tail: str = ""


class Own(Met):
    """Noise and drift; a configuration without its own noise has the common one."""

    noise: Disturbance | None = None
    drift: float = 0.0


class CarryOver(Finite):
    """A launch right after one with all levels of `after` takes longer: its log time grows by `adds`."""

    after: Mapping[str, Level]
    adds: float


class Period(Finite):
    """A swing of the logarithm of every time, by `height` up and down every `seconds` of the virtual clock."""

    seconds: float = Field(gt=0)
    height: float = Field(ge=0)

    def at(self, clock: float) -> float:
        """Logarithm to add at this second."""
        return self.height * math.sin(2 * math.pi * clock / self.seconds)


class Scaled(Finite):
    """`base` times the entries of the levels."""

    base: float
    times: Mapping[str, Mapping[str, float]] = {}

    def of(self, configuration: Configuration) -> float:
        """The value for a configuration, without noise."""
        return self.base * math.prod(table[str(configuration[name])] for name, table in self.times.items())


class Metric(Scaled):
    """A metric of every launch."""

    size: float = Field(default=0, ge=0)


class Smaller(Scaled):
    """The time with the smaller input of a rehearsal, as a multiple of the time with the full input."""

    base: float = Field(default=0.1, gt=0)
    times: Times = Field(default={})


class Landscape(Finite):
    """The truth: seconds = base x Amdahl(threads) x the entry of each level x interactions."""

    base: float = Field(default=1.0, gt=0)
    serial: float = Field(default=1.0, ge=0, le=1)
    times: Times = Field(default={})
    interactions: tuple[Interaction, ...] = ()
    noise: Disturbance = Disturbance()
    drift: float = 0.0
    period: Period | None = None
    between: float = Field(default=0.0, ge=0)
    proof: float = Field(default=0.0, ge=0)
    first_in_block: float = 0.0
    carry_over: tuple[CarryOver, ...] = ()
    own: tuple[Own, ...] = ()
    failures: tuple[Failure, ...] = ()
    metrics: Mapping[str, Metric] = {}
    rehearsal: Smaller = Smaller()
    seed: int = 0

    @classmethod
    def read(cls, path: Path) -> Self:
        """The landscape of a TOML file with these fields; raises UsageError."""
        return faults.read(cls, path, "docs/fake.md")

    def truth(self, configuration: Configuration) -> float:
        """Seconds without noise and drift."""
        p = configuration.layout.p
        model = self.serial + (1 - self.serial) / p
        alone = math.prod(table[str(configuration[factor])] for factor, table in self.times.items())
        together = math.prod(each.times for each in self.interactions if meets(configuration, each.levels))
        return self.base * model * alone * together

    def check(self, experiment: Experiment) -> None:
        """Raises UsageError for a name or a level that does not fit the experiment, so that no typo passes as 1.0."""
        levels = {factor.name: {str(level) for level in factor.levels} for factor in experiment.factors}
        for name, level in baseline(experiment).levels:
            levels.setdefault(name, set()).add(str(level))
        for where, table in (
            ("times", self.times),
            ("rehearsal", self.rehearsal.times),
            *((f"metrics.{n}", m.times) for n, m in self.metrics.items()),
        ):
            for name, entries in table.items():
                _must_be(name, levels, f"{where}: factor")
                for level in levels[name] - set(entries):
                    what = f"factor {name!r} has no entry for level {level!r}"
                    raise UsageError(what, where=f"landscape {where}", remedy="write one: docs/fake.md")
        met: tuple[Met, ...] = (*self.interactions, *self.failures, *self.own)
        combined = [each.levels for each in met]
        for name in itertools.chain(*combined, *(each.after for each in self.carry_over)):
            _must_be(name, levels, "factor")


def meets(configuration: Configuration, levels: Mapping[str, Level]) -> bool:
    """Whether a configuration has all of these levels."""
    return all(str(configuration.get(name)) == str(level) for name, level in levels.items())


def _must_be(name: str, levels: Mapping[str, object], what: str) -> None:
    if name not in levels:
        known = ", ".join(levels) or "none"
        raise UsageError(f"{what} {name!r} is not in the experiment", where="landscape", remedy=f"factors: {known}")


Stream = Iterator[tuple[float, bool]]
"""An endless stream that gives, for each launch, the logarithm to add and whether the machine was slow."""


def _none(noise: Disturbance, rng: random.Random) -> Stream:
    del noise, rng
    while True:
        yield 0.0, False


def _normal(noise: Disturbance, rng: random.Random) -> Stream:
    """Noise in which times, not logarithms, are normal; cut off at 1% of the truth."""
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
    """Stationary noise: every launch scatters by `size`."""
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


DISTURBANCES: dict[str, Callable[[Disturbance, random.Random], Stream]] = {
    "none": _none,
    "normal": _normal,
    "lognormal": _lognormal,
    "bimodal": _bimodal,
    "ar1": _ar1,
    "bursts": _bursts,
}
