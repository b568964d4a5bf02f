# SPDX-License-Identifier: Apache-2.0
"""The number of core groups (cores that share an L3) that the threads span, at one number of cores."""

from collections.abc import Sequence

from corescale.declare.factors.kind import Kind, positive
from corescale.declare.factors.launch import Launch
from corescale.machine import Machine
from corescale.records import Level


class CoreGroups(Kind):
    """k restricts the launch to as many cores as one group has, evenly from the first k; 1 is compact."""

    def parse(self, text: str, machine: Machine) -> Level:
        return positive(text, "core_groups", machine)

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        possible = [k for k in range(len(_groups(machine)), 0, -1) if self.unavailable(k, machine) is None]
        return possible, [] if len(possible) > 1 else ["core_groups: one group has all the cores here"]

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        groups, each = _groups(machine), _cores_of_one(machine)
        if int(level) > len(groups):
            return f"core_groups={level}: this machine has {len(groups)}"
        return f"core_groups={level}: {each} cores are not divided by it" if each % int(level) else None

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        of_each = _cores_of_one(machine) // int(level)
        chosen = [core for group in _groups(machine)[: int(level)] for core in group[:of_each]]
        return launch.within([cpu for core in chosen for cpu in core])


def _cores_of_one(machine: Machine) -> int:
    """Cores of the smallest group."""
    return min(len(group) for group in _groups(machine))


def _groups(machine: Machine) -> list[list[list[int]]]:
    """Core groups, their cores, and the CPUs of each, as far as this process may use them."""
    found: dict[int, dict[int, list[int]]] = {}
    for cpu in machine.usable:
        found.setdefault(cpu.core_group, {}).setdefault(cpu.core, []).append(cpu.cpu)
    return [[*cores.values()] for _, cores in sorted(found.items())]
