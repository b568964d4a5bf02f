# SPDX-License-Identifier: Apache-2.0
"""Tests what a typed path names. It names nothing if it is too long, or if its folder may not be read."""

import os
import stat
import tempfile
from pathlib import Path

exists, is_file, is_folder = os.path.exists, os.path.isfile, os.path.isdir
"""These never raise; the methods of Path do."""


def real(path: str | Path) -> Path:
    """Where a path leads if its links are followed; as typed if they go in a circle, or if the working folder was
    removed.
    """
    try:
        return Path(os.path.realpath(path))
    except OSError:
        return Path(path)


def is_pipe(path: str | Path) -> bool:
    """Whether it is read once, as the file of `<(COMMAND)`; never raises."""
    try:
        return stat.S_ISFIFO(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False


def refusal(folder: str | Path) -> str:
    """Why no file can be made in that folder, found by making one that has no name; empty if one can."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)
