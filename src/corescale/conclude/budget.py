# SPDX-License-Identifier: Apache-2.0
"""What is left of a budget, in launches or in time.

Time goes by between launches too: hooks, choosing what comes next, and before a block with something new the proofs of
what is new. A budget counts it, by the records alone.
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence

from corescale.conclude.response import median
from corescale.declare.experiment import Experiment
from corescale.declare.grid import today
from corescale.declare.plan import Block, most_launches, since_today
from corescale.records import Configuration, Record

PAUSE = 10.0
"""Seconds between two launches that a budget counts, at most, or ten times as long as is usual, if that is more: beyond
it nobody was measuring."""

PROOF = 2.0
"""Launches that the proof of a new configuration may take: a long proof before a block is no pause."""


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
    this += between(records) * len(block.configurations)
    this += proving(records) * sum(configuration not in last for configuration in block.configurations)
    return this > _seconds(records, experiment, confirmations)


def spent(records: Sequence[Record]) -> float:
    """Seconds that these launches took, and what came between them."""
    return sum(record.wall for record in records) + sum(_gaps(records))


def between(records: Sequence[Record]) -> float:
    """Seconds from one launch to the next, on average; those before a block with something new do not count."""
    gaps = [gap for gap, new in zip(_gaps(records), _new(records), strict=True) if not new] or _gaps(records)
    return sum(gaps) / max(1, len(gaps))


def proving(records: Sequence[Record]) -> float:
    """Seconds that each configuration takes before its first block, beyond what comes between two launches."""
    usual, new = between(records), _new(records)
    more = [max(0.0, gap - usual) for gap, count in zip(_gaps(records), new, strict=True) if count]
    return sum(more) / max(1, sum(new))


def _gaps(records: Sequence[Record]) -> list[float]:
    """Seconds between two launches, as far as a budget counts them."""
    gaps = [max(0.0, after.started - one.started - one.wall) for one, after in itertools.pairwise(records)]
    longest = max(PAUSE, 10 * median(gaps)) if gaps else PAUSE
    proof = PROOF * max((record.wall for record in records), default=0.0)
    return [min(gap, max(longest, new * proof)) for gap, new in zip(gaps, _new(records), strict=True)]


def _new(records: Sequence[Record]) -> list[int]:
    """Of each launch but the first: what its block launches for the first time, where it is the first of its block."""
    first: dict[Configuration, int] = {}
    for record in records:
        first.setdefault(record.configuration, record.block)
    new = Counter(first.values())
    return [new[after.block] if after.block != one.block else 0 for one, after in itertools.pairwise(records)]


def launches_left(records: Sequence[Record], experiment: Experiment, confirmations: int = 0) -> float:
    """Launches that the budget pays for, room for the confirmation kept; inf where there is none. At least 1.

    Of time, as many as the last block's would be.
    """
    left = _launches(records, experiment, confirmations)
    if experiment.stop.budget is not None and records:
        walls = [record.wall for record in records if record.block == records[-1].block]
        each = sum(walls) / len(walls) + between(records)
        left = min(left, _seconds(records, experiment, confirmations) / each if each > 0 else math.inf)
    return max(1.0, left)


def pairs_left(records: Sequence[Record], experiment: Experiment, other: Configuration) -> float:
    """Blocks of today's launch and another that the budget pays for; inf where there is none."""
    pairs = _launches(records, experiment, 0) / 2
    if experiment.stop.budget is None or not records:
        return pairs
    each = _usual(records, today(experiment)) + _usual(records, other) + 2 * between(records)
    return min(pairs, _seconds(records, experiment, 0) / each if each > 0 else math.inf)


def launches_in_all(records: Sequence[Record], experiment: Experiment) -> float:
    """Launches that the whole budget pays for, of time as many as of today's launch; inf where there is none."""
    most, now = float(experiment.stop.launches or math.inf), today(experiment)
    if experiment.stop.budget is None:
        return most
    each = _usual(records, now) + between(records)
    return min(most, experiment.stop.budget / each) if each > 0 else most


def _launches(records: Sequence[Record], experiment: Experiment, confirmations: int) -> float:
    most = experiment.stop.launches
    if most is None:
        return math.inf
    return most - len(records) - min(_confirming(records, confirmations), most // 2)


def _seconds(records: Sequence[Record], experiment: Experiment, confirmations: int) -> float:
    budget = experiment.stop.budget or math.inf
    each = _usual(records, today(experiment)) + between(records)
    return budget - spent(records) - min(_confirming(records, confirmations) * each, budget / 2)


def _confirming(records: Sequence[Record], confirmations: int) -> int:
    """Launches; none while nothing was measured, for then there is nothing to confirm."""
    return 2 * confirmations if any(record.phase == "measure" for record in records) else 0


def _usual(records: Sequence[Record], configuration: Configuration) -> float:
    """Median time of its full launches; of all launches where it had none."""
    full = [record for record in records if record.phase != "rehearse"] or records
    own = [record.wall for record in full if record.configuration == configuration]
    return median(own or [record.wall for record in full]) if full else 0.0


def _walls(records: Sequence[Record]) -> tuple[dict[object, float], float]:
    """Times of each configuration's last full launch, and of the slowest."""
    last: dict[object, float] = {record.configuration: record.wall for record in records if record.phase != "rehearse"}
    return last, max(last.values(), default=0.0)
