# SPDX-License-Identifier: Apache-2.0
"""Factors that make p: threads per rank, MPI ranks (the command needs no {ranks}), and TxMxN of both and nodes."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from corescale.declare.catalogue.env_reads import THREAD_VARIABLES
from corescale.declare.factors.kind import MOST, Kind, counts, positive
from corescale.declare.launch import Launch
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import Layout, Level


class Count(Kind):
    """A number of one part of the layout."""

    part: ClassVar[Literal["threads", "ranks", "nodes"]]
    fills: ClassVar = True
    field: ClassVar[str]
    """that part, as a layout names it"""

    def __init_subclass__(cls) -> None:
        cls.makes = frozenset({cls.part})

    def split(self, text: str) -> list[str]:
        return counts(text)

    def parse(self, text: str, machine: Machine) -> Level:
        return positive(text, self.part, machine)

    def serial(self, level: Level) -> Level:
        return 1

    def layout(self, level: Level, layout: Layout) -> Layout:
        return replace(layout, **{self.field: int(level)})


class Threads(Count):
    """Fills {threads}; a command without it gets THREAD_VARIABLES (grid.launch)."""

    part, field = "threads", "threads_per_rank"

    def parse(self, text: str, machine: Machine) -> Level:
        """`group`: the hardware threads of one L3 domain."""
        groups = Counter(cpu.l3_domain for cpu in machine.usable)
        return min(groups.values()) if text == "group" else super().parse(text, machine)

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        most, allowed, quota = machine.default_max_threads, len(machine.affinity), machine.quota_cores
        limited = quota is not None and most < allowed
        why = [f"threads above {most}: the CPU quota is {quota:.2g} of {allowed} cores"] if limited else []
        return thread_levels(most, sizes(machine)), why

    def baseline(self, levels: Sequence[Level]) -> Level:
        return max(levels, key=float)

    def typed(self, name: str, levels: Sequence[Level], machine: Machine) -> Level | None:
        """The number of threads that the variables give; if they give none, all CPUs."""
        numbers = (outermost(os.environ.get(name, "")) for name in THREAD_VARIABLES)
        return next(filter(None, numbers), len(machine.affinity))


def outermost(text: str) -> int | None:
    """The threads that a variable asks for, of its outermost level; None if it is not such a number."""
    first = text.partition(",")[0].strip()
    return int(first) if first.isdecimal() and 0 < int(first) <= MOST else None


def with_thread_variables(launch: Launch, threads: int) -> Launch:
    """The launch with every usual thread-count variable set to the same number."""
    return launch.setting(**dict.fromkeys(THREAD_VARIABLES, str(threads)))


def thread_levels(most: int, sizes: Iterable[int] = ()) -> tuple[int, ...]:
    """Powers of two and `sizes`, as far as they are less than `most`, and `most` itself."""
    powers = [1 << k for k in range(most.bit_length())]
    return (*sorted({size for size in (*powers, *sizes) if size < most}), most)


def divisors(most: int) -> tuple[int, ...]:
    """The numbers of ranks and threads that fill the cores, such as 64 x 3 of 192."""
    return tuple(size for size in range(1, most + 1) if most % size == 0)


def sizes(machine: Machine) -> tuple[int, ...]:
    """The hardware threads of an L3 domain and of a socket, and the cores: where a thread's cost may change."""
    cpus = machine.usable
    groups, sockets = (Counter(getattr(cpu, part) for cpu in cpus) for part in ("l3_domain", "socket"))
    return (*groups.values(), *sockets.values(), len({(cpu.socket, cpu.core) for cpu in cpus}))


class Ranks(Count):
    """This number of ranks on one node."""

    part, field = "ranks", "ranks_per_node"

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        """The same levels as threads; they include a rank for each L3 domain or socket."""
        groups = [len({getattr(cpu, part) for cpu in machine.usable}) for part in ("l3_domain", "socket", "numa_node")]
        most = machine.default_max_threads
        return thread_levels(most, (*sizes(machine), *groups, *divisors(most))), ()


class Nodes(Count):
    """This number of nodes, each with all of a node's ranks."""

    part, field = "nodes", "nodes"

    def parse(self, text: str, machine: Machine) -> Level:
        return machine.nodes if text == "max" else super().parse(text, machine)

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        return thread_levels(machine.nodes), ()


class LayoutKind(Kind):
    """TxMxN; whether it can be started is for the launcher to say."""

    makes: ClassVar = frozenset({"threads", "ranks", "nodes"})

    written, remedy = r"[1-9]\d*x[1-9]\d*x[1-9]\d*", "TxMxN, each at least 1, as 4x2x1"

    def parse(self, text: str, machine: Machine) -> Level:
        level = super().parse(text, machine)
        if self.layout(level, Layout()).p > MOST:
            raise UsageError(f"{text} has more than {MOST:,} threads", where="layout", remedy="write smaller numbers")
        return level

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        """Every t x m that fills the cores of all nodes."""
        cores = machine.default_max_threads
        return [str(Layout(t, cores // t, machine.nodes)) for t in reversed(divisors(cores))], ()

    def layout(self, level: Level, layout: Layout) -> Layout:
        t, m, n = (int(part) for part in str(level).split("x"))
        return Layout(t, m, n)

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        return with_thread_variables(launch, self.layout(level, Layout()).threads_per_rank)
