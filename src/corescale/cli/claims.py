# SPDX-License-Identifier: Apache-2.0
"""`corescale study claims`: prints the ledger of the papers' claims, or first records a run's verdicts in it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from corescale.api.results import machine_name, must_be_one_build, result
from corescale.cli.options import must_have
from corescale.cli.report import shown_as
from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.overheads import Modelled
from corescale.conclude.answers.study import Study
from corescale.conclude.stats import Interval
from corescale.declare import claims as declared
from corescale.declare import programs, studies, study_file
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.observe import store
from corescale.show import files, text
from corescale.show.claims import ledger
from corescale.show.result import Result


def claims(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN...", help="runs of studies, whose verdicts are recorded first")
    ] = None,
    machine: Annotated[str, typer.Option("--machine", metavar="NAME", help="the name of the runs' machine")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="also replace decided verdicts by undecided ones")] = False,
    study: Annotated[str, typer.Option("--study", metavar="NAME|FILE", help="use the findings of this study")] = "",
) -> None:
    """Print every claim of the five papers with the verdict of each machine measured."""
    must_be_a_name(machine)
    if not runs:
        must_have({"--machine": machine, "--replace": replace, "--study": study}, "a run")
    known = declared.verdicts()
    for path in runs or []:
        run, found = of_study(path, study)
        if not shipped_as(title := found.experiment.study.title):
            remedy = "corescale study list names those that do"
            raise UsageError(f"belongs to no study that ships: '{title}'", where=str(path), remedy=remedy)
        new = list(verdicts(run, found, machine))
        if (lost := declared.lost(known, new)) and not replace:
            raise UsageError(
                f"would undo {text.count(len(lost), 'verdict')} that an earlier run decided, {lost[0].finding} for one",
                where=str(path),
                remedy="give more blocks, another --machine NAME, or --replace",
            )
        known = declared.recorded(known, new)
    if runs:
        files.write(str(programs.data_folder() / "verdicts.csv"), declared.text(known))
    typer.echo(ledger(declared.claims(), known), nl=False)


def must_be_a_name(machine: str) -> None:
    """Raises UsageError."""
    if not machine.isprintable():
        raise UsageError(
            "is not a name in one line", where="--machine", remedy="write it in letters that can be printed"
        )


def of_study(path: Path, study: str) -> tuple[store.Run, Result]:
    """A run of a study, and what follows from it, shown as `study` declares; raises UsageError for another run."""
    run, here = store.load(path), Machine.here()
    found = result(shown_as(run, study, here), here)
    if not isinstance(found.conclusion, Study):
        raise UsageError("is not a run of a study", where=str(path), remedy="give a run of corescale study run")
    must_be_one_build(found, str(path))
    return run, found


def shipped_as(title: str) -> str:
    """The name of the study that ships with this title; empty for none."""
    return next((name for name, file in studies.shipped().items() if study_file.read(file).title == title), "")


def verdicts(run: store.Run, found: Result, machine: str, study: str = "") -> Iterator[declared.Verdict]:
    """A line of the ledger for each answer. `machine` and `study` replace the run's own names."""
    name, study = machine or machine_name(found.environment), study or shipped_as(found.experiment.study.title)
    for answer in found.conclusion.answers if isinstance(found.conclusion, Study) else ():
        at = " ".join(f"{level}={value}" for level, value in answer.at.items())
        yield declared.Verdict(name, study, answer.finding.name, at, answer.verdict, _ratio(answer), run.digest)


def _ratio(answer: Answer | Modelled) -> str:
    if answer.verdict == "not on this machine":
        return ""
    ratio = "" if isinstance(answer, Modelled) else _written(answer.ratio)
    ratio = f"{ratio} (oversubscribed)".lstrip() if answer.oversubscribed else ratio
    if isinstance(answer, Modelled) or answer.against is None:
        return ratio
    level, of_level = answer.against
    return f"{ratio}, and at {level} {_written(of_level)}"


def _written(ratio: Interval) -> str:
    return f"{ratio.estimate:.2f}" + ("" if ratio.low is None else f" [{ratio.low:.2f}, {ratio.high:.2f}]")
