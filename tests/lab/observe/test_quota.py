# SPDX-License-Identifier: Apache-2.0
"""`tune` in a real control group that may use half a core."""

import contextlib
import functools
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corescale import cgroup
from corescale.errors import ExitCode
from corescale.machine import Machine
from support.commands import answered, started


@pytest.fixture
def half_a_core() -> Iterator[Callable[[], None]]:
    """What a child calls to move itself into the group."""
    place = cgroup.place("cpu")
    if place is None:
        pytest.skip("no cgroup governs the CPU here")
    if len(Machine.here().affinity) < 2:
        pytest.skip("fewer than 2 CPUs are allowed here")
    folder = place.folder / f"corescale-test-{os.getpid()}"
    try:
        folder.mkdir()
        quota = {"cpu.max": "50000 100000"} if place.version == 2 else {"cpu.cfs_quota_us": "50000"}
        for name, text in quota.items():
            if not (folder / name).exists():
                raise OSError(f"the group has no {name}")
            (folder / name).write_text(text)
        subprocess.run(["true"], preexec_fn=functools.partial(_enter, folder), check=True)
        yield functools.partial(_enter, folder)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"cgroups cannot be written here: {error}")
    finally:
        _remove(folder)


def _enter(folder: Path) -> None:
    (folder / "cgroup.procs").write_text(str(os.getpid()))


def _remove(folder: Path) -> None:
    """Busy as long as a process of the group is not reaped."""
    for _ in range(50):
        with contextlib.suppress(OSError):
            folder.rmdir()
        if not folder.exists():
            return
        time.sleep(0.1)


def test_a_quota_of_half_a_core_is_found_and_said(tmp_path: Path, half_a_core: Callable[[], None]) -> None:
    words = ["tune", "--dry-run", "--", "true", "{threads}"]
    done = started(*words, cwd=tmp_path, preexec_fn=half_a_core)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "left out: threads above 1: the CPU quota is 0.5 of " in done.stdout
    assert "threads=1" in done.stdout
    assert "threads=2" not in done.stdout


def test_two_threads_offered_nevertheless_are_called_oversubscribed(
    tmp_path: Path, half_a_core: Callable[[], None]
) -> None:
    words = ["tune", "-q", "--budget", "3x", "-t", "1,2", "--", "true", "{threads}"]
    done = started(*words, cwd=tmp_path, preexec_fn=half_a_core)
    answered(done)
    assert done.stdout.count("oversubscribed") == 1
