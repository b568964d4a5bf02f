# SPDX-License-Identifier: Apache-2.0
"""What the spawner answers: one line of JSON for each launch."""

import errno
import functools
import json
import os
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from corescale.errors import CorescaleError

SpawnStatus = Literal["ok", "failed", "signal", "timeout", "cancelled", "not-started"]
CpuKind = Literal["group", "reaped", "sampled"]
MemoryKind = Literal["process", "sampled", "none"]
TreeMemoryKind = Literal["group", "sum", "none"]


@dataclass(frozen=True, slots=True)
class SpawnedProcess:
    """A process that the spawner reaped, the main one or an orphan, with the descendants that it had reaped itself."""

    pid: int
    executable: str
    """program sampled last, else the file launched or the kernel's short name; another may have taken over since"""
    user: float
    system: float
    peak_memory: int
    """resident bytes, exact in time, mapped files included"""
    affinity: tuple[int, ...]
    name: str = ""
    """the kernel's short name at its end"""


@dataclass(frozen=True, slots=True)
class ProvedProgram:
    """One program that a process of the tree ran, and what was mapped at its end."""

    executable: str
    static: bool
    """whether it has no dynamic loader, so that nothing can be preloaded into it"""
    setuid: bool
    """whether it gains rights by its file, so that the loader ignores preloads"""
    replaced: bool
    """whether it gave way to another program by exec, so that its maps are unknown"""
    readable: bool
    """whether maps could be read"""
    maps: tuple[str, ...]
    cpu: float = 0.0
    """CPU seconds of the process at its end"""
    name: str = ""
    """the kernel's short name at its end"""


@dataclass(frozen=True, slots=True)
class SpawnReport:
    """What one launch gave, in seconds and bytes: docs/results_format.md has what a record has of it by the same names."""

    status: SpawnStatus
    exit_code: int | None = None
    signal: int | None = None
    step: str | None = None
    """step of starting it that failed: stdin stdout stderr scratch find exec interpreter affinity trace process; of a
    program that ran, the file for its words that is full: stdout stderr scratch"""
    errno: int | None = None
    leftovers: int = 0
    """processes beside the main one that were killed"""
    survivors: tuple[int, ...] = ()
    """numbers of the processes that could not be killed: of another user, or stuck in the kernel"""
    started: float = 0.0
    wall: float = 0.0
    stopped: bool = False
    """whether the spawner was stopped meanwhile, so that it saw that end late"""
    user: float = 0.0
    system: float = 0.0
    cpu_kind: CpuKind = "reaped"
    involuntary: int = 0
    steal: float = 0.0
    throttled: float = 0.0
    foreign: float | None = None
    on_cpu: float | None = None
    runqueue_wait: float | None = None
    sampled: bool = False
    peak_memory: int = 0
    peak_memory_kind: MemoryKind = "none"
    peak_memory_floor: int = 0
    """the spawner's own, from which the kernel counts the program's"""
    tree_memory: int = 0
    tree_memory_kind: TreeMemoryKind = "none"
    ranked: bool = False
    """whether it is of several ranks, with what started them"""
    affinity: tuple[int, ...] = ()
    tail: str = ""
    """end of stderr"""
    processes: tuple[SpawnedProcess, ...] = ()
    proof: tuple[ProvedProgram, ...] | None = None
    wall_kind: Literal["launcher", "rank"] = "launcher"
    node: str = ""
    """name of the node where it ran, if that is another than the lab's"""

    @property
    def code(self) -> int:
        """The exit code as a record has it: negative for a signal, and a shell's for what could not be started."""
        if self.signal:
            return -self.signal
        return _NO_START if self.status == "not-started" else self.exit_code or 0

    @property
    def full(self) -> bool:
        """Whether the program ran, and a file had no room for what it wrote."""
        return self.status != "not-started" and self.errno in (errno.ENOSPC, errno.EDQUOT)

    @property
    def trouble(self) -> str:
        """Why it could not be started or lost its words, in a few words; else empty."""
        if self.step is None or self.errno is None:
            return ""
        if self.step == "exec" and self.errno == errno.ENOEXEC:
            return "neither a program for this machine nor a script with a #! line"
        return f"{_STEPS.get(self.step, self.step)}: {os.strerror(self.errno)}"


_NO_START = 127

_STEPS = {
    "find": "no such program",
    "exec": "cannot be executed",
    "interpreter": "its interpreter or dynamic loader is missing",
    "stdin": "input file",
    "stdout": "output file",
    "stderr": "error file",
    "scratch": "temporary directory",
    "affinity": "these CPUs are not available",
    "trace": "tracing is forbidden here (ptrace)",
    "process": "no new process",
}


def parse(text: bytes) -> SpawnReport:
    """The spawner's one line; anything else is a defect."""
    try:
        return _adapter().validate_python(json.loads(text))
    except (ValueError, ValidationError) as error:
        raise CorescaleError(f"a report that cannot be read: {error}", where="spawn") from error


@functools.cache
def _adapter() -> TypeAdapter[SpawnReport]:
    return TypeAdapter(SpawnReport)
