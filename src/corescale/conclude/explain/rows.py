# SPDX-License-Identifier: Apache-2.0
"""The rows of the ledger, and the changes that could give back what is in them: a table each."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class LedgerRow(StrEnum):
    """Name; letter in a timeline; states of stacks whose call sites are the row's; whether it is CPU time outside
    waits. In the order in which rows are shown."""

    letter: str
    states: tuple[str, ...]
    used: bool

    def __new__(cls, name: str, letter: str = "", states: tuple[str, ...] = (), used: bool = False) -> Self:
        """One row; a timeline has those with a letter."""
        row = str.__new__(cls, name)
        row._value_ = name
        row.letter, row.states, row.used = letter, states, used
        return row

    COMPUTING = "computing", "C", ("computing",), True
    INFLATED = "inflated computing", "", (), True
    ALLOCATING = "allocating", "A", ("allocating",), True
    LOCK = "lock wait", "L", ("locking",)
    BARRIER = "barrier and join wait", "B", ("barrier", "joining")
    ABSENT = "absent (serial)", "-", ("serial",)
    QUEUED = "waiting for a core"
    BLOCKED = "blocked", "W", ("blocked",)
    SPINNING = "spinning", "S", ("spinning",), True
    MPI = "MPI", "M", ("message",)
    UNATTRIBUTED = "unattributed"


ROW_OF: Mapping[str, LedgerRow] = {
    **{state: row for row in LedgerRow for state in row.states},
    "pooled": LedgerRow.ABSENT,
    "event": LedgerRow.ABSENT,
}
"""The row of each state. Idle workers are absent; the call sites of that are where others compute."""
ON_CPU = tuple(state for row in LedgerRow if row.used for state in row.states)
"""states outside waits"""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to change in a launch: in words, and the rows of which it could give something back."""

    words: str
    rows: tuple[LedgerRow, ...]


CHANGES = {
    "allocator": Change("the allocator", (LedgerRow.ALLOCATING,)),
    "GLIBC_TUNABLES": Change("the size of pages", (LedgerRow.ALLOCATING, LedgerRow.INFLATED)),
    "bind": Change("the placement", (LedgerRow.INFLATED, LedgerRow.QUEUED)),
    "OMP_WAIT_POLICY": Change("the wait policy", (LedgerRow.BARRIER, LedgerRow.SPINNING)),
}
"""By factor."""
