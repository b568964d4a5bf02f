# SPDX-License-Identifier: Apache-2.0
"""OpenMP placement: none, or BIND:PLACES as close:cores and spread:threads."""

from collections.abc import Mapping, Sequence

from corescale.declare.factors.kind import Kind
from corescale.declare.factors.launch import Launch
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import INHERITED, Level


class Bind(Kind):
    """OMP_PROC_BIND and OMP_PLACES, always together: the runtimes disagree on one without the other."""

    BINDS = ("close", "spread", "master", "primary", "true")

    def parse(self, text: str, machine: Machine) -> Level:
        del machine
        bind, _, places = text.partition(":")
        if text not in ("none", INHERITED) and (bind not in self.BINDS or not places):
            raise UsageError(
                f"not a placement: {text!r}", where="bind", remedy="write none, close:cores, spread:cores, ..."
            )
        return text

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        if machine.default_max_threads == 1:
            return [INHERITED], ["bind: one core, nothing to place"]
        levels = [INHERITED, "close:cores", "spread:cores"]
        if len(machine.affinity) <= 2:
            return levels[:2], ["bind=spread:cores: the same as close:cores on 2 cores"]
        return levels, ()

    def idle(self, name: str, beside: Mapping[str, Level], *, one_thread: bool) -> bool:
        return one_thread

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        if level == INHERITED:
            return launch
        if level == "none":
            return launch.setting(OMP_PROC_BIND="false", OMP_PLACES=None)
        bind, _, places = str(level).partition(":")
        return launch.setting(OMP_PROC_BIND=bind, OMP_PLACES=places)
