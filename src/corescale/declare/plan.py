# SPDX-License-Identifier: Apache-2.0
"""Randomised complete blocks: which launch comes when."""

import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from corescale.records import Configuration, Phase, Record

T = TypeVar("T")

TODAY_EVERY = 8
"""A block in which this many launches would have gone by without today's has it too, so that slow drift cannot hide."""


SHIFTED = 8
"""Of so many fresh pairs one, the fifth, repeats the order of the last instead of reversing it: what comes back every
four launches then hits the other one. It does not count, for its launches come behind different ones. Where one look at
no more than these is planned, none before it repeats: of six pairs one that does not count costs too much."""


@dataclass(frozen=True, slots=True)
class Block:
    """What the loop is to do next: these configurations, once each."""

    phase: Phase
    configurations: tuple[Configuration, ...]
    cap: float | None = None
    """seconds after which a launch has lost and is killed; never today's"""
    drawn: bool = True
    """whether their order is drawn afresh; else it is the one here"""
    looks: tuple[int, ...] = ()
    """fresh blocks at which one looks first and then, as planned before them"""
    anchored: bool = True
    """whether today's launch returns in it, where it is due"""


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
        return Record(
            plan=plan,
            configuration=self.configuration,
            phase=self.phase,
            block=self.block,
            attempt=self.attempt,
            order=self.order,
            seed=self.seed,
            looks=self.looks,
            **found,
        )


def invocations(
    block: Block, number: int, attempt: int, today: Configuration, seed: int, since: int | None = 0
) -> tuple[Invocation, ...]:
    """The launches of a block in their order, drawn or given, today's among them where 8 would go by without it.

    Its place is drawn as any other's: the first in a block may be slower or faster than what follows.
    `since`: launches since today's last one, before this block; None: it need not return.
    """
    since = since if block.anchored else None
    launched = _launched(block, today, since)
    order = shuffled(launched, seed) if block.drawn else list(launched)
    if since is not None and today in order:
        order = with_today(order, today)
    return tuple(
        Invocation(
            chosen, block.phase, number, attempt, place, seed, None if chosen == today else block.cap, block.looks
        )
        for place, chosen in enumerate(order)
    )


def next_pair(
    today: Configuration, other: Configuration, records: Sequence[Record], looks: tuple[int, ...] = ()
) -> Block:
    """A fresh block of two: the first order is drawn, the next ones reverse the last, and one in SHIFTED repeats it.

    So both launches of a pair come behind the same one, whatever it leaves to the next; over two pairs a linear drift
    and what the first of a block has to bear come to nothing too. `looks`: the numbers of pairs at the next looks.
    """
    made = _pairs(records, other)
    last = tuple(record.configuration for record in records if made and record.block == made[-1].block)
    if {*last} != {today, other}:
        return Block("confirm", (today, other), looks=looks)
    order = last if _repeats(len(made), made[0].looks) else last[::-1]
    return Block("confirm", order, drawn=False, looks=looks)


def counted_pairs(records: Sequence[Record], other: Configuration) -> list[int]:
    """The fresh blocks of a configuration that count: all but those that repeat the order of the block before.

    By the orders that are recorded, so whatever rule planned them. Without planned looks orders were drawn, in earlier
    versions, and repeat by chance: there all count.
    """
    made = _pairs(records, other)
    orders = {one.block: one.order for one in made}
    drawn = {one.block for one in made if not one.looks}
    return [block for block, order in orders.items() if block in drawn or orders.get(block - 1) != order]


def counting(pairs: int) -> int:
    """How many of so many fresh pairs count, where several looks are planned."""
    return sum(not _repeats(k, ()) for k in range(pairs))


def _pairs(records: Sequence[Record], other: Configuration) -> list[Record]:
    """The launches of a configuration in fresh blocks."""
    return [record for record in records if record.phase == "confirm" and record.configuration == other]


def _repeats(pair: int, looks: tuple[int, ...]) -> bool:
    """Whether this pair, counted from 0, repeats the order of the one before; `looks`: as the first one carries them.

    What a larger budget adds later comes behind the one look that was planned, whose pairs stay as they are.
    """
    once = len(looks) == 1 and looks[0] <= SHIFTED
    first = looks[0] if once else SHIFTED // 2
    return pair >= first and (pair - first) % SHIFTED == 0


def with_todays_due(chosen: Sequence[T], today: T, since: int | None) -> tuple[T, ...]:
    """What a block launches, in no order: with today's where TODAY_EVERY launches would go by without it."""
    due = since is not None and since + len(chosen) >= TODAY_EVERY
    return (*chosen, today) if due and today not in chosen else tuple(chosen)


def _launched(block: Block, today: Configuration, since: int | None) -> tuple[Configuration, ...]:
    return with_todays_due(block.configurations, today, since if block.phase == "measure" else None)


def shuffled(configurations: Sequence[Configuration], seed: int) -> list[Configuration]:
    """A uniformly random order that the seed alone decides."""
    order = list(configurations)
    random.Random(seed).shuffle(order)
    return order


def with_today(order: Sequence[T], today: T) -> list[T]:
    """The order of one block with today's launch inserted wherever TODAY_EVERY others would follow one another."""
    result: list[T] = []
    since = 0
    for chosen in order:
        if chosen != today and since >= TODAY_EVERY - 1:
            result.append(today)
            since = 0
        result.append(chosen)
        since = 0 if chosen == today else since + 1
    return result


def since_today(records: Sequence[Record], today: Configuration) -> int:
    """Launches since the last one of today's."""
    behind = (k for k, record in enumerate(reversed(records)) if record.configuration == today)
    return next(behind, len(records))


def most_launches(block: Block, today: Configuration, since: int | None) -> int:
    """Launches of this block at most, those of today's that it does not name included."""
    since = since if block.anchored else None
    chosen = _launched(block, today, since)
    return len(chosen) + (0 if since is None else max(0, len(chosen) - 2) // (TODAY_EVERY - 1))


def fresh_seed() -> int:
    """A seed that nothing in the experiment can have chosen. 63 bits."""
    return secrets.randbits(63)
