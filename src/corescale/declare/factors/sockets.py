# SPDX-License-Identifier: Apache-2.0
"""The number of sockets used."""

from collections.abc import Sequence

from corescale.declare.factors.kind import Kind, positive
from corescale.declare.factors.launch import Launch
from corescale.machine import Machine
from corescale.records import Level


class Sockets(Kind):
    """Restricts the launch to the first k."""

    def parse(self, text: str, machine: Machine) -> Level:
        return positive(text, "sockets", machine)

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        count = len({cpu.socket for cpu in machine.usable})
        return (range(count, 0, -1), ()) if count > 1 else ([1], ["sockets: this machine has one"])

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        count = len({cpu.socket for cpu in machine.usable})
        return f"sockets={level}: this machine has {count}" if int(level) > count else None

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        chosen = sorted({cpu.socket for cpu in machine.usable})[: int(level)]
        return launch.within([cpu.cpu for cpu in machine.usable if cpu.socket in chosen])
