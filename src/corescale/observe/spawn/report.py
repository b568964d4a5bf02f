# SPDX-License-Identifier: Apache-2.0
"""The spawner's report, one line of JSON for each launch. Also the rules that say which of its figures are bounds, for
records and docs/results_format.md.
"""

import errno
import functools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from corescale.errors import CorescaleError
from corescale.records import Bound

SpawnStatus = Literal["ok", "failed", "signal", "timeout", "cancelled", "not-started"]
CpuKind = Literal["group", "reaped", "sampled", "none"]
MemoryKind = Literal["process", "sampled", "none"]
TreeMemoryKind = Literal["group", "sum", "none"]


@dataclass(frozen=True, slots=True)
class SpawnedProcess:
    """A process that the spawner reaped (the main one or an orphan), with descendants that it reaped itself."""

    pid: int
    executable: str
    """the program in the last sample, or else the launched file or the kernel's short name; it may not be the last"""
    user: float
    system: float
    peak_memory: int
    """the kernel's peak of resident bytes, including mapped files"""
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
    """whether its file gives it privileges, so that the loader ignores preloads"""
    replaced: bool
    """whether it executed another program by exec, so that its maps are unknown"""
    readable: bool
    """whether maps could be read"""
    maps: tuple[str, ...]
    cpu: float = 0.0
    """CPU seconds of the process at its end"""
    name: str = ""
    """the kernel's short name at its end"""


@dataclass(frozen=True, slots=True)
class SpawnReport:
    """The report of one launch, in seconds and bytes. docs/results_format.md explains the fields that records keep."""

    status: SpawnStatus
    exit_code: int | None = None
    signal: int | None = None
    step: str | None = None
    """the step of the start that failed: stdin stdout stderr scratch find exec interpreter affinity trace process. If
    the program ran, the output file for which the disk was full: stdout stderr scratch"""
    errno: int | None = None
    leftovers: int = 0
    """number of processes, besides the main one, that were killed"""
    survivors: tuple[int, ...] = ()
    """numbers of the processes that could not be killed: of another user, or stuck in the kernel"""
    started: float = 0.0
    wall: float = 0.0
    stopped: bool = False
    """whether the spawner was killed, or stopped when the program ended; `wall` then ends when the end was noticed"""
    halted: int = 0
    """number of processes that a signal had stopped at the time limit"""
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
    """the spawner's own peak, which the program inherits as the start of its own"""
    peak_memory_error: int = 0
    """bytes by which the kernel's count may be off, as each CPU adds its pages in batches"""
    tree_memory: int = 0
    tree_memory_kind: TreeMemoryKind = "none"
    ranked: bool = False
    """whether it covers several ranks and the program that started them"""
    affinity: tuple[int, ...] = ()
    tail: str = ""
    """end of stderr"""
    processes: tuple[SpawnedProcess, ...] = ()
    proof: tuple[ProvedProgram, ...] | None = None
    wall_kind: Literal["launcher", "rank"] = "launcher"
    warnings: tuple[str, ...] = ()
    """the launcher's warnings about it, a sentence each"""
    node: str = ""
    """name of the node where it ran, if it is not the lab's"""

    @property
    def code(self) -> int:
        """The exit code of the record: negative for a signal, a shell's if the program could not be started."""
        if self.signal:
            return -self.signal
        return _NO_START if self.status == "not-started" else self.exit_code or 0

    @property
    def stolen(self) -> float:
        """CPU seconds that the host took from the launch: a share of the steal in proportion to its CPU time."""
        used = self.user + self.system
        return self.steal * used / (used + (self.foreign or 0.0)) if used else 0.0

    @property
    def full(self) -> bool:
        """Whether the program ran, but a disk was full for its output."""
        return self.status != "not-started" and self.errno in (errno.ENOSPC, errno.EDQUOT)

    @property
    def trouble(self) -> str:
        """Why it could not be started, or why its output was lost, in a few words; else empty."""
        if self.step is None or self.errno is None:
            return ""
        if self.step == "exec" and self.errno == errno.ENOEXEC:
            return UNKNOWN_FORMAT
        return f"{_STEPS.get(self.step, self.step)}: {os.strerror(self.errno)}"


UNKNOWN_FORMAT = "neither a program for this machine nor a script with a #! line"

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
    """Parses the spawner's line; raises CorescaleError for anything else, which is a defect."""
    try:
        return _adapter().validate_python(json.loads(text))
    except (ValueError, ValidationError) as error:
        raise CorescaleError(f"a report that cannot be read: {error}", where="spawn") from error


@functools.cache
def _adapter() -> TypeAdapter[SpawnReport]:
    return TypeAdapter(SpawnReport)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for a figure. The first rule that applies counts; a figure to which none applies is a plain value."""

    figures: tuple[str, ...]
    """names in the record"""
    bound: Bound
    holds: Callable[[SpawnReport], bool]
    when: str


EXACT = 0.02
"""share of a peak within which it counts as a value"""

_CPU = ("user", "system")
RULES = (
    Rule(("wall",), "lower", lambda r: r.status == "timeout", "the launch was killed at its time limit"),
    Rule(
        ("wall",),
        "upper",
        lambda r: r.stopped,
        "what started the program was stopped or killed meanwhile",
    ),
    Rule((*_CPU, "peak_memory"), "lower", lambda r: r.cpu_kind == "none", "a simulation does not know it"),
    Rule(_CPU, "lower", lambda r: r.cpu_kind == "sampled", "a process was seen whose time was not reported"),
    Rule(_CPU, "lower", lambda r: bool(r.survivors), "a process could not be killed"),
    Rule(_CPU, "upper", lambda r: r.leftovers > 0, "processes ran on after the program's end until they were killed"),
    Rule(_CPU, "upper", lambda r: r.ranked, "ranks: the launcher's own time is included"),
    Rule(
        ("peak_memory",),
        "lower",
        lambda r: r.peak_memory_kind == "sampled",
        "a process was seen, or a rank ended, whose peak was not reported",
    ),
    Rule(
        ("peak_memory",),
        "upper",
        lambda r: 0 < r.peak_memory <= r.peak_memory_floor,
        "the program is no larger than what starts it, whose size the kernel counts in",
    ),
    Rule(
        ("peak_memory",),
        "estimate",
        lambda r: r.peak_memory_error > EXACT * r.peak_memory > 0,
        f"so small a program may be off by more than {EXACT:.0%}, as the kernel counts each CPU's pages in batches",
    ),
    Rule(("tree_memory",), "estimate", lambda r: r.tree_memory_kind == "sum", "pages that a fork shares count twice"),
    Rule(("tree_memory",), "lower", lambda r: r.tree_memory_kind == "group", "the peak may lie between two samples"),
    Rule(("noise.steal",), "upper", lambda r: r.steal > 0, "it counts all CPUs"),
    Rule(("noise.foreign",), "estimate", lambda r: r.foreign is not None, "interrupts and the kernel are included"),
    Rule(("noise.runqueue_wait", "noise.on_cpu"), "lower", lambda r: r.sampled, "a thread was not seen at its end"),
)


def bounds(report: SpawnReport) -> dict[str, Bound]:
    """The figures of this launch that are bounds or estimates, by their names in the record."""
    found: dict[str, Bound] = {}
    for rule in RULES:
        if rule.holds(report):
            for figure in rule.figures:
                found.setdefault(figure, rule.bound)
    return found
