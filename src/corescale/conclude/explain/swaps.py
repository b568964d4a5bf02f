# SPDX-License-Identifier: Apache-2.0
"""Causes by intervention: what launches with one thing changed give back of what a ledger booked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corescale.conclude.answers.verdict import Comparison
from corescale.conclude.explain.ledger import Ledger
from corescale.conclude.explain.rows import CHANGES
from corescale.conclude.stats import Interval
from corescale.records import Level

WORTH = 0.01
"""share of the thread-seconds below which what is booked is not worth a launch"""


@dataclass(frozen=True, slots=True)
class Swap:
    """One thing changed."""

    factor: str
    level: Level
    booked: float
    """thread-seconds in the rows that it could give back"""
    returned: Interval
    """thread-seconds that it gave back, of launches without the profiler; all swaps' intervals hold together"""


def worth_swapping(ledger: Ledger) -> tuple[str, ...]:
    """The factors whose rows have enough in them."""
    return tuple(factor for factor in CHANGES if booked(ledger, factor) >= WORTH * ledger.total > 0)


def booked(ledger: Ledger, factor: str) -> float:
    """Thread-seconds in the rows of a factor."""
    return sum(ledger.rows[row] for row in CHANGES[factor].rows)


def swaps(comparisons: Sequence[Comparison], ledger: Ledger) -> tuple[Swap, ...]:
    """What each change gave back; the largest first. One that failed, or was never launched, is left out."""
    found = (swap for one in comparisons for swap in _swap(one, ledger))
    return tuple(sorted(found, key=lambda swap: -swap.returned.estimate))


def _swap(one: Comparison, ledger: Ledger) -> Iterator[Swap]:
    whole = ledger.threads * one.reference_time.estimate
    for factor, level in one.other.levels:
        if level != one.reference.get(factor) and one.decision != "failed" and one.ratio.n:
            returned = one.ratio.map(lambda ratio: whole * (1 - ratio))
            yield Swap(factor, level, booked(ledger, factor), returned)
