# SPDX-License-Identifier: Apache-2.0
"""`corescale report`: shows runs again, only from their records; several runs have the machine as a factor."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from corescale.api import explained
from corescale.api.measuring import RUNS
from corescale.api.results import loaded, machine_name, result, run_name
from corescale.cli.options import must_have, takes
from corescale.cli.output import (
    exports,
    is_for_programs,
    must_be_writable,
    note,
    outputs,
    shown_and_exported,
    write_page,
)
from corescale.conclude.answers.several_machines import Part, together
from corescale.declare import paths, studies, study_file
from corescale.declare.request import ExportRequest, option
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.observe import environment, store

PAGE = "report.html"


@dataclass(frozen=True, kw_only=True)
class ReportRequest(ExportRequest):
    """Options of `report`."""

    report: str = option(
        "", "--output", "-o", "--report", "--out", metavar="FILE", help="HTML file (default: report.html)"
    )
    outputs: str = option("", "--outputs", metavar="DIR", help="write tables, and every chart as PNG and SVG, into DIR")
    study: str = option("", "--study", metavar="NAME|FILE", help="show the run as this study declares")
    model: bool = option(False, "--model", help="also fit scaling models, explain the columns and draw the speedup")
    verbose: bool = option(False, "-v", "--verbose", help="show every note, not only the first two")
    extract: bool = option(False, "--extract", help="write the run folders that a report.html carries")
    json: bool = option(False, "--json", help="print the result as JSON")


Runs = Annotated[
    list[str],
    typer.Argument(metavar="RUN...", help="run folders, archives or pages; MACHINE=RUN names the machine of one"),
]


@takes(ReportRequest, Runs)
def report(words: list[str], asked: ReportRequest) -> None:
    """Show a run again, or several by machine, and write report.html: corescale report RUN"""
    if not all(words):
        raise UsageError("an empty name", where="report", remedy="give the folder of a run")
    runs, output, folder = [Path(word) for word in words], asked.report, asked.outputs
    if asked.extract:
        if folder or asked.study or asked.model or asked.json or exports(asked):
            remedy = "leave out --outputs, --study, --model, --json and --export-*"
            raise UsageError("writes run folders, and shows nothing", where="--extract", remedy=remedy)
        for page in runs:
            for written_to in store.extract(page, Path(output or RUNS)):
                typer.echo(written_to)
        return None
    must_be_writable(asked)
    if export := next((run for run in runs if run.suffix == ".json" and explained.is_export(run)), None):
        what = "is an export, and a run is shown from its records"
        raise UsageError(what, where=f"report: {export}", remedy="give the folder of the run")
    if len(runs) == 1 and explained.is_result(runs[0]):
        of_runs = {"--study": asked.study, "--model": asked.model}
        exported = {f"--export-{name}": target for name, target in exports(asked).items()}
        must_have(of_runs | exported, "a run that was measured")
        return _explained(runs[0], asked)
    if single := next((run for run in runs if explained.is_result(run)), None):
        raise UsageError("is a result of explain, which is shown by itself", where=str(single), remedy="give it alone")
    machine = Machine.here()
    given = [_named(path) for path in runs]
    found = [shown_as(loaded(path, untimed=len(given) == 1), asked.study, machine) for _, path in given]
    _must_differ(found)
    from corescale.show import html  # noqa: PLC0415  the charts' library takes half a second to load

    run = found[0] if len(found) == 1 else _together(found, [name for name, _ in given])
    shown = result(run, machine)
    if len(found) > 1:
        carried = {f"{name}/{run_name(each)}": each.folder for (name, _), each in zip(given, found, strict=True)}
        shown = replace(shown, runs=carried)
    beside = len(found) == 1 and found[0].folder.is_dir()
    declared = found[0].folder / "outputs" if beside else Path("outputs")
    with _unasked(folder):
        outputs(shown, Path(folder or declared), every_chart=bool(folder))
    with _unasked(output):
        write_page(output or PAGE, html.report(shown), [each.folder for each in found])
    return shown_and_exported(shown, asked, as_json=asked.json, verbose=asked.verbose, model=asked.model)


def _explained(place: Path, asked: ReportRequest) -> None:
    """Shows a result of explain: writes its page, and if asked for its pictures."""
    _, shown = explained.earlier(str(place), "report")
    from corescale.show import explain, html  # noqa: PLC0415
    from corescale.show.charts import of_explain  # noqa: PLC0415

    if asked.outputs:
        of_explain.write(shown, Path(asked.outputs))
    with _unasked(asked.report):
        write_page(asked.report or PAGE, html.explained(shown))
    said = json.dumps(shown, indent=2) if asked.json else "\n".join(explain.lines(shown))
    typer.echo(said, err=is_for_programs(asked))


@contextlib.contextmanager
def _unasked(named: str) -> Iterator[None]:
    """If a file that the user did not name cannot be written, prints a note instead of failing."""
    try:
        yield
    except UsageError as error:
        if named:
            raise
        note(str(error))


def _named(given: Path) -> tuple[str, Path]:
    """The name for a run's machine, empty for its own, and the run's folder: `intel=RUN`."""
    name, equals, path = str(given).partition("=")
    return (name, Path(path)) if name and equals and "/" not in name and not paths.exists(given) else ("", given)


def shown_as(run: store.Run, study: str, machine: Machine) -> store.Run:
    """The run with the title, columns and outputs of a study file instead of its own."""
    if not study:
        return run
    declared = study_file.presentation(studies.find(study), run.experiment, machine)
    return replace(run, experiment=declared)


def _must_differ(found: Sequence[store.Run]) -> None:
    """Raises UsageError if a launch is in two of the runs, because that would count it twice."""
    seen: dict[tuple[str, str, int, float, int], Path] = {}
    for run in found:
        machine = json.dumps(run.environment.get("machine"), sort_keys=True)
        for record in run.records:
            same = seen.setdefault((machine, record.plan, record.seed, record.started, record.order), run.folder)
            if same is not run.folder:
                what = f"has launches that {same} has too" if same != run.folder else "is given twice"
                raise UsageError(what, where=f"report: {run.folder}", remedy="give each run once")


def _together(found: Sequence[store.Run], given: Sequence[str]) -> store.Run:
    names = [name or own for name, own in zip(given, _names(found, given), strict=True)]
    parts = [Part(name, run.experiment, run.records, run.launcher) for name, run in zip(names, found, strict=True)]
    experiment, records = together(parts)
    described = {name: run.environment for name, run in zip(names, found, strict=True)}
    return replace(found[0], experiment=experiment, records=records, all_records=records, environment=described)


def _names(found: Sequence[store.Run], given: Sequence[str]) -> list[str]:
    """The name of each run's machine; further runs under different circumstances get #2, #3 after it, and a note that
    says what differs from the first. `given`: the names that are used instead."""
    kinds: list[store.Run] = []
    names: list[str] = []
    for run, named in zip(found, given, strict=True):
        same = next((k for k in kinds if not environment.differences(k.environment, run.environment)), None)
        if same is not None:
            names.append(names[found.index(same)])
            continue
        kinds.append(run)
        name = machine_name(run.environment)
        used = [other for other in kinds if machine_name(other.environment) == name]
        names.append(name if len(used) == 1 else f"{name} #{len(used)}")
        if len(used) > 1 and not named:
            note(f"{names[-1]}: {'; '.join(environment.differences(used[0].environment, run.environment))}")
    return names
