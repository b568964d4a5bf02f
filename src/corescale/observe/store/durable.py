# SPDX-License-Identifier: Apache-2.0
"""Writes files that survive a crash, either whole and synced or not at all."""

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from corescale import documents
from corescale.declare import paths
from corescale.errors import StoreError
from corescale.records import canonical, escaped

CHANGED = "restore the file, or measure again with --out DIR"
"""remedy for a file of a run that is damaged or missing"""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns an error of the operating system (no room, no permission) into a StoreError about `path`."""
    try:
        yield
    except OSError as error:
        space = "free some space, or " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        space = "raise ulimit -f, or " if error.errno == errno.EFBIG else space
        remedy = f"{space}choose --out DIR"
        raise StoreError(f"cannot be written: {error.strerror or error}", where=str(path), remedy=remedy) from error


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes all of `content`, or leaves the file as it was."""
    draft = path.with_name(f".{path.name}.new")
    with writing(path):
        try:
            with draft.open("wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def create_folder(path: Path, files: Mapping[str, str]) -> None:
    """Makes a new folder with all of these files, or nothing; `path` must not exist."""
    draft = path.with_name(f".{path.name}.new")
    with writing(path):
        shutil.rmtree(draft, ignore_errors=True)
        try:
            draft.mkdir(parents=True)
            for name, text in files.items():
                write_whole(draft / name, text)
            draft.rename(path)
        except (OSError, StoreError):
            shutil.rmtree(draft, ignore_errors=True)
            raise
        sync_folder(path.parent)


def must_hold_runs(root: Path) -> None:
    """Raises StoreError if no run folder could be made in `root`, which need not exist."""
    there = next(path for path in (root, *root.parents) if paths.exists(path))
    if why := paths.refusal(there):
        raise StoreError(f"cannot be written: {why}", where=str(root), remedy="choose --out DIR")


def make_folders(path: Path) -> None:
    """Makes the folder and missing parents, and syncs their names to the disk."""
    path = paths.real(path)  # a link may lead to a folder that is still to be made
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    paths.make_folder(path)
    for folder in reversed(missing):
        sync_folder(folder.parent)


def sync_folder(path: Path) -> None:
    """Makes the names in a folder durable."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class Lines:
    """A file of JSON lines that only grows. When `append` returns, the line is on the disk.

    The caller must hold the lock of the run folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with writing(path):
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._length = os.fstat(self._file).st_size

    def append(self, line: str) -> None:
        """Appends a line in one write, and syncs it. If that fails, the file is as it was before."""
        data = f"{line}\n".encode()
        with writing(self._path):
            try:
                rest = data
                while rest:  # after a short write, the next write reports the error
                    rest = rest[os.write(self._file, rest) :]
                os.fsync(self._file)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._length)
                raise
        self._length += len(data)

    @property
    def are_there(self) -> bool:
        """Whether the path still leads to the file."""
        try:
            return os.path.samestat(os.fstat(self._file), self._path.stat())
        except OSError:
            return False

    def close(self) -> None:
        """Closes the file, so that nothing can be appended."""
        os.close(self._file)


def read_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The JSON objects of a file of lines, and the size in bytes of an incomplete last line.

    A crash can leave only the last line incomplete. Raises StoreError, with the line's number, for any other line that
    is not a JSON object.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot be read: {error.strerror}", where=str(path), remedy=CHANGED) from error
    lines = data.split(b"\n")
    torn = len(lines.pop())
    values: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        value = _object(line)
        if value is None and number == len(lines) and not torn:
            return values, len(line) + 1
        if value is None:
            raise StoreError("not a whole record", where=f"{path}:{number}", remedy=CHANGED)
        values.append(value)
    return values, torn


def cut(path: Path, torn: int) -> None:
    """Removes a torn last line of `torn` bytes."""
    with writing(path), path.open("r+b") as file:
        file.truncate(path.stat().st_size - torn)
        os.fsync(file.fileno())


def pretty(value: object) -> str:
    """Readable JSON, in the same order each time."""
    return escaped(json.dumps(json.loads(canonical(value)), indent=2, sort_keys=True, ensure_ascii=False)) + "\n"


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = documents.value(line, finite=False)  # records check their numbers themselves
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
