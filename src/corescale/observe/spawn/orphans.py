# SPDX-License-Identifier: Apache-2.0
"""Adopts and ends the processes that a killed spawner leaves running."""

import ctypes
import functools
import itertools
import os
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 10.0
"""seconds to wait for processes to end; one that is stuck in the kernel remains"""


@functools.cache
def adopt() -> None:
    """Makes this process the parent of orphaned descendants. It will also learn how children end, even if it was
    started with SIGCHLD ignored.
    """
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        with suppress(ValueError):  # only the main thread may set it
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def now() -> int:
    """The kernel's clock ticks since boot, in which the start times of processes are given."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def children(of: int | str = "self") -> set[int]:
    """The children of a process, if the kernel lists them. (A hook may have begun them within this tick.)"""
    found = (path.read_text().split() for path in Path(f"/proc/{of}/task").glob("*/children"))
    with suppress(OSError):
        return {int(pid) for pids in found for pid in pids}
    return set()


def running(processes: Collection[int]) -> int:
    """How many of these adopted processes still run."""
    here = os.getpid()
    return sum(each.pid in processes and each.parent == here and each.state not in "ZX" for each in _processes())


def is_stopped(process: int) -> bool:
    """Whether a signal has stopped the process."""
    return _state(process) == "T"


def halted(process: int) -> tuple[int, ...]:
    """The living descendants of a process, if a signal has stopped every one of them; else none. While a child runs,
    this looks at no others."""
    found: list[int] = []
    for parent in itertools.chain([process], found):  # which grows
        for child in children(parent):
            state = _state(child)
            if state not in "TZX":
                return ()
            found += [child] * (state == "T")
    return tuple(found)


def _state(process: int) -> str:
    """The state of a process; X if it has gone."""
    with suppress(OSError):
        return _process(process, Path(f"/proc/{process}/stat").read_bytes()).state
    return "X"


def reap(processes: set[int]) -> None:
    """Reaps those of these adopted processes of this session that have ended, and forgets all that are gone."""
    session = os.getsid(0)
    for pid in [*processes]:
        with suppress(OSError):
            process = _process(pid, Path(f"/proc/{pid}/stat").read_bytes())
            if process.state == "Z" and process.session == session:
                os.waitpid(pid, os.WNOHANG)
    processes.intersection_update(children())


def end(since: int, spared: Collection[int], *, of_this_session: bool = False) -> int:
    """Kills every adopted process that started at or after `since` in another session than this one, with its
    descendants; returns how many. `spared`: children that others take care of. `of_this_session`: also kill those of
    this session.
    """
    killed: set[int] = set()
    deadline = time.monotonic() + _PATIENCE
    while (left := list(_left(since, spared, of_this_session))) and time.monotonic() < deadline:
        for process in left:
            with suppress(ChildProcessError, ProcessLookupError, PermissionError):
                if process.state == "Z":
                    os.waitpid(process.pid, os.WNOHANG)
                else:  # a child keeps its process id until it is reaped, so no other process can be killed
                    os.kill(process.pid, signal.SIGKILL)
                    killed.add(process.pid)
        time.sleep(0.002)
    return len(killed)


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    state: str
    parent: int
    session: int
    born: int
    """clock ticks since boot"""


def _left(since: int, spared: Collection[int], of_this_session: bool) -> Iterator[_Process]:
    """The adopted children to kill. Their own children become adopted, and are found in the next round."""
    here, session = os.getpid(), os.getsid(0)
    for process in _processes():
        ours = process.parent == here and process.pid not in spared
        if ours and process.born >= since and (of_this_session or process.session != session):
            yield process


def _processes() -> Iterator[_Process]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                yield _process(int(folder.name), (folder / "stat").read_bytes())


def _process(pid: int, stat: bytes) -> _Process:
    """Parses /proc/PID/stat, in which the name, before the state, may contain blanks and brackets."""
    fields = stat.rpartition(b")")[2].split()
    return _Process(pid, fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]))
