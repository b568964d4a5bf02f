# SPDX-License-Identifier: Apache-2.0
"""Landscapes that a race has been wrong on, each raced by the product's own loop: `tune --on fake`, in this process.

A claim is wrong where the answer is further from the best than the bound beside it. scripts/bench race adversarial.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.race.race import race
from corescale.declare import command_line
from corescale.declare.command_line.request import TuneRequest
from corescale.machine import Machine
from corescale.observe import store
from corescale.observe.launchers.fake import Fake
from corescale.observe.launchers.landscape import Landscape
from corescale.observe.run import run
from corescale.records import Configuration

MACHINE = dataclasses.replace(Machine.here(), affinity=(0, 1, 2, 3), quota_cores=None)


@dataclass(frozen=True)
class Adversary:
    """A factor MODE of these times, and the noise on them."""

    times: Mapping[str, float]
    noise: Mapping[str, float | str]
    why: str

    def true(self, configuration: Configuration) -> float:
        """The time without noise."""
        return self.times[str(configuration["MODE"])]


ADVERSARIES: dict[str, Adversary] = {
    "two levels": Adversary(
        {"a": 1.0, "b": 0.979},
        {"kind": "lognormal", "size": 0.05},
        "at two common blocks there is one degree of freedom",
    ),
    "three quiet levels": Adversary(
        {"a": 1.0, "b": 0.97, "c": 0.99},
        {"kind": "lognormal", "size": 0.01},
        "what three levels lend one another is little",
    ),
    "six quiet allocators": Adversary(
        {"a": 1.0, "b": 0.9, "c": 0.95, "d": 1.05, "e": 1.1, "f": 1.02},
        {"kind": "lognormal", "size": 0.01},
        "the usual case, which must not cost much",
    ),
}


@dataclass
class Tally:
    """Of the races on one landscape."""

    races: int = 0
    claimed: int = 0
    """with a bound"""
    wrong: int = 0
    launches: int = 0
    faster: int = 0
    """answers that were confirmed to be faster than today's"""

    def add(self, adversary: Adversary, seed: int) -> None:
        """One more race."""
        landscape = Landscape.model_validate(
            {"times": {"MODE": dict(adversary.times)}, "noise": dict(adversary.noise), "seed": seed}
        )
        request = TuneRequest(threads="1", factor=[f"MODE={','.join(adversary.times)}"], budget="none")
        experiment = command_line.tune(request, ["x"], MACHINE)
        records = run(experiment, store.Memory(), Fake(experiment, landscape), race(experiment), fresh_seed=seeds(seed))
        answer = recommend(records, experiment)
        behind = adversary.true(answer.winner) / min(adversary.times.values()) - 1
        self.races += 1
        self.claimed += answer.within is not None
        self.wrong += answer.within is not None and behind > answer.within + 1e-9
        self.launches += sum(record.phase != "confirm" for record in records)
        self.faster += not answer.keep_today


def seeds(seed: int) -> Callable[[], int]:
    """Orders of blocks that the race's seed decides."""
    numbers = iter(range(seed << 20, (seed + 1) << 20))
    return lambda: next(numbers)


def tally(name: str, races: int) -> Tally:
    """Of this many races with the seeds from 0."""
    found = Tally()
    for seed in range(races):
        found.add(ADVERSARIES[name], seed)
    return found


def main(races: int) -> None:
    """Print the table."""
    print(f"| landscape | races | claims | wrong | share | launches of a race | {'why':60} |")
    print("|---|---|---|---|---|---|---|")
    for name, adversary in ADVERSARIES.items():
        found = tally(name, races)
        share = found.wrong / max(found.claimed, 1)
        mean = found.launches / found.races
        print(f"| {name} | {races} | {found.claimed} | {found.wrong} | {share:.1%} | {mean:.0f} | {adversary.why} |")
