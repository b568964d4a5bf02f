# SPDX-License-Identifier: Apache-2.0
"""An environment variable of any name in capitals."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from corescale.declare.catalogue import settings
from corescale.declare.factors.kind import Kind
from corescale.declare.factors.launch import Launch
from corescale.machine import Machine
from corescale.records import INHERITED, Level


class Variable(Kind):
    """Sets the variable that the factor is named after."""

    named: ClassVar = False

    def idle(self, name: str, beside: Mapping[str, Level], *, one_thread: bool) -> bool:
        return settings.idle(name, beside, one_thread=one_thread)

    def keyword(self, name: str) -> bool:
        return name in settings.SETTINGS

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        return settings.auto(name)

    def parse(self, text: str, machine: Machine) -> Level:
        del machine
        return text

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == INHERITED:
            return launch
        return launch.setting(**{name: None if level == "unset" else str(level)})
