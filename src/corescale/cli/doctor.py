# SPDX-License-Identifier: Apache-2.0
"""`corescale doctor`: what is here, and how noisy it is now."""

from typing import Annotated

import typer
from rich.console import Console

from corescale.cli import usage_errors
from corescale.cli.noise import measured
from corescale.cli.output import console
from corescale.errors import UsageError
from corescale.observe.doctor import doctor as diagnose
from corescale.show import doctor as show


def doctor(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND", help="of --noise: a command beside the sentinel")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
    noise: Annotated[
        str,
        typer.Option("--noise", metavar="5m", help="write this machine's noise passport, by pairs of equal launches"),
    ] = "",
    no_noise: Annotated[bool, typer.Option("--no-noise", help="leave out the test of 2 s how noisy it is")] = False,
) -> None:
    """What this machine has (cores, quota, allocators, threading systems, MPI) and how noisy it is now."""
    usage_errors.must_have({"-- COMMAND": words and not noise}, "--noise 5m")
    if noise and no_noise:
        raise UsageError("contradict each other", where="--noise --no-noise", remedy="drop one of them")
    if noise:
        return measured(noise, words or [], json=json)
    with Console(stderr=True).status("examining this machine"):
        diagnosis = diagnose(noise=not no_noise)
    if json:
        typer.echo(show.to_json(diagnosis))
    else:
        show.render(diagnosis, console())
    return None
