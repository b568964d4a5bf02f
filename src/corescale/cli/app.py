# SPDX-License-Identifier: Apache-2.0
"""The verbs in one place."""

import typer

from corescale import __version__
from corescale.cli import compare, doctor, report, scan, study, tune

app = typer.Typer(
    name="corescale",
    help="Measure how a program scales over cores, and find the fastest way to launch it.",
    epilog="Start with: corescale scan -- ./program {threads}",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_MEASURING = {"allow_interspersed_args": True}

app.command("tune", context_settings=_MEASURING)(tune.tune)
app.command("scan", context_settings=_MEASURING)(scan.scan)
app.command("compare", context_settings=_MEASURING)(compare.compare)
app.command("doctor")(doctor.doctor)
app.add_typer(study.app, name="study")
app.command("report")(report.report)


@app.command("version")
def version() -> None:
    """The version of corescale."""
    typer.echo(__version__)
