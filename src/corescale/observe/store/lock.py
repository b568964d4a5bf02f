# SPDX-License-Identifier: Apache-2.0
"""The lock of an experiment's folder: one process at a time adds to its runs."""

import contextlib
import fcntl
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from corescale.errors import StoreError
from corescale.observe.store import durable

LOCK = "lock"


@contextlib.contextmanager
def locked(home: Path) -> Iterator[None]:
    """Holds the experiment's folder for this process; a lock ends with its process, however that ends."""
    with _lock_of(home):
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                if [each.name for each in home.iterdir()] == [LOCK]:  # nothing was launched: leave no trace
                    (home / LOCK).unlink()
                    home.rmdir()


def _lock_of(home: Path) -> IO[str]:
    """The lock file, held. One that was removed before it could be held locks nobody out: the next one is taken."""
    while True:
        lock = _opened(home)
        try:
            _take(lock.fileno(), home)
            if _is_named(lock.fileno(), home / LOCK):
                return lock
        except BaseException:
            lock.close()
            raise
        lock.close()


def _opened(home: Path) -> IO[str]:
    with durable.writing(home):
        while True:
            home.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # somebody who launched nothing has just removed the folder
                return (home / LOCK).open("a+", encoding="utf-8")


def _is_named(lock: int, path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock), path.stat())
    return False


def _take(lock: int, home: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(lock, 64, 0).decode(errors="replace").strip() or "unknown"
        raise StoreError(
            f"in use by process {holder}", where=str(home), remedy="wait for it, or choose --out DIR"
        ) from error
    except OSError as error:
        raise StoreError(
            f"cannot be locked: {error.strerror}",
            where=str(home),
            remedy="choose --out DIR on a file system with locks (Lustre has them where it is mounted with -o flock)",
        ) from error
    with durable.writing(home):
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()} on {platform.node()}\n".encode())
