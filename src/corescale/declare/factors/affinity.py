# SPDX-License-Identifier: Apache-2.0
"""A CPU mask, as taskset has it: `affinity=0-3,8/0-7`."""

from collections.abc import Sequence
from typing import ClassVar

from corescale.core_kinds import core_kinds
from corescale.declare.factors.kind import Kind
from corescale.declare.factors.launch import Launch
from corescale.errors import UsageError
from corescale.machine import Machine, cpu_list, format_cpu_list
from corescale.records import Level


class Affinity(Kind):
    """Restricts the launch to it."""

    separator: ClassVar = "/"

    def parse(self, text: str, machine: Machine) -> Level:
        cpus = cpu_list(text)
        if not cpus or not set(cpus) <= set(machine.affinity):
            allowed = format_cpu_list(machine.affinity)
            raise UsageError(
                f"CPUs {text!r} are not all allowed here", where="affinity", remedy=f"choose among {allowed}"
            )
        return text

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        allowed = set(machine.affinity)
        kinds = [sorted(allowed & set(cpus)) for cpus in core_kinds().values()]
        levels = [format_cpu_list(tuple(cpus)) for cpus in kinds if cpus]
        everywhere = format_cpu_list(machine.affinity)
        return (
            ([everywhere, *levels], ()) if len(levels) > 1 else ([everywhere], ["affinity: all cores are alike here"])
        )

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        return launch.within(cpu_list(str(level)))
