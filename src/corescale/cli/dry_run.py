# SPDX-License-Identifier: Apache-2.0
"""`--dry-run` of every verb: what would be launched, and how long it takes according to earlier runs. Launches
nothing."""

import contextlib
import shutil
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from corescale.api.measuring import RUNS
from corescale.conclude.race.options import OPTIONS
from corescale.declare import paths, template
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations, launch, parameters
from corescale.declare.plan import BASELINE_EVERY
from corescale.declare.request import RunRequest
from corescale.errors import CorescaleError, StoreError, UsageError
from corescale.machine import Machine
from corescale.observe import environment, hooks, launchers, store
from corescale.records import Configuration, Layout
from corescale.show import text

RACE_LAUNCHES = (4, 15)
"""launches of each configuration in a race at 1% and at 3% noise (docs/results/race_simulation.md)"""

FIRST_ANSWER = f"--budget {4 * (BASELINE_EVERY - 1)}x"
"""the smallest budget for an answer: two launches for each configuration of the first block, and as many to confirm"""


def dry_run(experiment: Experiment, request: RunRequest, machine: Machine) -> None:
    """Print the plan and the time that it takes.

    Raises ProgramError, UsageError and StoreError, as measuring would, if a program cannot be launched or its files are
    missing. A study may be meant for another machine, so there a missing program is only noted.
    """
    if request.json:
        raise UsageError("a plan is text", where="--dry-run --json", remedy="drop one of them")
    launcher = launchers.create(request.on, experiment, machine, request.launching)
    for chosen in configurations(experiment):
        typer.echo(f"{chosen.label}\n    {launcher.line(chosen)}")
    root = Path(request.out or RUNS)
    known = _known(experiment, root, machine, launcher.name)
    typer.echo(f"\n{_amount(experiment)}\n{_time(experiment, known, root, machine)}")
    for reason in experiment.left_out:
        typer.echo(f"left out: {reason}")
    _must_hold_runs(root)
    if launcher.virtual:
        return
    if experiment.study.name:
        for program in missing(experiment):
            typer.echo(f"note: the program {program} is not here")
        return
    hooks.must_start(experiment)
    for program in missing(experiment):
        environment.locate(program)


def _must_hold_runs(root: Path) -> None:
    """Raises StoreError if no run folder could be made."""
    there = next(path for path in (root, *root.absolute().parents) if paths.exists(path))
    if why := paths.refusal(there):
        raise StoreError(f"cannot be written: {why}", where=str(root), remedy="choose --out DIR")


def missing(experiment: Experiment) -> list[str]:
    """Programs of the commands that cannot be launched; those of a shell command are unknown."""
    programs = {_program(experiment, chosen) for chosen in configurations(experiment)}
    return [program for program in sorted(programs) if program and shutil.which(program) is None]


def _program(experiment: Experiment, chosen: Configuration) -> str:
    """The first word of the command, which may be a parameter; empty for a shell command."""
    command = experiment.command(chosen)
    values = {name: str(value) for name, value in parameters(experiment, chosen).items()}
    return "" if command.shell else template.fill(command.argv[:1], values)[0]


Line = tuple[Layout, str]
"""What distinguishes one launch from another."""


def _line(experiment: Experiment, chosen: Configuration, machine: Machine) -> Line:
    return chosen.layout, launch(experiment, chosen, machine).line


def _amount(experiment: Experiment) -> str:
    least, most = _launches(experiment)
    count = len(configurations(experiment))
    rehearsals = f" after {count * OPTIONS.rehearsals} on the smaller input" if experiment.tuning.rehearsal else ""
    number = f"{least}" if least == most else f"about {least} to {most}"
    return f"{text.count(count, 'configuration')}: {number} launches{rehearsals}" + (
        " (more where times are noisy)" if least < most else ""
    )


def _launches(experiment: Experiment) -> tuple[int, int]:
    """The least and the largest number of launches."""
    stop, count = experiment.stop, len(configurations(experiment))
    least, most = count * stop.min_blocks, count * stop.max_blocks
    if stop.rule == "race":
        fresh = OPTIONS.fewest_pairs if stop.confirm_pairs is None else stop.confirm_pairs
        least, most = (1 + each * count + 2 * fresh for each in RACE_LAUNCHES)
    limit = most if stop.launches is None else stop.launches
    return min(least, limit), min(most, limit)


def _time(experiment: Experiment, known: Mapping[Line, Sequence[float]], root: Path, machine: Machine) -> str:
    """The expected time and its source; a configuration that was never launched is taken to last as long as the
    baseline."""
    budget = experiment.stop.budget
    limit = f", at most {text.duration(budget)} (--budget)" if budget is not None else ""
    seen = known.get(_line(experiment, baseline(experiment), machine))
    if not seen:
        hint = FIRST_ANSWER if experiment.verb == "tune" else "-r 1"
        how = f"no run in {root} has the baseline yet: {hint} instead of --dry-run measures it"
        return f"time: {_range(experiment, 1)} for each second that a launch takes{limit}; {how}"
    now = statistics.median(seen)
    lines = [_line(experiment, chosen, machine) for chosen in configurations(experiment)]
    each = statistics.fmean(statistics.median(known.get(line, [now])) for line in lines)
    return f"time: {_range(experiment, each)}{limit}; the baseline took {now:.3g} s (median of {len(seen)} in {root}/)"


def _range(experiment: Experiment, each: float) -> str:
    return " to ".join(dict.fromkeys(text.duration(count * each) for count in _launches(experiment)))


def _known(experiment: Experiment, root: Path, machine: Machine, launcher: str) -> dict[Line, list[float]]:
    """The seconds of launches that succeeded in runs under `root` on this machine, by the line that was launched."""
    programs = {command.argv[0] for command in experiment.commands}

    def alike(other: Experiment) -> bool:
        return other.input == experiment.input and any(command.argv[0] in programs for command in other.commands)

    found: dict[Line, list[float]] = {}
    for run in store.runs(root, alike):
        if run.launcher == launcher and run.environment.get("fingerprint") == machine.fingerprint():
            seconds: dict[Configuration, list[float]] = {}
            for record in run.records:
                if record.ok and record.timed:
                    seconds.setdefault(record.configuration, []).append(record.wall)
            for chosen, each in seconds.items():
                with contextlib.suppress(CorescaleError):
                    found.setdefault(_line(run.experiment, chosen, machine), []).extend(each)
    return found
