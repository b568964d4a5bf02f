# SPDX-License-Identifier: Apache-2.0
"""Tests of typed paths. A path that is too long, or in a folder that may not be read, names nothing."""

import os
import stat
import tempfile
from pathlib import Path

exists, is_file, is_folder = os.path.exists, os.path.isfile, os.path.isdir
"""These never raise; the methods of Path do."""


def real(path: str | Path) -> Path:
    """The path with its links resolved; as typed if the links are circular, or if the working folder was removed."""
    try:
        return Path(os.path.realpath(path))
    except OSError:
        return Path(path)


def is_pipe(path: str | Path) -> bool:
    """Whether the file can be read only once, as the one that `<(COMMAND)` names; never raises."""
    try:
        return stat.S_ISFIFO(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False


def refusal(folder: str | Path) -> str:
    """Why no file can be made in that folder; empty if one can. It tries to make an unnamed file there."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)
