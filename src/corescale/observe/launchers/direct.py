# SPDX-License-Identifier: Apache-2.0
"""Launches the program itself, without anything in front of it."""

from collections.abc import Mapping
from dataclasses import replace

from corescale.declare import template
from corescale.observe.launchers.mpi import GRACE
from corescale.observe.launchers.spawning import SpawningLauncher
from corescale.observe.scratch import Scratch
from corescale.observe.spawn import SpawnReport, SpawnRequest
from corescale.records import Layout


class Direct(SpawningLauncher):
    """See Launcher."""

    name = "direct"
    has_slots = True

    @classmethod
    def cannot(cls, layout: Layout) -> str | None:
        return None if layout.ranks_per_node * layout.nodes == 1 else "starts one rank on one node"

    def through(self, request: SpawnRequest, layout: Layout, scratch: Scratch) -> SpawnRequest:
        """A program that starts ranks has time to end them and to remove their files."""
        return replace(request, grace=GRACE) if template.starter(request.argv) else request

    def ended(self, report: SpawnReport, scratch: Scratch) -> tuple[SpawnReport, Mapping[int, SpawnReport]]:
        return report, {0: report}
