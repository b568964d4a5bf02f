# SPDX-License-Identifier: Apache-2.0
"""Launches ranks in SimGrid, on a simulated platform (docs/cluster.md). Every record is marked as simulated.

The program must be built by smpicxx. If there is a `prog.smpi` next to `prog`, it is used instead.
"""

import functools
import hashlib
import re
import shutil
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from corescale.declare.catalogue import elf
from corescale.declare.catalogue.env_reads import THREAD_VARIABLES
from corescale.declare.experiment import Experiment
from corescale.declare.factors import Launch
from corescale.declare.grid import configurations, must_fit
from corescale.declare.plan import Invocation
from corescale.errors import CorescaleError, ProgramError, UsageError
from corescale.machine import Machine
from corescale.observe import environment
from corescale.observe.launchers.platform import CORE_FLOPS, Platform, at
from corescale.observe.launchers.spawning import SpawningLauncher
from corescale.observe.scratch import Scratch
from corescale.observe.spawn import SpawnReport, SpawnRequest
from corescale.records import Configuration, Layout, Phase, Record, canonical

INSTALL = "apt-get install libsimgrid-dev"
BUILD = ".smpi"
"""how the name of a simulated build ends"""
ELF = b"\x7fELF"
"""how every compiled program begins"""
LIBRARY = b"libsimgrid"
"""name of a library in every program that smpicxx linked"""
THREADED = b"corescale_simulates_threads"
"""text in every program that accounts for its own computing (workloads/driver/simulated_loop.cpp)"""
STARTS_THREADS = re.compile(rb"pthread_create|thrd_create|_M_start_thread")
"""matches the functions that start threads, in every program that calls one"""
STARTS_NONE = re.compile(r"lib(simgrid|c|m|mvec|stdc\+\+|gcc_s|gfortran|quadmath|dl|rt|pthread)\.so|ld-linux")
"""matches the libraries that start no thread by themselves; any other one, such as libgomp, may"""
CLOCK = re.compile(r"Simulated time: (\S+) seconds")
DEADLOCK = "Deadlock detected"
"""what SimGrid 3.32 prints if ranks wait for ever; it then exits with status 0"""
WAITING = re.compile(r"Actor \d+ \((\d+)@")
"""matches each of these ranks in that message"""
UNFINISHED = {
    "MPI_Abort was called": "a rank called MPI_Abort",
    "Do all your MPI ranks call MPI_Finalize": "a rank ended without MPI_Finalize",
    "is gone??": "a rank ended without MPI_Finalize",
}
"""what SimGrid 3.32 prints if programs fail, although it exits with status 0 or aborts -> what that means"""
ENDED_ALL = "a rank ended the whole simulation, as by _exit(0)"
CRITICAL = re.compile(r"\[root/CRITICAL\] (.+)")
"""matches the reason why SimGrid itself failed, which a backtrace follows"""
OF_PROGRAM = ("status", "exit_code", "signal", "step", "errno", "leftovers", "halted", "survivors", "started", "wall",
              "tail")  # fmt: skip
"""fields of a report that describe the program; the others describe the simulator"""
FORK_JOIN = "CORESCALE_FORK_JOIN"
"""variable with the seconds that a parallel loop takes besides its work; with the suffix _NAME, for one threading
system"""


class Simgrid(SpawningLauncher):
    """See Launcher."""

    starts_ranks = True
    only_if_asked = True
    origin = "simulated"
    binds = False
    takes = "platform"
    has_slots = True

    def __init__(self, experiment: Experiment, machine: Machine, platform: Platform) -> None:
        super().__init__(experiment, machine)
        if any(command.shell for command in experiment.commands):
            raise UsageError("a shell cannot be simulated", where="--shell", remedy="name the program itself")
        if factor := next((each.name for each in experiment.factors if each.how.preloads), None):
            raise UsageError("no library is preloaded into a simulated program", where=factor, remedy="leave it out")
        if experiment.response.startswith("region:"):
            what = "a simulated program reports no regions"
            raise UsageError(what, where="--response", remedy="let it print the number: metric:NAME")
        text = canonical(platform.model_dump(mode="json"))
        self.name = f"simgrid-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        self._platform = platform
        must_fit(experiment, platform.nodes, "in the platform", "or change the platform")

    @classmethod
    def machine(cls, option: str = "") -> Machine:
        return _platform(option).machine(Machine.here())

    @classmethod
    def create(cls, experiment: Experiment, machine: Machine, option: str = "") -> Self:
        return cls(experiment, machine, _platform(option))

    @classmethod
    def cannot(cls, layout: Layout) -> str | None:
        del layout
        return None if simulator() else f"needs SimGrid, and smpirun is not here ({INSTALL})"

    def open(self, note: Callable[[str], None], began: float | None = None) -> None:
        super().open(note, began)
        for words in self._commands():
            content = _content(environment.locate(words[0]))
            if LIBRARY not in content or not content.startswith(ELF):
                what = "is not a build for SimGrid"
                if words[0].endswith(BUILD):
                    what = "is not a build for SimGrid, or does not call MPI"
                remedy = f"compile an MPI program by smpicxx as {words[0].removesuffix(BUILD)}{BUILD} (docs/cluster.md)"
                remedy += "" if shutil.which("smpicxx") else f"; smpicxx is not here ({INSTALL})"
                raise ProgramError(what, where=words[0], remedy=remedy)
            if "--" in words[1:]:
                raise UsageError("SimGrid drops the word --", where=words[0], remedy="leave it out")
            program = Path(words[0].removesuffix(BUILD))
            if program.is_file() and program.stat().st_mtime > Path(words[0]).stat().st_mtime:
                note(f"{words[0]} is older than {program}: compile it again if the sources have changed")
            self._note_threads(words[0], note)
        note(f"simulated: {self._platform.in_words()}; computing as measured on one core here")

    def _note_threads(self, program: str, note: Callable[[str], None]) -> None:
        """A note on what is assumed of the threads of a program that does not account for them itself."""
        most = max(chosen.layout.threads_per_rank for chosen in configurations(self._experiment))
        located = environment.locate(program)
        if most > 1 and THREADED not in _content(located):
            none = f"{program} starts no threads, so each rank computes on one core, whatever t is"
            perfect = f"{program} is assumed to compute t times as fast with t threads in each rank"
            note(perfect if starts_threads(located) else none)

    def subject(self) -> Mapping[str, Any]:
        return {**super().subject(), "platform": self._platform.model_dump(mode="json")}

    def line(self, configuration: Configuration, reads: Collection[str] | None = None) -> str:
        layout = configuration.layout
        ranks = layout.ranks_per_node * layout.nodes
        return f"(simulated {layout}) smpirun -np {ranks} {self._launch_of(configuration).needed(reads).line}"

    def through(self, request: SpawnRequest, layout: Layout, scratch: Scratch) -> SpawnRequest:
        folder = scratch.of("simgrid")
        platform, hosts, clock, engine = (folder / name for name in ("platform.xml", "hosts", "clock", "engine"))
        said = folder / "smpi"
        threaded = THREADED in _content(environment.locate(request.argv[0]))
        busy = layout if starts_threads(environment.locate(request.argv[0])) else replace(layout, threads_per_rank=1)
        platform.write_text(self._platform.xml(busy, threaded=threaded))
        hosts.write_text("".join(f"node-{node}\n" * layout.ranks_per_node for node in range(layout.nodes)))
        argv = (
            *(simulator(), str(environment.locate(request.argv[0])), "--cfg=smpi/privatization:1"),
            *(f"--cfg=smpi/np:{layout.ranks_per_node * layout.nodes}", f"--cfg=smpi/hostfile:{hosts}"),
            *(f"--cfg=smpi/tmpdir:{folder}", "--cfg=network/model:SMPI", "--cfg=surf/precision:1e-9"),
            *("--log=root.thres:critical", "--log=smpi_utils.thres:info", f"--log=smpi_utils.app:file:{clock}"),
            *("--log=ker_engine.thres:info", f"--log=ker_engine.app:file:{engine}"),
            *("--log=smpi.thres:info", f"--log=smpi.app:file:{said}"),
            f"--cfg=smpi/coll-selector:{self._platform.collectives}",
            f"--cfg=smpi/host-speed:{CORE_FLOPS:.0f}f",
            *(f"--cfg=smpi/simulate-computation:{'no' if threaded else 'yes'}", "--cfg=smpi/display-timing:yes"),
            *("--cfg=smpi/bw-factor:0:1", "--cfg=smpi/lat-factor:0:1"),  # use the links' speeds as declared
            *(str(platform), "--", *request.argv[1:]),  # without --, SimGrid takes words that look like its own options
        )
        t, costs = layout.threads_per_rank, {}
        for name, table in self._platform.fork_join.items() if t > 1 else ():
            costs[FORK_JOIN if name == "default" else f"{FORK_JOIN}_{name}"] = f"{at(table, t):.9g}"
        alone = dict.fromkeys(request.environment.keys() & {*THREAD_VARIABLES}, "1")
        inside = {**request.environment, **alone, **costs, "CORESCALE_RESULT": None}
        return replace(request, argv=argv, environment=inside)

    def ended(self, report: SpawnReport, scratch: Scratch) -> tuple[SpawnReport, Mapping[int, SpawnReport]]:
        """Replaces the simulator's own times by the program's simulated ones."""
        clock, engine = _written(scratch, "clock"), _written(scratch, "engine")
        said, smpi = CLOCK.search(clock), _written(scratch, "smpi")
        if DEADLOCK in engine and report.status == "ok":
            ranks = sorted(map(int, WAITING.findall(engine)))
            tail = f"the simulation found a deadlock: ranks that wait for ever: {', '.join(map(str, ranks))}\n"
            report = replace(report, status="failed", exit_code=None, tail=tail)
        why = next((why for text, why in UNFINISHED.items() if text in smpi + report.tail), "")
        why = why or ENDED_ALL * (report.status == "ok" and not clock)
        if why and (report.status == "ok" or report.signal == signal.SIGABRT):
            own = report.tail if report.status == "ok" else ""
            report = replace(report, status="failed", exit_code=None, signal=None, tail=f"{own}{why}\n")
        if report.status != "ok" and (critical := CRITICAL.search(report.tail)) is not None:
            report = replace(report, tail=f"SimGrid: {critical[1]}\n")
        if report.status == "ok" and said is None:
            raise CorescaleError("smpirun reported no simulated time", where="simgrid", remedy="try SimGrid 3.32")
        wall = float(said[1]) if said is not None and report.status == "ok" else report.wall
        known = {name: getattr(report, name) for name in OF_PROGRAM}
        return SpawnReport(**(known | {"wall": wall}), cpu_kind="none"), {}

    def _width(self, threads: int) -> int:
        del threads  # simulated threads need no CPUs
        return 1

    def _launch_once(self, invocation: Invocation) -> Record:
        """Records no env reads, because ranks get their number from SimGrid, and not from a variable. Ignores the cap:
        how long a simulation takes says nothing of the time that it finds.
        """
        return self._watched(replace(invocation, cap=None), self._sources)

    def _watched(self, invocation: Any, watching: Sequence[Any]) -> Record:
        return replace(super()._watched(invocation, watching), origin=self.origin)

    def _launch_of(self, configuration: Configuration, phase: Phase = "measure") -> Launch:
        launch = super()._launch_of(configuration, phase)
        built = f"{shutil.which(launch.argv[0]) or launch.argv[0]}{BUILD}"
        return replace(launch, argv=(built, *launch.argv[1:])) if Path(built).is_file() else launch


def _platform(option: str) -> Platform:
    if not option:
        remedy = "add --platform FILE.toml (docs/cluster.md has an example)"
        raise UsageError("the simgrid launcher needs a platform", where="--on simgrid", remedy=remedy)
    return Platform.read(Path(option))


def _written(scratch: Scratch, name: str) -> str:
    """The content of a file that SimGrid wrote."""
    path = scratch.of("simgrid") / name
    return path.read_text(errors="replace") if path.is_file() else ""


@functools.cache
def simulator() -> str:
    """The simulator that the script smpirun starts. Started directly, it leaves no files behind. Empty if it is not
    found."""
    script = shutil.which("smpirun")
    found = re.search(r'"(/\S+/smpimain)"', Path(script).read_text(errors="replace")) if script else None
    return found[1] if found else ""


@functools.cache
def starts_threads(program: Path) -> bool:
    """Whether a compiled program may start threads: it, or one of its libraries."""
    others = [library for library in elf.tags(program, "DT_NEEDED") if not STARTS_NONE.match(library)]
    return bool(others) or THREADED in _content(program) or STARTS_THREADS.search(_content(program)) is not None


@functools.cache
def _content(path: Path) -> bytes:
    return path.read_bytes()
