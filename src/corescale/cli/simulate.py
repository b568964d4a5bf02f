# SPDX-License-Identifier: Apache-2.0
"""`corescale predict --simulate`: the time of each t x m x n on a cluster that is not here."""

import json as json_format
from collections.abc import Sequence

import typer

from corescale.cli.measure import measure
from corescale.conclude.response import response as response_of
from corescale.declare import command_line
from corescale.declare.request import ScanRequest
from corescale.observe import launchers
from corescale.show import text


def simulated(words: Sequence[str], platform: str, layouts: str, response: str, *, json: bool) -> None:
    """Launch each layout once by SimGrid, and print the layouts with the fastest first."""
    request = ScanRequest(
        on="simgrid", platform=platform, factor=[f"layout={layouts}"], response=response, runs=1, fresh=True, quiet=json
    )
    machine = launchers.machine(request.on, request.launching)
    made = measure(command_line.scan(request, words, machine), request, machine)
    times = {str(record.configuration.layout): response_of(record, response) for record in made.records if record.ok}
    ordered = sorted(times.items(), key=lambda pair: pair[1])
    if json:
        rows = [{"layout": name, "seconds": seconds, "origin": "simulated"} for name, seconds in ordered]
        typer.echo(json_format.dumps({"platform": platform, "layouts": rows}, indent=2))
        return
    best = ordered[0]
    for name, seconds in ordered:
        typer.echo(f"{name:>12}  {seconds:9.4g} s  {seconds / best[1]:6.2f} x the fastest (simulated)")
    found = f"fastest of {text.count(len(ordered), 'layout')}: {best[0]}"
    typer.echo(f"{found} (simulated, not measured; records in {made.folder})")
