# SPDX-License-Identifier: Apache-2.0
"""Hardware threads of one core: all of them, or one."""

from collections.abc import Sequence

from corescale.declare.factors.kind import Kind
from corescale.declare.factors.launch import Launch
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import Level


class Smt(Kind):
    """Off restricts the launch to one hardware thread of each core."""

    def parse(self, text: str, machine: Machine) -> Level:
        del machine
        if text not in ("on", "off"):
            raise UsageError(f"not an SMT level: {text!r}", where="smt", remedy="write on or off")
        return text

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        reason = self.unavailable("off", machine)
        return (["on", "off"], ()) if reason is None else (["on"], [reason])

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        return None if level == "on" or machine.smt_active else "smt=off: no core here has two hardware threads"

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == "on":
            return launch
        first = {(cpu.socket, cpu.core): cpu.cpu for cpu in reversed(machine.usable)}
        return launch.within(first.values())
