# SPDX-License-Identifier: Apache-2.0
"""When to stop measuring: by width declared beforehand, looked at only where planned, never by significance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from corescale.conclude.stats import Interval, bonferroni, fewest_blocks
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.stop import Stop

Reason = Literal[
    "width", "budget", "blocks", "proved", "decided", "interrupted", "nothing to compare"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to stop, and what may be said then."""

    reached_width: float | None
    """relative half width of the widest interval; None where one has no interval yet"""
    reason: Reason | None
    """`width`, `proved`, `decided`: reached. `blocks`, `budget`: given up; the reached width is the tolerance that was
    attained. None: to go on"""

    @property
    def stop(self) -> bool:
        """Whether to stop."""
        return self.reason is not None


def too_few(experiment: Experiment) -> str:
    """Why the blocks that are asked for can decide nothing, before any was made; empty where they can."""
    stop, k = experiment.stop, len(configurations(experiment)) - 1
    if stop.rule != "replicates" or k < 1 or not (experiment.scans or experiment.compares):
        return ""
    together = experiment.compares
    confidence = bonferroni(stop.reading_confidence, k) if together else stop.reading_confidence
    if stop.max_blocks >= (needed := fewest_blocks(confidence)):
        return ""
    of = f"{k} comparisons together at {100 * stop.confidence:.6g}% need" if together and k > 1 else (
        f"an interval at {100 * stop.confidence:.6g}% needs")  # fmt: skip
    return f"-r {stop.max_blocks} can decide nothing: {of} -r {needed}"


def should_stop(rule: Stop, log_ratios: Sequence[Interval], blocks: int, budget_spent: bool = False) -> Decision:
    """Decide after `blocks` complete blocks from the intervals of all log-ratios that the experiment is about."""
    reached = relative_half_width(log_ratios)
    if blocks in rule.looks and reached is not None and reached <= rule.width:
        return Decision(reached, "width")
    if blocks >= rule.max_blocks:
        return Decision(reached, "blocks")
    return Decision(reached, "budget" if budget_spent else None)


def relative_half_width(log_ratios: Sequence[Interval]) -> float | None:
    """exp(half width) - 1 of the widest of the log-ratio intervals."""
    halves = [interval.half_width for interval in log_ratios]
    known = [half for half in halves if half is not None]
    return math.expm1(max(known)) if known and len(known) == len(halves) else None
