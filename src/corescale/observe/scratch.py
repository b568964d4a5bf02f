# SPDX-License-Identifier: Apache-2.0
"""An empty folder for each launch, which is removed afterwards. Folders that a killed corescale left are removed by the
next one.

The folder's name contains the host, because hosts that share a temporary directory may not see each other's locks.
"""

import atexit
import contextlib
import errno
import fcntl
import hashlib
import os
import platform
import secrets
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from corescale.declare import paths
from corescale.declare.factors import Launch
from corescale.errors import UnavailableError
from corescale.observe.spawn import SpawnedProcess

PREFIX = f"corescale-launch-{platform.node()}-"

PATIENCE = 5.0
"""seconds within which ranks on other machines must stop writing into a folder"""

_MADE: dict[Path, int | None] = {}
"""the folders of this process and their locks, from just before each is made until it is removed"""


class Scratch:
    """The state that the sources of one launch share. It locks its folder, so that a sweep knows that it is in use."""

    folder: Path

    def __init__(
        self,
        launch: Launch | None = None,
        proved: tuple[tuple[str, str], ...] = (),
        place: Path | None = None,
        metrics: Mapping[str, str] | None = None,
    ) -> None:
        """`place`: the folder that it is made in, by default the system's for temporary files."""
        self.launch = launch or Launch(())
        self.proved = proved
        """executable and name of the programs in which the launch's libraries were proved; empty before the proof"""
        self._place = place
        self.metrics = metrics or {}
        """the sources of the metrics that are declared, by the metrics' names"""
        self.counters: dict[str, int] = {}
        """descriptors of the counters of this launch, by event; closed at the end"""
        self.by_rank: tuple[str, ...] = ()
        """variables that name a folder; each rank gets its own folder in it, named by the rank's number"""
        self.spans = False
        """whether the program is to report when its threads were in its named regions"""
        self.ranks = 0
        """ranks that are to report"""
        self.output: Path | None = None
        """file that keeps standard output, if one does"""
        self._replaced: Path | None = None
        """what `output` replaces at the end"""
        self.processes: tuple[SpawnedProcess, ...] = ()
        """processes of all ranks, after the launch"""

    def of(self, name: str) -> Path:
        """The folder of one source. It is made if it does not exist, even if the program has removed it."""
        folder = self.folder / name
        for each in (self.folder, folder):
            if each.is_symlink() or (each.exists() and not each.is_dir()):
                each.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def output_hash(self) -> str | None:
        """SHA-256 of standard output, as sha256sum prints it, if the output was kept."""
        if self.output is None or not paths.is_file(self.output):
            return None
        with self.output.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def said(self, size: int) -> str:
        """The last `size` bytes of standard output, if it was kept."""
        if self.output is None or not paths.is_file(self.output):
            return ""
        with self.output.open("rb") as file:
            file.seek(max(0, self.output.stat().st_size - size))
            return file.read().decode(errors="replace")

    def in_place_of(self, file: Path) -> Path:
        """A new file next to a regular or missing one. It replaces that one at the end of the launch. So concurrent
        launches that write to one file do so one after the other."""
        if paths.exists(file) and not paths.is_file(file):
            return file
        self._replaced = paths.real(file)
        own = self._replaced.with_name(f".{self.folder.name}")
        if paths.is_file(file):
            own.touch()
            shutil.copymode(file, own)
        return own

    def beside(self, place: Path) -> Path:
        """A similar folder in another place, if that can be written; it is removed together with this one."""
        return self._made(place) if os.access(place, os.W_OK) else self.folder

    def __enter__(self) -> Self:
        self._own: list[Path] = []
        try:
            self.folder = self._made(self._place or Path(tempfile.gettempdir()))
        except OSError as error:
            if self._place is None:
                raise
            remedy = "start in a folder that you can write to and that all nodes share"
            what = f"cannot be written: {error.strerror}"
            raise UnavailableError(what, where=str(self._place), remedy=remedy) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._replaced is not None and self.output is not None:
            with contextlib.suppress(FileNotFoundError):
                self.output.replace(self._replaced)
        for file in self.counters.values():
            os.close(file)
        for folder in self._own:
            _end(folder)

    def _made(self, place: Path) -> Path:
        while True:  # a sweep may remove the folder before it is locked
            folder = place / f"{PREFIX}{secrets.token_hex(8)}"
            self._own.append(folder)
            _MADE[folder] = None
            folder.mkdir(0o700)
            with contextlib.suppress(FileNotFoundError):
                lock = _MADE[folder] = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                with contextlib.suppress(OSError):  # without locks in this file system, a sweep gets none either
                    fcntl.flock(lock, fcntl.LOCK_SH)
                if folder.exists():
                    return folder


@atexit.register
def _end_all() -> None:
    """Removes all folders, even if a signal came while one of them was made or removed."""
    for folder in list(_MADE):
        _end(folder)


def _end(folder: Path) -> None:
    """Removes a folder, if it still exists."""
    if folder in _MADE:
        _remove(folder)
        if (lock := _MADE.pop(folder)) is not None:
            os.close(lock)


def sweep(place: Path | None = None) -> None:
    """Removes this user's folders that no process holds, in the temporary folder and in `place`."""
    places = (Path(tempfile.gettempdir()), Path("/dev/shm"), *([place] if place else []))
    for folder in (folder for place in places for folder in place.glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid == os.getuid():
                _remove_unless_held(folder)


def _remove_unless_held(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(folder)
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    """Removes the folder, or what the program put in its place, including files that are written there meanwhile."""
    until = time.monotonic() + PATIENCE
    while os.path.lexists(folder):
        try:
            shutil.rmtree(folder)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.ENOENT) and time.monotonic() < until:
                time.sleep(0.01)
                continue
            shutil.rmtree(folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                folder.unlink()
            return
