# SPDX-License-Identifier: Apache-2.0
"""Randomised complete blocks: the order of launches."""

import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from corescale.records import Configuration, Phase, Record

T = TypeVar("T")

BASELINE_EVERY = 8
"""The baseline is launched again after at most this many launches, so that slow drift cannot hide."""


SHIFTED = 8
"""Of every so many confirmation pairs, the fifth repeats the order of the pair before it instead of reversing it. From
then on, a disturbance that returns every four launches hits the other configuration. The repeating pair itself does not
count, because its two launches follow different configurations. If the plan is a single look at no more pairs than
this, no pair repeats, because a pair that does not count would cost too much."""


@dataclass(frozen=True, slots=True)
class Block:
    """What the loop is to do next: these configurations, once each."""

    phase: Phase
    configurations: tuple[Configuration, ...]
    cap: float | None = None
    """seconds after which a launch is killed (capped); the baseline never is"""
    drawn: bool = True
    """whether the order of the configurations is drawn at random; if not, it is the given order"""
    looks: tuple[int, ...] = ()
    """numbers of confirmation pairs at which the looks come, as planned before the first pair"""
    together: tuple[tuple[Configuration, ...], ...] = ()
    """groups of configurations that are compared; as many as possible of each group are launched one after the other"""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A launch that is to be made."""

    configuration: Configuration
    phase: Phase
    block: int
    attempt: int
    order: int
    seed: int
    cap: float | None = None
    """seconds"""
    looks: tuple[int, ...] = ()

    def record(self, plan: str, **found: Any) -> Record:
        """The record of the launch: what was asked, and the fields that the launcher found."""
        asked = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "cap"}
        return Record(plan=plan, **asked, **found)


def invocations(
    block: Block, number: int, attempt: int, baseline: Configuration, seed: int, since: int | None = 0
) -> tuple[Invocation, ...]:
    """The launches of a block, in drawn or given order, with the baseline inserted if it is due (BASELINE_EVERY).

    The baseline's place is drawn too, because the first launch of a block may be slower or faster than the others.
    `since`: launches before this block since the baseline's last one; None: it need not return.
    """
    launched = _launched(block, baseline, since)
    order = shuffled(launched, seed, block.together) if block.drawn else list(launched)
    if since is not None and baseline in order:
        order = with_baseline(order, baseline)
    return tuple(
        Invocation(
            chosen, block.phase, number, attempt, place, seed, None if chosen == baseline else block.cap, block.looks
        )
        for place, chosen in enumerate(order)
    )


def next_block(
    chosen: tuple[Configuration, ...],
    records: Sequence[Record],
    together: tuple[tuple[Configuration, ...], ...] = (),
) -> Block:
    """The next measuring block, in a random order; with two configurations every other block reverses the last one.

    With drawn orders, each of two configurations follows the other in three of four launches, so their ratio would
    contain half of the effect that one has on the launch after it. With reversed blocks it contains a quarter, about as
    much as with drawn orders of four configurations.
    """
    measured = [record for record in records if record.phase == "measure"]
    last = _order([record for record in measured if record.block == measured[-1].block])
    if len(chosen) == 2 and {*last} == {*chosen} and len({record.block for record in measured}) % 2:
        return Block("measure", tuple(reversed(last)), drawn=False)
    return Block("measure", chosen, together=together)


def _order(block: Sequence[Record]) -> list[Configuration]:
    """The configurations that a block launched, in the order of their starts; they may have ended in another order."""
    return [record.configuration for record in sorted(block, key=lambda record: record.order)]


def next_pair(
    baseline: Configuration, other: Configuration, records: Sequence[Record], looks: tuple[int, ...] = ()
) -> Block:
    """The next confirmation pair: the first order is drawn, each later pair reverses the order, and one in SHIFTED
    repeats it.

    So both launches of a pair follow launches of the same configuration, and its after-effect hits both. Over two
    pairs, a linear drift and the effect of being first in a block cancel. `looks`: the numbers of pairs at the next
    looks.
    """
    made = _pairs(records, other)
    last = tuple(_order([record for record in records if made and record.block == made[-1].block]))
    if {*last} != {baseline, other}:
        return Block("confirm", (baseline, other), looks=looks)
    order = last if _repeats(len(made), made[0].looks) else last[::-1]
    return Block("confirm", order, drawn=False, looks=looks)


def counted_pairs(records: Sequence[Record], other: Configuration) -> list[int]:
    """The confirmation pairs of a configuration that count: a pair that repeats the order of the last one does not.

    It depends only on the recorded orders. Earlier versions planned no looks and drew every order, so that orders
    repeat by chance; in such runs all pairs count.
    """
    made = _pairs(records, other)
    orders = {one.block: one.order for one in made}
    drawn = {one.block for one in made if not one.looks}
    return [block for block, order in orders.items() if block in drawn or orders.get(block - 1) != order]


def _pairs(records: Sequence[Record], other: Configuration) -> list[Record]:
    """The launches of a configuration in confirmation pairs."""
    return [record for record in records if record.phase == "confirm" and record.configuration == other]


def _repeats(pair: int, looks: tuple[int, ...]) -> bool:
    """Whether this pair, counted from 0, repeats the order of the pair before. `looks`: the looks in the first pair's
    record.

    Pairs that a larger budget adds later come after the one planned look, whose pairs stay as they are.
    """
    once = len(looks) == 1 and looks[0] <= SHIFTED
    first = looks[0] if once else SHIFTED // 2
    return pair >= first and (pair - first) % SHIFTED == 0


def _launched(block: Block, baseline: Configuration, since: int | None) -> tuple[Configuration, ...]:
    """The configurations that a block launches, in no order, with the baseline if it is due (BASELINE_EVERY)."""
    chosen = block.configurations
    due = block.phase == "measure" and since is not None and since + len(chosen) >= BASELINE_EVERY
    return (*chosen, baseline) if due and baseline not in chosen else chosen


def shuffled(
    configurations: Sequence[Configuration], seed: int, together: Sequence[Sequence[Configuration]] = ()
) -> list[Configuration]:
    """A random order that only the seed decides. It is uniform if no configurations are to stay together.

    The groups are drawn one by one. The members of a group that are not in an earlier group are launched one after the
    other, in random order, so drift hits them equally. A configuration may be in several groups.
    """
    draw, left, groups = random.Random(seed), dict.fromkeys(configurations), list[list[Configuration]]()
    for group in draw.sample(together, len(together)):
        if len(free := [one for one in group if one in left]) > 1:
            draw.shuffle(free)
            groups.append(free)
            left = {one: None for one in left if one not in free}
    groups += [[one] for one in left]
    draw.shuffle(groups)
    return [one for group in groups for one in group]


def with_baseline(order: Sequence[T], baseline: T) -> list[T]:
    """The order of one block with the baseline inserted wherever BASELINE_EVERY others would follow each other."""
    result: list[T] = []
    since = 0
    for chosen in order:
        if chosen != baseline and since >= BASELINE_EVERY - 1:
            result.append(baseline)
            since = 0
        result.append(chosen)
        since = 0 if chosen == baseline else since + 1
    return result


def since_baseline(records: Sequence[Record], baseline: Configuration) -> int:
    """Launches since the last one of the baseline."""
    behind = (k for k, record in enumerate(reversed(records)) if record.configuration == baseline)
    return next(behind, len(records))


def most_launches(block: Block, baseline: Configuration, since: int | None) -> int:
    """The most launches that this block has, including launches of the baseline that it does not name."""
    chosen = _launched(block, baseline, since)
    return len(chosen) + (0 if since is None else max(0, len(chosen) - 2) // (BASELINE_EVERY - 1))


def fresh_seed() -> int:
    """A seed that nothing in the experiment can have chosen. 63 bits."""
    return secrets.randbits(63)
