# SPDX-License-Identifier: Apache-2.0
"""`corescale predict --simulate`: the time of each t x m x n on a cluster that is not here, and how such times fare."""

import json as json_format
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import typer

from corescale.cli.measure import measure
from corescale.conclude.response import median
from corescale.declare import command_line
from corescale.declare.factors import KINDS
from corescale.declare.factors.threads import divisors
from corescale.declare.request import ScanRequest
from corescale.errors import UnavailableError, UsageError
from corescale.machine import Machine
from corescale.observe import launchers, store
from corescale.records import Layout
from corescale.show import text

GRADERS = ("mpi", "slurm", "ssh")
GRADED = ("1x1x1", "2x1x1", "1x2x1")
"""what also is simulated and launched where forecasts are graded: most machines can"""
RUNS = 3
"""real launches of each layout that is graded, and more simulated ones of each that may be the fastest"""
CLOSE = 1.25
"""times of the fastest within which a layout may be the fastest: short launches differ by up to a fifth"""

Times = Mapping[str, Sequence[float]]
"""what the launches of each layout took, in seconds"""


@dataclass(frozen=True)
class Asked:
    """What is simulated, and by which launcher it is then launched (none: not at all)."""

    words: Sequence[str]
    platform: str
    response: str
    grade: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    """launches of each layout by the launcher that grades"""
    json: bool = False


def simulated(asked: Asked, layouts: str) -> None:
    """Launch the layouts by SimGrid, those near the fastest again, and print them with the fastest first."""
    if asked.grade:
        _must_grade(asked)
    made = _made(asked, layouts or ",".join(_all(launchers.machine("simgrid", {"platform": asked.platform}))))
    times = _times(made, asked.response)
    if not times:
        raise UsageError("no launch succeeded", where="--simulate", remedy=f"see {made.folder}")
    near = _near(times)
    if len(near) > 1:
        again = _times(_made(asked, ",".join(near), RUNS), asked.response)
        times = {name: [*each, *again.get(name, ())] for name, each in times.items()}
    real = graded(asked, [*dict.fromkeys([*times, *GRADED])], times) if asked.grade else {}
    if asked.json:
        typer.echo(json_format.dumps({"platform": asked.platform, "layouts": _rows(times, real)}, indent=2))
        return
    for line in _lines(times, real):
        typer.echo(line)
    tied = "".join(f", tied with {name}" for name in _tied(times))
    found = f"fastest of {text.count(len(times), 'layout')}: {_ordered(times)[0]}{tied}"
    typer.echo(f"{found} (simulated, not measured; records in {made.folder})")
    if real:
        typer.echo(grade({name: median(times[name]) for name in real}, real, asked.grade))


def _all(cluster: Machine) -> Sequence[str]:
    """Every t x m that fills a node, on 1, 2, 4, ... nodes and on all."""
    cores, powers = cluster.default_max_threads, (2**k for k in range(cluster.nodes.bit_length()))
    nodes = sorted({*powers, cluster.nodes})
    return [str(Layout(t, cores // t, n)) for n in nodes for t in divisors(cores)]


def _ordered(times: Times) -> Sequence[str]:
    return sorted(times, key=lambda name: median(times[name]))


def _near(times: Times) -> Sequence[str]:
    """The layouts that may be the fastest, if launched again."""
    least = min(min(each) for each in times.values())
    return [name for name in _ordered(times) if min(times[name]) <= CLOSE * least]


def _tied(times: Times) -> Sequence[str]:
    """The layouts whose simulated times overlap with those of the fastest."""
    first, *others = _ordered(times)
    return [name for name in others if len(times[name]) > 1 and min(times[name]) <= max(times[first])]


def _lines(times: Times, real: Mapping[str, float]) -> Sequence[str]:
    ordered, made = _ordered(times), []
    for name in ordered:
        seconds = median(times[name])
        many = f" [{min(times[name]):.4g}, {max(times[name]):.4g}]" if len(times[name]) > 1 else ""
        beside = f"; measured {real[name]:.4g} s, error {seconds / real[name] - 1:+.0%}" if name in real else ""
        ratio = seconds / median(times[ordered[0]])
        made.append(f"{name:>12}  {seconds:9.4g} s{many}  {ratio:6.2f} x the fastest (simulated){beside}")
    return made


def _rows(times: Times, real: Mapping[str, float]) -> Sequence[Mapping[str, object]]:
    return [
        {"layout": name, "seconds": median(times[name]), "launches": list(times[name]), "origin": "simulated"}
        | ({"measured": real[name], "error": median(times[name]) / real[name] - 1} if name in real else {})
        for name in _ordered(times)
    ]


def grade(forecast: Mapping[str, float], real: Mapping[str, float], by: str) -> str:
    """How far forecasts are off what was measured, and what the predicted choice among those costs."""
    typical = math.expm1(statistics.fmean(abs(math.log(forecast[name] / real[name])) for name in real))
    chosen, fastest = min(real, key=lambda name: forecast[name]), min(real, key=lambda name: real[name])
    choice = f"of these {chosen} is predicted, and is the fastest"
    if chosen != fastest:
        choice = f"of these {chosen} is predicted, and takes {real[chosen] / real[fastest]:.2f} x the time of {fastest}"
    return f"typical error {typical:.0%} of {text.count(len(real), 'layout')} launched by {by}; {choice}"


def _must_grade(asked: Asked) -> None:
    """Raises UsageError or UnavailableError before anything is simulated, if nothing can be launched afterwards."""
    if asked.grade not in GRADERS:
        raise UsageError(f"{asked.grade!r} starts no ranks", where="--grade", remedy=f"one of {', '.join(GRADERS)}")
    launchers.machine(asked.grade, asked.options)
    if why := launchers.LAUNCHERS[asked.grade].cannot(Layout()):
        raise UnavailableError(f"the {asked.grade} launcher {why}", where="--grade")


def graded(asked: Asked, layouts: Sequence[str], times: dict[str, Sequence[float]]) -> Mapping[str, float]:
    """Measured times of the layouts that the launcher can start; those missing in `times` are simulated first."""
    machine = launchers.machine(asked.grade, asked.options)
    able = [
        name
        for name in layouts
        if (layout := KINDS["layout"].layout(name, Layout())).nodes <= machine.nodes
        and layout.of_node <= machine.default_max_threads
    ]
    if not able:
        raise UsageError("none of the layouts can be launched there", where="--grade", remedy="leave it out")
    if missing := [name for name in able if name not in times]:
        times |= _times(_made(asked, ",".join(missing)), asked.response)
    real = {"on": asked.grade, **asked.options}
    found = _times(_made(asked, ",".join(able), RUNS, real), asked.response)
    return {name: median(each) for name, each in found.items() if name in times}


def _made(asked: Asked, layouts: str, runs: int = 1, on: Mapping[str, str] = launchers.NOTHING) -> store.Run:
    """A scan of the layouts, simulated unless `on` names another launcher with its options."""
    where = on or {"on": "simgrid", "platform": asked.platform}
    rest = {"fresh": True, "quiet": asked.json, "response": asked.response, "runs": runs}
    request = ScanRequest(factor=[f"layout={layouts}"], **rest, **where)  # type: ignore[arg-type]
    machine = launchers.machine(request.on, request.launching)
    return measure(command_line.scan(request, asked.words, machine), request, machine)


def _times(made: store.Run, response: str) -> dict[str, Sequence[float]]:
    """What each launch of a layout took that succeeded."""
    found: dict[str, list[float]] = {}
    for record in made.records:
        if record.ok and record.timed:
            found.setdefault(str(record.configuration.layout), []).append(record.response(response))
    return dict(found)
