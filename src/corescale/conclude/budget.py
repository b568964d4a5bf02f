# SPDX-License-Identifier: Apache-2.0
"""What is left of a budget, in launches or in time."""

import math
from collections.abc import Sequence

from corescale.declare.experiment import Experiment
from corescale.declare.grid import today
from corescale.declare.plan import Block, most_launches, since_today
from corescale.records import Record


def exceeds(block: Block, records: Sequence[Record], experiment: Experiment, confirmations: int = 0) -> bool:
    """Whether this block, and these blocks of confirmation after it, would take more than the budget that is left.

    Of a small budget half is for what comes before: without a favourite there is nothing to confirm.
    """
    return too_many(block, records, experiment, confirmations) or too_long(block, records, experiment, confirmations)


def too_many(block: Block, records: Sequence[Record], experiment: Experiment, confirmations: int = 0) -> bool:
    """Whether they would take more than a budget in launches."""
    since = since_today(records, today(experiment)) if experiment.anchored and block.phase == "measure" else None
    return most_launches(block, today(experiment), since) > _launches(records, experiment, confirmations)


def too_long(block: Block, records: Sequence[Record], experiment: Experiment, confirmations: int = 0) -> bool:
    """Whether they would take more than a budget in time; each counts as long as its last launch, or as the slowest."""
    if experiment.stop.budget is None or not records:
        return False
    last, slowest = _walls(records)
    this = sum(last.get(configuration, slowest) for configuration in block.configurations)
    return this > _seconds(records, experiment, confirmations)


def launches_left(records: Sequence[Record], experiment: Experiment, confirmations: int = 0) -> float:
    """Launches that the budget pays for, room for the confirmation kept; inf where there is none. At least 2.

    Of time, as many as the last block's would be.
    """
    left = _launches(records, experiment, confirmations)
    if experiment.stop.budget is not None and records:
        walls = [record.wall for record in records if record.block == records[-1].block]
        each = sum(walls) / len(walls)
        left = min(left, _seconds(records, experiment, confirmations) / each if each > 0 else math.inf)
    return max(2.0, left)


def launches_in_all(records: Sequence[Record], experiment: Experiment) -> float:
    """Launches that the whole budget pays for, of time as many as of today's launch; inf where there is none."""
    most, now = float(experiment.stop.launches or math.inf), today(experiment)
    if experiment.stop.budget is None:
        return most
    wall = next((record.wall for record in reversed(records) if record.configuration == now and record.ok), 0.0)
    return min(most, experiment.stop.budget / wall) if wall > 0 else most


def _launches(records: Sequence[Record], experiment: Experiment, confirmations: int) -> float:
    most = experiment.stop.launches
    if most is None:
        return math.inf
    return most - len(records) - min(_confirming(records, confirmations), most // 2)


def _seconds(records: Sequence[Record], experiment: Experiment, confirmations: int) -> float:
    budget = experiment.stop.budget or math.inf
    last, slowest = _walls(records)
    reserved = min(_confirming(records, confirmations) * last.get(today(experiment), slowest), budget / 2)
    return budget - sum(record.wall for record in records) - reserved


def _confirming(records: Sequence[Record], confirmations: int) -> int:
    """Launches; none while nothing was measured, for then there is nothing to confirm."""
    return 2 * confirmations if any(record.phase == "measure" for record in records) else 0


def _walls(records: Sequence[Record]) -> tuple[dict[object, float], float]:
    """Times of each configuration's last full launch, and of the slowest."""
    last: dict[object, float] = {record.configuration: record.wall for record in records if record.phase != "rehearse"}
    return last, max(last.values(), default=0.0)
