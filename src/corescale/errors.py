# SPDX-License-Identifier: Apache-2.0
"""The base class of all errors that a user can cause, and the table of exit codes."""

import difflib
from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """What a verb's exit status means; docs/exit_codes.md is checked against this table."""

    OK = 0
    REGRESSION = 1
    """The change exceeds a gate."""
    USAGE = 2
    """The command line or a study file asks for something that makes no sense."""
    INCONCLUSIVE = 3
    """Measuring ended, but the intervals allow no answer."""
    PROGRAM = 4
    """The measured program is missing or was removed, no configuration of it succeeded, or one failed under a gate."""
    PRELOAD = 5
    """An allocator could not be loaded into the program, so nothing about it was measured."""
    STORE = 6
    """The run folder is not there, cannot be written, is in use, is of another format, or cannot be continued."""
    UNAVAILABLE = 7
    """Something the verb needs is not installed on this machine."""
    INTERNAL = 70
    """A defect in corescale."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C; what was measured is kept."""
    HANGUP = 129
    """The same as Ctrl-C, but by SIGHUP: the terminal was closed."""
    TERMINATED = 143
    """The same as Ctrl-C, but by SIGTERM."""


class CorescaleError(Exception):
    """What went wrong, where, and what to do about it, in one line.

    Only cli/ turns it into an exit status; all other packages raise it or let it pass.
    """

    exit_code = ExitCode.INTERNAL

    def __init__(self, what: str, *, where: str = "", remedy: str = "", in_file: str = "") -> None:
        self.what, self.where, self.remedy = what, where, remedy
        self.in_file = in_file or remedy
        """the remedy if a study file is at fault"""
        super().__init__(str(self))

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        return f"{line}; {self.remedy}" if self.remedy else line


class UsageError(CorescaleError):
    """The request itself makes no sense."""

    exit_code = ExitCode.USAGE


class ProgramError(CorescaleError):
    """The measured program cannot be started, or never succeeds."""

    exit_code = ExitCode.PROGRAM


class PreloadError(CorescaleError):
    """A library that was asked for is not in the program that was measured."""

    exit_code = ExitCode.PRELOAD


class StoreError(CorescaleError):
    """A run folder cannot be written or read."""

    exit_code = ExitCode.STORE


class InconclusiveError(CorescaleError):
    """Measuring ended before anything could be concluded."""

    exit_code = ExitCode.INCONCLUSIVE


class BudgetEndedError(InconclusiveError):
    """The budget ended within a block; unlike after any other error, the launches so far give an answer."""


class InterruptedRunError(CorescaleError):
    """Ctrl-C or a signal during a run in this folder (empty if no launch was kept).

    `known`: the answer so far. `fresh`: whether the same command would begin a new run.
    """

    exit_code = ExitCode.INTERRUPTED

    def __init__(self, folder: str, known: str = "", *, fresh: bool = False) -> None:
        self.known = known
        kept = f"what was measured is kept in {folder} (corescale report)"
        kept += "" if fresh else "; the same command continues"
        super().__init__(f"interrupted; {kept if folder else 'no launch is kept'}")


class AfterwardsError(CorescaleError):
    """Something failed after all was measured and kept, so the message comes after the answer."""

    def __init__(self, what: str, exit_code: ExitCode) -> None:
        super().__init__(what)
        self.exit_code = exit_code


class UnavailableError(CorescaleError):
    """Something is not installed here."""

    exit_code = ExitCode.UNAVAILABLE


def spelt(character: str) -> str:
    """A character that is not printable, such as `\\x1b`; for a byte that is not UTF-8, that byte."""
    byte = ord(character) - 0xDC00  # as surrogateescape reads it
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else ascii(character)[1:-1]


def nearest(name: str, known: Iterable[str], otherwise: str = "", form: str = "{}") -> str:
    """A remedy for an unknown name: the name that was probably meant, else `otherwise`."""
    near = difflib.get_close_matches(name, list(known), 1, cutoff=0.65)
    return f"did you mean {form.format(near[0])}?" if near else otherwise
