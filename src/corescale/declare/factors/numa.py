# SPDX-License-Identifier: Apache-2.0
"""Where memory comes from, by numactl: local, interleave, membind:NODE."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace

from corescale.declare.factors.kind import Kind
from corescale.declare.factors.launch import Launch
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import Level


class Numa(Kind):
    """Puts numactl in front."""

    def parse(self, text: str, machine: Machine) -> Level:
        del machine
        if not re.fullmatch(r"local|interleave|membind:[\d,-]+", text):
            raise UsageError(
                f"not a NUMA policy: {text!r}", where="numa", remedy="write local, interleave or membind:NODE"
            )
        return text

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
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
