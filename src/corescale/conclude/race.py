# SPDX-License-Identifier: Apache-2.0
"""The race as a policy: launch what may still win, until one is proved to be within the tolerance; then confirm it."""

from collections.abc import Sequence

import numpy as np

from corescale.conclude.policy import Policy, confirmed
from corescale.conclude.race_plan import REPLAN, next_columns, with_today_due
from corescale.conclude.race_records import Raced, raced
from corescale.conclude.response import median
from corescale.conclude.stats import Floats
from corescale.declare.plan import Block
from corescale.declare.study import Experiment
from corescale.records import Configuration, Record

CAP = 3.0
"""A launch that takes so many times the leader's median has lost. Noise that makes one of this size is a fault."""


def race(experiment: Experiment) -> Policy:
    """Blocks of what may still win, then fresh blocks of the winner against today's launch."""
    return confirmed(experiment, lambda records: measuring(records, experiment))


def measuring(records: Sequence[Record], experiment: Experiment) -> Block | None:
    """The next block of the race itself; None where it is decided, or the next block would exceed the budget."""
    found = raced(records, experiment)
    if len(found.configurations) < 2 or len(found.blocks) >= experiment.stop.max_blocks:
        return None
    columns = _same_again(found)
    if columns is None:
        columns = next_columns(found.field, found.blocks)
    if columns is None:
        return None
    columns = with_today_due(columns, found.blocks, found.field.today)
    block = Block("measure", tuple(found.configurations[c] for c in columns), _cap(records, experiment))
    return None if exceeds(block, records, experiment) else block


def _cap(records: Sequence[Record], experiment: Experiment) -> float | None:
    """Only of the whole launch's time, and only once something was launched twice: one lucky launch decides nothing."""
    walls: dict[Configuration, list[float]] = {}
    for record in records:
        if record.ok and record.phase == "measure":
            walls.setdefault(record.configuration, []).append(record.wall)
    medians = [median(found) for found in walls.values() if len(found) >= 2]
    return CAP * min(medians) if experiment.response == "wall" and medians else None


def exceeds(block: Block, records: Sequence[Record], experiment: Experiment) -> bool:
    """Whether this block, and the confirmation after it, would take longer than the budget that is left."""
    if experiment.stop.budget is None or not records:
        return False
    last = {record.configuration: record.wall for record in records}
    slowest = max(last.values())
    this = sum(last.get(configuration, slowest) for configuration in block.configurations)
    reserve = experiment.stop.confirm_blocks * 2 * records[0].wall
    return sum(record.wall for record in records) + this + reserve > experiment.stop.budget


def _same_again(found: Raced) -> "np.typing.NDArray[np.intp] | None":
    """The choice of the last block, as long as there are few blocks of it: choosing anew costs more than it gains."""
    present = np.isfinite(found.blocks)
    if not len(present) or not present.any(axis=0).all():
        return None
    kept = _trailing(np.delete(found.blocks, found.field.today, axis=1))
    return np.flatnonzero(present[-kept]) if kept * REPLAN < len(present) - kept else None


def _trailing(blocks: Floats) -> int:
    """How many of the last blocks launched the same."""
    differs = (np.isfinite(blocks) != np.isfinite(blocks[-1])).any(axis=1)
    return int(np.argmax(differs[::-1])) if differs.any() else len(blocks)
