# SPDX-License-Identifier: Apache-2.0
"""When enough was measured."""

import itertools
import math
from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, model_validator

from corescale.declare.model import Model

GROWTH = 1.25
"""Blocks at a look, as a multiple of those at the look before."""

MOST_BLOCKS = 1110
"""Blocks of a race, at most: its last look. Where those do not tell, no number that anyone would wait for does."""

USUAL_BUDGET = "5m"
"""Budget where none is named, and no number of blocks."""

CONFIRM_BLOCKS = 10
"""Fresh blocks where no race has seen how many it takes."""


def growing(first: int) -> Iterator[int]:
    """Numbers of blocks at which one looks, without end: few looks, and at most a quarter of the blocks late."""
    return itertools.accumulate(itertools.repeat(GROWTH), lambda n, g: math.ceil(n * g), initial=first)


class Stop(Model):
    """When enough was measured: declared before the first launch and recorded with the plan."""

    rule: Literal["width", "replicates", "race"] = "width"
    min_blocks: int = Field(default=8, ge=1)
    """first look; below 6 there is no 95% interval, and 8 spare the stop an interval that is narrow by luck"""
    max_blocks: int = Field(default=40, ge=1)
    """last look: reported as "width not reached", never as equality"""
    width: float = Field(default=0.02, gt=0)
    """wanted half width of every ratio, relative: 0.02 stops at 1.31 [1.284, 1.336]"""
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
    confirm_blocks: int | None = Field(default=None, ge=0)
    """fresh blocks of the winner against today's launch (tune); None: a race has as many as it takes, others 10"""

    @model_validator(mode="after")
    def _first_look_is_not_after_the_last(self) -> Self:
        if self.min_blocks > self.max_blocks:
            raise ValueError("min_blocks may not exceed max_blocks")
        return self

    @property
    def confirmations(self) -> int | None:
        """Fresh blocks, where their number is fixed beforehand."""
        return CONFIRM_BLOCKS if self.confirm_blocks is None and self.rule != "race" else self.confirm_blocks

    @property
    def looks(self) -> tuple[int, ...]:
        """The block counts at which the width may end the experiment: few, and at most a quarter of the blocks late."""
        return (*itertools.takewhile(lambda n: n < self.max_blocks, growing(self.min_blocks)), self.max_blocks)

    @property
    def look_confidence(self) -> float:
        """Confidence of the intervals at the looks, printed as `confidence`: a fifth of the doubt is set aside.

        Stopping where an interval is narrow favours those that are too narrow: at 0.95 per look 92.9% covered in the
        worst of 25 simulated cases, at 0.96 93.6% (docs/measuring.md).
        """
        return 1 - 0.8 * (1 - self.confidence)

    @property
    def reading_confidence(self) -> float:
        """Confidence of the ratio intervals, such that they cover with `confidence` where a width may stop."""
        return self.look_confidence if self.rule == "width" else self.confidence
