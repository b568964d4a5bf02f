# SPDX-License-Identifier: Apache-2.0
"""Landscapes with a known truth, a row each, and one race on them: directly, or by the product's own loop."""

import dataclasses
import functools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.constraints import not_shown
from corescale.conclude.race.options import OPTIONS, RaceOptions
from corescale.conclude.race.race import Race
from corescale.declare import command_line, plan
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.declare.plan import Block, Invocation
from corescale.declare.request import TuneRequest
from corescale.machine import Machine
from corescale.observe import store
from corescale.observe.launchers.fake import Fake
from corescale.observe.launchers.landscape import Landscape, meets
from corescale.observe.run import run
from corescale.records import Configuration, Record

MACHINES = {
    many: dataclasses.replace(Machine.here(), affinity=tuple(range(192 if many else 2)), quota_cores=None)
    for many in (False, True)
}
WORTH = 1.05
"""a gain from which a race should find it"""


class Coarse(Fake):
    """Tells times in whole steps, and the truth."""

    step = 0.0

    def truth(self, configuration: Configuration) -> float:
        """Seconds without noise and drift."""
        return self._landscape.truth(configuration)

    def best(self) -> Configuration:
        """The configuration that is truly fastest among those that never fail and meet the constraints."""
        failing = [failure.levels for failure in self._landscape.failures]
        sound = [c for c in configurations(self._experiment) if not any(meets(c, levels) for levels in failing)]
        return min(filter(self.allowed, sound), key=self.truth)

    def allowed(self, configuration: Configuration) -> bool:
        """Whether its metrics, without noise, meet the constraints."""
        metrics, now = self._landscape.metrics, baseline(self._experiment)
        for each in self._experiment.tuning.constraints:
            value = metrics[each.metric].of(configuration)
            limit = each.bound * (metrics[each.metric].of(now) if each.relative else 1)
            if not (value <= limit if each.relation == "<=" else value >= limit):
                return False
        return True

    def launch(self, block: Sequence[Invocation]) -> Iterator[Record]:
        """Its launches, rounded."""
        return map(self._rounded, super().launch(block))

    def _rounded(self, record: Record) -> Record:
        steps = max(1, round(record.wall / self.step)) if self.step else 0
        return dataclasses.replace(record, wall=round(steps * self.step, 9)) if steps else record


@dataclass(frozen=True)
class Row:
    """A landscape: times of the levels of factors, noise, further keys of the landscape, and options of tune."""

    times: Mapping[str, Mapping[str, float]]
    noise: Mapping[str, Any]
    more: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    step: float = 0.0
    """seconds in whole multiples of which times are told"""

    def experiment(self, budget: str) -> Experiment:
        """As the command line makes it."""
        return _experiment(self, budget)

    def fake(self, experiment: Experiment, seed: int) -> Coarse:
        """A launcher with the noise of this seed."""
        known = {"times": self.times, "noise": dict(self.noise), "seed": seed} | dict(self.more)
        fake = Coarse(experiment, Landscape.model_validate(known))
        fake.step = self.step
        return fake

    def __hash__(self) -> int:
        return id(self)


@functools.cache
def _experiment(row: Row, budget: str) -> Experiment:
    factors = [f"{name}={','.join(levels)}" for name, levels in row.times.items()]
    first = [f"{name}={next(iter(levels))}" for name, levels in row.times.items()]
    now = ",".join([*(["threads=1"] if "threads" not in row.options else []), *first])
    usual: dict[str, Any] = {"threads": "1", "factor": factors, "baseline": now, "budget": budget}
    return command_line.tune(TuneRequest(**(usual | dict(row.options))), ["x"], MACHINES["ranks" in row.options])


def modes(*times: float, name: str = "MODE") -> dict[str, dict[str, float]]:
    """One factor; the first level is the baseline."""
    return {name: {f"m{k}": time for k, time in enumerate(times)}}


def grid(*factors: Sequence[float]) -> dict[str, dict[str, float]]:
    """Factors whose effects multiply."""
    return {f"F{f}": {f"l{k}": time for k, time in enumerate(levels)} for f, levels in enumerate(factors)}


def noisy(size: float, **more: Any) -> dict[str, Any]:
    return {"kind": "lognormal", "size": size} | more


SIX, FASTER = (1.0, 0.9, 0.95, 1.05, 1.1, 1.02), (1.0, 0.88, 0.97, 1.05, 1.1, 1.02)
BURSTS = {"kind": "bursts", "size": 0.02, "gap": 0.4, "share": 0.1, "memory": 0.8}
SLOW = {"kind": "bimodal", "size": 0.02, "gap": 0.3, "share": 0.2}
ALLOCATORS = {"system": 1.0, "mimalloc": 0.85, "jemalloc": 0.92, "tcmalloc": 0.90, "tbbmalloc": 1.05, "scudo": 1.4}
SETTINGS = [
    "MIMALLOC_PURGE_DELAY=auto", "MIMALLOC_ALLOW_LARGE_OS_PAGES=inherited,1", "MALLOC_ARENA_MAX=inherited,1,2",
    "MALLOC_CONF=inherited,thp:always", "GLIBC_TUNABLES=inherited,glibc.malloc.hugetlb=1",
]  # fmt: skip
PLAIN = {"threads": "1,2", "baseline": "threads=2", "factor": [f"allocator={','.join(ALLOCATORS)}", *SETTINGS]}
M1 = {"MODE": "m1"}


def metric(multiple: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """m1 has this multiple of what the others have of a metric, of which 4% more are allowed."""
    entries = {f"m{k}": multiple if k == 1 else 1.0 for k in range(6)}
    land = {"metrics": {"bytes": {"base": 100, "size": 0.02, "times": {"MODE": entries}}}}
    return land, {"metric": ["bytes=stdout-size"], "subject_to": ["bytes<=1.04*baseline"]}


def interacting(seed: int) -> list[dict[str, Any]]:
    """Combinations of two factors of four levels that are off by 8% each."""
    drawn = random.Random(seed)
    return [
        {"levels": {"F0": f"l{a}", "F1": f"l{b}"}, "times": math.exp(drawn.gauss(0, 0.08))}
        for a in range(4)
        for b in range(4)
        if a or b
    ]


TRAP = [{"levels": {"F0": "l3", "F1": "l2", "F2": "l1"}, "times": 0.88 / (1.2 * 1.13 * 1.06)}]
MIXES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 192)
MIX = {"threads": ",".join(map(str, MIXES)), "ranks": ",".join(map(str, MIXES)), "baseline": "threads=192,ranks=1",
       "factor": []}  # fmt: skip
SMALL = {"rehearse": "small"}


def mixed() -> list[dict[str, Any]]:
    """Threads cost three times as much overhead as ranks; each mix is off by 3%."""
    drawn = random.Random(7)
    return [
        {"levels": {"threads": t, "ranks": m}, "times": overhead * math.exp(drawn.gauss(0, 0.03))}
        for t in MIXES
        for m in MIXES
        if t * m <= MACHINES[True].default_max_threads
        for overhead in (1 + 0.06 * (t - 1) + 0.02 * (m - 1),)
    ]


LANDSCAPES: dict[str, Row] = {
    "two levels, 5% at 3%": Row(modes(1.0, 0.951), noisy(0.03)),
    "two levels, 2.1% at 5%": Row(modes(1.0, 0.979), noisy(0.05)),
    "three quiet levels": Row(modes(1.0, 0.97, 0.99), noisy(0.01)),
    "six at 1%": Row(modes(*SIX), noisy(0.01)),
    "six at 10%": Row(modes(*SIX), noisy(0.1)),
    "eight equal": Row(modes(*[1.0] * 8), noisy(0.03)),
    "six equal, bursts": Row(modes(*[1.0] * 6), BURSTS),
    "six, bursts": Row(modes(*FASTER), BURSTS),
    "six, slow mode": Row(modes(*FASTER), SLOW),
    "best has a slow mode": Row(modes(*FASTER), noisy(0.02), {"own": [{"levels": M1, "noise": SLOW}]}),
    "best is noisy": Row(modes(*SIX), noisy(0.01), {"own": [{"levels": M1, "noise": noisy(0.1)}]}),
    "best fails in 10%": Row(
        modes(1.0, 0.8, *SIX[2:]), noisy(0.02), {"failures": [{"levels": M1, "probability": 0.1}]}
    ),
    "first in a block 5% slower": Row(modes(1.0, *[0.97] * 6, 0.95), noisy(0.01), {"first_in_block": 0.05}),
    "carry-over, swing": Row(
        modes(*SIX), noisy(0.02),
        {"carry_over": [{"after": {"MODE": "m4"}, "adds": 0.03}], "period": {"seconds": 40, "height": 0.1}}),
    "carry-over of an equal": Row(modes(1.0, 1.0), noisy(0.01), {"carry_over": [{"after": M1, "adds": 0.05}]}),
    "16, interactions": Row(grid([1.0] * 4, [1.0] * 4), noisy(0.03), {"interactions": interacting(1)}),
    "24, additive": Row(grid((1, 0.9, 1.1, 1.2), (1, 0.95, 1.05), (1, 1.06)), noisy(0.03)),
    "24, trap": Row(grid((1, 1.06, 1.12, 1.2), (1, 1.06, 1.13), (1, 1.06)), noisy(0.03), {"interactions": TRAP}),
    "60, additive": Row(grid((1, 0.9, 1.1, 1.2, 1.3), (1, 0.95, 1.05, 1.1), (1, 1.06, 0.99)), noisy(0.05)),
    "slippage of 6": Row(modes(*[1.0] * 5, 1 / 1.021), noisy(0.03)),
    "slippage of 24": Row(modes(*[1.0] * 23, 1 / 1.021), noisy(0.03)),
    "a plain tune": Row({"allocator": ALLOCATORS}, noisy(0.02), {"serial": 0.3}, PLAIN),
    "best is capped": Row(modes(*SIX), {"kind": "bimodal", "size": 0.01, "gap": 1.2, "share": 0.05}),
    "metric within its limit": Row(modes(1.0, 0.85, *SIX[2:]), noisy(0.02), *metric(1.02)),
    "metric beyond its limit": Row(modes(1.0, 0.85, *SIX[2:]), noisy(0.02), *metric(1.06)),
    "times in hundredths": Row(modes(0.204, 0.196, 0.21, 0.19), noisy(0.02), step=0.01),
    "times in tenths": Row(modes(0.54, 0.46, 0.5, 0.47), noisy(0.01), step=0.1),
    "threads x ranks": Row({}, noisy(0.03), {"serial": 0.0, "interactions": mixed()}, MIX),
    "24, rehearsed": Row(grid((1, 0.9, 1.1, 1.2), (1, 0.95, 1.05), (1, 1.06)), noisy(0.03), options=SMALL),
    "24, rehearsal misleads": Row(
        grid((1, 0.9, 1.1, 1.2), (1, 0.95, 1.05), (1, 1.06)), noisy(0.03),
        {"rehearsal": {"times": {"F0": {"l0": 1.0, "l1": 1.3, "l2": 0.8, "l3": 0.7}}}}, SMALL),
    "every fourth launch slower": Row(modes(1.0, 1.0), noisy(0.01), {"period": {"seconds": 4, "height": 0.05}}),
}  # fmt: skip


@dataclass
class Outcome:
    """What came of one race; truths are those of the landscape."""

    launches: int
    claimed: bool
    wrong: bool
    """the chosen one is further behind than its bound, or failed, or breaks a constraint and is not said to"""
    worth: bool
    """whether there was a gain of 5%"""
    found: bool
    """whether one was confirmed"""
    false: bool
    """faster than the baseline is claimed, and it is not"""
    regret: float
    interval: bool
    covered: bool


def scored(fake: Coarse, launches: int, now: Configuration, chosen: Configuration, candidate: Configuration,
           bound: float | None, low: float | None, high: float | None, open_: Sequence[str]) -> Outcome:  # fmt: skip
    """By the truth; `open_`: constraints that the chosen one is said to be not shown to meet."""
    best = fake.truth(fake.best())
    behind, gain = fake.truth(chosen) / best - 1, fake.truth(now) / fake.truth(candidate)
    worth = fake.truth(now) / best >= WORTH
    wrong = (bound is not None and behind > bound + 1e-9) or not (open_ or fake.allowed(chosen))
    faster = chosen != now
    covered = low is not None and high is not None and low <= gain <= high
    return Outcome(launches, bound is not None, wrong, worth, worth and faster and gain > 1, faster and gain <= 1,
                   behind, low is not None, covered)  # fmt: skip


def numbers(seed: int) -> Callable[[], int]:
    """Orders of blocks that the race's seed decides."""
    drawn = random.Random(seed)
    return lambda: drawn.getrandbits(62)


def raced(row: Row, seed: int, budget: str = "none", options: RaceOptions = OPTIONS) -> Outcome:
    """One race without the product's loop."""
    experiment, draw = row.experiment(budget), numbers(seed)
    fake, race = row.fake(experiment, seed), Race(experiment, options)
    number = 0
    block: Block | None = Block("warmup", (race.now,))
    while block is not None:
        since = race.budget.since if experiment.baseline.returns else None
        for record in fake.launch(plan.invocations(block, number, 0, race.now, draw(), since)):
            race.add(record)
        block, number = race.next_block(), number + 1
    answer = race.answer()
    low, high = (None, None) if answer.gain is None else (answer.gain.ratio.low, answer.gain.ratio.high)
    chosen = answer.leader if low is not None and low > 1 else race.now
    bound = answer.regrets[chosen].bound if chosen in answer.regrets else None
    open_ = not_shown(race.records, experiment, chosen)
    return scored(fake, len(race.records), race.now, chosen, answer.leader, bound, low, high, open_)


def looped(row: Row, seed: int, budget: str = "none") -> Outcome:
    """One race by the product's own loop, and its answer."""
    experiment = row.experiment(budget)
    fake = row.fake(experiment, seed)
    records = run(experiment, store.Memory(), fake, Race(experiment), fresh_seed=numbers(seed))
    answer = recommend(records, experiment)
    low, high = (None, None) if answer.gain is None else (answer.gain.low, answer.gain.high)
    bound = next((c.regret.bound for c in answer.candidates if c.configuration == answer.chosen), None)
    return scored(fake, len(records), answer.baseline, answer.chosen, answer.winner, bound, low, high, answer.not_shown)
