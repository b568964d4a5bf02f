# SPDX-License-Identifier: Apache-2.0
"""The interface of objects that watch a run."""

from collections.abc import Sequence
from typing import Self

from corescale.declare.plan import Invocation
from corescale.records import Record


class Watcher:
    """The loop reports events to it: a context manager, which can restore a terminal. This base prints nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """The run is over, however it ended."""

    def launching(self, invocation: Invocation, line: str) -> None:
        """A launch starts; `line` is what a user would type for it."""

    def launched(self, record: Record) -> None:
        """A launch has ended, and its record is kept."""

    def block_done(self, number: int, records: Sequence[Record]) -> None:
        """A block is complete; `records` has all complete blocks."""

    def note(self, text: str) -> None:
        """Something to know in addition to the numbers."""
