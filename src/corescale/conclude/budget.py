# SPDX-License-Identifier: Apache-2.0
"""What is left of a budget, in launches or in time: one object that the loop, the time-outs and the race share.

Time between launches counts too: hooks, choosing the next block, and proofs before a block with a new configuration.
Everything is computed from records, so a run that is continued knows what it has spent. In real time the loop adds a
clock, which also counts the start-up of corescale, and each record keeps its part of the budget by that clock (`paid`).
Without such a part (on a virtual clock, and in earlier versions) a record counts with its wall time and the time since
the launch before it, unless that was a pause.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence

from corescale.conclude.response import median
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline
from corescale.declare.plan import Block, most_launches, since_baseline
from corescale.declare.stop import Stop
from corescale.records import Configuration, Record

PAUSE = 10.0
"""The longest time between two launches that a budget counts, in seconds; or ten times the usual time between them, if
that is more. A longer time is a pause in which nobody measured, and none of it counts."""

PROOF = 2.0
"""The time that the proof of a new configuration may take, in launches, before it counts as a pause."""

ENDING = 0.5
"""Seconds that are kept for the answer."""


class Budget:
    """Accumulates records. `now`: the baseline. Seconds are inf if the budget does not limit time."""

    def __init__(self, stop: Stop, now: Configuration, *, anchored: bool = False) -> None:
        self.stop, self._now, self._anchored = stop, now, anchored
        self.records: list[Record] = []
        self.walls: dict[Configuration, list[float]] = {}
        """for each configuration, the seconds of the budget that its full launches took by themselves"""
        self._own: list[float] = []
        """the same for every launch"""
        self._real = self._booked = 0.0
        """sums over measured launches that have their part of the budget: of their walls, and of these parts"""
        self._clock: Callable[[], float] = lambda: 0.0
        self._untimed: Callable[[Sequence[Configuration]], int] | None = None

    def begin(self, elapsed: Callable[[], float], untimed: Callable[[Sequence[Configuration]], int]) -> None:
        """Starts the clock. `elapsed`: seconds of this try. `untimed`: the proofs that launches of these would need."""
        earlier = sum(record.of_budget for record in self.records)
        self._clock, self._untimed = (lambda: earlier + elapsed() + ENDING), untimed

    def add(self, record: Record) -> None:
        """Adds a launch."""
        self.records.append(record)
        self.__dict__.pop("_gaps", None)
        self._own.append(self._share(record))
        if record.phase != "rehearse":
            self.walls.setdefault(record.configuration, []).append(self._own[-1])

    def _share(self, record: Record) -> float:
        """Seconds of the budget that a launch takes by itself: less than its wall if that is simulated, or if others
        run at the same time. All then share what they take together, whichever of them ended first."""
        if record.paid is None or record.origin == "simulated":
            return min(record.wall, record.of_budget)
        self._real += record.wall
        self._booked += record.paid
        return record.wall * min(1.0, self._booked / self._real) if self._real > 0 else 0.0

    @property
    def since(self) -> int:
        """Launches since the last one of the baseline."""
        return since_baseline(self.records, self._now)

    @property
    def spent(self) -> float:
        """Seconds that the launches took, and what came between them."""
        gaps = (gap for (gap, _), now in zip(self._gaps, self.records[1:], strict=True) if now.paid is None)
        return sum(record.of_budget for record in self.records) + sum(gaps)

    @property
    def between(self) -> float:
        """Mean seconds from one launch to the next, without those before a block with a new configuration."""
        usual = [gap for gap, new in self._gaps if not new] or [gap for gap, _ in self._gaps]
        return sum(usual) / max(1, len(usual))

    @property
    def proving(self) -> float:
        """Seconds that each configuration takes before its first block, beyond the usual time between two launches."""
        usual = self.between
        more = [max(0.0, gap - usual) for gap, new in self._gaps if new]
        return sum(more) / max(1, sum(new for _, new in self._gaps))

    @property
    def seconds(self) -> float:
        """Seconds that are left."""
        if self.stop.budget is None:
            return math.inf
        return self.stop.budget - max(self.spent, self._clock())

    def launches(self, pairs: int = 0) -> float:
        """Launches that are left, with room kept for these pairs; if time is the budget, by the mean of the last block.
        At least 1. In a small budget, half is kept for the launches before the pairs.
        """
        left = self._launches(pairs)
        if self.stop.budget is not None and self.records:
            last = self.records[-1].block
            size = sum(1 for _ in itertools.takewhile(lambda record: record.block == last, reversed(self.records)))
            each = sum(self._own[-size:]) / size + self.between
            left = min(left, self._seconds(pairs) / each if each > 0 else math.inf)
        return max(1.0, left)

    @property
    def whole(self) -> float:
        """Launches that the whole budget pays for, at the baseline's time if it is in seconds; inf without a budget."""
        most = float(self.stop.launches or math.inf)
        if self.stop.budget is None:
            return most
        each = self._usual(self._now) + self.between
        return min(most, self.stop.budget / each) if each > 0 else most

    def pairs(self, other: Configuration) -> float:
        """Pairs of the baseline and another configuration that the budget pays for; inf without a budget."""
        pairs = self._launches(0) / 2
        if self.stop.budget is None or not self.records:
            return pairs
        each = self._usual(self._now) + self._usual(other) + 2 * self.between
        return min(pairs, self._seconds(0) / each if each > 0 else math.inf)

    def pays_for(self, block: Block, pairs: int = 0) -> bool:
        """Whether the budget pays for this block and these pairs after it."""
        return self.has_launches(block, pairs) and self.has_time(block.configurations, pairs)

    def has_launches(self, block: Block, pairs: int = 0) -> bool:
        """Whether the budget has that many launches."""
        since = self.since if self._anchored and block.phase == "measure" else None
        return most_launches(block, self._now, since) <= self._launches(pairs)

    def has_time(self, configurations: Sequence[Configuration], pairs: int = 0) -> bool:
        """Whether the budget has the time. Each launch is assumed to take as long as its configuration's last one. For
        a new configuration, the slowest launch of all is assumed."""
        if self.stop.budget is None or not self.records:
            return True
        return self.takes(configurations) <= self._seconds(pairs)

    def takes(self, configurations: Sequence[Configuration]) -> float:
        """The expected seconds of launches of these, with their proofs."""
        last = {configuration: walls[-1] for configuration, walls in self.walls.items()}
        slowest = max(last.values(), default=0.0)
        walls = sum(last.get(configuration, slowest) for configuration in configurations)
        new = sum(configuration not in last for configuration in configurations)
        proofs = self.proving * new
        if self._untimed is not None:
            proofs = max(proofs, self._untimed(configurations) * slowest)
        return walls + self.between * len(configurations) + proofs

    @functools.cached_property
    def _gaps(self) -> list[tuple[float, int]]:
        """For each launch but the first: seconds before it, 0 for a pause; and how many configurations are new in the
        block that it begins. `add` clears the cache."""
        first = {record.configuration: record.block for record in reversed(self.records)}
        new = Counter(block for block in first.values() if block != self.records[0].block)
        found = [
            (max(0.0, now.started - one.started - one.wall), new[now.block] * (now.block != one.block))
            for one, now in itertools.pairwise(self.records)
        ]
        longest = max(PAUSE, 10 * median([gap for gap, _ in found])) if found else PAUSE
        slowest = max((record.wall for record in self.records), default=0.0)
        kept = [(gap if gap <= max(longest, many * PROOF * slowest) else 0.0, many) for gap, many in found]
        return [
            (gap if now.paid is None else max(0.0, now.paid - now.wall), many)
            for (gap, many), now in zip(kept, self.records[1:], strict=True)
        ]

    def _launches(self, pairs: int) -> float:
        most = self.stop.launches
        return math.inf if most is None else most - len(self.records) - min(self._kept(pairs), most // 2)

    def _seconds(self, pairs: int) -> float:
        if self.stop.budget is None:
            return math.inf
        each = self._usual(self._now) + self.between
        return self.seconds - min(self._kept(pairs) * each, self.stop.budget / 2)

    def _kept(self, pairs: int) -> int:
        """Launches of these pairs; without a measuring block there is nothing to confirm."""
        return 2 * pairs if any(record.phase == "measure" for record in self.records) else 0

    def _usual(self, configuration: Configuration) -> float:
        """Median time of its full launches; if it had none, of all launches."""
        own = self.walls.get(configuration) or [wall for each in self.walls.values() for wall in each]
        return median(own) if own else 0.0


def spent(records: Sequence[Record], experiment: Experiment) -> float:
    """Seconds of a budget that these launches took, with what came between them."""
    budget = Budget(experiment.stop, baseline(experiment))
    for record in records:
        budget.add(record)
    return budget.spent
