# SPDX-License-Identifier: Apache-2.0
"""A launch with the profiler, and its results."""

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from corescale.declare.catalogue import space
from corescale.declare.factors import Launch
from corescale.endings import ending, not_started
from corescale.errors import ProgramError
from corescale.observe import preload, profiler, sources
from corescale.observe.launchers.spawning import LACKED, SpawningLauncher
from corescale.observe.scratch import Scratch, sweep
from corescale.observe.spawn import Spawner, SpawnReport, SpawnRequest
from corescale.profile import Profile, Span
from corescale.records import Layout

SAID = tuple(source for source in sources.SOURCES if not source.probe)
"""The sources that read what a program reports by itself."""


@dataclass(frozen=True, slots=True)
class Profiled:
    """One launch with the profiler."""

    report: SpawnReport
    wall: float
    """seconds; with ranks, without the time to start them"""
    profiles: tuple[Profile, ...]
    """none if no program of the launch could load a library"""
    cpu: float = 0.0
    """CPU seconds; with ranks, without the program that starts them"""
    unwritten: int = 0
    """number of programs whose profile is missing or incomplete because the disk was full"""
    work: float | None = None
    """the work that the program reported through region.h"""
    ended: float = math.inf
    """by the clock of the file system: seconds since 1970"""
    spans: tuple[Span, ...] = ()
    """the times at which threads were in regions that the program names"""
    unloadable: str = ""
    """why the profiler was left out, because the program would have failed with it"""


def profiled(
    launch: Launch,
    processors: int,
    timeout: float | None = None,
    stdin: Path | None = None,
    ranked: tuple[SpawningLauncher, Layout] | None = None,
    note: Callable[[str], object] = lambda _: None,
    unloadable: str = "",
) -> Profiled:
    """Makes one launch. `ranked`: the launcher of ranks, and the layout. `note`: see Spawner.spawn. `unloadable`: why
    the profiler is left out; if the launch shows that it must be, it is made again. Raises ProgramError if nothing
    starts."""
    sweep()
    with Scratch(launch) as scratch:
        changes = dict(launch.variables)
        before = changes.get("LD_PRELOAD", os.environ.get("LD_PRELOAD"))
        unloadable = unloadable or space.sanitized(launch.argv)
        if not unloadable:
            changes |= profiler.environment(scratch.of("profiler"), processors, before)
        scratch.spans = True
        changes = sources.environment(SAID, changes, scratch)
        request = SpawnRequest(
            argv=launch.command, environment=changes, affinity=launch.affinity or (), timeout=timeout, stdin=stdin
        )
        launcher, layout = ranked or (None, Layout())
        report = Spawner().spawn(launcher.through(request, layout, scratch) if launcher else request, note)
        wall, cpu, ended = report.wall, report.user + report.system, time.time()
        if launcher:
            report, ranks = launcher.ended(report, scratch)
            wall = max((rank.wall for rank in ranks.values()), default=wall)
            cpu = sum(rank.user + rank.system for rank in ranks.values()) or cpu
        if report.status == "cancelled":
            raise KeyboardInterrupt
        if not_started(report):
            what = report.trouble or ending(report)
            raise ProgramError(what, where=launch.argv[0], remedy=LACKED.get(report.step or "", "run it by itself"))
        if not unloadable and (why := preload.refused(report.tail)):
            return profiled(launch, processors, timeout, stdin, ranked, note, why)
        said = sources.read(SAID, scratch, succeeded=False)
        killed = report.wall if report.status in ("signal", "timeout") else 0.0
        profiles, unwritten = profiler.read(scratch.of("profiler"), killed)
        work = said.fields.get("work")
        return Profiled(report, wall, profiles, cpu, unwritten, work, ended, said.spans, unloadable)
