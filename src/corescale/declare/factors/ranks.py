# SPDX-License-Identifier: Apache-2.0
"""MPI ranks: `ranks=1,2,4`. The launcher starts them; the command needs no {ranks}."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from corescale.declare.factors.kind import Kind, counts, positive
from corescale.declare.factors.threads import divisors, sizes, thread_levels
from corescale.machine import Machine
from corescale.records import Layout, Level


class Ranks(Kind):
    """This number of ranks on one node."""

    makes: ClassVar = frozenset({"ranks"})

    def split(self, text: str) -> list[str]:
        return counts(text)

    def parse(self, text: str, machine: Machine) -> Level:
        return positive(text, "ranks", machine)

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        """The levels of threads beside ranks; a rank for each core group or socket is among them."""
        groups = [len({getattr(cpu, part) for cpu in machine.usable}) for part in ("core_group", "socket", "numa_node")]
        most = machine.default_max_threads
        return thread_levels(most, (*sizes(machine), *groups, *divisors(most))), ()

    def serial(self, level: Level) -> Level:
        return 1

    def layout(self, level: Level, layout: Layout) -> Layout:
        return replace(layout, ranks_per_node=int(level))
