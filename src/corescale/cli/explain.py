# SPDX-License-Identifier: Apache-2.0
"""`corescale explain`: where every thread-second of a program goes, and where in its code."""

import json
import sys
import time
from pathlib import Path

import typer

from corescale import cli
from corescale.api import explained, explaining, measuring
from corescale.cli import interruptions, stdin
from corescale.cli.measure import loadable
from corescale.cli.options import takes
from corescale.cli.output import note
from corescale.declare.experiment import Experiment
from corescale.declare.request import ExplainRequest, RunRequest, ScanRequest
from corescale.errors import CorescaleError, ExitCode, InterruptedRunError
from corescale.machine import Machine
from corescale.observe import store
from corescale.show import explain as show
from corescale.show import files
from corescale.show.progress import Line


@takes(ExplainRequest)
def explain(words: list[str], asked: ExplainRequest) -> None:
    """Show where every thread-second goes: corescale explain -- ./program {threads}"""
    earlier = explained.earlier(asked.before, "--before")[1] if asked.before else None
    if asked.outputs:
        files.make_folder(Path(asked.outputs))
    request = stdin.kept(asked.scan)
    watch = Line(quiet=asked.quiet)
    try:
        found, experiment = explaining.found(
            request, words, Machine.here(), note, swapped, watch=watch, swap=asked.swap
        )
    except KeyboardInterrupt as end:
        raise _interrupted("", end) from end
    place, lost = _kept(found, request, experiment)  # before printing, which fails if standard output is full
    if not found.ok and not asked.json:
        typer.echo("the program failed; until then:")
    typer.echo(json.dumps(found.shown, indent=2) if asked.json else "\n".join(show.lines(found.shown)))
    if earlier is not None and not asked.json:
        typer.echo("\n".join(show.side_by_side(earlier, found.shown)))
    if lost and not isinstance(found.late, CorescaleError):  # that error has a line of its own
        note(f"the result is not kept: {lost}")
    elif place and not isinstance(found.late, KeyboardInterrupt):
        typer.echo(f"kept: {place}", err=True)
    if asked.outputs:
        from corescale.show.charts import of_explain  # noqa: PLC0415  the charts' library takes half a second to load

        of_explain.write(found.shown, Path(asked.outputs))
    if found.late is not None:
        sys.stdout.flush()
        raise _interrupted(place, found.late) if isinstance(found.late, KeyboardInterrupt) else found.late
    if not found.ok:
        raise typer.Exit(ExitCode.PROGRAM)


def _kept(found: explaining.Found, request: ScanRequest, experiment: Experiment) -> tuple[str, str]:
    """Keeps the result, and returns its place, or why it is not kept."""
    try:
        place = explained.keep(found.shown, explained.folder_of(request, experiment))
        cli.measured()
        return str(place), ""
    except CorescaleError as error:
        return "", str(error)


def _interrupted(place: str, end: KeyboardInterrupt) -> InterruptedRunError:
    """The error after a signal, which says what is kept. The same command would begin anew."""
    error = InterruptedRunError(place, fresh=True)
    error.exit_code = interruptions.exit_code(end)
    return error


def swapped(declare: measuring.Declare, request: RunRequest, machine: Machine) -> store.Run:
    """The launches that test causes; their budget begins with the first of them."""
    return loadable(declare, request, machine, time.monotonic())
