# SPDX-License-Identifier: Apache-2.0
"""The stop rule: when enough has been measured."""

import itertools
import math
from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, model_validator

from corescale.declare import quantities
from corescale.declare.base import Model

GROWTH = 1.25
"""Number of blocks at a look, as a multiple of the number at the look before."""

SPENT_GROWTH = 1.5
"""The same for the rule `decided`, with fewer looks, as each uses a part of the error: 8, 12, 18, 27, 40, 60, 90."""

DECIDED_BLOCKS = 90
"""Most blocks for deciding the findings of a study: at a scatter of 0.2, 90 blocks show a difference of 9%."""

LOOK_ERROR = 0.8
"""Share of the allowed error that the interval at each look uses. The other fifth is reserved.

Stopping at a narrow interval favours intervals that are too narrow. In the worst of 25 simulated cases, intervals of
95% at each look covered 92.9%, and intervals of 96% covered 93.6% (docs/measuring.md).
"""

GATE_ERROR = 0.5
"""Share of the allowed error that each of a gate's two looks uses. Together they use all of it."""

MOST_BLOCKS = 1110
"""The most blocks of a race, and so its last look; what these do not decide, no affordable number does."""

USUAL_BUDGET = "5m"
"""Budget if neither a budget nor a number of blocks is named."""

CONFIRM_BLOCKS = 10
"""Assumed number of confirmation pairs, before a race knows how many it needs."""


def growing(first: int, growth: float = GROWTH) -> Iterator[int]:
    """The endless block counts at which a rule looks; by default, at most a fifth of a look's were unnecessary."""
    return itertools.accumulate(itertools.repeat(growth), lambda n, g: math.ceil(n * g), initial=first)


class Stop(Model):
    """When enough was measured: declared before the first launch and recorded with the plan."""

    rule: Literal["width", "replicates", "race", "decided", "calm"] = "width"
    min_blocks: int = Field(default=8, ge=1)
    """blocks at the first look; below 6 there is no 95% interval, and with 8 an interval is rarely narrow by luck"""
    max_blocks: int = Field(default=40, ge=1)
    """blocks at the last look; if the width is not reached by then, the answer says so, and never claims equality"""
    width: float = Field(default=0.02, gt=0)
    """relative half width to reach for every ratio: 0.02 stops at 1.31 [1.284, 1.336]; of a gate, its limit"""
    within: float = Field(default=0.02, gt=0)
    """a race ends when one configuration is proved to be within this fraction of the best"""
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    """the confidence printed for every interval"""
    budget: float | None = Field(default=None, gt=0)
    """seconds, from the first launch on"""
    launches: int | None = Field(default=None, ge=1)
    """budget counted in launches"""
    binding: bool = False
    """whether the budget was typed; then it may end a run before there is an interval, and within a block"""
    confirm_pairs: int | None = Field(default=None, ge=0)
    """confirmation pairs of the winner of a race and the baseline; None: as many as it takes"""

    @model_validator(mode="after")
    def _first_look_is_not_after_the_last(self) -> Self:
        if self.min_blocks > self.max_blocks:
            raise ValueError("min_blocks may not exceed max_blocks")
        return self

    def longer(self, wanted: str | None) -> Self:
        """The same rule with its limit doubled, or with the budget `wanted`. Raises UsageError."""
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
        return f"-M {self.max_blocks}" if self.budget is None else f"--budget {quantities.typed(self.budget)}"

    @property
    def looks(self) -> tuple[int, ...]:
        """The block counts at which the rule may end; few, but at most a third of a look's were unnecessary."""
        later = growing(self.min_blocks)
        if self.rule == "decided":
            later = itertools.accumulate(
                itertools.repeat(SPENT_GROWTH), lambda n, g: int(n * g), initial=self.min_blocks
            )
        return (*itertools.takewhile(lambda n: n < self.max_blocks, later), self.max_blocks)

    @property
    def spent(self) -> float:
        """Share of the allowed error that each ratio interval uses. It is below 1 for `width` and `calm`, which look
        more than once. `decided` and `race` divide the error among their looks elsewhere (conclude/answers/study.py,
        conclude/race/)."""
        return {"width": LOOK_ERROR, "calm": GATE_ERROR}.get(self.rule, 1.0)

    @property
    def reading_confidence(self) -> float:
        """Confidence of a ratio interval, with which all looks together cover the truth with `confidence`."""
        return 1 - self.spent * (1 - self.confidence)
