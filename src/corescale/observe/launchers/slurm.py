# SPDX-License-Identifier: Apache-2.0
"""Launches ranks x threads on the nodes of a cluster, by Slurm: an allocation for each block, and srun for each launch.

srun starts a leaf (observe/ranks.py) for each rank, which accounts for itself: docs/cluster.md.
"""

import contextlib
import functools
import os
import re
import shlex
import shutil
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from corescale.declare import template
from corescale.declare.experiment import Experiment
from corescale.declare.grid import must_fit
from corescale.declare.plan import Invocation
from corescale.errors import InconclusiveError, UnavailableError, UsageError
from corescale.machine import Machine
from corescale.observe import environment, ranks
from corescale.observe.launchers import remote_failures
from corescale.observe.launchers.allocation import GRACE, Allocation, asked, permitted, uncombined
from corescale.observe.launchers.spawning import SpawningLauncher
from corescale.observe.scratch import Scratch
from corescale.observe.spawn import SpawnReport, SpawnRequest
from corescale.records import Configuration, Layout, Record

INSTALL = "apt-get install slurm-client"
CHATTER = re.compile(rf"srun: |slurmstepd|{remote_failures.TRACE.pattern}")
"""matches what Slurm and Open MPI add to the errors of ranks"""
ALLOWANCE = 60.0
"""seconds, in addition to the time limit, for srun to start and end ranks"""
USABLE = re.compile(r"(idle|mix|alloc|comp|plnd|resv)[^*]*$")
"""matches the states of nodes that work; `*` marks one that does not answer"""


class Slurm(SpawningLauncher):
    """See Launcher."""

    name = "slurm"
    starts_ranks = True
    only_if_asked = True
    binds = False
    takes = "allocation"
    has_slots = True

    def __init__(self, experiment: Experiment, machine: Machine, words: Sequence[str] = ()) -> None:
        super().__init__(experiment, machine)
        must_fit(experiment, machine.nodes, f"usable among {machine.cpu_model}", "sinfo lists them")
        self._words = tuple(words)
        self._held: Allocation | None = None
        self._cancelled = False
        self.place = Path.cwd()

    @classmethod
    def machine(cls, option: str = "") -> Machine:
        """The node with the fewest cores, and how many nodes one partition has. Raises UnavailableError."""
        if why := cls.cannot(Layout()):
            raise UnavailableError(f"the slurm launcher {why}")
        words = _words(option)
        wanted = set(filter(None, _value(words, "-p", "--pa[rtiton]*", "SALLOC_PARTITION").split(",")))
        found = [line.split("|") for line in asked("sinfo", "-h", "-N", "-o", "%P|%z|%t|%a|%N|%f").splitlines()]
        known = {row[0].rstrip("*") for row in found}
        if not wanted:
            wanted = {row[0].rstrip("*") for row in found if row[0].endswith("*")}
        if not wanted or wanted - known:
            what = f"no partition {', '.join(map(repr, sorted(wanted - known)))}" if wanted else "no default partition"
            remedy = f"-p takes one of: {', '.join(sorted(known)) or 'none'}"
            raise UsageError(what, where="--allocation", remedy=remedy)
        name = f"partition {', '.join(sorted(wanted))}"
        rows = [row for row in found if row[0].rstrip("*") in wanted]
        if all(row[3] != "up" for row in rows):
            what = f"{name} is {', '.join(sorted({row[3] for row in rows}))}"
            raise UnavailableError(what, where="slurm", remedy="-p names another; sinfo lists them")
        usable = [row for row in rows if USABLE.match(row[2])]
        if not usable:
            what = f"no node of {name} can be used ({', '.join(row[2] for row in rows)})"
            raise UnavailableError(what, where="slurm", remedy="sinfo -R says why")
        constraint = _value(words, "-C", "--cons[traint]*", "SALLOC_CONSTRAINT")
        if re.fullmatch(r"[\w.,&-]+", constraint):  # Slurm alone understands the others
            known = {feature for row in usable for feature in row[5].split(",")} - {"(null)"}
            usable = [row for row in usable if {*re.split("[,&]", constraint)} <= {*row[5].split(",")}]
            if not usable:
                remedy = f"-C takes one of: {', '.join(sorted(known)) or 'none'}"
                raise UsageError(f"no usable node of {name} has {constraint}", where="--allocation", remedy=remedy)
            name = f"{name} (-C {constraint})"
        cores = min(cores_of(row[1]) for row in usable)
        nodes = max(Counter(row[0] for row in usable).values())
        name = f"nodes of {name} of the cluster {_cluster()}"
        return Machine.here().elsewhere(_cluster(), name, cores=cores, nodes=nodes, source="Slurm")

    @classmethod
    def create(cls, experiment: Experiment, machine: Machine, option: str = "") -> Self:
        return cls(experiment, machine, _words(option))

    @classmethod
    def cannot(cls, layout: Layout) -> str | None:
        del layout
        absent = next((name for name in ("salloc", "srun", "sinfo") if not shutil.which(name)), None)
        return f"needs Slurm, and {absent} is not here ({INSTALL})" if absent else None

    def line(self, configuration: Configuration, reads: Collection[str] | None = None) -> str:
        words = ("srun", "--exclusive", *self._words, *_shape(configuration.layout, self._machine))
        how = () if self.cannot(configuration.layout) else (f"--mpi={mpi()}",)  # unknown without Slurm
        return f"{shlex.join((*words, *how))} {self._launch_of(configuration).needed(reads).line}"

    def launch(self, block: Sequence[Invocation]) -> Iterator[Record]:
        widest = max(each.configuration.layout.nodes for each in block)
        held = contextlib.ExitStack()
        held.enter_context(self._allocated(self._slots[-1].first + widest))
        return self._within(held, block)

    def _within(self, held: contextlib.ExitStack, block: Sequence[Invocation]) -> Iterator[Record]:
        with held:
            yield from super().launch(block)

    def through(self, request: SpawnRequest, layout: Layout, scratch: Scratch) -> SpawnRequest:
        if self._held is None:
            raise InconclusiveError("no allocation was granted", where="slurm")
        nobody = [()] * (layout.ranks_per_node * layout.nodes)  # Slurm binds the ranks
        leaf = ranks.leaf(request, scratch, nobody, numbered=("SLURM_PROCID",), afar=True)
        words = ("srun", f"--jobid={self._held.job}", "--kill-on-bad-exit=1", "--wait=0", f"--mpi={mpi()}")
        nodes = ",".join(self._held.nodes[self._slot.first :][: layout.nodes])
        argv = (*words, *_shape(layout, self._machine), f"--nodelist={nodes}", str(leaf))
        return ranks.afar(request, argv, self._held.variables, allowance=ALLOWANCE, grace=GRACE)

    def ended(self, report: SpawnReport, scratch: Scratch) -> tuple[SpawnReport, Mapping[int, SpawnReport]]:
        if report.status not in ("ok", "cancelled") and self._held is not None and self._held.is_gone:
            raise InconclusiveError(
                f"Slurm ended job {self._held.job} within a launch",
                where="slurm",
                remedy="a node failed, the job was cancelled, or its time ended (-t); the same command goes on",
            )
        return remote_failures.ended(report, scratch, CHATTER)

    def cancel(self) -> None:
        self._cancelled = True
        super().cancel()
        self._release()

    def close(self) -> None:
        self._release()
        super().close()

    @contextlib.contextmanager
    def _allocated(self, nodes: int) -> Iterator[None]:
        began = time.monotonic()
        self._held = Allocation(nodes, self._words)
        try:
            self._held.wait(lambda: self._cancelled, self._note)
            waited = time.monotonic() - began
            self.waited += waited
            self._timeouts.waited(waited)
            yield
        finally:
            self._release()

    def _release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.release()


def cores_of(shape: str) -> int:
    """The cores of a node that sinfo writes as `sockets:cores:threads`; its CPUs are hardware threads."""
    sockets, cores, _ = shape.split(":")
    return int(sockets) * int(cores)


def _shape(layout: Layout, machine: Machine) -> tuple[str, ...]:
    """The options of srun for the layout, with a core for each thread. (A number of CPUs may be only half as many
    cores.)"""
    over = ("--overcommit",) if layout.of_node > machine.default_max_threads else ()
    each = 1 if over else layout.threads_per_rank
    return (
        *(f"--nodes={layout.nodes}", f"--ntasks={layout.ranks_per_node * layout.nodes}"),
        *(f"--ntasks-per-node={layout.ranks_per_node}", f"--cpus-per-task={each}", "--threads-per-core=1", *over),
    )


@functools.cache
def mpi() -> str:
    """The value of srun's --mpi. It is SLURM_MPI_TYPE, unless a step that contains this process set that variable; else
    PMIx or PMI 2, if Slurm has one of them."""
    if (said := os.environ.get("SLURM_MPI_TYPE")) and "SLURM_STEP_ID" not in os.environ:
        return said
    kinds = re.findall(r"^\s*(\S+)\s*$", environment.said("srun", "--mpi=list"), re.MULTILINE)
    return next((kind for name in ("pmix", "pmi2") for kind in sorted(kinds) if kind.startswith(name)), "none")


def _words(option: str) -> tuple[str, ...]:
    return permitted(template.split(option, "--allocation", "")) if option.strip() else ()


def _value(words: Sequence[str], short: str, long: str, variable: str) -> str:
    """The value that salloc would find for an option in these words, or in a variable; empty if there is none.

    `long`: matches every way to shorten the option's name.
    """
    text = "\0".join(map(uncombined, words))
    found = re.findall(rf"(?:^|\0)(?:{short}\0?|{long}[=\0])([^\0]+)", text)
    return found[-1] if found else os.environ.get(variable, "")


@functools.cache
def _cluster() -> str:
    found = re.search(r"^ClusterName\s*=\s*(\S+)", asked("scontrol", "show", "config"), re.MULTILINE)
    return found[1] if found else "slurm"
