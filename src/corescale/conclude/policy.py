# SPDX-License-Identifier: Apache-2.0
"""Which block comes next: functions from the records so far to a Block, or None when enough was measured.

The loop in observe/run.py asks them after every block; a race is one more such function.
"""

from collections.abc import Callable, Sequence

from corescale.conclude import stats
from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.budget import exceeds, too_long, too_many
from corescale.conclude.race.records import statement
from corescale.conclude.response import table
from corescale.conclude.stopping import Decision, should_stop
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations, today
from corescale.declare.plan import Block, counted_pairs, next_pair
from corescale.declare.stop import CONFIRM_BLOCKS
from corescale.records import Configuration, Record

Policy = Callable[[Sequence[Record]], Block | None]

GIVE_UP_AFTER = 2
"""Failed launches after which a configuration is left out of later blocks; one time-out is enough."""


def uniform(experiment: Experiment) -> Policy:
    """All configurations in every block until the stop rule is met."""

    def next_block(records: Sequence[Record]) -> Block | None:
        return None if _by_width(records, experiment).stop else Block("measure", still_running(records, experiment))

    return next_block


def confirmed(experiment: Experiment) -> Policy:
    """Uniform blocks, then a number of fresh blocks of the winner against today's launch."""
    measure, wanted = uniform(experiment), experiment.stop.confirmations
    wanted = CONFIRM_BLOCKS if wanted is None else wanted

    def next_block(records: Sequence[Record]) -> Block | None:
        confirming = any(record.phase == "confirm" for record in records) and experiment.stop.rule != "replicates"
        block = None if confirming else measure(records)
        if block is not None:
            return block
        answer = recommend(records, experiment)
        made = len(counted_pairs(records, answer.winner))
        if answer.winner == answer.today or made >= wanted:
            return None
        block = next_pair(answer.today, answer.winner, records, (wanted,))
        return None if exceeds(block, records, experiment) else block

    return next_block


def halved(experiment: Experiment, small: tuple[Configuration, ...]) -> Policy:
    """Blocks of `small`, the smaller half of p, as many as intervals need; then uniform, as if they had not been."""
    first = max(stats.fewest_blocks(experiment.stop.reading_confidence), experiment.stop.min_blocks)
    measure = uniform(experiment)

    def next_block(records: Sequence[Record]) -> Block | None:
        made = {record.block for record in records if record.phase == "measure"}
        if len(made) < first:
            return Block("measure", small)
        early = sorted(made)[:first]
        return measure([record for record in records if record.block not in early])

    return next_block


def decision(records: Sequence[Record], experiment: Experiment) -> Decision:
    """Whether the measuring blocks so far are enough, and why. A race attains a bound of the regret, no width."""
    if experiment.stop.rule != "race":
        return _by_width(records, experiment)
    if len(configurations(experiment)) < 2:
        return Decision(True, None, "blocks")
    bound = statement(records, experiment).bound
    reached = bound is not None and bound <= experiment.stop.within * (1 + 1e-9)
    return Decision(False, bound, None) if reached else Decision(True, bound, "budget")


def _by_width(records: Sequence[Record], experiment: Experiment) -> Decision:
    blocks = len({record.block for record in records if record.phase == "measure"})
    if len(still_running(records, experiment)) < 2 and blocks >= experiment.stop.min_blocks:
        return Decision(True, None, "blocks")
    return should_stop(experiment.stop, _widths(records, experiment), blocks, _spent(records, experiment))


def still_running(records: Sequence[Record], experiment: Experiment) -> tuple[Configuration, ...]:
    """The configurations worth another launch."""
    return tuple(c for c in configurations(experiment) if not _given_up(records, c, experiment))


def _given_up(records: Sequence[Record], configuration: Configuration, experiment: Experiment) -> bool:
    if configuration == today(experiment):
        return False
    bad = [record.status for record in records if record.configuration == configuration and not record.ok]
    return len(bad) >= GIVE_UP_AFTER or "timeout" in bad


def _widths(records: Sequence[Record], experiment: Experiment) -> list[stats.Interval]:
    times = table(records, experiment.response)
    now = today(experiment)
    others = [c for c in still_running(records, experiment) if c != now and c in times.configurations]
    if now not in times.configurations:
        return []
    confidence = experiment.stop.reading_confidence
    return [stats.hodges_lehmann(times.log_ratio(c, now), confidence) for c in others]


def _spent(records: Sequence[Record], experiment: Experiment) -> bool:
    """Whether the next block would exceed the budget, room for the confirmation kept.

    Time that nobody named ends no run before there can be an interval.
    """
    block = Block("measure", still_running(records, experiment))
    confirmations = (experiment.stop.confirmations or 0) if experiment.verb == "tune" else 0
    if too_many(block, records, experiment, confirmations):
        return True
    blocks = len({record.block for record in records if record.phase == "measure"})
    fewest = min(experiment.stop.min_blocks, stats.fewest_blocks(experiment.stop.reading_confidence))
    enough = blocks >= (1 if experiment.stop.binding else fewest)
    return enough and too_long(block, records, experiment, confirmations)
