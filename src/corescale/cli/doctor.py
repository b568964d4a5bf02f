# SPDX-License-Identifier: Apache-2.0
"""`corescale doctor`: what is here, and how noisy it is now."""

import dataclasses
from json import dumps
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from corescale.cli import usage_errors
from corescale.cli.noise import measured
from corescale.cli.output import console, printed
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.observe.doctor import doctor as diagnose
from corescale.show import doctor as show
from corescale.show import files
from corescale.topology import parts


def doctor(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="with --noise: a command to measure next to the sentinel"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
    noise: Annotated[
        str,
        typer.Option("--noise", metavar="5m", help="write this machine's noise passport, by pairs of equal launches"),
    ] = "",
    topology: Annotated[
        bool, typer.Option("--topology", help="show only which CPUs share which caches and memory")
    ] = False,
    outputs: Annotated[
        str, typer.Option("--outputs", metavar="DIR", help="of --topology: draw it there, as PNG and SVG")
    ] = "",
    no_noise: Annotated[bool, typer.Option("--no-noise", help="leave out the 2 s test of how noisy it is")] = False,
) -> None:
    """What this machine has (cores, quota, allocators, threading systems, MPI) and how noisy it is now."""
    usage_errors.must_have({"-- COMMAND": words and not noise}, "--noise 5m")
    usage_errors.must_have({"--outputs": outputs and not topology}, "--topology")
    if noise and no_noise:
        raise UsageError("contradict each other", where="--noise --no-noise", remedy="drop one of them")
    if topology:
        return _topology(outputs, json=json)
    if noise:
        return measured(noise, words or [], json=json)
    with Console(stderr=True).status("examining this machine"):
        diagnosis = diagnose(noise=not no_noise)
    if json:
        typer.echo(show.to_json(diagnosis))
    else:
        printed(console(), show.render(diagnosis))
    return None


def _topology(folder: str, *, json: bool) -> None:
    found = parts()
    if folder:
        from corescale.show.charts import topology  # noqa: PLC0415  the charts' library takes half a second to load

        files.make_folder(Path(folder))
        topology.write(found, Machine.here().cpu_model, Path(folder))
    typer.echo(dumps([dataclasses.asdict(one) for one in found], indent=2) if json else "\n".join(show.topology(found)))
