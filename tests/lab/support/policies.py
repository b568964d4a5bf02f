# SPDX-License-Identifier: Apache-2.0
"""The simplest policies, for tests that are about something else."""

from collections.abc import Callable, Sequence

from corescale.conclude.budget import Budget
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.declare.plan import Block
from corescale.records import Record


class Asking:
    """Asks a function of the records so far."""

    def __init__(self, experiment: Experiment, ask: Callable[[Sequence[Record]], Block | None]) -> None:
        self.budget = Budget(experiment.stop, baseline(experiment), anchored=experiment.baseline.returns)
        self.records: list[Record] = []
        self._ask = ask

    def add(self, record: Record) -> None:
        self.records.append(record)
        self.budget.add(record)

    def next_block(self) -> Block | None:
        return self._ask(self.records)


def blocks(experiment: Experiment, count: int) -> Asking:
    """All configurations, in this number of blocks; a warm-up between them counts as one."""

    def next_block(records: Sequence[Record]) -> Block | None:
        first = next((record.block for record in records if record.phase == "measure"), None)
        made = 0 if first is None else records[-1].block - first + 1
        return Block("measure", configurations(experiment)) if made < count else None

    return Asking(experiment, next_block)
