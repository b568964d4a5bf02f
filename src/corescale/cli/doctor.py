# SPDX-License-Identifier: Apache-2.0
"""`corescale doctor`: what this machine has, and how noisy it is now."""

from dataclasses import asdict, dataclass
from json import dumps
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from corescale.cli.noise import measured
from corescale.cli.options import must_have, takes
from corescale.cli.output import console, printed
from corescale.declare.request import option
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.observe.doctor import doctor as diagnose
from corescale.show import doctor as show
from corescale.show import files
from corescale.topology import parts


@dataclass(frozen=True, kw_only=True)
class DoctorRequest:
    """Options of `doctor`."""

    json: bool = option(False, "--json", help="print the result as JSON")
    noise: str = option("", "--noise", metavar="5m", help="launch equal pairs, and write this machine's noise passport")
    topology: bool = option(False, "--topology", help="show only which CPUs share which caches and memory")
    outputs: str = option("", "--outputs", metavar="DIR", help="with --topology: draw it into DIR as PNG and SVG")
    no_noise: bool = option(False, "--no-noise", help="leave out the noise test of 2 s")


Beside = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- COMMAND", help="with --noise: also measure this command"),
]


@takes(DoctorRequest, Beside)
def doctor(words: list[str], asked: DoctorRequest) -> None:
    """Show what this machine has (cores, quota, allocators, threading systems, MPI) and how noisy it is now."""
    must_have({"-- COMMAND": words and not asked.noise}, "--noise 5m")
    must_have({"--outputs": asked.outputs and not asked.topology}, "--topology")
    if asked.noise and (asked.no_noise or asked.topology):
        both = f"--noise {'--no-noise' if asked.no_noise else '--topology'}"
        raise UsageError("contradict each other", where=both, remedy="drop one of them")
    if asked.topology:
        return _topology(asked.outputs, json=asked.json)
    if asked.noise:
        return measured(asked.noise, words, json=asked.json)
    with Console(stderr=True).status("examining this machine"):
        diagnosis = diagnose(noise=not asked.no_noise)
    if asked.json:
        return typer.echo(show.to_json(diagnosis))
    return printed(console(), show.render(diagnosis))


def _topology(folder: str, *, json: bool) -> None:
    found = parts()
    if folder:
        from corescale.show.charts import topology  # noqa: PLC0415  the charts' library takes half a second to load

        files.make_folder(Path(folder))
        topology.write(found, Machine.here().cpu_model, Path(folder))
    typer.echo(dumps([asdict(one) for one in found], indent=2) if json else "\n".join(show.topology(found)))
