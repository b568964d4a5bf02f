# SPDX-License-Identifier: Apache-2.0
"""Launches programs on this machine, one at a time, through the spawner."""

import contextlib
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from corescale import native
from corescale.declare import experiment as study
from corescale.declare.experiment import Experiment
from corescale.declare.factors import Launch
from corescale.declare.plan import Invocation
from corescale.errors import ProgramError, UsageError
from corescale.machine import Machine
from corescale.observe import environment, preload
from corescale.observe.hooks import HookRunner
from corescale.observe.preload import Sighting
from corescale.observe.scratch import Scratch, sweep
from corescale.observe.sources.result import ProgramResult, parse_results
from corescale.observe.spawn import Spawner, SpawnReport, SpawnRequest
from corescale.records import Configuration, Noise, Phase, Process, Record, Status

TAIL = 4096
"""bytes of the end of stderr that a record keeps"""
LAST_OUTPUT = 1 << 16
"""bytes of the end of stdout in which a program's own JSON line is looked for"""


class Direct:
    """See Launcher."""

    name = "direct"

    def __init__(self, experiment: Experiment, machine: Machine, spawner: Spawner | None = None) -> None:
        if experiment.output in ("inherit", "pipe"):
            raise UsageError(
                f"standard output cannot go to {experiment.output!r}", where="--output", remedy="name a file, or null"
            )
        self._experiment, self._machine = experiment, machine
        self._spawner = spawner or Spawner()
        self._hooks = HookRunner(experiment)
        self._today = study.today(experiment)
        self._varies_allocator = any(factor.kind == "allocator" for factor in experiment.factors)
        self._sources = (preload.SOURCE,) if self._varies_allocator else ()
        self._proved: set[tuple[Path, ...]] = set()
        self._references: dict[bool, str] = {}
        self._note: Callable[[str], None] = lambda _: None
        self._lacking: set[str] = set()
        self._is_set_up = False

    @classmethod
    def create(cls, experiment: Experiment, machine: Machine, landscape: Path | None = None) -> "Direct":
        """As the table of launchers wants it."""
        if landscape is not None:
            raise UsageError("only the fake launcher has a landscape", where="--landscape", remedy="add --on fake")
        return cls(experiment, machine)

    def open(self, history: Sequence[Record], note: Callable[[str], None]) -> None:  # noqa: D102
        self._note = note
        sweep()
        self._is_set_up = True
        self._hooks.run("setup")
        if self._experiment.input is not None and not Path(self._experiment.input).is_file():
            raise ProgramError("no such file", where=f"--input {self._experiment.input}")
        for words in self._commands():
            environment.locate(words[0])
        for record in history:
            if record.configuration == self._today and record.ok and record.output_hash:
                self._references.setdefault(record.phase == "rehearse", record.output_hash)
        self._proved = {self._launch_of(record.configuration).preload for record in history}

    def subject(self) -> Mapping[str, Any]:  # noqa: D102
        names = {program for words in self._commands() for program in environment.programs(words)}
        return {
            "programs": {name: environment.identity(name) for name in sorted(names)},
            "sources": list(self._sources),
        }

    def line(self, configuration: Configuration) -> str:  # noqa: D102
        return self._launch_of(configuration).line

    def launch(self, block: Sequence[Invocation]) -> Iterator[Record]:  # noqa: D102
        for invocation in block:
            self._prove(invocation.configuration)
        for invocation in block:
            yield self._launch_once(invocation)

    def cancel(self) -> None:  # noqa: D102
        self._spawner.cancel()

    def close(self) -> None:  # noqa: D102
        if self._is_set_up:
            self._is_set_up = False
            self._hooks.run("cleanup")

    def _commands(self) -> Iterator[tuple[str, ...]]:
        """Every distinct argv, and what it goes through."""
        phases: tuple[Phase, ...] = ("rehearse", "measure") if self._experiment.rehearsal else ("measure",)
        everyone = study.configurations(self._experiment)
        launches = (self._launch_of(configuration, phase) for phase in phases for configuration in everyone)
        for argv, prefix, shell in dict.fromkeys((each.argv, each.prefix, each.shell) for each in launches):
            if prefix:
                yield prefix
            yield ("/bin/sh", *shlex.split(" ".join(argv))) if shell else argv

    def _launch_of(self, configuration: Configuration, phase: Phase = "measure") -> Launch:
        return study.launch(self._experiment, configuration, self._machine, phase)

    def _prove(self, configuration: Configuration) -> None:
        """One untimed traced launch for each set of libraries, before anything is timed with them."""
        launch = self._launch_of(configuration)
        if not launch.preload or launch.preload in self._proved:
            return
        with Scratch() as scratch, self._prepared(configuration):
            report = self._spawn(launch, scratch, prove=True)
            note = preload.judge(report, launch.preload, preload.read_witness(scratch.witness))
        self._proved.add(launch.preload)
        if note and note not in self._lacking:
            self._lacking.add(note)
            self._note(note)

    def _launch_once(self, invocation: Invocation) -> Record:
        launch = self._launch_of(invocation.configuration, invocation.phase)
        with Scratch() as scratch:
            with self._prepared(invocation.configuration):
                report = self._spawn(launch, scratch, cap=invocation.cap)
                output = _Output.read(self._output(scratch))
            heard = preload.read_witness(scratch.witness)
            if report.status == "ok":
                preload.must_be_heard(launch.preload, heard, invocation.configuration.label)
            result = _result(report, scratch.result, output.tail)
        return self._record(invocation, report, result, output, _processes(report, launch, heard))

    @contextlib.contextmanager
    def _prepared(self, configuration: Configuration) -> Iterator[None]:
        values = {name: str(value) for name, value in study.parameters(self._experiment, configuration).items()}
        self._hooks.run("prepare", values)
        yield
        self._hooks.run("conclude", values)

    def _spawn(self, launch: Launch, scratch: Scratch, *, prove: bool = False, cap: float | None = None) -> SpawnReport:
        variables: dict[str, str | None] = {**launch.environment, "CORESCALE_RESULT": str(scratch.result)}
        if self._varies_allocator:
            variables = preload.with_witness(variables, native.library(preload.WITNESS_LIBRARY), scratch.witness)
        report = self._spawner.spawn(
            SpawnRequest(
                argv=launch.command,
                environment=variables,
                affinity=launch.affinity or (),
                timeout=min(filter(None, (self._experiment.timeout, cap)), default=None),
                stdin=Path(self._experiment.input) if self._experiment.input else None,
                stdout=self._output(scratch),
                hash_output=self._experiment.same_output,
                tail_bytes=TAIL,
                prove=prove,
            )
        )
        if report.status == "cancelled":
            raise KeyboardInterrupt
        if report.survivors:
            self._note(f"{report.survivors} processes of {launch.line} could not be killed")
        return report

    def _output(self, scratch: Scratch) -> Path | None:
        """None: nowhere, which costs the program least."""
        if self._experiment.output not in (None, "null"):
            return Path(str(self._experiment.output))
        return scratch.folder / "stdout" if wants_output(self._experiment) else None

    def _record(
        self,
        invocation: Invocation,
        report: SpawnReport,
        result: ProgramResult,
        output: "_Output",
        processes: tuple[Process, ...],
    ) -> Record:
        configuration = invocation.configuration
        return invocation.record(
            self._experiment.hash,
            started=report.started,
            wall=report.wall,
            status=self._status(invocation, report, result),
            exit_code=-report.signal if report.signal else report.exit_code or 0,
            user=report.user,
            system=report.system,
            peak_memory=report.peak_memory,
            peak_memory_kind=report.peak_memory_kind,
            processes=processes,
            threads_asked=configuration.layout.p,
            regions=result.regions,
            metrics=self._metrics(report, result, output),
            checks=result.checks,
            work=result.work,
            output_hash=report.output_hash,
            tail=report.trouble or report.tail or output.tail[-TAIL:],
            noise=Noise(report.steal, report.throttled, report.involuntary, report.runqueue_wait or 0.0),
            oversubscribed=configuration.layout.p > self._machine.default_max_threads,
            sources=self._sources,
            leftovers=report.leftovers,
        )

    def _status(self, invocation: Invocation, report: SpawnReport, result: ProgramResult) -> Status:
        configuration = invocation.configuration
        if report.status == "cancelled":
            raise KeyboardInterrupt
        if report.status == "timeout" and self._was_capped(invocation):
            return "capped"
        if report.status != "ok":
            return report.status
        if not all(result.checks.values()):
            return "check"
        rehearsed = invocation.phase == "rehearse"
        if self._experiment.same_output and report.output_hash and configuration == self._today:
            self._references.setdefault(rehearsed, report.output_hash)
        if self._experiment.same_output and self._references.get(rehearsed) not in (None, report.output_hash):
            return "output-differs"
        return "ok"

    def _was_capped(self, invocation: Invocation) -> bool:
        limit = self._experiment.timeout
        return invocation.cap is not None and (limit is None or invocation.cap < limit)

    def _metrics(self, report: SpawnReport, result: ProgramResult, output: "_Output") -> dict[str, float]:
        """The program's own and the declared ones; one that it did not give is absent."""
        measured = {
            "stdout-size": float(output.size),
            "peak-memory": float(report.peak_memory),
            "cpu-time": report.user + report.system,
        } | {f"output:{name}": value for name, value in result.metrics.items()}
        declared = {name: measured[source] for name, source in self._experiment.metrics.items() if source in measured}
        return {**result.metrics, **declared}


def wants_output(experiment: Experiment) -> bool:
    """Whether standard output has to be kept: for its size, its hash, or the program's own JSON line."""
    sources = experiment.metrics.values()
    return (
        experiment.same_output
        or experiment.weak is not None  # the work that the program reports
        or experiment.response != "wall"
        or any(source == "stdout-size" or source.startswith("output:") for source in sources)
    )


class _Output:
    """What standard output held at the end, where it was kept."""

    def __init__(self, size: int = 0, tail: str = "") -> None:
        self.size, self.tail = size, tail

    @classmethod
    def read(cls, path: Path | None) -> "_Output":
        if path is None or not path.is_file():
            return cls()
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, size - LAST_OUTPUT))
            return cls(size, file.read().decode(errors="replace"))


def _result(report: SpawnReport, folder: Path, tail: str) -> ProgramResult:
    """What the program said; a torn file matters only where the launch succeeded."""
    try:
        return parse_results(folder, tail)
    except ProgramError:
        if report.status == "ok":
            raise
        return ProgramResult()


def _processes(report: SpawnReport, launch: Launch, heard: Sequence[Sighting]) -> tuple[Process, ...]:
    return tuple(
        Process(
            executable=process.executable,
            user=process.user,
            system=process.system,
            peak_memory=process.peak_memory,
            affinity=process.affinity,
            preload=preload.inside(process.pid, launch.preload, heard) if launch.preload else None,
        )
        for process in report.processes
    )
