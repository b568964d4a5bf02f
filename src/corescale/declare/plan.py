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
"""Today's launch returns at least once in this many launches, so that slow drift cannot hide in a long block."""


@dataclass(frozen=True, slots=True)
class Block:
    """What the loop is to do next: these configurations, once each, in an order drawn afresh."""

    phase: Phase
    configurations: tuple[Configuration, ...]
    cap: float | None = None
    """seconds after which a launch has lost and is killed; never today's"""


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
            **found,
        )


def invocations(
    block: Block, number: int, attempt: int, today: Configuration, seed: int, since: int | None = 0
) -> tuple[Invocation, ...]:
    """The launches of a block in their random order, today's among them wherever 8 would go by without it.

    `since`: launches since today's last one, before this block; None: it need not return.
    """
    order = shuffled(block.configurations, seed)
    if since is not None and (block.phase == "measure" or today in order):
        order = with_today(order, today, since)
    return tuple(
        Invocation(chosen, block.phase, number, attempt, place, seed, None if chosen == today else block.cap)
        for place, chosen in enumerate(order)
    )


def shuffled(configurations: Sequence[Configuration], seed: int) -> list[Configuration]:
    """A uniformly random order that the seed alone decides."""
    order = list(configurations)
    random.Random(seed).shuffle(order)
    return order


def with_today(order: Sequence[T], today: T, since: int = 0) -> list[T]:
    """The order with today's launch inserted wherever TODAY_EVERY - 1 others would follow one another."""
    result: list[T] = []
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


def most_launches(block: Block, since: int | None) -> int:
    """Of this block at most, today's that come besides included."""
    count = len(block.configurations)
    return count if since is None else count + (since + count) // (TODAY_EVERY - 1)


def fresh_seed() -> int:
    """A seed that nothing in the experiment can have chosen. 63 bits."""
    return secrets.randbits(63)
