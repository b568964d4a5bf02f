# SPDX-License-Identifier: Apache-2.0
"""Randomised complete blocks: which launch comes when."""

import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corescale.records import Configuration, Phase, Record

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
    block: Block, number: int, attempt: int, today: Configuration, seed: int, anchored: bool = True
) -> tuple[Invocation, ...]:
    """The launches of a block in their random order; `anchored`: today's repeated so that no 8 go by without it."""
    order = shuffled(block.configurations, seed)
    order = with_today(order, today) if anchored else order
    return tuple(
        Invocation(chosen, block.phase, number, attempt, place, seed, None if chosen == today else block.cap)
        for place, chosen in enumerate(order)
    )


def shuffled(configurations: Sequence[Configuration], seed: int) -> list[Configuration]:
    """A uniformly random order that the seed alone decides."""
    order = list(configurations)
    random.Random(seed).shuffle(order)
    return order


def with_today(order: Sequence[Configuration], today: Configuration) -> list[Configuration]:
    """The order with today's launch inserted wherever TODAY_EVERY - 1 others would follow one another."""
    result: list[Configuration] = []
    since = 0
    for chosen in order:
        if today in order and chosen != today and since == TODAY_EVERY - 1:
            result.append(today)
            since = 0
        result.append(chosen)
        since = 0 if chosen == today else since + 1
    return result


def fresh_seed() -> int:
    """A seed that nothing in the experiment can have chosen. 63 bits."""
    return secrets.randbits(63)
