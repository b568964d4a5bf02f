# SPDX-License-Identifier: Apache-2.0
"""`corescale predict --simulate`: the time of each t x m x n on a cluster that is not here, and how such times fare."""

import json as json_format
import math
import statistics
from collections.abc import Mapping, Sequence

import typer

from corescale.cli.measure import measure
from corescale.conclude.response import median
from corescale.declare import command_line
from corescale.declare.factors import KINDS
from corescale.declare.request import ScanRequest
from corescale.errors import UsageError
from corescale.observe import launchers, store
from corescale.records import Layout
from corescale.show import text

GRADED = ("1x1x1", "2x1x1", "1x2x1")
"""what also is simulated and launched where forecasts are graded: most machines can"""
RUNS = 3
"""real launches of each layout that is graded; their median counts"""


def simulated(words: Sequence[str], platform: str, layouts: str, response: str, grade: str, *, json: bool) -> None:
    """Launch each layout once by SimGrid, and print the layouts with the fastest first.

    `grade`: a launcher by which those that can be are then launched, so that every forecast has an error next to it.
    """
    asked = {"on": "simgrid", "platform": platform, "runs": 1, "response": response}
    made = _made(words, layouts, asked, json=json)
    times = _times(made, response)
    real = _graded(words, [*dict.fromkeys([*times, *GRADED])], grade, asked, times, json=json) if grade else {}
    ordered = sorted(times.items(), key=lambda pair: pair[1])
    if json:
        rows = [
            {"layout": name, "seconds": seconds, "origin": "simulated"}
            | ({"measured": real[name], "error": seconds / real[name] - 1} if name in real else {})
            for name, seconds in ordered
        ]
        typer.echo(json_format.dumps({"platform": platform, "layouts": rows}, indent=2))
        return
    best = ordered[0]
    for name, seconds in ordered:
        beside = f"; measured {real[name]:.4g} s, error {seconds / real[name] - 1:+.0%}" if name in real else ""
        typer.echo(f"{name:>12}  {seconds:9.4g} s  {seconds / best[1]:6.2f} x the fastest (simulated){beside}")
    found = f"fastest of {text.count(len(ordered), 'layout')}: {best[0]}"
    typer.echo(f"{found} (simulated, not measured; records in {made.folder})")
    if real:
        typer.echo(_grade({name: times[name] for name in real}, real, grade))


def _grade(forecast: Mapping[str, float], real: Mapping[str, float], by: str) -> str:
    """How far forecasts are off what was measured, and what the predicted choice among those costs."""
    typical = math.expm1(statistics.fmean(abs(math.log(forecast[name] / real[name])) for name in real))
    chosen, fastest = min(real, key=lambda name: forecast[name]), min(real, key=lambda name: real[name])
    choice = f"of these {chosen} is predicted, and is the fastest"
    if chosen != fastest:
        choice = f"of these {chosen} is predicted, and takes {real[chosen] / real[fastest]:.2f} x the time of {fastest}"
    return f"typical error {typical:.0%} of {text.count(len(real), 'layout')} launched by {by}; {choice}"


def _graded(
    words: Sequence[str],
    layouts: Sequence[str],
    grade: str,
    asked: Mapping[str, object],
    times: dict[str, float],
    *,
    json: bool,
) -> Mapping[str, float]:
    """Measured times of the layouts that the launcher can start; those missing in `times` are simulated first."""
    machine = launchers.machine(grade)
    able = [
        name
        for name in layouts
        if (layout := KINDS["layout"].layout(name, Layout())).nodes <= machine.nodes
        and layout.of_node <= machine.default_max_threads
    ]
    if not able:
        raise UsageError("none of the layouts can be launched there", where="--grade", remedy="leave it out")
    if missing := [name for name in able if name not in times]:
        times |= _times(_made(words, ",".join(missing), asked, json=json), str(asked["response"]))
    real = {"on": grade, "runs": RUNS, "response": asked["response"]}
    return _times(_made(words, ",".join(able), real, json=json), str(asked["response"]))


def _made(words: Sequence[str], layouts: str, asked: Mapping[str, object], *, json: bool) -> store.Run:
    request = ScanRequest(factor=[f"layout={layouts}"], fresh=True, quiet=json, **asked)  # type: ignore[arg-type]
    machine = launchers.machine(request.on, request.launching)
    return measure(command_line.scan(request, words, machine), request, machine)


def _times(made: store.Run, response: str) -> dict[str, float]:
    """The median of each layout that succeeded."""
    found: dict[str, list[float]] = {}
    for record in made.records:
        if record.ok:
            found.setdefault(str(record.configuration.layout), []).append(record.response(response))
    return {name: median(each) for name, each in found.items()}
