# SPDX-License-Identifier: Apache-2.0
"""The memory allocator: system, a name of declare/catalogue/allocators.py, or a path."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from corescale.declare.catalogue import allocators
from corescale.declare.factors.kind import Kind
from corescale.declare.factors.launch import Launch
from corescale.machine import Machine
from corescale.records import INHERITED, Level


class Allocator(Kind):
    """Preloads it."""

    preloads: ClassVar = True
    decides: ClassVar = True

    def parse(self, text: str, machine: Machine) -> Level:
        del machine
        if text not in (INHERITED, "system"):
            allocators.locate(text)
        return text

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        del machine
        found = [name for name in allocators.ALLOCATORS if name != "system" and allocators.find(name) is not None]
        missing = [allocators.absent(name) for name in allocators.ALLOCATORS if name != "system" and name not in found]
        inherited, already = [INHERITED] if os.environ.get("LD_PRELOAD") else [], allocators.inherited()
        again = [f"{already}: LD_PRELOAD has it already, as {INHERITED}"] if already in found else []
        return [*inherited, "system", *(name for name in found if name != already)], [*missing, *again]

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == INHERITED:
            return launch
        if level == "system":
            return replace(launch.setting(LD_PRELOAD=None), replaces_allocator=True)
        library = allocators.locate(str(level))
        launch = replace(launch.setting(LD_PRELOAD=str(library)), replaces_allocator=True)
        return replace(launch, preload=(*launch.preload, library))
