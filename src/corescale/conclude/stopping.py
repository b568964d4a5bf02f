# SPDX-License-Identifier: Apache-2.0
"""When to stop measuring: by width declared beforehand, looked at only where planned, never by significance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from corescale.conclude.stats import Interval
from corescale.declare.stop import Stop

Reason = Literal["width", "budget", "blocks"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to stop, and what may be said then."""

    stop: bool
    reached_width: float | None
    """relative half width of the widest interval; None where one has no interval yet"""
    reason: Reason | None
    """`width`: reached. `blocks`, `budget`: given up; the reached width is the tolerance that was attained"""


def should_stop(rule: Stop, log_ratios: Sequence[Interval], blocks: int, budget_spent: bool = False) -> Decision:
    """Decide after `blocks` complete blocks from the intervals of all log-ratios that the experiment is about."""
    reached = relative_half_width(log_ratios)
    if blocks in rule.looks and reached is not None and reached <= rule.width:
        return Decision(True, reached, "width")
    if blocks >= rule.max_blocks:
        return Decision(True, reached, "blocks")
    return Decision(budget_spent, reached, "budget" if budget_spent else None)


def relative_half_width(log_ratios: Sequence[Interval]) -> float | None:
    """exp(half width) - 1 of the widest of the log-ratio intervals."""
    halves = [interval.half_width for interval in log_ratios]
    known = [half for half in halves if half is not None]
    return math.expm1(max(known)) if known and len(known) == len(halves) else None
