# SPDX-License-Identifier: Apache-2.0
"""Changes that could save time that the ledger shows: which of them are worth a launch, and how much each saved."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from corescale.conclude.answers.verdict import Comparison
from corescale.conclude.explain.ledger import Ledger
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.stats import Interval
from corescale.declare.catalogue.settings import SETTINGS
from corescale.records import Level

WORTH = 0.01
"""smallest share of the thread-seconds that is worth a launch"""
DECIDED = 0.02
"""smallest difference that a race decides: a factor that may give back this share of the thread-seconds is combined
with others"""
BY_ALLOCATOR = 0.4
"""share of its row that an allocator gives back (docs/results/remedies.md); another change may give back all"""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to change in a launch: its name in words, and the rows that it could reduce."""

    words: str
    rows: tuple[LedgerRow, ...]
    most: float = 1.0
    """largest share of these rows that it gives back"""


CHANGES = {
    "allocator": Change("the allocator", (LedgerRow.ALLOCATING,), BY_ALLOCATOR),
    "GLIBC_TUNABLES": Change("the size of pages", (LedgerRow.COMPUTING, LedgerRow.INFLATED, LedgerRow.ALLOCATING)),
    "bind": Change("the placement", (LedgerRow.INFLATED, LedgerRow.QUEUED)),
    "OMP_WAIT_POLICY": Change("the wait policy", (LedgerRow.BARRIER, LedgerRow.SPINNING)),
    "openmp": Change("the OpenMP runtime", (LedgerRow.LOCK, LedgerRow.BARRIER, LedgerRow.SPINNING)),
    "smt": Change("SMT", (LedgerRow.INFLATED,)),
}
"""The change of each factor."""


@dataclass(frozen=True, slots=True)
class Chance:
    """Whether a race should combine a factor's levels with those of others, and why."""

    factor: str
    likely: bool
    why: str


def chances(
    names: Sequence[str], shares: Mapping[str, float], *, compared: bool, one_thread: bool = False
) -> tuple[Chance, ...]:
    """Whether each factor can matter, by the share of each row in the baseline's ledger.

    `compared`: whether the ledger says what is inflated computing; if not, inflated computing may matter. `one_thread`:
    True if no program started a second thread.
    """
    return tuple(_chance(name, shares, compared=compared, one_thread=one_thread) for name in names)


def _chance(name: str, shares: Mapping[str, float], *, compared: bool, one_thread: bool) -> Chance:
    if one_thread and name in SETTINGS and SETTINGS[name].threaded:
        return Chance(name, likely=False, why="no program of the launch started a second thread")
    # Only an allocator reads a setting that is not in CHANGES.
    change = CHANGES.get(name, CHANGES["allocator"] if name in SETTINGS else None)
    if change is None:
        return Chance(name, likely=True, why="the ledger does not limit its gain")
    if LedgerRow.INFLATED in change.rows and not compared:
        return Chance(name, likely=True, why=f"{LedgerRow.INFLATED} is not known without a launch with 1 thread")
    # Any part of computing may be TLB misses, which the levels alone show.
    rows = tuple(row for row in change.rows if row is not LedgerRow.COMPUTING)
    # Another program's share is not a share of this one's.
    given = 1.0 if LedgerRow.QUEUED in rows else 1.0 - shares[LedgerRow.QUEUED]
    share = sum(shares[row] for row in rows) / given if given > 0 else 1.0
    likely = share * change.most >= DECIDED
    return Chance(name, likely, why=f"{share:.1%} of its thread-seconds are {' or '.join(rows)}")


@dataclass(frozen=True, slots=True)
class Swap:
    """One thing changed, which shows a cause by intervention."""

    factor: str
    level: Level
    booked: float
    """thread-seconds in the rows that the change could reduce"""
    returned: Interval
    """thread-seconds saved: the total of the ledger times the share of time that launches without the profiler saved.
    The intervals of all swaps hold together."""


def worth_swapping(ledger: Ledger) -> tuple[str, ...]:
    """The factors whose rows have enough thread-seconds to be worth a launch."""
    return tuple(factor for factor in CHANGES if _booked(ledger, factor) >= WORTH * ledger.total > 0)


def swaps(comparisons: Sequence[Comparison], ledger: Ledger) -> tuple[Swap, ...]:
    """The time that each change saved, the largest first. A change that failed or was never launched is left out."""
    found = (swap for one in comparisons for swap in _swap(one, ledger))
    return tuple(sorted(found, key=lambda swap: -swap.returned.estimate))


def _booked(ledger: Ledger, factor: str) -> float:
    return sum(ledger.rows[row] for row in CHANGES[factor].rows)


def _swap(one: Comparison, ledger: Ledger) -> Iterator[Swap]:
    for factor, level in one.other.levels:
        if level != one.reference.get(factor) and one.decision != "failed" and one.ratio.n:
            yield Swap(factor, level, _booked(ledger, factor), one.ratio.map(lambda ratio: ledger.total * (1 - ratio)))
