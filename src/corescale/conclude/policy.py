# SPDX-License-Identifier: Apache-2.0
"""Which block comes next, and when there is none. Each policy, like a Race, accumulates the records of complete blocks.

Measuring stops when intervals have a width declared beforehand, checked only at planned looks; never because a
difference is significant.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from corescale.conclude.answers.study import Said, every_answer, open_ones, together
from corescale.conclude.answers.verdict import compare
from corescale.conclude.budget import Budget
from corescale.conclude.forecast import half
from corescale.conclude.race.race import Race
from corescale.conclude.response import table
from corescale.conclude.stats import Interval, bonferroni, fewest_blocks, hodges_lehmann
from corescale.conclude.warnings import warnings
from corescale.declare import plan
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations, reference
from corescale.declare.plan import Block
from corescale.declare.stop import Stop
from corescale.records import Configuration, Record

GIVE_UP_AFTER = 2
"""After this many failed launches a configuration is left out of later blocks; one time-out is enough."""


Reason = Literal["width", "budget", "blocks", "proved", "decided", "interrupted", "nothing to compare"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to stop, and what may be claimed then."""

    reached_width: float | None
    """relative half width of the widest interval; None if one has no interval yet"""
    reason: Reason | None
    """`width`, `proved` or `decided`: the goal is reached. `blocks` or `budget`: given up. None: continue"""


class Uniform:
    """All configurations in every block until the stop rule is met."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self.records = experiment, list[Record]()
        self.budget = Budget(experiment.stop, baseline(experiment), anchored=experiment.baseline.returns)
        self._together: tuple[tuple[Configuration, ...], ...] | None = None

    def add(self, record: Record) -> None:
        """See observe/run.py."""
        self.records.append(record)
        self.budget.add(record)

    def next_block(self) -> Block | None:
        """See observe/run.py."""
        if self.decision().reason is not None:
            return None
        return plan.next_block(self.wanted(), self.records, self.together())

    def wanted(self) -> tuple[Configuration, ...]:
        """What the next block launches."""
        return still_running(self.records, self.experiment)

    def together(self) -> tuple[tuple[Configuration, ...], ...]:
        """Configurations that findings compare, which are launched side by side; the first block shows them."""
        if self._together is None and self.records and self.experiment.study.outputs:
            self._together = together(self.records, self.experiment)
        return self._together or ()

    @property
    def blocks(self) -> int:
        """Measuring blocks so far."""
        return len({record.block for record in self.records if record.phase == "measure"})

    def decision(self) -> Decision:
        """Whether the measuring blocks so far are enough, and why."""
        stop, blocks = self.experiment.stop, self.blocks
        if len(still_running(self.records, self.experiment)) < 2 and blocks >= stop.min_blocks:
            return Decision(None, "nothing to compare")
        return should_stop(stop, _log_ratios(self.records, self.experiment), blocks, self._spent(blocks))

    def _spent(self, blocks: int) -> bool:
        """Whether the next block would exceed the budget.

        The default budget ends no run before there can be an interval.
        """
        stop, running = self.experiment.stop, self.wanted()
        if not self.budget.has_launches(Block("measure", running)):
            return True
        fewest = min(stop.min_blocks, fewest_blocks(stop.reading_confidence))
        return blocks >= (1 if stop.binding else fewest) and not self.budget.has_time(running)


class Decided(Uniform):
    """Launches all configurations up to the first look; after it, only those that open findings compare."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__(experiment)
        self._open: dict[int, tuple[Configuration, ...]] = {}

    def wanted(self) -> tuple[Configuration, ...]:
        """The configurations whose findings were open at the last look."""
        running, look = super().wanted(), self._look()
        if not look:
            return running
        if look not in self._open:
            self.know(every_answer(self.records, self.experiment))
        return tuple(one for one in self._open[look] if one in running)

    def know(self, said: Iterable[Said]) -> None:
        """`said`: every answer of the records so far."""
        self._open[self._look()] = open_ones(said, self.records, self.experiment)

    def _look(self) -> int:
        blocks = self.blocks
        return max((look for look in self.experiment.stop.looks if look <= blocks), default=0)

    def decision(self) -> Decision:
        """Whether every finding is decided, or the most blocks were made."""
        if self.blocks >= self.experiment.stop.max_blocks:
            return Decision(None, "blocks")
        if not self.wanted():
            return Decision(None, "decided")
        return Decision(None, "budget" if self._spent(self.blocks) else None)


class Undisturbed(Uniform):
    """Blocks until `min_blocks` of them are undisturbed, judged only by flags, and decide; at most `max_blocks`.

    So there are two looks: at that number of undisturbed blocks, and at the end.
    """

    def decision(self) -> Decision:
        """Whether enough blocks count."""
        stop = self.experiment.stop
        calm = [record for record in warnings(self.records, self.experiment).undisturbed if record.timed]
        first = sorted({record.block for record in calm})[: stop.min_blocks]
        enough = self.blocks >= stop.max_blocks or (len(first) == stop.min_blocks and self._decide(calm, first[-1]))
        return Decision(None, "blocks" if enough else "budget" if self._spent(self.blocks) else None)

    def _decide(self, calm: Sequence[Record], last: int) -> bool:
        """Whether the undisturbed blocks up to this one decide the gate."""
        limit = self.experiment.stop.width
        found = compare([record for record in calm if record.block <= last], self.experiment, {"time": limit})
        return all(one.gate != "inconclusive" for one in found)


class Halved(Uniform):
    """As many blocks at p <= P / 2 as an interval needs, and then uniform blocks. Only the uniform blocks give the
    answer.

    `between`: called before each of the uniform blocks.
    """

    def __init__(self, experiment: Experiment, between: Callable[[], None] = lambda: None) -> None:
        super().__init__(experiment)
        self._small, self._early, self._between = half(experiment), set[int](), between
        self._first = max(fewest_blocks(experiment.stop.reading_confidence), experiment.stop.min_blocks)

    def add(self, record: Record) -> None:
        """The first blocks count only for the budget."""
        if record.phase == "measure" and len(self._early | {record.block}) <= self._first:
            self._early.add(record.block)
        if record.block in self._early:
            self.budget.add(record)
        else:
            super().add(record)

    def next_block(self) -> Block | None:
        """See observe/run.py."""
        if len(self._early) < self._first:
            return Block("measure", self._small)
        block = super().next_block()
        if block is not None:
            self._between()
        return block


UNIFORM: Mapping[str, type[Uniform]] = {"decided": Decided, "calm": Undisturbed}
"""stop rules with a policy of their own, which launches all configurations"""


def uniform(experiment: Experiment, between: Callable[[], None] = lambda: None) -> Uniform:
    """The policy that launches blocks of all configurations until the experiment's rule ends them. `between`: called
    before the blocks that follow a sealed forecast."""
    if experiment.scaling.seal:
        return Halved(experiment, between)
    return UNIFORM.get(experiment.stop.rule, Uniform)(experiment)


def decision(
    records: Sequence[Record], experiment: Experiment, said: Iterable[Said] | None = None, *, finished: bool = False
) -> Decision:
    """Why measuring ended. A race attains a bound of the regret, and no width.

    `said`: every answer of a study, if known. `finished`: it was not interrupted. The clock may end a run although its
    records alone leave time for one more block.
    """
    if experiment.stop.rule != "race":
        policy = uniform(experiment)
        for record in records:
            policy.add(record)
        if said is not None and isinstance(policy, Decided):
            policy.know(said)
        ended = policy.decision()
        return replace(ended, reason="budget") if finished and ended.reason is None else ended
    answer = Race.of(records, experiment).answer()
    return Decision(answer.bound, "budget" if finished and answer.stopped == "interrupted" else answer.stopped)


def still_running(records: Sequence[Record], experiment: Experiment) -> tuple[Configuration, ...]:
    """The configurations worth another launch: the reference of all comparisons, and those that did not fail too often.

    If launches may fail (-i), no number of failures is too many.
    """
    bad = [record for record in records if not record.ok]
    failures = Counter(record.configuration for record in bad if not experiment.ignore_failure)
    out = {c for c, n in failures.items() if n >= GIVE_UP_AFTER} | {
        r.configuration for r in bad if r.status == "timeout"
    }
    return tuple(c for c in configurations(experiment) if c not in out or c == reference(experiment))


def should_stop(rule: Stop, log_ratios: Sequence[Interval], blocks: int, budget_spent: bool = False) -> Decision:
    """Decide after `blocks` complete blocks from the intervals of all log-ratios that the experiment is about."""
    known = [half for one in log_ratios if (half := one.half_width) is not None]
    reached = math.expm1(max(known)) if known and len(known) == len(log_ratios) else None
    if rule.rule != "replicates" and blocks in rule.looks and reached is not None and reached <= rule.width:
        return Decision(reached, "width")
    if blocks >= rule.max_blocks:
        return Decision(reached, "blocks")
    return Decision(reached, "budget" if budget_spent else None)


def _log_ratios(records: Sequence[Record], experiment: Experiment) -> list[Interval]:
    times, now = table(records, experiment.response), reference(experiment)
    if now not in times.places:
        return []
    others = [c for c in still_running(records, experiment) if c != now and c in times.places]
    confidence = experiment.stop.reading_confidence
    return [hodges_lehmann(times.log_ratio(c, now), confidence) for c in others]


def too_few(experiment: Experiment) -> str:
    """Why the number of blocks asked for cannot decide anything, known before the first block; empty if it can."""
    stop, k = experiment.stop, len(configurations(experiment)) - 1
    if stop.rule != "replicates" or k < 1 or not (experiment.scans or experiment.compares):
        return ""
    together = experiment.compares
    confidence = bonferroni(stop.reading_confidence, k) if together else stop.reading_confidence
    if stop.max_blocks >= (needed := fewest_blocks(confidence)):
        return ""
    of = f"{k} comparisons together at {100 * stop.confidence:.6g}% need" if together and k > 1 else (
        f"an interval at {100 * stop.confidence:.6g}% needs")  # fmt: skip
    return f"-r {stop.max_blocks} can decide nothing: {of} -r {needed}"
