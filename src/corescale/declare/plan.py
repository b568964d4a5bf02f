# SPDX-License-Identifier: Apache-2.0
"""Randomised complete blocks: which launch comes when."""

import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from corescale.records import Configuration, Phase, Record

T = TypeVar("T")

BASELINE_EVERY = 8
"""A block in which this many launches would have gone by without the baseline has it too, so that slow drift cannot
hide."""


SHIFTED = 8
"""Of so many confirmation pairs one, the fifth, repeats the order of the last instead of reversing it: what comes back
every four launches then hits the other one. It does not count, for its launches come behind different ones. Where one
look at no more than these is planned, none before it repeats: of six pairs one that does not count costs too much."""


@dataclass(frozen=True, slots=True)
class Block:
    """What the loop is to do next: these configurations, once each."""

    phase: Phase
    configurations: tuple[Configuration, ...]
    cap: float | None = None
    """seconds after which a launch is capped: killed; never the baseline"""
    drawn: bool = True
    """whether their order is drawn afresh; else it is the one here"""
    looks: tuple[int, ...] = ()
    """confirmation pairs at which one looks first and then, as planned before them"""
    together: tuple[tuple[Configuration, ...], ...] = ()
    """those that are compared with each other: as many as may be are launched one after the other"""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One launch to come."""

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
        """The record of it: what was asked, and the fields that the launcher found."""
        asked = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "cap"}
        return Record(plan=plan, **asked, **found)


def invocations(
    block: Block, number: int, attempt: int, baseline: Configuration, seed: int, since: int | None = 0
) -> tuple[Invocation, ...]:
    """The launches of a block in their order, drawn or given, the baseline among them where 8 would go by without it.

    Its place is drawn as any other's: the first in a block may be slower or faster than what follows.
    `since`: launches since the baseline's last one, before this block; None: it need not return.
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
    """The next measuring block: its order is drawn; of two, every other block reverses the order before.

    Drawn orders alone put each of two behind the other in three of four launches, and half of what one leaves to the
    next would be in their ratio. Now a quarter is, about as much as drawn orders leave in that of two of four.
    """
    measured = [record for record in records if record.phase == "measure"]
    last = _order([record for record in measured if record.block == measured[-1].block])
    if len(chosen) == 2 and {*last} == {*chosen} and len({record.block for record in measured}) % 2:
        return Block("measure", tuple(reversed(last)), drawn=False)
    return Block("measure", chosen, together=together)


def _order(block: Sequence[Record]) -> list[Configuration]:
    """What a block launched, in the order of the launches, which may have ended in another."""
    return [record.configuration for record in sorted(block, key=lambda record: record.order)]


def next_pair(
    baseline: Configuration, other: Configuration, records: Sequence[Record], looks: tuple[int, ...] = ()
) -> Block:
    """A confirmation pair of two: the first order is drawn, the next ones reverse the last, and one in SHIFTED repeats
    it.

    So both launches of a pair come behind the same one, whatever it leaves to the next; over two pairs a linear drift
    and what the first of a block has to bear come to nothing too. `looks`: the numbers of pairs at the next looks.
    """
    made = _pairs(records, other)
    last = tuple(_order([record for record in records if made and record.block == made[-1].block]))
    if {*last} != {baseline, other}:
        return Block("confirm", (baseline, other), looks=looks)
    order = last if _repeats(len(made), made[0].looks) else last[::-1]
    return Block("confirm", order, drawn=False, looks=looks)


def counted_pairs(records: Sequence[Record], other: Configuration) -> list[int]:
    """The confirmation pairs of a configuration that count: all but those that repeat the order of the block before.

    By the orders that are recorded, so whatever rule planned them. Without planned looks orders were drawn, in earlier
    versions, and repeat by chance: there all count.
    """
    made = _pairs(records, other)
    orders = {one.block: one.order for one in made}
    drawn = {one.block for one in made if not one.looks}
    return [block for block, order in orders.items() if block in drawn or orders.get(block - 1) != order]


def _pairs(records: Sequence[Record], other: Configuration) -> list[Record]:
    """The launches of a configuration in confirmation pairs."""
    return [record for record in records if record.phase == "confirm" and record.configuration == other]


def _repeats(pair: int, looks: tuple[int, ...]) -> bool:
    """Whether this pair, counted from 0, repeats the order of the one before; `looks`: as the first one carries them.

    What a larger budget adds later comes behind the one look that was planned, whose pairs stay as they are.
    """
    once = len(looks) == 1 and looks[0] <= SHIFTED
    first = looks[0] if once else SHIFTED // 2
    return pair >= first and (pair - first) % SHIFTED == 0


def _launched(block: Block, baseline: Configuration, since: int | None) -> tuple[Configuration, ...]:
    """What a block launches, in no order: with the baseline where BASELINE_EVERY launches would go by without it."""
    chosen = block.configurations
    due = block.phase == "measure" and since is not None and since + len(chosen) >= BASELINE_EVERY
    return (*chosen, baseline) if due and baseline not in chosen else chosen


def shuffled(
    configurations: Sequence[Configuration], seed: int, together: Sequence[Sequence[Configuration]] = ()
) -> list[Configuration]:
    """A random order that the seed alone decides, uniform where none are together.

    Those of a group that no group drawn before has are launched one after the other, in an order that is drawn too:
    what drifts hits them alike, and which of them comes first is chance. A configuration may be in several groups.
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
    """Launches of this block at most, those of the baseline that it does not name included."""
    chosen = _launched(block, baseline, since)
    return len(chosen) + (0 if since is None else max(0, len(chosen) - 2) // (BASELINE_EVERY - 1))


def fresh_seed() -> int:
    """A seed that nothing in the experiment can have chosen. 63 bits."""
    return secrets.randbits(63)
