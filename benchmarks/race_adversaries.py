# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one landscape behind the other)
"""Landscapes that a race has been wrong on, and a race by the product's own loop: `tune --on fake`, in this process.

race_adversarial.py counts what came of it.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from corescale.conclude.answers.recommendation import Recommendation, recommend
from corescale.conclude.race.race import race
from corescale.declare import command_line
from corescale.declare.command_line.request import TuneRequest
from corescale.declare.experiment import Experiment
from corescale.declare.plan import Invocation
from corescale.machine import Machine
from corescale.observe import store
from corescale.observe.launchers.fake import Fake
from corescale.observe.launchers.landscape import Landscape
from corescale.observe.run import run
from corescale.records import Record

MACHINE = dataclasses.replace(Machine.here(), affinity=(0, 1), quota_cores=None)

SIX = {"a": 1.0, "b": 0.9, "c": 0.95, "d": 1.05, "e": 1.1, "f": 1.02}
FASTER = {"a": 1.0, "b": 0.88, "c": 0.97, "d": 1.05, "e": 1.1, "f": 1.02}
ALLOCATORS = {"system": 1.0, "mimalloc": 0.85, "jemalloc": 0.92, "tcmalloc": 0.90, "tbbmalloc": 1.05, "scudo": 1.4}


@dataclass(frozen=True)
class Adversary:
    """A factor MODE of these times, what else the landscape has, and why it is hard."""

    times: Mapping[str, float]
    noise: Mapping[str, float | str]
    why: str
    more: Mapping[str, Any] = field(default_factory=dict)
    """further keys of the landscape"""
    options: Mapping[str, Any] = field(default_factory=dict)
    """options of tune, where they are not threads=1 and no budget"""
    larger: tuple[int, ...] = ()
    """launches that the same run may have afterwards, one budget after the other"""
    step: float = 0.0
    """seconds in whole multiples of which times are told; 0: as they are"""

    @functools.cached_property
    def experiment(self) -> Experiment:
        """As the command line makes it; that of one race is that of all."""
        usual = {"threads": "1", "factor": [f"MODE={','.join(self.times)}"], "budget": "none"}
        return command_line.tune(TuneRequest(**(usual | dict(self.options))), ["x"], MACHINE)

    def landscape(self, seed: int) -> Landscape:
        """The truth and its noise."""
        usual = {"times": {"MODE": dict(self.times)}, "noise": dict(self.noise), "seed": seed}
        return Landscape.model_validate(usual | dict(self.more))

    def raced(self, seed: int) -> "Raced":
        """One race by the product's own loop."""
        kept, numbers, stop = store.Memory(), seeds(seed), self.experiment.stop
        for asked in (stop, *(stop.model_copy(update={"launches": launches}) for launches in self.larger)):
            experiment = self.experiment.model_copy(update={"stop": asked})
            fake = Coarse(experiment, self.landscape(seed), self.step)
            records = run(experiment, kept, fake, race(experiment), fresh_seed=numbers)
        return Raced(experiment, fake, records, recommend(records, experiment))


class Coarse(Fake):
    """Tells times in whole steps."""

    def __init__(self, experiment: Experiment, landscape: Landscape, step: float) -> None:
        super().__init__(experiment, landscape)
        self._step = step

    def launch(self, block: Sequence[Invocation]) -> Iterator[Record]:
        """Its launches, rounded."""
        return map(self._rounded, super().launch(block))

    def _rounded(self, record: Record) -> Record:
        steps = max(1, round(record.wall / self._step)) if self._step else 0
        return dataclasses.replace(record, wall=round(steps * self._step, 9)) if steps else record


@dataclass(frozen=True)
class Raced:
    """One race, and the truth."""

    experiment: Experiment
    fake: Fake
    records: tuple[Record, ...]
    answer: Recommendation

    @property
    def behind(self) -> float:
        """True regret of the answer."""
        return self.fake.truth(self.answer.chosen) / self.fake.truth(self.fake.best()) - 1

    @property
    def bound(self) -> float | None:
        """What is claimed of it."""
        return next((c.regret.bound for c in self.answer.candidates if c.configuration == self.answer.chosen), None)

    @property
    def failed(self) -> bool:
        """Whether what is recommended had failed, other than by being killed as lost or, it is said, by chance."""
        bad = {r.configuration for r in self.records if not r.ok and r.status != "capped"}
        return self.answer.chosen in bad and not self.answer.by_chance

    @property
    def wrong(self) -> bool:
        """Whether the claim is false, or the answer breaks a constraint and does not say that it may."""
        breaks = not self.fake.allowed(self.answer.chosen) and not self.answer.not_shown
        return self.failed or breaks or (self.bound is not None and self.behind > self.bound + 1e-9)

    @property
    def gain(self) -> float:
        """True gain of the favourite."""
        return self.fake.truth(self.answer.today) / self.fake.truth(self.answer.winner)


def few(size: float, **more: Any) -> dict[str, Any]:
    return {"kind": "lognormal", "size": size} | more


def limited(times: Mapping[str, float], multiple: float, size: float) -> Adversary:
    """b is the fastest and has this multiple of what the others have of a metric, of which 4% more are allowed."""
    land = {
        "metrics": {
            "bytes": {"base": 100, "size": size, "times": {"MODE": dict.fromkeys(times, 1.0) | {"b": multiple}}}
        }
    }
    options = {"metric": ["bytes=stdout-size"], "subject_to": ["bytes<=1.04*today"]}
    return Adversary(
        times, few(0.02), f"the fastest needs {multiple - 1:.2%} more, +-{size:.0%}, of 4% allowed", land, options
    )


PLAIN: dict[str, Any] = {
    "threads": "1,2",
    "today": "threads=2",  # whatever the shell of the benchmark has
    "factor": [
        f"allocator={','.join(ALLOCATORS)}",
        "MIMALLOC_PURGE_DELAY=auto", "MIMALLOC_ALLOW_LARGE_OS_PAGES=inherited,1", "MALLOC_ARENA_MAX=inherited,1,2",
        "MALLOC_CONF=inherited,thp:always", "GLIBC_TUNABLES=inherited,glibc.malloc.hugetlb=1",
    ],
}  # fmt: skip

ADVERSARIES: dict[str, Adversary] = {
    "two levels": Adversary({"a": 1.0, "b": 0.979}, few(0.05), "at two common blocks there is one degree of freedom"),
    "three quiet levels": Adversary(
        {"a": 1.0, "b": 0.97, "c": 0.99}, few(0.01), "what three levels lend one another is little"
    ),
    "six quiet allocators": Adversary(SIX, few(0.01), "the usual case, which must not cost much"),
    "a best one that is capped": Adversary(
        SIX,
        {"kind": "bimodal", "size": 0.01, "gap": 1.2, "share": 0.05},
        "the more launches the more are killed as lost",
    ),
    "first in a block": Adversary(
        {"a": 1.0, **dict.fromkeys("bcdefg", 0.97), "h": 0.95},
        few(0.01),
        "the first launch of a block is slower by 5%",
        {"first_in_block": 0.05},
    ),
    "a best one that fails": Adversary(
        SIX | {"b": 0.8},
        few(0.02),
        "b fails in one launch of ten, mostly in fresh ones",
        {"failures": [{"levels": {"MODE": "b"}, "probability": 0.1}]},
    ),
    "a noisy best among quiet ones": Adversary(
        SIX,
        few(0.01),
        "b scatters by 10%, the others by 1%: the majority makes it look settled",
        {"own": [{"levels": {"MODE": "b"}, "noise": few(0.1)}]},
    ),
    "bursts": Adversary(
        FASTER, {"kind": "bursts", "size": 0.02, "gap": 0.4, "share": 0.1, "memory": 0.8}, "a third of all launches"
    ),
    "slow mode": Adversary(
        FASTER, {"kind": "bimodal", "size": 0.02, "gap": 0.3, "share": 0.2}, "a fifth of all launches"
    ),
    "all alike in bursts": Adversary(
        dict.fromkeys("abcdef", 1.0),
        {"kind": "bursts", "size": 0.02, "gap": 0.4, "share": 0.1, "memory": 0.8},
        "whatever is called faster is not",
    ),
    "carry-over and a swing": Adversary(
        SIX,
        few(0.02),
        "what follows e is slower by 3%, and every time swings by 10%",
        {"carry_over": [{"after": {"MODE": "e"}, "adds": 0.03}], "period": {"seconds": 40, "height": 0.1}},
    ),
    "carry-over of an equal": Adversary(
        {"a": 1.0, "b": 1.0},
        few(0.01),
        "what follows b is slower by 5%, so drawn orders slow today's launch more often than b",
        {"carry_over": [{"after": {"MODE": "b"}, "adds": 0.05}]},
    ),
    "carry-over of the best": Adversary(
        SIX,
        few(0.01),
        "what follows b is slower by 5%: its gain is that of drawn orders and of its own",
        {"carry_over": [{"after": {"MODE": "b"}, "adds": 0.05}]},
    ),
    "a metric at its limit": limited(SIX, 1.0197, 0.01),
    "a metric within its limit": limited(SIX | {"b": 0.85}, 1.035, 0.02),
    "a metric beyond its limit": limited(SIX | {"b": 0.85}, 1.045, 0.02),
}  # fmt: skip


def slippage(size: int) -> Adversary:
    """One is 2.1% faster than all others, which are alike: the hardest case for a claim of 2%."""
    times = {f"m{k}": 1.0 for k in range(size - 1)} | {"best": 1 / 1.021}
    return Adversary(times, few(0.03), f"{size - 1} alike and one just beyond the tolerance")


SLIPPAGE = {f"slippage of {size}": slippage(size) for size in (2, 3, 6, 24, 60)}


def ten_launches(budget: str) -> Adversary:
    """A plain tune of few launches: the best allocator is 15% faster at 2% noise, among 39 or so configurations."""
    return Adversary(
        {},
        few(0.02),
        "an expert tries two thread counts and five allocators",
        {"serial": 0.3, "times": {"allocator": ALLOCATORS}},
        PLAIN | {"budget": budget},
    )


FEW_LAUNCHES = {f"plain tune, {budget}": ten_launches(budget) for budget in ("8x", "12x", "20x", "40x")}

CLEAR = {"system": 1.0, "tcmalloc": 0.75, "mimalloc": 0.76, "jemalloc": 0.85, "tbbmalloc": 0.95, "scudo": 1.3}


def clear_leaders(budget: str, noise: float, *factors: str) -> Adversary:
    """Two allocators are faster by a third, and nearly alike: a budget must not go where it cannot tell them apart."""
    base = {"base": 0.2, "between": 0.04} if budget.endswith("s") else {}
    why = f"two are faster by a third, at {noise:.0%} noise; to tell them apart takes more than there is"
    more = {"serial": 0.9, "times": {"allocator": CLEAR}} | base
    return Adversary({}, few(noise), why, more, PLAIN | {"budget": budget, "factor": [*PLAIN["factor"], *factors]})


CLEAR_LEADERS = {
    f"clear leaders, {budget}": clear_leaders(budget, noise)
    for budget, noise in (("80x", 0.08), ("140x", 0.05), ("260x", 0.03), ("60s", 0.08))
} | {f"clear leaders of 44, {budget}": clear_leaders(budget, 0.05, "MODE=x,y") for budget in ("80x", "260x")}


def slow_proofs(budget: str, noise: float) -> Adversary:
    """Eighteen configurations of about a second, each proved in 1.5 s before its first launch, fresh blocks are not."""
    times = {
        "allocator": ALLOCATORS | {"mimalloc": 0.92, "jemalloc": 0.85, "tcmalloc": 0.97},
        "MODE": {"x": 1.0, "y": 1.2, "z": 0.9},
    }
    why = "room for fresh blocks as long as the first launches are would leave a third untried"
    more = {"times": times, "base": 1.15, "between": 0.4, "proof": 1.5}
    factors = [f"allocator={','.join(ALLOCATORS)}", "MODE=x,y,z"]
    return Adversary({}, few(noise), why, more, {"factor": factors, "budget": budget})


SLOW_PROOFS = {f"slow proofs, {noise:.0%}": slow_proofs("80s", noise) for noise in (0.05, 0.1)}
SLOW_PROOFS["slow proofs, 10%, 160 s"] = slow_proofs("160s", 0.1)


def few_pairs(name: str) -> Adversary:
    """The same at 24 launches: what six fresh pairs say where noise is not normal, or not that of the others."""
    land = ADVERSARIES[name]
    return dataclasses.replace(land, options=dict(land.options) | {"budget": "24x"})


FEW_PAIRS = {f"{name}, 24x": few_pairs(name) for name in ("bursts", "slow mode", "a noisy best among quiet ones")}
LARGER = {
    "two alike, given more": Adversary(
        {"a": 1.0, "b": 1.0},
        few(0.03),
        "a budget of 8 launches, then five times twice as many: each could be one more look",
        options={"budget": "8x"},
        larger=(16, 32, 64, 128, 256),
    )
}
COARSE = {
    "times in tenths": Adversary(
        {"a": 1.02, "b": 0.99},
        few(0.01),
        "1.02 and 0.99 s are both told as 1.0: no scatter is no proof",
        step=0.1,
        options={"budget": "60x"},
    ),
    "times in hundredths": Adversary(
        {"a": 0.204, "b": 0.196, "c": 0.21, "d": 0.202},
        few(0.02),
        "a step is 5% of 0.2 s, and scatter hides half of it",
        step=0.01,
    ),
}
EVERY = LARGER | COARSE | ADVERSARIES | SLIPPAGE | FEW_LAUNCHES | CLEAR_LEADERS | SLOW_PROOFS | FEW_PAIRS


def seeds(seed: int) -> Callable[[], int]:
    """Orders of blocks that the race's seed decides."""
    numbers = iter(range(seed << 20, (seed + 1) << 20))
    return lambda: next(numbers)
