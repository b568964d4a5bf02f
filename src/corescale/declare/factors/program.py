# SPDX-License-Identifier: Apache-2.0
"""Factors that change the program: one of several commands, a placeholder, a variable, an allocator, a runtime."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from corescale.declare.catalogue import allocators, blocks, env_reads, openmp, settings
from corescale.declare.factors.kind import Kind
from corescale.declare.launch import Launch
from corescale.machine import Machine
from corescale.records import INHERITED, Level

UNSET = "unset"


class Variable(Kind):
    """Sets the variable that the factor is named after."""

    named: ClassVar = False
    fills: ClassVar = True

    def variables(self, name: str) -> frozenset[str]:
        return env_reads.KNOWN & {name}

    def idle(self, name: str, beside: Mapping[str, Level], *, one_thread: bool) -> bool:
        return settings.idle(name, beside, one_thread=one_thread)

    def keyword(self, name: str) -> bool:
        return name in settings.SETTINGS

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        return settings.auto(name)

    def parse(self, text: str, machine: Machine) -> Level:
        return text

    def typed(self, name: str, levels: Sequence[Level], machine: Machine) -> Level | None:
        return INHERITED if INHERITED in levels else os.environ.get(name, UNSET)

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == INHERITED:
            return launch
        return launch.setting(**{name: None if level == UNSET else str(level)})


class Command(Kind):
    """Chooses among the experiment's commands. This factor is never declared itself; it follows from the commands."""

    named: ClassVar = False


class Parameter(Kind):
    """Fills the placeholder that the factor is named after."""

    named: ClassVar = False
    fills: ClassVar = True

    def keyword(self, name: str) -> bool:
        return name in blocks.NAMES

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        return blocks.auto(machine) if name in blocks.NAMES else super().auto(name, machine)


class Allocator(Kind):
    """Preloads the allocator that is its level."""

    preloads: ClassVar = True
    decides: ClassVar = True

    def parse(self, text: str, machine: Machine) -> Level:
        if text not in (INHERITED, "system"):
            allocators.locate(text)
        return text

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        found = [name for name in allocators.ALLOCATORS if name != "system" and allocators.find(name) is not None]
        missing = [allocators.absent(name) for name in allocators.ALLOCATORS if name != "system" and name not in found]
        inherited, already = [INHERITED] if os.environ.get("LD_PRELOAD") else [], allocators.inherited()
        again = [f"{already}: LD_PRELOAD has it already, as {INHERITED}"] if already in found else []
        return [*inherited, "system", *(name for name in found if name != already)], [*missing, *again]

    def typed(self, name: str, levels: Sequence[Level], machine: Machine) -> Level | None:
        if INHERITED in levels or not os.environ.get("LD_PRELOAD"):
            return INHERITED if INHERITED in levels else "system"
        already = allocators.inherited()
        return already if already in levels else INHERITED

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == INHERITED:
            return launch
        if level == "system":
            return replace(launch.setting(LD_PRELOAD=None), replaces_allocator=True)
        library = allocators.locate(str(level))
        launch = replace(launch.setting(LD_PRELOAD=str(library)), replaces_allocator=True)
        return replace(launch, preload=(*launch.preload, library))


class OpenMP(Kind):
    """Preloads the runtime of OpenMP that is its level, for a program that is linked with GCC's."""

    preloads: ClassVar = True
    written, remedy = "|".join((INHERITED, *openmp.RUNTIMES)), " or ".join((INHERITED, *openmp.RUNTIMES))

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        return self.either(INHERITED, next(iter(openmp.RUNTIMES)), machine)

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        missing = level != INHERITED and openmp.find(str(level)) is None
        return f"openmp={level}: not found here (apt-get install {openmp.PACKAGE})" if missing else None

    def typed(self, name: str, levels: Sequence[Level], machine: Machine) -> Level | None:
        return INHERITED

    def idle(self, name: str, beside: Mapping[str, Level], *, one_thread: bool) -> bool:
        return one_thread

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        library = None if level == INHERITED else openmp.find(str(level))
        if library is None:
            return launch
        return replace(launch, runtime=library, preload=(*launch.preload, library))
