# SPDX-License-Identifier: Apache-2.0
"""`corescale explain`: where every thread-second of a program goes, and where in its code."""

import json
import sys
import time
from pathlib import Path

import typer

from corescale import cli
from corescale.api import explained, explaining, measuring
from corescale.cli import stdin
from corescale.cli.measure import loadable
from corescale.cli.options import takes
from corescale.cli.output import note
from corescale.declare.experiment import Experiment
from corescale.declare.request import ExplainRequest, RunRequest, ScanRequest
from corescale.errors import CorescaleError, ExitCode
from corescale.machine import Machine
from corescale.observe import store
from corescale.show import explain as show
from corescale.show import files, text
from corescale.show.progress import Line


@takes(ExplainRequest)
def explain(words: list[str], asked: ExplainRequest) -> None:
    """Show where every thread-second goes: corescale explain -- ./program {threads}"""
    earlier = explained.earlier(asked.before, "--before")[1] if asked.before else None
    if asked.outputs:
        files.make_folder(Path(asked.outputs))
    request = stdin.kept(asked.scan)
    watch = Line(quiet=asked.quiet)
    found, experiment = explaining.found(request, words, Machine.here(), note, swapped, watch=watch, swap=asked.swap)
    kept = _kept(found, request, experiment)  # before anything is printed, which fails if standard output is full
    if not found.ok and not asked.json:
        typer.echo("the program failed; until then:")
    typer.echo(json.dumps(found.shown, indent=2) if asked.json else "\n".join(show.lines(found.shown)))
    if earlier is not None and not asked.json:
        typer.echo("\n".join(show.side_by_side(earlier, found.shown)))
    if kept:
        typer.echo(kept, err=True)
    if asked.outputs:
        from corescale.show.charts import of_explain  # noqa: PLC0415  the charts' library takes half a second to load

        of_explain.write(found.shown, Path(asked.outputs))
    if found.late is not None:
        sys.stdout.flush()
        raise found.late
    if not found.ok:
        raise typer.Exit(ExitCode.PROGRAM)


def _kept(found: explaining.Found, request: ScanRequest, experiment: Experiment) -> str:
    """Keeps the result, and returns a line on where, or why not."""
    try:
        place = explained.keep(found.shown, explained.folder_of(request, experiment))
        cli.measured()
        return f"kept: {place}"
    except CorescaleError as error:  # an error that ended the launches has a line of its own
        why = f"note: the result is not kept: {text.clean(str(error))}"
        return "" if isinstance(found.late, CorescaleError) else why


def swapped(declare: measuring.Declare, request: RunRequest, machine: Machine) -> store.Run:
    """The launches that test causes; their budget begins with the first of them."""
    return loadable(declare, request, machine, time.monotonic())
