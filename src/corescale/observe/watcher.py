# SPDX-License-Identifier: Apache-2.0
"""The interface of what watches a run."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from corescale.declare.plan import Invocation
from corescale.records import Record


class Watcher:
    """The loop tells it what happens. It is a context, so that a terminal is left as it was. This one says nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The run is over, however it ended."""

    def launching(self, invocation: Invocation, line: str) -> None:
        """This launch starts; `line` is what a person would type."""

    def launched(self, record: Record) -> None:
        """A launch has ended, and its record is kept."""

    def block_done(self, number: int, records: Sequence[Record]) -> None:
        """A block counts; these are the records of all blocks that do."""

    def note(self, text: str) -> None:
        """Something to know in addition to the numbers."""
