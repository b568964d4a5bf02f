# SPDX-License-Identifier: Apache-2.0
"""The table of factor kinds: how a level becomes argv, environment or placement.

A new kind is one class and one line in KINDS.
"""

import difflib
import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from corescale.declare import allocators, settings
from corescale.errors import UsageError
from corescale.machine import Machine, cpu_list, format_cpu_list
from corescale.records import INHERITED, Layout, Level

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "TBB_NUM_THREADS",
    "JULIA_NUM_THREADS",
    "GOMAXPROCS",
)
"""Set together where the command has no {threads}, so that a nested runtime cannot multiply them."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What a configuration becomes. `environment` is a delta: None removes a variable."""

    argv: tuple[str, ...]
    shell: bool = False
    environment: Mapping[str, str | None] = field(default_factory=dict)
    affinity: tuple[int, ...] | None = None
    prefix: tuple[str, ...] = ()
    """programs in front of argv, such as numactl"""
    preload: tuple[Path, ...] = ()
    """libraries that must be proved inside the program"""

    @property
    def command(self) -> tuple[str, ...]:
        """The argv that is executed."""
        words = ("/bin/sh", "-c", " ".join(self.argv)) if self.shell else self.argv
        return (*self.prefix, *words)

    def setting(self, **variables: str | None) -> "Launch":
        """With these variables besides."""
        return replace(self, environment={**self.environment, **variables})

    @property
    def line(self) -> str:
        """The line a person pastes into a shell: env, taskset and argv, quoted."""
        unset = [
            word
            for name, value in self.environment.items()
            if value is None and name in os.environ
            for word in ("-u", name)
        ]
        given = [f"{name}={value}" for name, value in self.environment.items() if value is not None]
        env = ["env", *unset, *given] if unset or given else []
        mask = ["taskset", "-c", format_cpu_list(self.affinity)] if self.affinity is not None else []
        return shlex.join([*env, *mask, *self.command])


class Kind:
    """The contract. A kind is stateless; its level comes from the configuration."""

    summary: ClassVar[str]

    def parse(self, text: str, machine: Machine) -> Level:
        """A level from the command line; raises UsageError."""
        del machine
        return number_or_text(text)

    def auto(self, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        """The levels worth trying here, and what was left out with the reason."""
        del machine
        raise UsageError("this factor has no automatic levels", remedy="list them: -f NAME=a,b")

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        """Why this machine cannot do it, or None."""
        del level, machine
        return None

    def today(self, levels: Sequence[Level]) -> Level:
        """The level of today's launch."""
        return levels[0]

    def layout(self, level: Level, layout: Layout) -> Layout:
        """The layout with this level in it."""
        del level
        return layout

    def idle(self, name: str, levels: Mapping[str, Level], layout: Layout) -> bool:
        """Whether this factor changes nothing beside these levels of the DECIDING factors."""
        del name, levels, layout
        return False

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        """The launch with this level in it. Placeholders are filled already."""
        del name, level, machine
        return launch


class Parameter(Kind):
    """Fills a placeholder of its own name."""

    summary = "a placeholder {NAME} of the command"


class Command(Kind):
    """Chooses among the experiment's commands."""

    summary = "which of several commands"


class Threads(Kind):
    """Threads per rank: {threads}, or the usual variables together."""

    summary = "threads: {threads}, or OMP_NUM_THREADS and its kin together"

    def parse(self, text: str, machine: Machine) -> Level:
        return positive(text, "threads", machine)

    def auto(self, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        most, allowed, quota = machine.default_max_threads, len(machine.affinity), machine.quota_cores
        limited = quota is not None and most < allowed
        why = [f"threads above {most}: the CPU quota is {quota:.2g} of {allowed} cores"] if limited else []
        return thread_levels(most, _sizes(machine)), why

    def today(self, levels: Sequence[Level]) -> Level:
        return max(levels, key=float)

    def layout(self, level: Level, layout: Layout) -> Layout:
        return replace(layout, threads_per_rank=int(level))


class LayoutKind(Kind):
    """t x m x n in one level, `4x2x1`; the direct launcher starts one rank on one node."""

    summary = "layout TxMxN: threads per rank, ranks per node, nodes"

    def parse(self, text: str, machine: Machine) -> Level:
        del machine
        if not re.fullmatch(r"[1-9]\d*x[1-9]\d*x[1-9]\d*", text):
            raise UsageError(f"not a layout: {text!r}", where="layout", remedy="write TxMxN, each at least 1, as 4x2x1")
        return text

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        del machine
        ranks = self.layout(level, Layout())
        if ranks.ranks_per_node * ranks.nodes == 1:
            return None
        return f"layout {level}: the direct launcher starts one rank on one node"

    def layout(self, level: Level, layout: Layout) -> Layout:
        t, m, n = (int(part) for part in str(level).split("x"))
        return Layout(t, m, n)

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        return with_thread_variables(launch, self.layout(level, Layout()).threads_per_rank)


class Allocator(Kind):
    """The memory allocator, by preloading; found by soname, or any path."""

    summary = "memory allocator: system, a name of the table, or a path"

    def parse(self, text: str, machine: Machine) -> Level:
        del machine
        if text not in (INHERITED, "system"):
            allocators.locate(text)
        return text

    def auto(self, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        del machine
        found = [name for name in allocators.ALLOCATORS if name != "system" and allocators.find(name) is not None]
        missing = [allocators.absent(name) for name in allocators.ALLOCATORS if name != "system" and name not in found]
        inherited, already = [INHERITED] if os.environ.get("LD_PRELOAD") else [], allocators.inherited()
        again = [f"{already}: LD_PRELOAD has it already, as {INHERITED}"] if already in found else []
        return [*inherited, "system", *(name for name in found if name != already)], [*missing, *again]

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == INHERITED:
            return launch
        if level == "system":
            return launch.setting(LD_PRELOAD=None)
        library = allocators.locate(str(level))
        return replace(launch.setting(LD_PRELOAD=str(library)), preload=(*launch.preload, library))


class Bind(Kind):
    """OMP_PROC_BIND and OMP_PLACES, always together: the runtimes disagree on one without the other."""

    summary = "OpenMP placement: none, or BIND:PLACES as close:cores, spread:threads"
    BINDS = ("close", "spread", "master", "primary", "true")

    def parse(self, text: str, machine: Machine) -> Level:
        del machine
        bind, _, places = text.partition(":")
        if text not in ("none", INHERITED) and (bind not in self.BINDS or not places):
            raise UsageError(
                f"not a placement: {text!r}", where="bind", remedy="write none, close:cores, spread:cores, ..."
            )
        return text

    def auto(self, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        if machine.default_max_threads == 1:
            return [INHERITED], ["bind: one core, nothing to place"]
        levels = [INHERITED, "close:cores", "spread:cores"]
        if len(machine.affinity) <= 2:
            return levels[:2], ["bind=spread:cores: the same as close:cores on 2 cores"]
        return levels, ()

    def idle(self, name: str, levels: Mapping[str, Level], layout: Layout) -> bool:
        return one_thread(levels, layout)

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == INHERITED:
            return launch
        if level == "none":
            return launch.setting(OMP_PROC_BIND="false", OMP_PLACES=None)
        bind, _, places = str(level).partition(":")
        return launch.setting(OMP_PROC_BIND=bind, OMP_PLACES=places)


class Affinity(Kind):
    """A CPU mask, as taskset has it: 0-3,8."""

    summary = "CPU mask as 0-3,8 (separate levels by /)"

    def parse(self, text: str, machine: Machine) -> Level:
        cpus = cpu_list(text)
        if not cpus or not set(cpus) <= set(machine.affinity):
            allowed = format_cpu_list(machine.affinity)
            raise UsageError(
                f"CPUs {text!r} are not all allowed here", where="affinity", remedy=f"choose among {allowed}"
            )
        return text

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        return within(launch, cpu_list(str(level)))


class Sockets(Kind):
    """The first k sockets, by mask."""

    summary = "number of sockets used, by mask"

    def parse(self, text: str, machine: Machine) -> Level:
        return positive(text, "sockets", machine)

    def auto(self, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        count = len({cpu.socket for cpu in machine.usable})
        return (range(count, 0, -1), ()) if count > 1 else ([1], ["sockets: this machine has one"])

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        count = len({cpu.socket for cpu in machine.usable})
        return f"sockets={level}: this machine has {count}" if int(level) > count else None

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        chosen = sorted({cpu.socket for cpu in machine.usable})[: int(level)]
        return within(launch, [cpu.cpu for cpu in machine.usable if cpu.socket in chosen])


class Numa(Kind):
    """Where memory comes from, by numactl: local, interleave, membind:0."""

    summary = "NUMA memory by numactl: local, interleave, membind:NODE"

    def parse(self, text: str, machine: Machine) -> Level:
        del machine
        if not re.fullmatch(r"local|interleave|membind:[\d,-]+", text):
            raise UsageError(
                f"not a NUMA policy: {text!r}", where="numa", remedy="write local, interleave or membind:NODE"
            )
        return text

    def auto(self, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        reason = self.unavailable("interleave", machine)
        return (["local", "interleave"], ()) if reason is None else (["local"], [reason])

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        nodes = {cpu.numa_node for cpu in machine.usable}
        if level == "local":
            return None
        if level == "interleave" and len(nodes) < 2:
            return "numa=interleave: this machine has one NUMA node"
        return None if shutil.which("numactl") else f"numa={level}: numactl is not installed (package numactl)"

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == "local":
            return launch
        policy, _, nodes = str(level).partition(":")
        return replace(launch, prefix=("numactl", f"--{policy}={nodes or 'all'}", *launch.prefix))


class Smt(Kind):
    """SMT siblings on, or off by a mask of one CPU per core."""

    summary = "SMT siblings: on, or off by mask"

    def parse(self, text: str, machine: Machine) -> Level:
        del machine
        if text not in ("on", "off"):
            raise UsageError(f"not an SMT level: {text!r}", where="smt", remedy="write on or off")
        return text

    def auto(self, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        reason = self.unavailable("off", machine)
        return (["on", "off"], ()) if reason is None else (["on"], [reason])

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        return None if level == "on" or machine.smt_active else "smt=off: no core here has two hardware threads"

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == "on":
            return launch
        first = {(cpu.socket, cpu.core): cpu.cpu for cpu in reversed(machine.usable)}
        return within(launch, first.values())


class Variable(Kind):
    """An environment variable of its own name."""

    summary = "any environment variable, by its NAME in capitals"

    def idle(self, name: str, levels: Mapping[str, Level], layout: Layout) -> bool:
        return settings.idle(name, levels, one_thread=one_thread(levels, layout))

    def parse(self, text: str, machine: Machine) -> Level:
        del machine
        return text

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == INHERITED:
            return launch
        return launch.setting(**{name: None if level == "unset" else str(level)})


KINDS: dict[str, Kind] = {
    "threads": Threads(),
    "layout": LayoutKind(),
    "allocator": Allocator(),
    "bind": Bind(),
    "affinity": Affinity(),
    "sockets": Sockets(),
    "numa": Numa(),
    "smt": Smt(),
    "variable": Variable(),
    "parameter": Parameter(),
    "command": Command(),
}

DECIDING = frozenset({"threads", "layout", "allocator"})
"""Kinds whose levels decide whether another factor changes anything."""


def kind_of(name: str, placeholders: frozenset[str], where: str = "-f") -> str:
    """Which kind a factor's name means: a placeholder of the command, a kind, or a variable in capitals."""
    if name in KINDS and name not in ("parameter", "variable", "command"):
        return name
    if name in placeholders:
        return "parameter"
    if re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
        return "variable"
    known = [*placeholders, *(kind for kind in KINDS if kind not in ("parameter", "variable", "command"))]
    near = difflib.get_close_matches(name, known, 1)
    remedy = (
        f"did you mean {near[0]}?" if near else f"put {{{name}}} into the command, or name one of {', '.join(known)}"
    )
    raise UsageError(f"unknown factor {name!r}", where=where, remedy=remedy)


def one_thread(levels: Mapping[str, Level], layout: Layout) -> bool:
    """Whether the levels say that there is one thread; where threads are no factor, nobody knows."""
    return bool({"threads", "layout"} & set(levels)) and layout.threads_per_rank == 1


def with_thread_variables(launch: Launch, threads: int) -> Launch:
    """With every usual thread-count variable set to the same number."""
    return launch.setting(**dict.fromkeys(THREAD_VARIABLES, str(threads)))


def within(launch: Launch, cpus: Iterable[int]) -> Launch:
    """Restricted to these CPUs besides any earlier restriction; raises UsageError where none is left."""
    wanted = set(cpus)
    left = wanted if launch.affinity is None else wanted & set(launch.affinity)
    if not left:
        raise UsageError("the placement factors leave no CPU", remedy="drop one of affinity, sockets, smt")
    return replace(launch, affinity=tuple(sorted(left)))


def thread_levels(most: int, sizes: Iterable[int] = ()) -> tuple[int, ...]:
    """1, 2, 4, ..., those of `sizes` that are less than `most`, and `most` itself."""
    powers = [1 << k for k in range(most.bit_length())]
    return (*sorted({size for size in (*powers, *sizes) if size < most}), most)


def _sizes(machine: Machine) -> tuple[int, ...]:
    """Hardware threads of a core group and of a socket, and cores: where the cost of one more thread may change."""
    cpus = machine.usable
    groups, sockets = (Counter(getattr(cpu, part) for cpu in cpus) for part in ("core_group", "socket"))
    return (*groups.values(), *sockets.values(), len({(cpu.socket, cpu.core) for cpu in cpus}))


def positive(text: str, where: str, machine: Machine) -> int:
    """A whole number of at least 1, or `max`."""
    if text == "max":
        return machine.default_max_threads
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(
            f"{text!r} is not a whole number of at least 1", where=where, remedy=f"write 1 or more, as -f {where}=1,2,4"
        )
    return int(text)


def number_or_text(text: str) -> Level:
    """3 and 0.5 become numbers so that tables sort by value; 007 and 1e stay text and reach argv unchanged."""
    for convert in (int, float):
        try:
            value = convert(text)
        except ValueError:
            continue
        if str(value) == text:
            return value
    return text
