# SPDX-License-Identifier: Apache-2.0
"""Factors that place threads and memory: CPU masks, sockets, L3 domains, SMT, NUMA policies, OpenMP places."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from corescale.declare.factors.kind import Kind, positive
from corescale.declare.launch import Launch
from corescale.errors import UsageError
from corescale.machine import Machine, cpu_list, format_cpu_list
from corescale.records import INHERITED, Level
from corescale.topology import core_types


class Affinity(Kind):
    """Restricts the launch to the CPUs of the level."""

    separator: ClassVar = "/"
    masks = True

    def parse(self, text: str, machine: Machine) -> Level:
        cpus = cpu_list(text)
        if not cpus or not set(cpus) <= set(machine.affinity):
            allowed = format_cpu_list(machine.affinity)
            raise UsageError(f"CPUs {text!r} are not all allowed", where="affinity", remedy=f"choose among {allowed}")
        return text

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        allowed = set(machine.affinity)
        kinds = [sorted(allowed & set(cpus)) for cpus in core_types().values()]
        levels = [format_cpu_list(tuple(cpus)) for cpus in kinds if cpus]
        everywhere = format_cpu_list(machine.affinity)
        return ([everywhere, *levels], ()) if len(levels) > 1 else ([everywhere], ["affinity: all cores are equal"])

    def typed(self, name: str, levels: Sequence[Level], machine: Machine) -> Level | None:
        everywhere = [level for level in levels if set(cpu_list(str(level))) == set(machine.affinity)]
        return everywhere[0] if everywhere else format_cpu_list(machine.affinity)

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        return launch.within(cpu_list(str(level)))


class Smt(Kind):
    """Off restricts the launch to one hardware thread of each core."""

    written, remedy = "on|off", "on or off"
    masks = True
    counts_cores = True

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        return self.either("on", "off", machine)

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        return None if level == "on" or machine.smt_active else "smt=off: no core here has two hardware threads"

    def typed(self, name: str, levels: Sequence[Level], machine: Machine) -> Level | None:
        return "on"

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == "on":
            return launch
        first = {(cpu.socket, cpu.core): cpu.cpu for cpu in reversed(machine.usable)}
        return launch.within(first.values())


class Sockets(Kind):
    """Restricts the launch to the first k sockets."""

    masks = True
    counts_cores = True

    def parse(self, text: str, machine: Machine) -> Level:
        return positive(text, "sockets", machine)

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        count = len({cpu.socket for cpu in machine.usable})
        return (range(count, 0, -1), ()) if count > 1 else ([1], ["sockets: this machine has one"])

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        count = len({cpu.socket for cpu in machine.usable})
        return f"sockets={level}: this machine has {count}" if int(level) > count else None

    def typed(self, name: str, levels: Sequence[Level], machine: Machine) -> Level | None:
        return len({cpu.socket for cpu in machine.usable})

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        chosen = sorted({cpu.socket for cpu in machine.usable})[: int(level)]
        return launch.within([cpu.cpu for cpu in machine.usable if cpu.socket in chosen])


class L3Domains(Kind):
    """Level k: as many cores as one L3 domain has, taken evenly from the first k domains. Level 1 is compact."""

    masks = True
    counts_cores = True

    def parse(self, text: str, machine: Machine) -> Level:
        return positive(text, "l3_domains", machine)

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        possible = [k for k in range(len(_groups(machine)), 0, -1) if self.unavailable(k, machine) is None]
        return possible, [] if len(possible) > 1 else ["l3_domains: one group has all the cores here"]

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        groups, each = _groups(machine), _cores_of_one(machine)
        if int(level) > len(groups):
            return f"l3_domains={level}: this machine has {len(groups)}"
        return f"l3_domains={level}: {each} cores are not divided by it" if each % int(level) else None

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        of_each = _cores_of_one(machine) // int(level)
        chosen = [core for group in _groups(machine)[: int(level)] for core in group[:of_each]]
        return launch.within([cpu for core in chosen for cpu in core])


def _cores_of_one(machine: Machine) -> int:
    """The number of cores of the smallest L3 domain."""
    return min(len(group) for group in _groups(machine))


def _groups(machine: Machine) -> list[list[list[int]]]:
    """L3 domains, their cores, and the CPUs of each, as far as this process may use them."""
    found: dict[int, dict[int, list[int]]] = {}
    for cpu in machine.usable:
        found.setdefault(cpu.l3_domain, {}).setdefault(cpu.core, []).append(cpu.cpu)
    return [[*cores.values()] for _, cores in sorted(found.items())]


class Numa(Kind):
    """Puts numactl in front."""

    written, remedy = r"local|interleave|membind:[\d,-]+", "local, interleave or membind:NODE"

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        return self.either("local", "interleave", machine)

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        nodes = {cpu.numa_node for cpu in machine.usable}
        if level == "local":
            return None
        if level == "interleave" and len(nodes) < 2:
            return "numa=interleave: this machine has one NUMA node"
        return None if shutil.which("numactl") else f"numa={level}: numactl is not installed (package numactl)"

    def typed(self, name: str, levels: Sequence[Level], machine: Machine) -> Level | None:
        return "local"

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == "local":
            return launch
        policy, _, nodes = str(level).partition(":")
        return replace(launch, prefix=("numactl", f"--{policy}={nodes or 'all'}", *launch.prefix))


class Bind(Kind):
    """OMP_PROC_BIND and OMP_PLACES, always together: the runtimes disagree on one without the other."""

    written = f"none|{INHERITED}|(close|spread|master|primary|true):.+"
    remedy = "none, close:cores, spread:cores, ..."

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        if machine.default_max_threads == 1:
            return [INHERITED], ["bind: one core, nothing to place"]
        levels = [INHERITED, "close:cores", "spread:cores"]
        if len(machine.affinity) <= 2:
            return levels[:2], ["bind=spread:cores: the same as close:cores on 2 cores"]
        return levels, ()

    def variables(self, name: str) -> frozenset[str]:
        return frozenset({"OMP_PROC_BIND", "OMP_PLACES"})

    def idle(self, name: str, beside: Mapping[str, Level], *, one_thread: bool) -> bool:
        return one_thread

    def typed(self, name: str, levels: Sequence[Level], machine: Machine) -> Level | None:
        return INHERITED

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == INHERITED:
            return launch
        if level == "none":
            return launch.setting(OMP_PROC_BIND="false", OMP_PLACES=None)
        bind, _, places = str(level).partition(":")
        return launch.setting(OMP_PROC_BIND=bind, OMP_PLACES=places)
