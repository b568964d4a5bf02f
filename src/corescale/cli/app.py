# SPDX-License-Identifier: Apache-2.0
"""The verbs in one place."""

from typing import Annotated

import typer

from corescale import __version__
from corescale.cli import calibrate, compare, doctor, predict, report, scan, study, tune

app = typer.Typer(
    name="corescale",
    help="Measure how a program scales over cores, and find the fastest way to launch it.",
    epilog="Start with: corescale scan -- ./program {threads}",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

app.command("tune")(tune.tune)
app.command("scan")(scan.scan)
app.command("compare")(compare.compare)
app.command("doctor")(doctor.doctor)
app.add_typer(study.app, name="study")
app.command("report")(report.report)
app.command("predict")(predict.predict)
app.command("calibrate")(calibrate.calibrate)


@app.command("version")
def version() -> None:
    """The version of corescale."""
    typer.echo(__version__)


def _said(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_said, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Measure how a program scales over cores, and find the fastest way to launch it."""
    del version
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
