# SPDX-License-Identifier: Apache-2.0
"""The rows of the ledger: one table."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self


class LedgerRow(StrEnum):
    """The rows, in the order in which they are shown.

    A row has a name, the source of its seconds, a letter in timelines, and the states of the stacks whose call sites
    belong to it. `used`: whether it is CPU time outside waits.
    """

    source: str
    letter: str
    states: tuple[str, ...]
    used: bool

    def __new__(
        cls, name: str, source: str = "", letter: str = "", states: tuple[str, ...] = (), used: bool = False
    ) -> Self:
        """One row. Timelines show the rows that have a letter."""
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
