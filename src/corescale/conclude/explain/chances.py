# SPDX-License-Identifier: Apache-2.0
"""Which factors a race need not try, by what the ledger of the baseline has in the rows that each could give back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corescale.conclude.explain.rows import CHANGES, LedgerRow
from corescale.conclude.explain.swaps import WORTH
from corescale.declare.catalogue.settings import SETTINGS


@dataclass(frozen=True, slots=True)
class Chance:
    """Whether a factor can matter, and why."""

    factor: str
    likely: bool
    why: str


def chances(names: Sequence[str], shares: Mapping[str, float], *, compared: bool) -> tuple[Chance, ...]:
    """For each factor whether it can matter, by the share of each row.

    `compared`: whether the ledger knows what is inflated. What it does not know may matter.
    """
    return tuple(_chance(name, shares, compared=compared) for name in names)


def _chance(name: str, shares: Mapping[str, float], *, compared: bool) -> Chance:
    rows: tuple[LedgerRow, ...] = (LedgerRow.ALLOCATING,) if name in SETTINGS else ()  # of what only an allocator reads
    rows = CHANGES[name].rows if name in CHANGES else rows
    if not rows:
        return Chance(name, likely=True, why="no row of the ledger bounds what it gives back")
    if LedgerRow.INFLATED in rows and not compared:
        return Chance(name, likely=True, why=f"{LedgerRow.INFLATED} is not known without a launch with 1 thread")
    # Another program's share is no share of this one's.
    given = 1.0 if LedgerRow.QUEUED in rows else 1.0 - shares[LedgerRow.QUEUED]
    share = sum(shares[row] for row in rows) / given if given > 0 else 1.0
    return Chance(name, likely=share >= WORTH, why=f"{share:.1%} of its thread-seconds are {' or '.join(rows)}")
