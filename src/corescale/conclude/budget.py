# SPDX-License-Identifier: Apache-2.0
"""What is left of a budget, in launches or in time: one object that the loop, the time-outs and the race share.

Time goes by between launches too: hooks, choosing the next block, and proofs before a block with a new configuration.
It follows from records alone, so a run that continues finds what it had. In real time the loop adds a clock, which also
sees the start-up of corescale.
"""

import math
from collections.abc import Callable, Sequence

from corescale.conclude.response import median
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline
from corescale.declare.plan import Block, most_launches
from corescale.declare.stop import Stop
from corescale.records import Configuration, Record

PAUSE = 10.0
"""Seconds between two launches that a budget counts, at most, or ten times as long as is usual, if that is more: beyond
it nobody was measuring."""

PROOF = 2.0
"""Launches that the proof of a new configuration may take: a long proof before a block is no pause."""

ENDING = 0.5
"""Seconds that are kept for the answer."""


class Budget:
    """Folds records; `now`: the baseline. Seconds are inf where none are bounded."""

    def __init__(self, stop: Stop, now: Configuration, *, anchored: bool = False) -> None:
        self.stop, self._now, self._anchored = stop, now, anchored
        self.made = 0
        """launches"""
        self.measured = False
        """whether a measuring block was made: without one there is nothing to confirm"""
        self.since = 0
        """launches since the last one of the baseline"""
        self._walls: dict[Configuration, list[float]] = {}
        self._last: dict[Configuration, float] = {}
        self._wall = self._longest = 0.0
        self._gaps: list[float] = []
        self._new: list[int] = []
        self._before: Record | None = None
        self._first_block, self._at = 0, -1
        self._block: list[float] = []
        self._known: set[Configuration] = set()
        self._clock: Callable[[], float] = lambda: 0.0
        self._untimed: Callable[[Sequence[Configuration]], int] | None = None

    def begin(self, elapsed: Callable[[], float], untimed: Callable[[Sequence[Configuration]], int]) -> None:
        """Starts a clock that counts too: seconds of this try, and the proofs that launches of some would need."""
        earlier = self._wall
        self._clock, self._untimed = (lambda: earlier + elapsed() + ENDING), untimed

    def add(self, record: Record) -> None:
        """One more launch."""
        before, self._before = self._before, record
        if before is not None:
            self._gaps.append(max(0.0, record.started - before.started - before.wall))
            self._new.append(0)
        if before is None:
            self._first_block = record.block
        if before is None or record.block != before.block:
            self._block, self._at = [], len(self._new) - 1
        if record.configuration not in self._known:
            self._known.add(record.configuration)
            if before is not None and self._at >= 0:
                self._new[self._at] += record.block != self._first_block
        self._block.append(record.wall)
        self.made += 1
        self.measured |= record.phase == "measure"
        self.since = 0 if record.configuration == self._now else self.since + 1
        self._wall += record.wall
        self._longest = max(self._longest, record.wall)
        if record.phase != "rehearse":
            self._walls.setdefault(record.configuration, []).append(record.wall)
            self._last[record.configuration] = record.wall

    @property
    def spent(self) -> float:
        """Seconds that the launches took, and what came between them."""
        return self._wall + sum(self._counted())

    @property
    def between(self) -> float:
        """Seconds from one launch to the next, on average; those before a block with a new configuration apart."""
        gaps = self._counted()
        usual = [gap for gap, new in zip(gaps, self._new, strict=True) if not new] or gaps
        return sum(usual) / max(1, len(usual))

    @property
    def proving(self) -> float:
        """Seconds that each configuration takes before its first block, beyond what comes between two launches."""
        usual = self.between
        more = [max(0.0, gap - usual) for gap, new in zip(self._counted(), self._new, strict=True) if new]
        return sum(more) / max(1, sum(self._new))

    @property
    def seconds(self) -> float:
        """Seconds that are left."""
        if self.stop.budget is None:
            return math.inf
        return self.stop.budget - max(self.spent, self._clock())

    def launches(self, pairs: int = 0) -> float:
        """Launches that are left, room for these pairs kept; of time as many as the last block's would be. At least 1.

        Of a small budget half is for what comes before the pairs.
        """
        left = self._launches(pairs)
        if self.stop.budget is not None and self.made:
            each = sum(self._block) / len(self._block) + self.between
            left = min(left, self._seconds(pairs) / each if each > 0 else math.inf)
        return max(1.0, left)

    @property
    def whole(self) -> float:
        """Launches that the whole budget pays for, of time as many as of the baseline; inf where there is none."""
        most = float(self.stop.launches or math.inf)
        if self.stop.budget is None:
            return most
        each = self._usual(self._now) + self.between
        return min(most, self.stop.budget / each) if each > 0 else most

    def pairs(self, other: Configuration) -> float:
        """Pairs of the baseline and another that the budget pays for; inf where there is none."""
        pairs = self._launches(0) / 2
        if self.stop.budget is None or not self.made:
            return pairs
        each = self._usual(self._now) + self._usual(other) + 2 * self.between
        return min(pairs, self._seconds(0) / each if each > 0 else math.inf)

    def pays_for(self, block: Block, pairs: int = 0) -> bool:
        """Whether it pays for this block, and for these pairs behind it."""
        return self.has_launches(block, pairs) and self.has_time(block.configurations, pairs)

    def has_launches(self, block: Block, pairs: int = 0) -> bool:
        """Whether it has as many launches."""
        since = self.since if self._anchored and block.phase == "measure" else None
        return most_launches(block, self._now, since) <= self._launches(pairs)

    def has_time(self, configurations: Sequence[Configuration], pairs: int = 0) -> bool:
        """Whether it has the time: each launch counts as long as its last one, or as the slowest of all."""
        if self.stop.budget is None or not self.made:
            return True
        return self.takes(configurations) <= self._seconds(pairs)

    def takes(self, configurations: Sequence[Configuration]) -> float:
        """Seconds that launches of these take, with their proofs."""
        slowest = max(self._last.values(), default=0.0)
        walls = sum(self._last.get(configuration, slowest) for configuration in configurations)
        new = sum(configuration not in self._last for configuration in configurations)
        proofs = self.proving * new
        if self._untimed is not None:
            proofs = max(proofs, self._untimed(configurations) * slowest)
        return walls + self.between * len(configurations) + proofs

    def _counted(self) -> list[float]:
        longest = max(PAUSE, 10 * median(self._gaps)) if self._gaps else PAUSE
        return [
            min(gap, max(longest, new * PROOF * self._longest)) for gap, new in zip(self._gaps, self._new, strict=True)
        ]

    def _launches(self, pairs: int) -> float:
        most = self.stop.launches
        return math.inf if most is None else most - self.made - min(self._kept(pairs), most // 2)

    def _seconds(self, pairs: int) -> float:
        if self.stop.budget is None:
            return math.inf
        each = self._usual(self._now) + self.between
        return self.seconds - min(self._kept(pairs) * each, self.stop.budget / 2)

    def _kept(self, pairs: int) -> int:
        return 2 * pairs if self.measured else 0

    def _usual(self, configuration: Configuration) -> float:
        """Median time of its full launches; of all launches where it had none."""
        own = self._walls.get(configuration) or [wall for each in self._walls.values() for wall in each]
        return median(own) if own else 0.0


def spent(records: Sequence[Record], experiment: Experiment) -> float:
    """Seconds of a budget that these launches took."""
    budget = Budget(experiment.stop, baseline(experiment))
    for record in records:
        budget.add(record)
    return budget.spent
