# SPDX-License-Identifier: Apache-2.0
"""When enough was measured."""

import itertools
import math
from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, model_validator

from corescale.declare import quantities
from corescale.declare.base import Model

GROWTH = 1.25
"""Blocks at a look, as a multiple of those at the look before."""

SPENT_GROWTH = 1.5
"""The same if each look spends a part of the error: fewer looks cost less of it. From 8 on: 12, 18, 27, 40, 60, 90."""

DECIDED_BLOCKS = 90
"""Blocks at most until the findings of a study are decided: at a scatter of 0.2, 90 of them show a difference of 9%."""

LOOK_ERROR = 0.8
"""Share of the error that intervals at looks have: a fifth is reserved.

Stopping where an interval is narrow favours those that are too narrow: at 0.95 per look 92.9% covered in the worst of
25 simulated cases, at 0.96 93.6% (docs/measuring.md).
"""

GATE_ERROR = 0.5
"""Share of the error that each of a gate's two looks has: together they spend all of it."""

MOST_BLOCKS = 1110
"""Blocks of a race, at most: its last look. If those cannot decide, no number that anyone would wait for can."""

USUAL_BUDGET = "5m"
"""Budget if neither a budget nor a number of blocks is named."""

CONFIRM_BLOCKS = 10
"""Confirmation pairs before a race has seen how many it takes."""


def growing(first: int, growth: float = GROWTH) -> Iterator[int]:
    """Numbers of blocks at which one looks, without end; by default a look is at most a fifth of its blocks late."""
    return itertools.accumulate(itertools.repeat(growth), lambda n, g: math.ceil(n * g), initial=first)


class Stop(Model):
    """When enough was measured: declared before the first launch and recorded with the plan."""

    rule: Literal["width", "replicates", "race", "decided", "calm"] = "width"
    min_blocks: int = Field(default=8, ge=1)
    """first look; below 6 there is no 95% interval, and 8 spare the stop an interval that is narrow by luck"""
    max_blocks: int = Field(default=40, ge=1)
    """last look: reported as "width not reached", never as equality"""
    width: float = Field(default=0.02, gt=0)
    """wanted half width of every ratio, relative: 0.02 stops at 1.31 [1.284, 1.336]; for a gate, the change that it
    tolerates"""
    within: float = Field(default=0.02, gt=0)
    """a race ends when one configuration is proved to be within this fraction of the best"""
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    """claimed for every interval at the end"""
    budget: float | None = Field(default=None, gt=0)
    """seconds, from the first launch on"""
    launches: int | None = Field(default=None, ge=1)
    """budget counted in launches"""
    binding: bool = False
    """whether the budget was typed: then it ends also what has no interval yet, and a block that is under way"""
    confirm_pairs: int | None = Field(default=None, ge=0)
    """confirmation pairs of the winner of a race and the baseline; None: as many as it takes"""

    @model_validator(mode="after")
    def _first_look_is_not_after_the_last(self) -> Self:
        if self.min_blocks > self.max_blocks:
            raise ValueError("min_blocks may not exceed max_blocks")
        return self

    def longer(self, wanted: str | None) -> Self:
        """Twice as long by whatever ended it, or up to the budget that is named; raises UsageError."""
        if wanted is not None:
            return self.model_copy(update=quantities.budget(wanted) | {"binding": True})
        limits = ("budget", "launches") if self.budget is not None or self.launches is not None else ("max_blocks",)
        more = {name: 2 * limit for name in limits if (limit := getattr(self, name)) is not None}
        return self.model_copy(update=more)

    @property
    def in_words(self) -> str:
        """Its limit, as an option names it."""
        if self.launches is not None:
            return f"--budget {self.launches}x"
        return f"-M {self.max_blocks}" if self.budget is None else f"--budget {self.budget:g}s"

    @property
    def looks(self) -> tuple[int, ...]:
        """The block counts at which the rule may end the experiment: few, and at most a third of its blocks late."""
        later = growing(self.min_blocks)
        if self.rule == "decided":
            later = itertools.accumulate(
                itertools.repeat(SPENT_GROWTH), lambda n, g: int(n * g), initial=self.min_blocks
            )
        return (*itertools.takewhile(lambda n: n < self.max_blocks, later), self.max_blocks)

    @property
    def spent(self) -> float:
        """Share of the error that each interval has: what ends a run by what its intervals are pays for its looks."""
        return {"width": LOOK_ERROR, "calm": GATE_ERROR}.get(self.rule, 1.0)

    @property
    def reading_confidence(self) -> float:
        """Confidence of the ratio intervals, such that they cover with `confidence`, printed as that."""
        return 1 - self.spent * (1 - self.confidence)
