# SPDX-License-Identifier: Apache-2.0
"""The race as a policy: launch what may still win, until one is proved to be within the tolerance; then confirm it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from corescale.conclude import rehearsal
from corescale.conclude.policy import Policy, confirmed, exceeds
from corescale.conclude.race_plan import REPLAN, next_columns, with_today_due
from corescale.conclude.race_records import Raced, raced
from corescale.conclude.response import median
from corescale.conclude.stats import Floats
from corescale.declare.plan import Block
from corescale.declare.study import Experiment, today
from corescale.records import Configuration, Record

CAP = 3.0
"""A launch that takes so many times the leader's median has lost. Noise that makes one of this size is a fault."""

FIRST_CAP = 10.0
"""The same, while all that is known is one launch of today's."""


def race(experiment: Experiment) -> Policy:
    """Blocks of what may still win, then fresh blocks of the winner against today's launch."""
    return confirmed(experiment, lambda records: measuring(records, experiment))


def measuring(records: Sequence[Record], experiment: Experiment) -> Block | None:
    """The next block of the race itself; None where it is decided, or the next block would exceed the budget."""
    cap = _cap(records, experiment)
    block = rehearsal.next_block(records, experiment) or _next(raced(records, experiment), experiment)
    if block is None or exceeds(block, records, experiment, experiment.stop.confirm_blocks):
        return None
    return replace(block, cap=cap)


def _next(found: Raced, experiment: Experiment) -> Block | None:
    if len(found.configurations) < 2 or len(found.blocks) >= experiment.stop.max_blocks:
        return None
    columns = _same_again(found)
    if columns is None:
        columns = next_columns(found.field, found.blocks)
    if columns is None:
        return None
    columns = with_today_due(columns, found.blocks, found.field.today)
    return Block("measure", tuple(found.configurations[c] for c in columns))


def _cap(records: Sequence[Record], experiment: Experiment) -> float | None:
    """Only of the whole launch's time. Until something was launched twice one launch of today's has to tell."""
    if experiment.response != "wall":
        return None
    walls: dict[Configuration, list[float]] = {}
    for record in records:
        if record.ok and record.phase == "measure":
            walls.setdefault(record.configuration, []).append(record.wall)
    medians = [median(found) for found in walls.values() if len(found) >= 2]
    if medians:
        return CAP * min(medians)
    now = today(experiment)
    full = [record for record in records if record.ok and record.phase != "rehearse"]
    first = [record.wall for record in full if record.configuration == now]
    return FIRST_CAP * min(first) if first else None


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
