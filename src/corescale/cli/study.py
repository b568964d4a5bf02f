# SPDX-License-Identifier: Apache-2.0
"""`corescale study`: list, check, run and start study files."""

import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from corescale.api.measuring import Declare
from corescale.api.results import result
from corescale.cli import stdin
from corescale.cli.claims import claims
from corescale.cli.dry_run import dry_run, not_here
from corescale.cli.measure import loadable
from corescale.cli.options import takes
from corescale.cli.output import finish, must_be_writable, outputs, say
from corescale.cli.publish import publish
from corescale.cli.replay import replay
from corescale.conclude.answers.study import foresee
from corescale.declare import paths, studies, study_file
from corescale.declare.experiment import Experiment
from corescale.declare.factors import KINDS
from corescale.declare.grid import configurations
from corescale.declare.request import StudyRequest
from corescale.errors import UnavailableError, UsageError
from corescale.machine import Machine
from corescale.observe import launchers, store
from corescale.observe.hooks import HookRunner
from corescale.show import files, statements, text

app = typer.Typer(
    help="Run experiments that files declare: list | check | run | new | publish | claims.", add_completion=False
)


@app.callback(invoke_without_command=True)
def _needs_a_verb(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        verbs = " | ".join(command.name or "" for command in app.registered_commands)
        raise UsageError("a verb is missing", where="study", remedy=f"corescale study {verbs}")


Study = Annotated[str, typer.Argument(metavar="NAME|FILE", help="a study that ships with corescale, or a file")]


@takes(
    StudyRequest,
    words=Annotated[
        list[str] | None, typer.Argument(metavar="NAME|FILE", help="a study that ships with corescale, or a file")
    ],
)
def run(words: list[str], request: StudyRequest) -> None:
    """Run or continue a study: corescale study run allocator_profile --levels threads=1,2"""
    if not words:
        remedy = "corescale study list names the studies that ship"
        raise UsageError("a study is missing", where="study run", remedy=remedy)
    if more := words[1:]:
        what, remedy = "is more than the study that it takes", "--command CMD runs another program than the study's"
        raise UsageError(what, where=f"study run: {shlex.join(more)}", remedy=remedy)
    must_be_writable(request)
    if request.replay:
        return replay(Path(words[0]), request)
    machine = launchers.machine(request.on, request.launching)
    path = studies.find(stdin.study(words[0]))
    given = (path, machine, request.levels, request.command, request.runs)
    declared = partial(study_file.experiment, *given, until_decided=request.until_decided)
    with stdin.names_stdin():
        declare, request = _startable(declared, request)
        _can_be_shown(declare(None), machine)
    if request.dry_run:
        return dry_run(declare(None), request, machine)
    if request.outputs:
        files.make_folder(Path(request.outputs))
    made = loadable(declare, request, machine)
    found = result(made, machine, every_variable=request.every_variable)
    outputs(found, Path(request.outputs or made.folder / "outputs"))
    return finish(found, request, made.late)


def _startable(declare: Declare, request: StudyRequest) -> tuple[Declare, StudyRequest]:
    """The study without launches of several ranks, if nothing here can start them; raises UnavailableError if they were
    asked for."""
    try:
        launchers.able(request.on, declare(None))
    except UnavailableError as error:
        if request.on:
            raise
        why = error.what
        return lambda unloadable: study_file.without_ranks(declare(unloadable), why), replace(request, on="direct")
    return declare, request


def _can_be_shown(experiment: Experiment, machine: Machine) -> None:
    """Raises UsageError for a chart that could not be drawn, before hours of measuring."""
    from corescale.show import charts  # noqa: PLC0415  takes half a second to load

    charts.must_have_references(experiment, machine.default_max_threads)


def list_() -> None:
    """List the studies that ship with corescale."""
    for name, path in studies.shipped().items():
        file = study_file.read(path)
        typer.echo(f"{name}\n    {file.title}\n    {file.source or path}")


def check(
    study: Study,
    power: Annotated[
        Path | None,
        typer.Option("--power", metavar="RUN", help="say what findings can show, from a run's first blocks"),
    ] = None,
) -> None:
    """Check a study file, and say what it would measure here. Nothing is launched."""
    machine, path = Machine.here(), studies.find(stdin.study(study))
    if power:
        run = store.load(power)
        found = foresee(run.records, study_file.presentation(path, run.experiment, machine))
        for line in statements.powers(found):
            say(line)
        return
    with stdin.names_stdin():
        experiment = study_file.experiment(path, machine)
        _can_be_shown(experiment, machine)
        HookRunner(experiment)
    for factor in experiment.factors:
        say(f"{factor.name}: {', '.join(map(str, factor.levels))}")
    if outside := [f"{name}={of}" for name, of in experiment.baseline.levels if of not in experiment.levels(name)]:
        say(f"baseline, launched too: {' '.join(outside)}")
    for reason in experiment.left_out:
        say(f"left out: {reason}")
    for said in not_here(experiment):
        say(f"note: {said}")
    if (response := experiment.response) != "wall" and response.removeprefix("metric:") not in experiment.metrics:
        say(f"note: the program itself must report {response} (docs/region.md)")
    stop = experiment.stop
    blocks = f"{stop.min_blocks}" if stop.min_blocks == stop.max_blocks else f"{stop.min_blocks} to {stop.max_blocks}"
    typer.echo(
        f"{stdin.shown(str(path))}: in order:"
        f" {text.count(len(configurations(experiment)), 'configuration')}, {blocks} blocks,"
        f" {text.count(len(experiment.study.outputs), 'output')}"
    )


def new(name: Annotated[str, typer.Argument(metavar="FILE", help="file to write")] = "study.toml") -> None:
    """Write a commented study to start from, and a schema by which editors complete it."""
    file = Path(name)
    if file.suffix != ".toml":
        raise UsageError("does not end in .toml", where=name or "''", remedy="name a file that ends in .toml")
    if paths.exists(file):
        raise UsageError("exists already", where=str(file), remedy="name another file")
    kinds = ", ".join(name for name, kind in KINDS.items() if kind.named)
    files.write(str(file), studies.template(study_file.SCHEMA, kinds))
    schema = file.with_name(study_file.SCHEMA)
    if not paths.exists(schema):
        files.write(str(schema), study_file.schema())
    elif not paths.is_file(schema) or schema.read_text(errors="replace") != study_file.schema():
        typer.echo(f"note: {schema}: is there already, and is another: it is left as it is", err=True)
    named = shlex.quote(str(file))
    typer.echo(f"wrote {named}; next: corescale study check {named}")


app.command("list")(list_)
app.command("check")(check)
app.command("run")(run)
app.command("new")(new)
app.command("publish")(publish)
app.command("claims")(claims)
