# SPDX-License-Identifier: Apache-2.0
"""`--dry-run` of every verb: what would be launched, and how long it takes according to earlier runs. Launches
nothing."""

import contextlib
import shutil
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import typer

from corescale.api.measuring import RUNS
from corescale.conclude.budget import Budget
from corescale.conclude.race.options import OPTIONS
from corescale.declare import template
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations, launch, parameters
from corescale.declare.plan import BASELINE_EVERY, Block, most_launches
from corescale.declare.request import RunRequest
from corescale.declare.stop import Stop
from corescale.errors import CorescaleError, ProgramError, UsageError
from corescale.machine import Machine
from corescale.observe import environment, hooks, launchers, store
from corescale.observe.run import begins_alone
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
    known = Known.of(experiment, root, machine, launcher.name)
    amount = Amount.of(experiment, launcher)
    time = _time(experiment, amount, known, root, machine, request.jobs)
    typer.echo(f"\n{_configurations(experiment, amount)}\n{time}")
    for reason in experiment.left_out:
        typer.echo(f"left out: {reason}")
    store.must_hold_runs(root)
    if launcher.virtual:
        return
    if experiment.study.name:
        for said in not_here(experiment):
            typer.echo(f"note: {said}")
        return
    hooks.must_start(experiment)
    for program in missing(experiment):
        environment.locate(program)


def not_here(experiment: Experiment) -> list[str]:
    """The programs and files of a study that are not here; a study may be meant for another machine."""
    said = [f"the program {program} is not here" for program in missing(experiment)]
    try:
        hooks.must_start(experiment)
    except (ProgramError, UsageError) as error:
        said.append(f"{error.where}: {error.what}")
    return said


def missing(experiment: Experiment) -> list[str]:
    """Programs of the commands that cannot be launched. The programs of a shell command are unknown."""
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


@dataclass(frozen=True)
class Amount:
    """The number of launches, including warm-ups and proofs."""

    least: int
    most: int
    warming: int
    proofs: int
    """untimed launches that prove preloaded libraries"""

    @classmethod
    def of(cls, experiment: Experiment, launcher: launchers.Launcher) -> Self:
        """The launches of the plan. The number of blocks depends on times that are not known yet."""
        stop, everyone = experiment.stop, configurations(experiment)
        returns = 0 if experiment.baseline.returns else None
        block = most_launches(Block("measure", everyone), baseline(experiment), returns)
        least, most = len(everyone) * stop.min_blocks, block * stop.max_blocks
        if stop.rule == "race":
            fresh = OPTIONS.fewest_pairs if stop.confirm_pairs is None else stop.confirm_pairs
            least, most = (each * len(everyone) + 2 * fresh for each in RACE_LAUNCHES)
        warming = block * experiment.warmup + begins_alone(experiment, virtual=launcher.virtual)
        limit = most + warming if stop.launches is None else stop.launches
        proofs = launcher.untimed(everyone)
        return cls(min(least + warming, limit) + proofs, min(most + warming, limit) + proofs, warming, proofs)

    def __str__(self) -> str:
        exactly = text.count(self.least, "launch", "launches")
        number = exactly if self.least == self.most else f"about {self.least} to {self.most} launches"
        noisy = " (more where times are noisy)" if self.least < self.most else ""
        parts = {"warm up": self.warming if self.warming > 1 else 0, "prove allocators": self.proofs}
        of = " and ".join(f"{count} to {what}" for what, count in parts.items() if count)
        return f"{number}{noisy}" + (f", of them {of}" if of else "")


def _configurations(experiment: Experiment, amount: Amount) -> str:
    count = len(configurations(experiment))
    rehearsals = f", after {count * OPTIONS.rehearsals} on the smaller input" if experiment.tuning.rehearsal else ""
    return f"{text.count(count, 'configuration')}: {amount}{rehearsals}"


@dataclass(frozen=True)
class Known:
    """What earlier runs on this machine show."""

    walls: Mapping[Line, Sequence[float]]
    """seconds of the launches that succeeded, by the line that was launched"""
    pauses: Sequence[float]
    """seconds between two launches with the same hooks, a mean for each run"""

    @classmethod
    def of(cls, experiment: Experiment, root: Path, machine: Machine, launcher: str) -> Self:
        """What earlier runs under `root` show, if they launched one of the programs with the same input."""
        programs = {command.argv[0] for command in experiment.commands}

        def alike(other: Experiment) -> bool:
            return other.input == experiment.input and any(command.argv[0] in programs for command in other.commands)

        walls, pauses = dict[Line, list[float]](), list[float]()
        for run in store.runs(root, alike):
            if run.launcher == launcher and run.environment.get("fingerprint") == machine.fingerprint():
                budget = Budget(run.experiment.stop, baseline(run.experiment))
                seconds: dict[Configuration, list[float]] = {}
                for record in run.records:
                    budget.add(record)
                    if record.ok and record.timed:
                        seconds.setdefault(record.configuration, []).append(record.wall)
                for chosen, each in seconds.items():
                    with contextlib.suppress(CorescaleError):
                        walls.setdefault(_line(run.experiment, chosen, machine), []).extend(each)
                if run.experiment.hooks == experiment.hooks and len(run.records) > 1:
                    pauses.append(budget.between)
        return cls(walls, pauses)


def _time(experiment: Experiment, amount: Amount, known: Known, root: Path, machine: Machine, jobs: int) -> str:
    """The expected time and its source. A configuration that was never launched is assumed to take the baseline's
    time."""
    limit = _limit(experiment.stop)
    hooked = any(experiment.hooks.model_dump().values()) and not known.pauses
    what = "time without hooks" if hooked else "time"
    seen = known.walls.get(_line(experiment, baseline(experiment), machine))
    if not seen:
        hint = FIRST_ANSWER if experiment.verb == "tune" else "-r 1"
        how = f"no run in {root} has the baseline yet: {hint} instead of --dry-run measures it"
        return f"{what}: {_range(amount, 1 / jobs)} for each second that a launch takes{limit}; {how}"
    now, pause = statistics.median(seen), statistics.median(known.pauses or [0.0])
    lines = [_line(experiment, chosen, machine) for chosen in configurations(experiment)]
    each = statistics.fmean(statistics.median(known.walls.get(line, [now])) for line in lines) + pause
    between = f", and {pause:.2g} s between two launches" if known.pauses else ""
    took = f"the baseline took {now:.3g} s (median of {len(seen)} in {root}/){between}"
    return f"{what}: {_range(amount, each / jobs)}{limit}; {took}"


def _limit(stop: Stop) -> str:
    """What the budget limits. A typed budget ends the run, and so does the budget of a race. The default budget ends
    no run before there is an interval."""
    if stop.budget is None:
        return ""
    budget = text.duration(stop.budget)
    if stop.binding or stop.rule == "race":
        return f", at most {budget} (--budget)"
    return f"; after {budget} it ends with the first interval (--budget)"


def _range(amount: Amount, each: float) -> str:
    return " to ".join(dict.fromkeys(text.duration(count * each) for count in (amount.least, amount.most)))
