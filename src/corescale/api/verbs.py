# SPDX-License-Identifier: Apache-2.0
"""The verbs as functions: each declares, observes and concludes as its command does, and never prints or exits."""

import shlex
from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from corescale.api import explained, explaining, measuring, options, pruning, results
from corescale.api.explained import Explained
from corescale.api.gating import gated
from corescale.api.run import Run
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Scan
from corescale.conclude.answers.verdict import Gates
from corescale.conclude.conclusion import Comparisons
from corescale.declare import command_line
from corescale.declare.request import CompareRequest, ExplainRequest, RunRequest, ScanRequest, TuneRequest
from corescale.errors import InterruptedRunError, ProgramError, UsageError
from corescale.machine import Machine
from corescale.observe import launchers, other_tools
from corescale.show.progress import Called, Progress

if TYPE_CHECKING:
    import pandas as pd

Command = str | Sequence[str]
"""One text, which is split as a shell would split it, or a list of words."""
Follow = Callable[[Progress], object] | None
"""Called after each launch, after each block and for each note. An exception from it ends the run, which is kept."""


def load(path: str | PathLike[str]) -> Run[Any]:
    """The run in a folder or an archive, or the last run of an experiment's folder; raises StoreError."""
    run = results.loaded(_path(path))
    return Run(run.folder, results.result(run, Machine.here()))


def read(path: str | PathLike[str]) -> "pd.DataFrame":
    """A table of another tool's measurements: hyperfine, Google Benchmark, pyperf, Extra-P, or CSV.

    Columns: name, metric, value (seconds), repetition, and one for each parameter. Raises UsageError.
    """
    return other_tools.read(_path(path))


def scan(command: Command, *, progress: Follow = None, **given: Unpack[options.ScanOptions]) -> Run[Scan]:
    """How a program scales; `{threads}` in the command is filled.

    Options are those of `corescale scan`. Raises CorescaleError.
    """
    request = options.request(ScanRequest, options.ScanOptions, given)
    machine = launchers.machine(request.on, request.launching)
    return _measured(partial(command_line.scan, request, _words(command), machine), request, machine, progress)


def tune(command: Command, *, progress: Follow = None, **given: Unpack[options.TuneOptions]) -> Run[Recommendation]:
    """The fastest way to launch a program, with how sure that is.

    Options are those of `corescale tune`. Raises CorescaleError.
    """
    request, words = options.request(TuneRequest, options.TuneOptions, given), _words(command)
    machine = launchers.machine(request.on, request.launching)
    unlikely = pruning.unlikely(request, words, machine, _noting(progress)) if request.explain else None
    return _measured(partial(command_line.tune, request, words, machine, unlikely=unlikely), request, machine, progress)


def compare(*commands: str, progress: Follow = None, **given: Unpack[options.CompareOptions]) -> Run[Comparisons]:
    """A paired verdict on commands, each against the first.

    Options are those of `corescale compare`. Raises CorescaleError.
    """
    request = options.request(CompareRequest, options.CompareOptions, given)
    machine = launchers.machine(request.on, request.launching)
    declare, gate, _ = gated(partial(command_line.compare, request, commands, machine), request, commands, machine)
    return _measured(declare, request, machine, progress, gate)


def explain(command: Command, *, progress: Follow = None, **given: Unpack[options.ExplainOptions]) -> Explained:
    """Where every thread-second of a program goes, and where in its code; `{threads}` in the command is filled.

    Options are those of `corescale explain`. Raises CorescaleError, which is a ProgramError if the program fails.
    """
    asked = options.request(ExplainRequest, options.ExplainOptions, given)
    request = asked.scan
    found, experiment = explaining.found(request, _words(command), Machine.here(), _noting(progress), swap=asked.swap)
    file = explained.keep(found.shown, explained.folder_of(request, experiment))
    if found.late is not None:
        raise found.late
    if not found.ok:
        raise ProgramError("the program failed", where=shlex.join(_words(command)), remedy=f"{file} has its ledger")
    return Explained(file, found.shown)


def _noting(progress: Follow) -> explaining.Note:
    """A function that reports a note before there is a run."""

    def note(said: str) -> None:
        if progress is not None:
            progress(Progress(0, 0, None, "", "", note=said))

    return note


def _words(command: Command) -> Sequence[str]:
    """Raises UsageError if it is neither a text nor a list of words."""
    if not isinstance(command, str | Sequence):
        raise UsageError(f"{command!r} is no command", remedy='write "./program {threads}", or a list of its words')
    return [command] if isinstance(command, str) else [*map(str, command)]


def _path(path: str | PathLike[str]) -> Path:
    if not isinstance(path, str | PathLike):
        raise UsageError(f"{path!r} is not a path", remedy="give a text or a pathlib.Path")
    return Path(path)


def _measured(
    declare: measuring.Declare, request: RunRequest, machine: Machine, progress: Follow, gate: Gates | None = None
) -> Run[Any]:
    """The run, measured. Raises KeyboardInterrupt for Ctrl-C, as any function does; its text says what was kept."""
    if progress is not None and not callable(progress):
        raise UsageError(f"{progress!r} is no function", where="progress", remedy="give a function such as print")
    follow = measuring.silent if progress is None else partial(Called, function=progress)
    try:
        run = measuring.loadable(declare, request, machine, follow)
    except InterruptedRunError as error:
        raise KeyboardInterrupt(str(error)) from None
    if run.late is not None:
        run.late.add_note(f"the run is kept: corescale.load({str(run.folder)!r})")
        raise run.late
    return Run(run.folder, results.result(run, machine, gate, every_variable=request.every_variable))
