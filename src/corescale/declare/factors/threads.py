# SPDX-License-Identifier: Apache-2.0
"""Threads per rank: {threads}, or the usual variables together."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from corescale.declare.catalogue.reading import THREAD_VARIABLES
from corescale.declare.factors.kind import Kind, counts, positive
from corescale.declare.factors.launch import Launch
from corescale.machine import Machine
from corescale.records import Layout, Level


class Threads(Kind):
    """Fills {threads}; a command without it gets THREAD_VARIABLES (grid.launch)."""

    makes: ClassVar = frozenset({"threads"})

    def split(self, text: str) -> list[str]:
        return counts(text)

    def parse(self, text: str, machine: Machine) -> Level:
        """`group`: the hardware threads of one core group."""
        groups = Counter(cpu.core_group for cpu in machine.usable)
        return min(groups.values()) if text == "group" else positive(text, "threads", machine)

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        most, allowed, quota = machine.default_max_threads, len(machine.affinity), machine.quota_cores
        limited = quota is not None and most < allowed
        why = [f"threads above {most}: the CPU quota is {quota:.2g} of {allowed} cores"] if limited else []
        return thread_levels(most, sizes(machine)), why

    def today(self, levels: Sequence[Level]) -> Level:
        return max(levels, key=float)

    def serial(self, level: Level) -> Level:
        return 1

    def layout(self, level: Level, layout: Layout) -> Layout:
        return replace(layout, threads_per_rank=int(level))


def with_thread_variables(launch: Launch, threads: int) -> Launch:
    """The launch with every usual thread-count variable set to the same number."""
    return launch.setting(**dict.fromkeys(THREAD_VARIABLES, str(threads)))


def thread_levels(most: int, sizes: Iterable[int] = ()) -> tuple[int, ...]:
    """1, 2, 4, ..., those of `sizes` that are less than `most`, and `most` itself."""
    powers = [1 << k for k in range(most.bit_length())]
    return (*sorted({size for size in (*powers, *sizes) if size < most}), most)


def divisors(most: int) -> tuple[int, ...]:
    """Of ranks and threads only these fill the cores: 64 x 3 of 192."""
    return tuple(size for size in range(1, most + 1) if most % size == 0)


def sizes(machine: Machine) -> tuple[int, ...]:
    """Hardware threads of a core group and of a socket, and cores: where the cost of one more thread may change."""
    cpus = machine.usable
    groups, sockets = (Counter(getattr(cpu, part) for cpu in cpus) for part in ("core_group", "socket"))
    return (*groups.values(), *sockets.values(), len({(cpu.socket, cpu.core) for cpu in cpus}))
