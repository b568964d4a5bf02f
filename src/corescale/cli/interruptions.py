# SPDX-License-Identifier: Apache-2.0
"""Lets the signals with which a terminal, a batch system or `timeout` ends a command act like Ctrl-C."""

import signal
from types import FrameType

from corescale.errors import ExitCode

_came: list["Signalled"] = []

CODES = {signal.SIGTERM: ExitCode.TERMINATED, signal.SIGHUP: ExitCode.HANGUP}


class Signalled(KeyboardInterrupt):
    """One of these signals came."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = CODES[signal.Signals(number)]


def install() -> None:
    """Makes each of these signals act like Ctrl-C; an ignored one stays ignored (nohup)."""
    for number in CODES:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def exit_code(error: BaseException | None) -> ExitCode:
    """The exit code for the error or signal that ended the command."""
    return error.exit_code if isinstance(error, Signalled) else ExitCode.INTERRUPTED


def last() -> KeyboardInterrupt:
    """The last signal that came, because a library may have lost it; Ctrl-C if none came."""
    return _came[-1] if _came else KeyboardInterrupt()


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    _came.append(Signalled(number))
    raise _came[-1]
