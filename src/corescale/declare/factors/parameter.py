# SPDX-License-Identifier: Apache-2.0
"""A placeholder of the command: `-f size=1,2 -- ./program {size}`."""

from collections.abc import Sequence
from typing import ClassVar

from corescale.declare.catalogue import blocks
from corescale.declare.factors.kind import Kind
from corescale.machine import Machine
from corescale.records import Level


class Parameter(Kind):
    """Fills the placeholder that the factor is named after."""

    named: ClassVar = False

    def keyword(self, name: str) -> bool:
        return name in blocks.NAMES

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        return blocks.auto(machine) if name in blocks.NAMES else super().auto(name, machine)
