# SPDX-License-Identifier: Apache-2.0
"""`corescale explain`: where every thread-second of a program goes, and where in its code."""

import json as text
import sys
from pathlib import Path
from typing import Annotated

import typer

from corescale.api import explaining, kept
from corescale.cli import stdin
from corescale.cli.measure import loadable
from corescale.cli.options import Words
from corescale.declare.request import ScanRequest
from corescale.errors import CorescaleError, ExitCode
from corescale.machine import Machine
from corescale.show import explain as show
from corescale.show import files


def explain(
    words: Words = None,
    threads: Annotated[
        str, typer.Option("--threads", "-t", metavar="1,N", help="thread counts; the largest is explained")
    ] = "",
    ranks: Annotated[str, typer.Option("--ranks", metavar="1,N", help="numbers of MPI ranks (docs/mpi.md)")] = "",
    before: Annotated[
        str, typer.Option("--before", metavar="RUN", help="an earlier result to show next to this one: file or folder")
    ] = "",
    swap: Annotated[
        bool, typer.Option("--swap/--no-swap", help="test causes: launches with one thing changed each")
    ] = True,
    budget: Annotated[str, typer.Option("--budget", metavar="2m", help="limit for these launches")] = explaining.BUDGET,
    input: Annotated[str, typer.Option("--input", metavar="FILE", help="standard input (default: nothing)")] = "",  # noqa: A002
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="60s", help="kill a launch after this long")
    ] = None,
    shell: Annotated[bool, typer.Option("--shell", help="run the command through /bin/sh")] = False,
    out: Annotated[
        str, typer.Option("--out", metavar="DIR", help="where results are kept (default ./corescale-runs)")
    ] = "",
    outputs: Annotated[
        str, typer.Option("--outputs", metavar="DIR", help="write every view there as PNG and SVG")
    ] = "",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="show no progress")] = False,
    json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
) -> None:
    """Where every thread-second goes: corescale explain -- ./program {threads}"""
    earlier = kept.earlier(before, "--before")[1] if before else None
    if outputs:
        files.make_folder(Path(outputs))
    request = stdin.kept(
        ScanRequest(
            threads=threads, ranks=ranks, budget=budget, input=input, timeout=timeout, shell=shell, out=out, quiet=quiet
        )
    )
    found, experiment = explaining.found(request, words or [], Machine.here(), note, loadable, swap=swap)
    typer.echo(text.dumps(found.shown, indent=2) if json else "\n".join(show.lines(found.shown)))
    if earlier is not None and not json:
        typer.echo("\n".join(show.side_by_side(earlier, found.shown)))
    try:
        typer.echo(f"kept: {kept.keep(found.shown, kept.folder_of(request, experiment))}", err=True)
    except CorescaleError as error:
        note(f"the result is not kept: {error}")
    if outputs:
        from corescale.show.charts import explained  # noqa: PLC0415  the charts' library takes half a second to load

        explained.write(found.shown, Path(outputs))
    if found.late is not None:
        sys.stdout.flush()
        raise found.late
    if not found.ok:
        raise typer.Exit(ExitCode.PROGRAM)


def note(said: str) -> None:
    """What is said beside a result."""
    typer.echo(f"note: {said}", err=True)
