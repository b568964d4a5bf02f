# SPDX-License-Identifier: Apache-2.0
"""The race as a policy: launch what may still win, until one is proved to be within the tolerance; then confirm it."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from corescale.conclude.budget import exceeds, launches_in_all, launches_left
from corescale.conclude.policy import Policy
from corescale.conclude.race import favourite, rehearsal
from corescale.conclude.race.confirmation import planned
from corescale.conclude.race.lost import lost
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.plan import next_columns, pays_for_all
from corescale.conclude.race.records import Raced, Statement, raced, statement
from corescale.conclude.response import median
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations, one_at_a_time, today
from corescale.declare.plan import Block
from corescale.records import Configuration, Record


def race(experiment: Experiment) -> Policy:
    """Blocks of what may still win, then fresh blocks of the winner against today's launch."""

    settled: dict[int, Statement] = {}

    def next_block(records: Sequence[Record]) -> Block | None:
        fresh = [record for record in records if record.phase == "confirm"]
        if not fresh:
            settled.clear()
            block = measuring(records, experiment)
            if block is not None:
                return block
        # fresh launches change what a race says only by failing, or by their metrics
        telling = sum(not record.ok or bool(experiment.constraints) for record in fresh)
        if telling not in settled:
            settled[telling] = statement(records, experiment)
        return favourite.next_block(records, experiment, settled[telling])

    return next_block


def measuring(records: Sequence[Record], experiment: Experiment) -> Block | None:
    """The next block of the race itself; None where it is decided, or the next block would exceed the budget."""
    block = rehearsal.next_block(records, experiment) or _next(records, experiment)
    if block is not None and exceeds(block, records, experiment, _most_room(records, experiment)):
        block = _fitting(block, records, experiment, _room_of_leader(records, experiment))
    return None if block is None else replace(block, cap=_cap(records, experiment))


def _fitting(block: Block, records: Sequence[Record], experiment: Experiment, kept: int) -> Block | None:
    """The block, without the last of what it would try first as far as the budget asks for it; None for nothing."""
    tried = {record.configuration for record in records}
    least = 1 if any(r.phase == "measure" for r in records) and not room(records, experiment) else 2
    while exceeds(block, records, experiment, kept):
        untried = [c for c in block.configurations if c not in tried]
        if not untried or len(block.configurations) <= least or block.phase != "measure":
            return None
        block = replace(block, configurations=tuple(c for c in block.configurations if c != untried[-1]))
    return block


def _room_of_leader(records: Sequence[Record], experiment: Experiment) -> int:
    """Fresh blocks that the leader is kept room for: none where it is today's launch, for it needs none."""
    found = statement(records, experiment)
    if found.answer == today(experiment):
        return 0
    wanted = min(planned(found.leads[found.answer]), _most_room(records, experiment))
    return max(room(records, experiment), wanted)


def _most_room(records: Sequence[Record], experiment: Experiment) -> int:
    """Fresh blocks that a leader may be kept room for, if its first look needs as many."""
    least = room(records, experiment)
    if experiment.stop.confirmations is not None or least < OPTIONS.room:
        return least
    launches = launches_in_all(records, experiment)
    if math.isinf(launches):
        return OPTIONS.longest
    beyond = launches - OPTIONS.again * len(configurations(experiment))
    share = max(OPTIONS.room_share * launches, OPTIONS.room_beyond * beyond) / 2
    return max(least, int(min(share, OPTIONS.longest)))


def room(records: Sequence[Record], experiment: Experiment) -> int:
    """Fresh blocks that a budget keeps room for: none where it would not do for what is tried first as well."""
    if experiment.stop.confirmations is not None:
        return experiment.stop.confirmations
    first = 1 + max(OPTIONS.first_block, 1 + len(one_at_a_time(experiment)))
    first = min(first, 1 + len(configurations(experiment)))
    pairs = min(OPTIONS.room, (launches_in_all(records, experiment) - first) // 2)
    return int(pairs) if pairs >= OPTIONS.fewest else 0


def _next(records: Sequence[Record], experiment: Experiment) -> Block | None:
    found = raced(records, experiment)
    if len(found.configurations) < 2 or len(found.blocks) >= experiment.stop.max_blocks:
        return None
    left = launches_left(records, experiment, room(records, experiment))
    columns = _same_again(found, left)
    if columns is None:
        columns = next_columns(found.field, found.blocks, left)
    if columns is None:
        return None
    return Block("measure", tuple(found.configurations[c] for c in columns), anchored=pays_for_all(found.blocks, left))


def _cap(records: Sequence[Record], experiment: Experiment) -> float | None:
    """The time after which a launch has lost, by those that may still win; only where that is the response."""
    if experiment.response != "wall":
        return None
    walls: dict[Configuration, list[float]] = {}
    out = lost(records, experiment)
    for record in records:
        if record.ok and record.phase != "rehearse" and record.configuration not in out:
            walls.setdefault(record.configuration, []).append(record.wall)
    caps = [(OPTIONS.cap if len(found) >= 2 else OPTIONS.first_cap) * median(found) for found in walls.values()]
    return min(caps, default=None)


def _same_again(found: Raced, left: float) -> "np.typing.NDArray[np.intp] | None":
    """The choice of the last block, while it is a small part of those made and of those left: choosing takes time."""
    present = np.isfinite(np.delete(found.blocks, found.field.today, axis=1))
    if not len(present) or not present.any(axis=0).all():
        return None
    kept = _trailing(present)
    chosen = np.isfinite(found.blocks[-kept:]).all(axis=0)
    soon = min(len(present) - kept, left / max(1, chosen.sum()))
    return np.flatnonzero(chosen) if kept * OPTIONS.replan < soon else None


def _trailing(present: "np.typing.NDArray[np.bool_]") -> int:
    """The number of last blocks that launched the same configurations."""
    differs = (present != present[-1]).any(axis=1)
    return int(np.argmax(differs[::-1])) if differs.any() else len(present)
