# SPDX-License-Identifier: Apache-2.0
"""Tests of typed paths; folders that are made. A path that is too long, or may not be read, names nothing."""

import errno
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
        return f"no file can be made in {folder}" if _is_fixed(error, folder) else error.strerror or str(error)


def make_folder(folder: Path) -> None:
    """Makes the folder and its missing parents; raises OSError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        there = next(parent for parent in folder.parents if parent.exists())
        if _is_fixed(error, there):
            raise OSError(errno.EPERM, f"no folder can be made in {there}") from error
        raise


def _is_fixed(error: OSError, folder: str | Path) -> bool:
    """Whether only the kernel makes files in that folder, as in /proc, whose error is that the new one is not there.
    A folder that was removed has no links, and the same error."""
    return error.errno == errno.ENOENT and is_folder(folder) and Path(folder).stat().st_nlink > 0
