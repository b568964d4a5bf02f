# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: what all launchers that start processes share)
"""The base of launchers that use corescale-spawn: one launch at a time, or several, each on CPUs of its own."""

import contextlib
import functools
import math
import os
import shlex
import tempfile
import threading
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from corescale.declare import grid, paths, template
from corescale.declare.experiment import Experiment
from corescale.declare.factors import Launch
from corescale.declare.plan import Invocation
from corescale.endings import CONTINUE, HALTED, unwritten
from corescale.errors import BudgetEndedError, UnavailableError, UsageError
from corescale.machine import Machine
from corescale.observe import environment, hooks, other_runs, preload, sources
from corescale.observe.hooks import HookRunner
from corescale.observe.launchers.launcher import Launcher
from corescale.observe.launchers.recorder import Recorder, keeps_output
from corescale.observe.launchers.slots import Slot, at_once, on_nodes, slots
from corescale.observe.scratch import Scratch, sweep
from corescale.observe.spawn import Spawner, SpawnReport, SpawnRequest, orphans
from corescale.observe.timeouts import Timeouts
from corescale.records import Configuration, Layout, Phase, Record

STOPPED = "what measures the program was stopped or killed meanwhile, so that its time may be too long"

NO_ROOM = "there was no room for what the program wrote to standard error, so that its writes failed (TMPDIR)"

LACKED = {
    "process": "end other programs, or raise the limits of files, processes and memory (ulimit -n, -u, -v)",
    "scratch": "free some space there, or set TMPDIR to another folder",
}
"""Steps of a start whose failure has nothing to do with the program, each with its remedy."""

BROKEN = ("failed", "signal")
"""The statuses with which a program may end if it does not tolerate a preloaded library, as with a sanitizer."""


class SpawningLauncher(Launcher):
    """See Launcher. A subclass that puts something before the program overrides `through` and `ended`."""

    has_slots: ClassVar[bool] = False
    """whether several launches can be made at once, each on CPUs or nodes of its own"""

    def __init__(self, experiment: Experiment, machine: Machine, spawner: Spawner | None = None) -> None:
        if experiment.output in ("pipe", "-", "/dev/stdout"):
            raise UsageError(
                f"standard output cannot go to {experiment.output!r}", where="--output", remedy="name a file, or null"
            )
        self._experiment, self._machine = experiment, machine
        self._slots: tuple[Slot, ...] = (Slot(spawner=spawner or Spawner()),)
        self._mine = threading.local()  # the slot in which this thread launches
        self._recording, self._tracing = threading.Lock(), threading.Lock()
        self._hooks, self._timeouts = HookRunner(experiment), Timeouts(experiment.stop)
        self._sources = sources.wanted(experiment)
        self._probes = tuple(source.name for source in self._sources if source.probe)
        self._proved: dict[preload.ToProve, tuple[tuple[str, str], ...]] = {}
        self._doubts: dict[preload.ToProve, tuple[str, ...]] = {}
        self._recorder = Recorder(experiment, machine, self._probes)
        self._note: Callable[[str], None] = lambda _: None
        self._noted: set[str] = set()
        self._survivors: set[int] = set()
        self._is_set_up = False
        self._launches: dict[tuple[Configuration, bool], Launch] = {}

    @classmethod
    def create(cls, experiment: Experiment, machine: Machine, option: str = "") -> Self:
        del option
        return cls(experiment, machine)

    @abstractmethod
    def through(self, request: SpawnRequest, layout: Layout, scratch: Scratch) -> SpawnRequest:
        """The request to spawn, so that each rank of `layout` executes `request`."""

    @abstractmethod
    def ended(self, report: SpawnReport, scratch: Scratch) -> tuple[SpawnReport, Mapping[int, SpawnReport]]:
        """How a launch ended, and what each rank gave. `report` is about the process that was spawned."""

    def open(self, note: Callable[[str], None], began: float | None = None) -> None:
        self._note = note
        if not paths.exists("/proc/self") or str(Path("/proc/self").readlink()) != str(os.getpid()):
            what = "does not show this process, so that what a launch leaves could not be found and ended"
            raise UnavailableError(what, where="/proc", remedy="mount one of this pid namespace: unshare --mount-proc")
        sweep(self.place)
        other_runs.announce()
        orphans.adopt()
        hooks.must_start(self._experiment)
        self._is_set_up = True
        self._timeouts.begin(began)
        self._hooks.set_up(self._timeouts.left)
        if not self._experiment.hooks.prepare:
            hooks.files_must_work(self._experiment)
        for words in self._commands():
            environment.locate(words[0])

    def recall(self, history: Sequence[Record]) -> None:
        self._timeouts.recall(history)
        self._recorder.recall(history)
        self._proved = {self._to_prove(record.configuration): record.proved for record in history if record.proved}

    def subject(self) -> Mapping[str, Any]:
        names = {program for words in self._commands() for program in environment.programs(words)}
        files = {name: environment.locate(name) for name in names}  # an allocator is part of what is measured
        libraries = [library for file in files.values() for library in environment.libraries(file)]
        libraries += [library for each in self._kinds for library in each.preload]
        files |= {str(library): library for library in libraries}
        known = {name: environment.identity(files[name]) for name in sorted(files)}
        found = {"programs": known, "sources": list(self._probes)}
        return found if len(self._slots) == 1 else {**found, "jobs": len(self._slots)}

    def side_by_side(self, jobs: int) -> None:
        if not self.has_slots:
            super().side_by_side(jobs)
        chosen = grid.configurations(self._experiment)
        if self.place is not None:
            self._slots = on_nodes(self._experiment, jobs, max(e.layout.nodes for e in chosen), self._machine.nodes)
            return
        width = self._width(max(each.layout.of_node for each in chosen))
        self._slots = slots(self._experiment, map(self._launch_of, chosen), jobs, width)

    def line(self, configuration: Configuration, reads: Collection[str] | None = None) -> str:
        return self._launch_of(configuration).needed(reads).line

    def untimed(self, configurations: Sequence[Configuration]) -> int:
        if not any(factor.how.preloads for factor in self._experiment.factors):
            return 0
        wanted = {self._to_prove(configuration) for configuration in configurations}
        return sum(bool(each.libraries) for each in wanted - self._proved.keys())

    def launch(self, block: Sequence[Invocation]) -> Iterator[Record]:
        for line in other_runs.notes() if self.place is None else ():
            self._note_once(line)
        for invocation in block:
            self._prove(invocation.configuration)
        alone = len(self._slots) == 1
        yield from map(self._launch_once, block) if alone else at_once(self._slots, block, self._launch_in)

    def _launch_in(self, invocation: Invocation, slot: Slot) -> Record:
        self._mine.slot = slot
        return self._launch_once(invocation)

    @property
    def _slot(self) -> Slot:
        """The slot of the launch that this thread is making."""
        return cast(Slot, getattr(self._mine, "slot", self._slots[0]))

    def _width(self, threads: int) -> int:
        """The number of CPUs that a launch with this many threads on a node occupies."""
        return threads

    def cancel(self) -> None:
        for slot in self._slots:
            slot.spawner.cancel()

    def close(self) -> None:
        if self._is_set_up:
            self._is_set_up = False
            self._hooks.clean_up(self._timeouts.whole)

    def _commands(self) -> Iterator[tuple[str, ...]]:
        """Every distinct argv, including the programs in front of it."""
        for prefix, argv in dict.fromkeys((each.prefix, _words(each)) for each in self._kinds):
            if prefix:
                yield prefix
            yield argv

    @functools.cached_property
    def _kinds(self) -> tuple[Launch, ...]:
        """One launch for each choice of programs and libraries. Other launches are built only when they are made."""
        phases: tuple[Phase, ...] = ("rehearse", "measure") if self._experiment.tuning.rehearsal else ("measure",)
        chosen = grid.choices_of_programs(self._experiment)
        return tuple(self._launch_of(configuration, phase) for phase in phases for configuration in chosen)

    def _launch_of(self, configuration: Configuration, phase: Phase = "measure") -> Launch:
        """The launch of a configuration, built once. (Rehearsals have their own; all other phases share one.)"""
        key = (configuration, phase == "rehearse")
        if key not in self._launches:
            self._launches[key] = grid.launch(self._experiment, configuration, self._machine, phase)
        return self._launches[key]

    def _to_prove(self, configuration: Configuration) -> preload.ToProve:
        launch, ranks = self._launch_of(configuration), replace(configuration.layout, threads_per_rank=1)
        programs = tuple(environment.programs(_words(launch)))
        return preload.ToProve(launch.preload, ranks, configuration.get("command"), programs)

    def _prove(self, configuration: Configuration) -> None:
        """Makes one untimed, traced launch for each program and set of libraries, before any timed launch with them."""
        wanted = self._to_prove(configuration)
        if wanted.libraries and wanted not in self._proved:
            self._trace(configuration, wanted)

    def _trace(self, configuration: Configuration, wanted: preload.ToProve) -> None:
        launch = self._launch_of(configuration)
        with Scratch(launch, place=self.place) as scratch, self._prepared(configuration):
            report, ranks = self._spawn(launch, configuration.layout, scratch, self._sources, prove=True)
            reports = list(ranks.values()) or [report]
            notes = preload.judged(reports, scratch)
        self._proved[wanted] = preload.heaviest(reports) if report.status in preload.PROVING else ()
        self._doubts[wanted] = tuple(filter(None, notes))
        for note in self._doubts[wanted]:
            self._note_once(note)

    def _note_once(self, note: str) -> None:
        if note not in self._noted:
            self._noted.add(note)
            self._note(note)

    def _launch_once(self, invocation: Invocation) -> Record:
        """A warm-up launch also records env reads. If it fails, it is repeated without recording.

        A launcher of ranks gives a program as many CPUs as threads. If only threads vary, the program may simply count
        its CPUs, so env reads would show nothing and are not recorded.
        """
        ranks = any({"ranks", "nodes"} & factor.how.makes for factor in self._experiment.factors)
        known = invocation.phase == "warmup" and (ranks or not self.starts_ranks)
        also = sources.warming_up() if known else ()
        record = self._watched(invocation, (*self._sources, *also))
        if also and record.status in BROKEN:
            record = self._watched(invocation, self._sources)
        loaded = self._probes or self._launch_of(invocation.configuration, invocation.phase).preload
        if record.status in BROKEN and loaded and (why := preload.refused(record.tail)):
            raise preload.not_first(why)
        return record

    def _watched(self, invocation: Invocation, watching: Sequence[sources.Source]) -> Record:
        """A launch with proved libraries. The traced launch may have failed at other levels, or by chance. So the first
        launch that succeeds is traced, up to preload.MOST_TRACES times, and made again."""
        record, wanted = self._made(invocation, watching), self._to_prove(invocation.configuration)
        if record is None:
            with self._tracing:
                for _ in range(preload.MOST_TRACES):
                    if not self._proved.get(wanted):
                        self._trace(invocation.configuration, wanted)
            record = self._made(invocation, watching)
        if record is None:
            raise preload.failed(self._doubts.get(wanted, ()), wanted.libraries)
        return record

    def _made(self, invocation: Invocation, watching: Sequence[sources.Source]) -> Record | None:
        """The record of a launch; None if it succeeded, but the traced launch of its libraries did not."""
        configuration = invocation.configuration
        launch = self._launch_of(configuration, invocation.phase)
        wanted = self._to_prove(configuration)
        proved = self._proved.get(wanted, ()) if launch.preload else ()
        with Scratch(launch, proved, self.place, self._experiment.metrics) as scratch, self._prepared(configuration):
            before = [*(self._doubts.get(wanted, ()) if proved else ()), *self._beside()]
            if left := orphans.running(self._survivors) if self._survivors else 0:
                before.append(f"processes of an earlier launch could not be killed, and {left} ran beside it")
            report, ranks = self._spawn(launch, configuration.layout, scratch, watching, cap=invocation.cap)
            stopped = [STOPPED] if report.stopped else []
            if report.full and report.status == "ok" and report.step != "stdout":
                stopped.append(NO_ROOM)
            warnings = [*before, *self._beside(), *stopped, *report.warnings, *unwritten(report.tail)]
            scratch.processes = tuple(process for each in ranks.values() for process in each.processes)
            _must_have_had_means((report, *ranks.values()), scratch)
            if launch.preload and not proved and report.status == "ok":
                return None
            found = sources.read(watching, scratch, succeeded=report.status == "ok")
            if len(self._slots) > 1:
                report = replace(report, foreign=None)  # concurrent launches are not other programs
            with self._recording:
                record = self._recorder.record(invocation, report, ranks, found, scratch)
            return replace(record, warnings=tuple(dict.fromkeys([*record.warnings, *warnings, *found.warnings])))

    @contextlib.contextmanager
    def _prepared(self, configuration: Configuration) -> Iterator[None]:
        values = {name: str(value) for name, value in grid.parameters(self._experiment, configuration).items()}
        self._hooks.run("prepare", values, self._timeouts.left)
        yield
        self._hooks.run("conclude", values, self._timeouts.left)

    def _spawn(
        self,
        launch: Launch,
        layout: Layout,
        scratch: Scratch,
        watching: Sequence[sources.Source],
        *,
        prove: bool = False,
        cap: float | None = None,
    ) -> tuple[SpawnReport, Mapping[int, SpawnReport]]:
        """How the launch ended, and what each rank gave."""
        scratch.output = self._output(scratch)
        proof = preload.LONGEST if prove else None
        usual = min(filter(None, (self._experiment.timeout, cap, proof)), default=math.inf)
        longest = min(usual, self._timeouts.left)
        request = SpawnRequest(
            argv=launch.command,
            environment=sources.environment(watching, launch.variables, scratch),
            affinity=launch.affinity or self._slot.cpus,
            timeout=None if math.isinf(longest) else longest,
            stdin=Path(self._experiment.input) if self._experiment.input else None,
            stdout=scratch.output,
            prove=prove,
            memory_group=self._experiment.cgroup == "auto",
        )
        report = self._slot.spawner.spawn(self.through(request, layout, scratch), self._note)
        if report.status == "cancelled":
            raise KeyboardInterrupt
        outcome, found = self.ended(report, scratch)
        if outcome.status == "timeout" and longest < usual:  # a rank may end before the program that started it
            what = f"the budget ended during a launch ({shlex.join(launch.argv)})"
            more = "give it more time by a larger --budget, or end such launches by --timeout"
            why, remedy = (f": {HALTED}", CONTINUE) if outcome.halted else ("", more)
            raise BudgetEndedError(f"{what}{why}", where="--budget", remedy=remedy)
        if report.survivors:
            self._survivors.update(report.survivors)
            self._note(f"{len(report.survivors)} processes of {shlex.join(launch.argv)} cannot be killed, and run on")
        return outcome, found

    def _beside(self) -> Iterable[str]:
        """Warnings about other measurements on this machine, if launches run here."""
        return other_runs.warnings() if self.place is None else ()

    def _output(self, scratch: Scratch) -> Path | None:
        """The file for standard output; None for /dev/null, which costs the program least."""
        if (asked := scratch.launch.output) is not None:
            return asked if len(self._slots) == 1 else scratch.in_place_of(asked)
        wanted = any(source.reads_output(self._experiment) for source in self._sources)
        return scratch.folder / "stdout" if wanted or keeps_output(self._experiment) else None


def _must_have_had_means(reports: Iterable[SpawnReport], scratch: Scratch) -> None:
    """Raises UnavailableError if the system could not provide a process or temporary file, or if a disk was full."""
    for report in reports:
        if report.status == "not-started" and report.step in LACKED:
            raise UnavailableError(report.trouble, where="launch", remedy=LACKED[report.step])
        if report.full and (report.status != "ok" or report.step == "stdout"):
            asked = scratch.launch.output if report.step == "stdout" else None
            remedy = "free some space there" if asked else "free some space there, or set TMPDIR to another folder"
            where = str(asked or tempfile.gettempdir())
            raise UnavailableError("had no room for the program's output", where=where, remedy=remedy)


def _words(launch: Launch) -> tuple[str, ...]:
    """The words of a launch that may name programs."""
    return ("/bin/sh", *template.shell_words(" ".join(launch.argv))) if launch.shell else launch.argv
