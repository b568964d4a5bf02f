# SPDX-License-Identifier: Apache-2.0
"""The rows of the ledger: one table."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self


class LedgerRow(StrEnum):
    """Each row has a name, what its seconds come from, a letter in a timeline, the states of stacks whose call sites
    belong to it, and whether it is CPU time outside waits. Rows are in the order in which they are shown."""

    source: str
    letter: str
    states: tuple[str, ...]
    used: bool

    def __new__(
        cls, name: str, source: str = "", letter: str = "", states: tuple[str, ...] = (), used: bool = False
    ) -> Self:
        """One row; a timeline has those with a letter."""
        row = str.__new__(cls, name)
        row._value_ = name
        row.source, row.letter, row.states, row.used = source, letter, states, used
        return row

    COMPUTING = "computing", "CPU clocks", "C", ("computing",), True
    INFLATED = "inflated computing", "launches", "", (), True
    ALLOCATING = "allocating", "timed calls", "A", ("allocating",), True
    LOCK = "lock wait", "calls", "L", ("locking",)
    BARRIER = "barrier and join wait", "calls", "B", ("barrier", "joining")
    ABSENT = "absent (serial)", "threads", "-", ("serial",)
    QUEUED = "waiting for a core", "schedstat"
    BLOCKED = "blocked", "calls, rest", "W", ("blocked",)
    SPINNING = "spinning", "calls", "S", ("spinning",), True
    MPI = "MPI", "calls", "M", ("message",)
    UNATTRIBUTED = "unattributed", "remainder"


ROW_OF: Mapping[str, LedgerRow] = {
    **{state: row for row in LedgerRow for state in row.states},
    "pooled": LedgerRow.ABSENT,
    "event": LedgerRow.ABSENT,
}
"""The row of each state. Idle workers are absent; the call sites of that row are where other threads compute."""
ON_CPU = tuple(state for row in LedgerRow if row.used for state in row.states)
"""states outside waits"""
