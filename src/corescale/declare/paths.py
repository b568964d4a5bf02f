# SPDX-License-Identifier: Apache-2.0
"""Tests what a typed path names. It names nothing if it is too long, or if its folder may not be read."""

import stat
import tempfile
from pathlib import Path


def exists(path: str | Path) -> bool:
    """Whether there is something that may be looked at; never raises."""
    return _mode(path) != 0


def is_file(path: str | Path) -> bool:
    """Whether it is a regular file; never raises."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: str | Path) -> bool:
    """Whether it is a folder; never raises."""
    return stat.S_ISDIR(_mode(path))


def is_pipe(path: str | Path) -> bool:
    """Whether it is read once, as the file of `<(COMMAND)`; never raises."""
    return stat.S_ISFIFO(_mode(path))


def refusal(folder: str | Path) -> str:
    """Why no file can be made in that folder, found by making one that has no name; empty if one can."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def _mode(path: str | Path) -> int:
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):
        return 0
