# SPDX-License-Identifier: Apache-2.0
"""From the records of a run to the result that every output is made from."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from corescale.conclude.answers.verdict import Gates
from corescale.conclude.conclusion import conclude
from corescale.declare.equivalent import to_set
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations, launch
from corescale.endings import ending
from corescale.errors import CorescaleError, StoreError, UsageError
from corescale.machine import Machine
from corescale.observe import launchers, store
from corescale.records import Configuration, Record
from corescale.show.result import Result


def loaded(path: Path, *, untimed: bool = False) -> store.Run:
    """The run of a folder or an archive; raises StoreError if it has nothing to show yet. `untimed`: accept a finished
    tune without launches, whose answer is that there was nothing else to launch."""
    run = store.load(path)
    answered = run.finished and run.experiment.verb == "tune" and bool(run.records)
    if any(record.timed for record in run.records) or (answered and untimed):
        return run
    last = run.all_records[-1] if run.all_records else None
    none, again = "holds no complete block of launches", "the command that began it continues it"
    what, remedy = (
        ("is a tune that timed no launch", "scan the program") if answered else
        (none, "measure more levels, or with more --budget") if run.finished else
        (none, again) if last is None or last.ok else
        (f"{none}: the last one {ending(last)}", f"make the program work; {again} then")
    )  # fmt: skip
    raise StoreError(what, where=str(run.folder), remedy=remedy)


def must_be_as_real(run: store.Run, on: str, where: str) -> None:
    """Raises UsageError if only one of the two is fake: the run, or the launches that it is compared with (`--on`)."""
    faked, faking = run.on == "fake", on == "fake"
    if faked and not faking:
        raise UsageError("is a fake run", where=where, remedy="add --on fake --landscape FILE, or give a measured run")
    if faking and not faked:
        raise UsageError("is no fake run", where=where, remedy="leave out --on fake")


def result(run: store.Run, machine: Machine, gate: Gates | None = None, *, every_variable: bool = False) -> Result:
    """The conclusions from a run's records, and the lines that launch it here, with all variables or those read."""
    lines = _lines(run, machine, None if every_variable else to_set(run.experiment, run.records))
    shown = concluded(run.records, run.experiment, dict(lines), run.environment, gate, finished=run.finished)
    further = "a larger --budget goes on" if shown.stop and shown.stop.reason == "budget" else "--fresh measures again"
    origin = f"{run.origin}: {further}" if run.shown_again else run.origin
    return replace(shown, run=origin, runs={run_name(run): run.folder}, launching=_launching(run))


def concluded(
    records: Sequence[Record],
    experiment: Experiment,
    lines: Mapping[Configuration, str],
    environment: Mapping[str, Any],
    gate: Gates | None = None,
    *,
    finished: bool = False,
) -> Result:
    """The conclusions from the records, with these lines and circumstances to show."""
    found = conclude(records, experiment, gate, finished=finished)
    made = Result(experiment=experiment, records=records, lines=lines, environment=environment, **vars(found))
    if not made.changed:
        return made
    return replace(made, warnings=(f"{_changed(made)}; {MEASURE_AGAIN}", *made.warnings), undisturbed=None)


MEASURE_AGAIN = "--fresh measures what is there now"


def _changed(shown: Result) -> str:
    return f"{' and '.join(shown.changed)} changed while it was measured"


def must_be_one_build(shown: Result, where: str) -> None:
    """Raises UsageError if a program or library changed during the run, so that its times are of no one build."""
    if shown.changed:
        raise UsageError(f"is of no one build: {_changed(shown)}", where=where, remedy=MEASURE_AGAIN)


def _lines(run: store.Run, machine: Machine, reads: frozenset[str] | None) -> Iterator[tuple[Configuration, str]]:
    """The lines of the configurations that were launched, if this machine can launch them, or a fake run did."""
    with contextlib.suppress(CorescaleError):
        kind = launchers.LAUNCHERS.get(run.on)  # None if this version does not have it
        if kind is not None and kind.only_if_asked:
            machine = kind.machine(run.option)
        launcher = kind.create(run.experiment, machine, run.option) if kind is not None else None
        launched = {record.configuration for record in run.records}
        for chosen in filter(launched.__contains__, configurations(run.experiment)):
            with contextlib.suppress(CorescaleError):
                own = launcher.line(chosen, reads) if launcher else ""
                yield chosen, own or launch(run.experiment, chosen, machine).needed(reads).line


def _launching(run: store.Run) -> tuple[str, ...]:
    """The options that name the launcher of a run, if it is used only on request."""
    kind = launchers.LAUNCHERS.get(run.on)
    if kind is None or not kind.only_if_asked:
        return ()
    option = (f"--{kind.takes}", run.option) if run.option else ()
    return ("--on", run.on, *option)


def run_name(run: store.Run) -> str:
    """`scan-1234/1`: the name of a run among others."""
    folder = run.folder
    with contextlib.suppress(FileNotFoundError):  # the program has removed the folder that this process is in
        folder = folder.resolve()
    return f"{folder.parent.name}/{folder.name}" if folder.is_dir() else folder.name.partition(".")[0]


def machine_name(environment: Mapping[str, Any]) -> str:
    """The name of a machine among others."""
    return str(environment.get("description", {}).get("hostname") or "this machine")
