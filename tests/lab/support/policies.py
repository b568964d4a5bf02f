# SPDX-License-Identifier: Apache-2.0
"""The simplest policy, for tests that are about something else."""

from collections.abc import Sequence

from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.plan import Block
from corescale.observe.run import NextBlock
from corescale.records import Record


def blocks(experiment: Experiment, count: int) -> NextBlock:
    """All configurations, in this number of blocks; a warm-up between them counts as one."""

    def next_block(records: Sequence[Record]) -> Block | None:
        first = next((record.block for record in records if record.phase == "measure"), None)
        made = 0 if first is None else records[-1].block - first + 1
        return Block("measure", configurations(experiment)) if made < count else None

    return next_block
