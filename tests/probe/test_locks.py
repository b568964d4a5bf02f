# SPDX-License-Identifier: Apache-2.0
"""Locks: of a run folder, held by one process at a time, and of scratch folders, which other hosts' sweeps spare."""

import errno
import fcntl
import os
import platform
import tempfile
import threading
from pathlib import Path

import pytest

from corescale.errors import StoreError
from corescale.observe import scratch
from corescale.observe.store import folder


def test_a_lock_file_that_was_removed_before_it_was_held_locks_nobody_out(tmp_path: Path) -> None:
    """B waits where it has opened the file, A leaves and removes it; B must not hold what C cannot see."""
    home = tmp_path / "race"
    holds_a = folder.locked(home)
    holds_a.__enter__()
    opened, may_take = threading.Event(), threading.Event()
    really_take, held = folder._take, []

    def slow(lock: int, place: Path) -> None:
        opened.set()
        may_take.wait(10)
        really_take(lock, place)

    def second() -> None:
        with folder.locked(home):
            held.append((home / folder.LOCK).stat().st_ino)
            with pytest.raises(StoreError, match="in use by process"), folder.locked(home):
                pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder, "_take", slow)
        thread = threading.Thread(target=second)
        thread.start()
        assert opened.wait(10)
        patch.undo()
        holds_a.__exit__(None, None, None)
        may_take.set()
        thread.join(20)
    assert len(held) == 1
    assert not home.exists()


def test_a_file_system_without_locks_is_not_said_to_be_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lustre mounted without -o flock answers so; there is none here, so its answer is put in its place."""

    def without(file: int, how: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", without)
    with pytest.raises(StoreError, match="cannot be locked: Function not implemented"), folder.locked(tmp_path / "x"):
        pass


def test_who_holds_it_is_told_with_the_host(tmp_path: Path) -> None:
    with folder.locked(tmp_path / "x"):
        told = f"in use by process {os.getpid()} on {platform.node()}"
        with pytest.raises(StoreError, match=told), folder.locked(tmp_path / "x"):
            pass


def test_a_sweep_spares_what_other_hosts_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ours, theirs = tmp_path / f"{scratch.PREFIX}abc", tmp_path / "corescale-launch-elsewhere-abc"
    for home in (ours, theirs):
        home.mkdir()
    scratch.sweep()
    assert (ours.exists(), theirs.exists()) == (False, True)
