# SPDX-License-Identifier: Apache-2.0
"""A CPU mask, as taskset has it: `affinity=0-3,8/0-7`."""

from typing import ClassVar

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

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        return launch.within(cpu_list(str(level)))
