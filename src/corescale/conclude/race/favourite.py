# SPDX-License-Identifier: Apache-2.0
"""Which configuration fresh blocks confirm: the answer of the race, or the next best where they refute it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from corescale.conclude import budget, stats
from corescale.conclude.race.confirmation import Gain, few, gain, going_on, looks, planned
from corescale.conclude.race.lost import todays_failures
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.records import Statement
from corescale.declare.experiment import Experiment
from corescale.declare.grid import today
from corescale.declare.plan import SHIFTED, Block, counted_pairs, counting, next_pair
from corescale.records import Configuration, Record


@dataclass(frozen=True, slots=True)
class Favourite:
    """A configuration, and what fresh blocks say of it."""

    configuration: Configuration
    gain: Gain | None = None
    """None without fresh blocks, and where it is today's launch"""
    looks: tuple[int, ...] = ()
    """fresh blocks at which one looks"""
    made: int = 0
    """fresh blocks so far that count"""

    @property
    def judged(self) -> bool:
        """Whether fresh blocks have told enough, or will not tell."""
        if not self.looks or self.made >= self.looks[-1]:
            return True
        return self.gain is not None and self.gain.ratio.n >= self.looks[0] and self.gain.verdict is not None


def favourite(records: Sequence[Record], experiment: Experiment, racing: Statement) -> Favourite:
    """One more is tried after a refutation: each is one more chance to call faster what is not.

    Where today's launch failed another one is the answer anyway, and fresh blocks say only what it costs.
    """
    if racing.answer == today(experiment):
        return Favourite(racing.answer)
    first = _confirmed(records, experiment, racing, racing.answer)
    refuted = first.judged and first.gain is not None and first.gain.verdict == "not faster"
    if not refuted or racing.next_best is None or todays_failures(records, experiment) is not None:
        return first
    return _confirmed(records, experiment, racing, racing.next_best)


def next_block(records: Sequence[Record], experiment: Experiment, racing: Statement) -> Block | None:
    """The next fresh block; None where enough is known, or the budget is spent."""
    found = favourite(records, experiment, racing)
    if found.judged:
        return None
    block = next_pair(today(experiment), found.configuration, records, found.looks[:2])
    return None if budget.exceeds(block, records, experiment) else block


def _confirmed(
    records: Sequence[Record], experiment: Experiment, racing: Statement, chosen: Configuration
) -> Favourite:
    fresh = [r for r in records if r.phase == "confirm" and r.configuration == chosen]
    before = [r for r in records if r.block < fresh[0].block] if fresh else records
    begun = fresh[0].looks if fresh else ()
    wanted = _wanted(before, experiment, racing, chosen, begun)
    spent = len(begun) == 1 < len(wanted)
    return Favourite(
        chosen, gain(records, experiment, chosen, wanted, spent=spent), wanted, len(counted_pairs(records, chosen))
    )


def _wanted(
    before: Sequence[Record], experiment: Experiment, racing: Statement, chosen: Configuration, begun: tuple[int, ...]
) -> tuple[int, ...]:
    """Fresh blocks at which one looks: once where their number is given, or a budget pays for few.

    `begun`: the first looks as they were planned when they began; a larger budget since then adds some after them.
    """
    given = experiment.stop.confirmations
    if given is not None:
        return (given,) if given else ()
    left, confidence = budget.pairs_left(before, experiment, chosen), experiment.stop.confidence
    pays_for = _counting(int(left), confidence) if math.isfinite(left) else OPTIONS.longest
    if begun and begun[0] < pays_for:
        return going_on(begun, confidence)
    if pays_for <= few(confidence):
        return (pays_for,)
    return looks(min(max(planned(racing.leads[chosen]), stats.fewest_blocks(confidence)), pays_for))


def _counting(pairs: int, confidence: float) -> int:
    """How many of the pairs that a budget pays for count: all where they are for one look of few."""
    few_enough = min(few(confidence), SHIFTED)
    return max(1, pairs) if pairs <= few_enough else max(few_enough, counting(pairs))
