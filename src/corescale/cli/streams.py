# SPDX-License-Identifier: Apache-2.0
"""Standard output and error of the command: it goes on if the reader has left (`| head`), and a full disk is one
error."""

import io
import os
import sys
from collections.abc import Callable
from typing import TextIO

from corescale.errors import StoreError


class Stream(io.TextIOWrapper):
    """A standard stream. What it cannot encode is spelt out, as `\\udce9` for a byte of an argument. `kept`: what an
    error adds on what was measured."""

    def __init__(self, stream: TextIO, where: str, kept: Callable[[], str]) -> None:
        self._before = stream  # kept, because it would close the file when collected
        super().__init__(
            stream.buffer,
            encoding=stream.encoding,
            errors="backslashreplace",
            line_buffering=stream.isatty() or where == "standard error",
        )
        self._where, self._kept = where, kept

    def write(self, text: str) -> int:
        """See the class; raises StoreError if the system says why nothing more can be written."""
        try:
            return super().write(text)
        except OSError as error:
            self._gone(error)
            return len(text)

    def flush(self) -> None:
        """The same as `write`."""
        try:
            super().flush()
        except OSError as error:
            self._gone(error)

    def _gone(self, error: OSError) -> None:
        """Drops all further output because the reader has gone; the exit code is still the answer's."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
        if not isinstance(error, BrokenPipeError) and self._where == "standard output":
            remedy = f"free some room, or write elsewhere{self._kept()}"
            raise StoreError(f"cannot be written: {error.strerror}", where=self._where, remedy=remedy) from None


def install(kept: Callable[[], str]) -> None:
    """Replaces Python's own streams, except one that was closed (`>&-`). `kept`: see Stream."""
    closed = sys.stdout is None
    sys.stdout = Stream(sys.stdout or _nowhere(1), "standard output", kept)
    sys.stderr = Stream(sys.stderr or _nowhere(2), "standard error", kept)
    if closed:
        sys.stderr.write("note: standard output is closed, so the answer is not printed\n")


def _nowhere(number: int) -> TextIO:
    """Opens /dev/null at that file descriptor, so that no file of a run gets the descriptor of a closed stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    return open(number, "w", encoding="utf-8", closefd=False)
