# SPDX-License-Identifier: Apache-2.0
"""Launches nothing: takes times from a landscape with known truth, on a virtual clock. Every record is marked as fake.

The statistics and the race are tested against it exactly and instantly.
"""

import hashlib
import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from corescale.declare.experiment import Experiment
from corescale.declare.plan import Invocation
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.observe.launchers.landscape import DISTURBANCES, Disturbance, Failure, Landscape, Stream, meets
from corescale.observe.launchers.launcher import Launcher
from corescale.records import Configuration, Layout, Noise, Record, Status, canonical

LONGEST = 1e9
"""longest launch in seconds: 32 years"""

EPOCH = 1_000_000_000.0
"""where the virtual clock starts"""


class Fake(Launcher):
    """See Launcher. Its launches take no time: more than 50,000 a second."""

    only_if_asked = True
    origin = "fake"
    virtual = True
    takes = "landscape"

    def __init__(self, experiment: Experiment, landscape: Landscape, machine: Machine | None = None) -> None:
        landscape.check(experiment)
        self._experiment, self._landscape = experiment, landscape
        self._plan = experiment.hash
        self._cores = machine.default_max_threads if machine is not None else math.inf
        self._places: dict[Configuration, _Place] = {}
        self._clock = EPOCH
        self._proved: set[Configuration] = set()
        self._start(0)
        text = canonical(landscape.model_dump(mode="json"))
        self.name = f"fake-{hashlib.sha256(text.encode()).hexdigest()[:8]}"  # a different truth makes a different run

    @classmethod
    def create(cls, experiment: Experiment, machine: Machine, option: str = "") -> Self:
        if not option:
            raise UsageError("the fake launcher needs a landscape", where="--on fake", remedy="add --landscape FILE")
        return cls(experiment, Landscape.read(Path(option)), machine)

    @classmethod
    def cannot(cls, layout: Layout) -> str | None:
        del layout
        return None

    def open(self, note: Callable[[str], None], began: float | None = None) -> None:
        note("fake: nothing is launched, every number comes from a landscape")

    def recall(self, history: Sequence[Record]) -> None:
        if history:
            self._clock = history[-1].started + history[-1].wall
            self._proved = {record.configuration for record in history}
            self._start(len(history))

    def subject(self) -> Mapping[str, Any]:
        return {"landscape": self._landscape.model_dump(mode="json"), "sources": []}

    def line(self, configuration: Configuration, reads: Collection[str] | None = None) -> str:
        del reads
        return f"(fake) {configuration.label}"

    def launch(self, block: Sequence[Invocation]) -> Iterator[Record]:
        new = {invocation.configuration for invocation in block} - self._proved
        self._proved |= new
        self._clock += self._landscape.proof * len(new)
        return map(self._launch_once, block)

    def _start(self, made: int) -> None:
        """Seeds the noise by the number of launches made, so that a resumed run gets new noise, the same each time."""
        self._random = random.Random(f"{self._landscape.seed}/{made}")
        self._streams: dict[int, Stream] = {}
        self._before: Configuration | None = None

    def _place(self, configuration: Configuration) -> "_Place":
        if configuration not in self._places:
            crowded = configuration.layout.p > self._cores
            self._places[configuration] = _Place.of(self._landscape, configuration, crowded)
        return self._places[configuration]

    def _launch_once(self, invocation: Invocation) -> Record:
        place = self._place(invocation.configuration)
        stream = DISTURBANCES[place.noise.kind](place.noise, self._random)
        disturbed, slow = next(self._streams.setdefault(id(place.noise), stream))
        truth = place.rehearsed if invocation.phase == "rehearse" else place.truth
        wall = _scaled(truth, self._machine(invocation, place) + disturbed)
        if not 0 < wall < LONGEST:
            what = f"a launch of {invocation.configuration.label} would take {wall:g} s"
            raise UsageError(what, where="landscape", remedy="give it smaller numbers")
        self._before = invocation.configuration
        failure = next((each for each in place.failures if self._random.random() < each.probability), None)
        status: Status = "ok" if failure is None else failure.status
        limit = self._experiment.timeout
        if limit is not None and (wall > limit or status == "timeout"):
            wall, status = limit, "timeout"
        if invocation.cap is not None and wall > invocation.cap:
            wall, status = invocation.cap, "capped"
        record = invocation.record(
            self._plan,
            started=self._clock,
            wall=wall,
            status=status,
            exit_code=failure.exit_code if failure is not None and status == "failed" else _EXIT.get(status, 0),
            user=wall * place.p,
            threads_asked=place.p,
            metrics={name: self._metric(name, value) for name, value in place.metrics.items()},
            checks={"landscape": False} if status == "check" else _NOTHING,
            let_fail=status in ("failed", "signal") and self._experiment.lets_fail,
            tail=failure.tail if failure is not None else "",
            noise=Noise(steal=place.noise.steal / (1 - place.noise.steal) * wall * place.p) if slow else _QUIET,
            origin=self.origin,
            oversubscribed=place.oversubscribed,
        )
        self._clock += wall + self._landscape.between
        return record

    def _machine(self, invocation: Invocation, place: "_Place") -> float:
        """The logarithm that the machine's state adds, in addition to the noise."""
        land, clock = self._landscape, self._clock - EPOCH
        added = place.drift * clock / 3600
        added += land.period.at(clock) if land.period is not None else 0.0
        added += land.first_in_block if invocation.order == 0 else 0.0
        before = self._before
        return added + sum(each.adds for each in land.carry_over if before is not None and meets(before, each.after))

    def _metric(self, name: str, value: float) -> float:
        size = self._landscape.metrics[name].size
        return _scaled(value, size * self._random.gauss()) if size else value


@dataclass(frozen=True, slots=True)
class _Place:
    """The truth of the landscape for one configuration."""

    truth: float
    rehearsed: float
    p: int
    oversubscribed: bool
    metrics: Mapping[str, float]
    failures: tuple[Failure, ...]
    drift: float
    noise: Disturbance

    @classmethod
    def of(cls, landscape: Landscape, configuration: Configuration, oversubscribed: bool) -> "_Place":
        own = next((each for each in landscape.own if meets(configuration, each.levels)), None)
        truth = landscape.truth(configuration)
        return cls(
            truth=truth,
            rehearsed=truth * landscape.rehearsal.of(configuration),
            p=configuration.layout.p,
            oversubscribed=oversubscribed,
            metrics={name: metric.of(configuration) for name, metric in landscape.metrics.items()},
            failures=tuple(each for each in landscape.failures if meets(configuration, each.levels)),
            drift=landscape.drift + (own.drift if own is not None else 0.0),
            noise=landscape.noise if own is None or own.noise is None else own.noise,
        )


def _scaled(value: float, logarithm: float) -> float:
    """value * exp(logarithm); inf if that is too large for a number."""
    try:
        return value * math.exp(logarithm)
    except OverflowError:
        return math.inf


_QUIET = Noise()
_NOTHING: Mapping[str, bool] = {}
_EXIT = {"signal": -11, "timeout": -9, "capped": -9, "failed": 1}
