# SPDX-License-Identifier: Apache-2.0
"""`corescale report`: what a run's records say, again, from the records alone."""

from pathlib import Path
from typing import Annotated

import typer

from corescale.cli.output import conclude, show
from corescale.machine import Machine
from corescale.observe import store
from corescale.show import exchange


def report(
    run: Annotated[Path, typer.Argument(help="a run folder, as corescale-runs/scan-1234/1")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="write HTML here")] = "report.html",
    json: Annotated[bool, typer.Option("--json", help="the result as JSON on standard output")] = False,
) -> None:
    """Show a run again and write its report.html."""
    from corescale.show import html  # noqa: PLC0415  the charts' library takes half a second to load

    result = conclude(store.load(run), Machine.here())
    exchange.write(output, html.report(result))
    show(result, as_json=json)
