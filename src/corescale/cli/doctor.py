# SPDX-License-Identifier: Apache-2.0
"""`corescale doctor`: what is here, and how noisy it is now."""

from typing import Annotated

import typer
from rich.console import Console

from corescale.cli.output import console
from corescale.observe.doctor import doctor as diagnose
from corescale.show import doctor as show


def doctor(
    json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
    noise: Annotated[bool, typer.Option("--noise/--no-noise", help="measure for 2 s how noisy the machine is")] = True,
) -> None:
    """What this machine has (cores, quota, allocators, threading systems, MPI) and how noisy it is now."""
    with Console(stderr=True).status("examining this machine"):
        diagnosis = diagnose(noise=noise)
    if json:
        typer.echo(show.to_json(diagnosis))
    else:
        show.render(diagnosis, console())
