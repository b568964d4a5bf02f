# SPDX-License-Identifier: Apache-2.0
"""Launches ranks x threads on this machine by Open MPI's mpirun.

mpirun starts a leaf (observe/ranks.py) for each rank. Each rank is bound to cores of its own: by mpirun's options if it
can, and by the leaf in any case, because mpirun ignores taskset's mask.
"""

import functools
import os
import re
import shlex
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from corescale.endings import boxed
from corescale.observe import environment, ranks
from corescale.observe.launchers.slots import binding, cores
from corescale.observe.launchers.spawning import SpawningLauncher
from corescale.observe.scratch import Scratch
from corescale.observe.spawn import SpawnReport, SpawnRequest
from corescale.records import Configuration, Layout

PROGRAMS = ("mpirun", "mpirun.openmpi")
OURS = re.compile(r"open ?mpi|openrte|prrte", re.IGNORECASE)
"""pattern of the version that Open MPI's mpirun prints"""
TRACE = re.compile(r"\[[\w.-]+:\d+\] |-{20,}$")
"""matches what Open MPI adds to a rank's output: the trace of a signal, and the rules around its messages"""
INSTALL = "apt-get install openmpi-bin"
UNBOUND = ("--bind-to", "none")
SHARED_MEMORY = Path("/dev/shm")
GRACE = 5.0
"""seconds for mpirun to end its ranks, which then report; it needs little more than one second"""
MUCH = 0.1
"""share of a launch's time that mpirun itself may take without a warning"""
OVERHEAD = f"starting and ending the ranks took more than {MUCH:.0%} of it; --response region:NAME leaves that out"


class Mpi(SpawningLauncher):
    """See Launcher."""

    name = "mpi"
    starts_ranks = True

    @classmethod
    def cannot(cls, layout: Layout) -> str | None:
        if layout.nodes > 1:
            return "starts ranks on one node"
        return mpirun(os.environ.get("PATH", ""))[1]

    def line(self, configuration: Configuration, reads: Collection[str] | None = None) -> str:
        launch, layout = self._launch_of(configuration).needed(reads), configuration.layout
        cpus, own = binding(self._machine, launch.affinity, layout), self._own_binding(launch.affinity, layout)
        mpirun = shlex.join((*self._mpirun(layout), *own))
        if own != UNBOUND or not cpus[0]:
            return f"{mpirun} -n {layout.ranks_per_node} {launch.line}"
        return f"{mpirun} {' : '.join(f'-n 1 {replace(launch, affinity=each).line}' for each in cpus)}"

    def through(self, request: SpawnRequest, layout: Layout, scratch: Scratch) -> SpawnRequest:
        mask = request.affinity or None
        leaf = ranks.leaf(request, scratch, binding(self._machine, mask, layout))
        options = (*self._mpirun(layout), *self._own_binding(mask, layout), "-n", str(layout.ranks_per_node))
        places = _places(scratch)
        return replace(
            request, argv=(*options, "/bin/sh", str(leaf)), environment=places, affinity=(), prove=False, grace=GRACE
        )

    def ended(self, report: SpawnReport, scratch: Scratch) -> tuple[SpawnReport, Mapping[int, SpawnReport]]:
        outcome, found = ranks.ended(report, scratch, TRACE)
        longest = max((each.wall for each in found.values()), default=0.0)
        if outcome.status == "ok" and report.wall - longest > MUCH * report.wall:
            return replace(outcome, warnings=(OVERHEAD,)), found
        if outcome.status == "failed" and outcome.tail == report.tail and (said := boxed(report.tail)):
            return replace(outcome, tail=f"mpirun: {said}\n"), found  # mpirun failed, and not a rank
        return outcome, found

    def _commands(self) -> Iterator[tuple[str, ...]]:
        yield self._mpirun(Layout())[:1]
        yield from super()._commands()

    def _mpirun(self, layout: Layout) -> tuple[str, ...]:
        """mpirun with the options that it always needs."""
        program = mpirun(os.environ.get("PATH", ""))[0]
        root = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
        slots = len(cores(self._machine.usable))
        many = ("--oversubscribe",) if layout.ranks_per_node > slots else ()
        return (program, *root, *many)

    def _own_binding(self, mask: Sequence[int] | None, layout: Layout) -> tuple[str, ...]:
        """The options with which mpirun itself binds ranks according to `binding`; UNBOUND if it cannot.

        Without them, each launch takes a quarter longer on a loaded machine, even though the spawner binds the ranks.
        """
        whole = mask is None and len(self._machine.affinity) == len(self._machine.cpus)
        if whole and layout.ranks_per_node * layout.threads_per_rank <= len(cores(self._machine.usable)):
            return ("--map-by", f"slot:pe={layout.threads_per_rank}", "--bind-to", "core")
        return UNBOUND


@functools.cache
def mpirun(path: str) -> tuple[str, str | None]:
    """The name of Open MPI's mpirun on this search path, and, if there is none, why."""
    other = None
    for name in PROGRAMS:
        found = shutil.which(name, path=path)
        if found is not None and OURS.search(environment.said(found, "--version")):
            return name, None
        other = other or found
    why = f"{other} is not Open MPI's" if other else "mpirun is not here"
    return PROGRAMS[0], f"needs Open MPI, and {why} ({INSTALL})"


def _places(scratch: Scratch) -> dict[str, str | None]:
    """The variables for the folders in which Open MPI 4 and 5 keep session files and the ranks' shared memory."""
    shared, session = str(scratch.beside(SHARED_MEMORY)), str(scratch.of("session"))
    return {
        "OMPI_MCA_orte_tmpdir_base": session,
        "PRTE_MCA_prte_tmpdir_base": session,
        "OMPI_MCA_btl_vader_backing_directory": shared,
        "OMPI_MCA_btl_sm_backing_directory": shared,
        "OMPI_MCA_osc_sm_backing_directory": shared,
    }
