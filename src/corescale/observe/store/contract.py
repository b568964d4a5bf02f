# SPDX-License-Identifier: Apache-2.0
"""The contract of a store, in which the loop keeps records, and its smallest implementation."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from corescale.records import Record


class Store(Protocol):
    """Where the loop keeps records: a Folder, or Memory for simulations."""

    @property
    def records(self) -> Sequence[Record]:
        """The records of completed blocks."""

    def start(self, subject: Mapping[str, Any]) -> None:
        """Called before the first launch. Raises StoreError if `subject`, the measured program, has changed."""

    def begin(self) -> tuple[int, int]:
        """The number of the block to make, and which attempt at it this is."""

    def append(self, record: Record) -> None:
        """Keeps a record of the current block."""

    def complete(self) -> None:
        """Marks the current block as complete, so that it counts."""

    def abandon(self) -> None:
        """Discards the current block, which will be made again."""

    def note_changed(self, programs: Sequence[str]) -> None:
        """Keeps the names of programs that were changed while they were measured; there may be none."""

    def finish(self) -> None:
        """Marks the run as finished: there will be no further block."""


class Memory:
    """Keeps records in memory."""

    def __init__(self) -> None:
        self._complete: list[Record] = []
        self._block: list[Record] = []
        self._number = self._attempt = 0
        self.abandoned: list[Record] = []

    @property
    def records(self) -> Sequence[Record]:  # noqa: D102
        return self._complete

    def start(self, subject: Mapping[str, Any]) -> None:  # noqa: D102
        del subject

    def begin(self) -> tuple[int, int]:  # noqa: D102
        return self._number, self._attempt

    def append(self, record: Record) -> None:  # noqa: D102
        self._block.append(record)

    def complete(self) -> None:  # noqa: D102
        self._complete += self._block
        self._block, self._number, self._attempt = [], self._number + 1, 0

    def abandon(self) -> None:  # noqa: D102
        self.abandoned += self._block
        self._block, self._attempt = [], self._attempt + 1

    def note_changed(self, programs: Sequence[str]) -> None:  # noqa: D102
        del programs

    def finish(self) -> None:  # noqa: D102
        pass
