# SPDX-License-Identifier: Apache-2.0
"""`corescale predict --simulate`: forecasts the time of each t x m x n on a simulated cluster, and grades the
forecasts."""

import json as json_format
import math
import statistics
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

import typer

from corescale.cli.measure import measure
from corescale.cli.output import note, say
from corescale.cli.predict_request import PredictRequest
from corescale.conclude.response import median
from corescale.declare import command_line
from corescale.declare.experiment import Experiment
from corescale.declare.factors import KINDS
from corescale.declare.factors.kind import MOST
from corescale.declare.factors.threads import divisors
from corescale.declare.request import ScanRequest
from corescale.endings import ending
from corescale.errors import CorescaleError, UnavailableError, UsageError
from corescale.machine import Machine
from corescale.observe import launchers, store
from corescale.records import Layout
from corescale.show import text

GRADED = ("1x1x1", "2x1x1", "1x2x1")
"""layouts that are also simulated and launched if forecasts are graded, because most machines can launch them"""
RUNS = 3
"""real launches of each graded layout; also further simulated launches of each layout that may be the fastest"""
CLOSE = 1.25
"""multiple of the fastest time up to which a layout may be the fastest: short launches differ by up to a fifth"""
FACTOR = 10
"""an error by more than this factor is told as a factor"""
NOT_SIMULATED = "a real launch also starts its ranks, which is not simulated; --response metric:NAME leaves that out"

Times = Mapping[str, Sequence[float]]
"""the times of each layout's launches, in seconds"""


def parsed(text: str) -> Sequence[Layout]:
    """What --layouts names, each layout once; raises UsageError."""
    found = []
    for name in text.split(","):
        try:
            found.append(KINDS["layout"].layout(KINDS["layout"].parse(name.strip(), Machine.here()), Layout()))
        except UsageError as error:
            raise UsageError(error.what, where="--layouts", remedy=error.remedy) from None
    return [*dict.fromkeys(found)]


def simulated(words: Sequence[str], asked: PredictRequest) -> None:
    """Launch the layouts by SimGrid, those near the fastest again, and print them with the fastest first."""
    named = [str(layout) for layout in parsed(asked.layouts)] if asked.layouts else []
    if asked.grade:
        must_grade(asked)
    made = _made(words, asked, named or _all(launchers.machine("simgrid", {"platform": asked.simulate})))
    times = _times(made, asked.response)
    near = _near(times)
    if len(near) > 1:
        again = _times(_made(words, asked, near, RUNS), asked.response)
        times = {name: [*each, *again.get(name, ())] for name, each in times.items()}
    real: Mapping[str, float] = {}
    late: CorescaleError | None = None
    try:
        real = _graded(words, asked, [*dict.fromkeys([*times, *GRADED])], times) if asked.grade else {}
    except CorescaleError as error:  # what was simulated so far is shown first
        late = error
    over = {str(record.configuration.layout) for record in made.records if record.oversubscribed}
    if asked.json:
        rows = _rows(times, real, over)
        typer.echo(json_format.dumps({"platform": asked.simulate, "layouts": rows}, indent=2))
    else:
        for line in _lines(times, real, over):
            say(line)
        tied = "".join(f", tied with {name}" for name in _tied(times))
        found = f"fastest of {text.count(len(times), 'layout')}: {_ordered(times)[0]}{tied}"
        say(f"{found} (simulated, not measured; records in {made.folder})")
        if real:
            say(grade({name: median(times[name]) for name in real}, real, asked.grade))
    if late is not None:
        raise late


def _all(cluster: Machine) -> Sequence[str]:
    """Every t x m that fills a node, on 1, 2, 4, ... nodes and on all; raises UsageError for too many cores."""
    if cluster.default_max_threads * cluster.nodes > MOST:
        what = f"all its cores are more than {MOST:,}"
        raise UsageError(what, where="--simulate", remedy="name the layouts: --layouts TxMxN,...")
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


def _lines(times: Times, real: Mapping[str, float], over: Container[str]) -> Sequence[str]:
    ordered, made = _ordered(times), []
    for name in ordered:
        seconds = median(times[name])
        many = f" [{min(times[name]):.4g}, {max(times[name]):.4g}]" if len(times[name]) > 1 else ""
        ratio = seconds / median(times[ordered[0]])
        label = "simulated, oversubscribed" if name in over else "simulated"
        line = f"{name:>12}  {seconds:9.4g} s{many}  {ratio:6.2f} x the fastest ({label})"
        made.append(line + beside(name, seconds, real))
    return made


def beside(name: str, seconds: float, real: Mapping[str, float]) -> str:
    """The measured time to print next to a forecast, if its layout was launched."""
    return f"; measured {real[name]:.4g} s, {_error(seconds / real[name])}" if name in real else ""


def _error(ratio: float) -> str:
    """How far a forecast is off, which is `ratio` times what was measured."""
    if 1 / FACTOR <= ratio <= FACTOR:
        return f"error {ratio - 1:+.0%}"
    return f"{ratio:,.0f} times too long" if ratio > 1 else f"{1 / ratio:,.0f} times too short"


def _rows(times: Times, real: Mapping[str, float], over: Container[str]) -> Sequence[Mapping[str, object]]:
    return [
        {"layout": name, "seconds": median(times[name]), "launches": list(times[name]), "origin": "simulated"}
        | {"oversubscribed": name in over}
        | ({"measured": real[name], "error": median(times[name]) / real[name] - 1} if name in real else {})
        for name in _ordered(times)
    ]


def grade(forecast: Mapping[str, float], real: Mapping[str, float], by: str) -> str:
    """The errors of the forecasts, and how much slower the predicted best is than the measured best."""
    off = math.exp(statistics.fmean(abs(math.log(forecast[name] / real[name])) for name in real))
    typical = f"typical error {off - 1:.0%}" if off <= FACTOR else f"typical error: a factor of {off:,.0f},"
    chosen, fastest = min(real, key=lambda name: forecast[name]), min(real, key=lambda name: real[name])
    choice = f"of these {chosen} is predicted, and is the fastest"
    if chosen != fastest:
        choice = f"of these {chosen} is predicted, and takes {real[chosen] / real[fastest]:.2f} x the time of {fastest}"
    launched = f"{text.count(len(real), 'layout')}, each launched {RUNS} times by {by} (medians)"
    return f"{typical} of {launched}; {choice}"


def must_grade(asked: PredictRequest) -> None:
    """Raises UsageError or UnavailableError before anything is forecast, if no layout could be graded afterwards."""
    if asked.grade not in launchers.OF_RANKS:
        one_of = ", ".join(launchers.OF_RANKS)
        raise UsageError(f"{asked.grade!r} cannot grade a forecast", where="--grade", remedy=f"give one of {one_of}")
    launchers.must_take(launchers.LAUNCHERS[asked.grade], asked.options, "--grade")
    launchers.machine(asked.grade, asked.options)
    if why := launchers.LAUNCHERS[asked.grade].cannot(Layout()):
        raise UnavailableError(f"the {asked.grade} launcher {why}", where="--grade")


def able(asked: PredictRequest, layouts: Sequence[str]) -> Sequence[str]:
    """The layouts that the grading launcher can start on whole cores; raises UsageError if there are none."""
    machine = launchers.machine(asked.grade, asked.options)
    found = [
        name
        for name in layouts
        if (layout := KINDS["layout"].layout(name, Layout())).nodes <= machine.nodes
        and layout.of_node <= machine.default_max_threads
    ]
    if not found:
        raise UsageError("none of the layouts can be launched there", where="--grade", remedy="leave it out")
    return found


def _graded(
    words: Sequence[str], asked: PredictRequest, layouts: Sequence[str], times: dict[str, Sequence[float]]
) -> Mapping[str, float]:
    """Measured times of the layouts that the launcher can start; those missing in `times` are simulated first."""
    names = able(asked, layouts)
    if asked.response == "wall":
        note(NOT_SIMULATED)
    if missing := [name for name in names if name not in times]:
        times |= _times(_made(words, asked, missing), asked.response)
    found = _times(_made(words, asked, names, RUNS, {"on": asked.grade, **asked.options}), asked.response)
    return {name: median(each) for name, each in found.items() if name in times}


def graded(asked: PredictRequest, experiment: Experiment, layouts: Sequence[str]) -> Mapping[str, float]:
    """Measured times of a scan's program, in the layouts that the launcher can start.

    Raises UsageError for a scan that varies more than its layout.
    """
    layout_factors = {"layout", "threads", "ranks", "nodes"}
    if others := [factor.name for factor in experiment.factors if factor.name not in layout_factors]:
        remedy = "give a scan of layouts alone"
        raise UsageError(f"the scan also varies {others[0]}", where="--grade", remedy=remedy)
    request = _request(able(asked, layouts), RUNS, {"on": asked.grade, **asked.options}, asked)
    machine = launchers.machine(request.on, request.launching)
    plain = command_line.scan(request, experiment.commands[0].argv, machine)
    same = {name: getattr(plain, name) for name in RELAID}
    made = measure(experiment.model_copy(update=same), request, machine)
    return {name: median(each) for name, each in _times(made, experiment.response).items()}


RELAID = ("factors", "baseline", "scaling", "stop", "along", "omit", "left_out", "cores", "ignore_failure")
"""fields that a scan of layouts sets itself, for any program and launcher"""


def _request(layouts: Sequence[str], runs: int, on: Mapping[str, str], asked: PredictRequest) -> ScanRequest:
    rest = {"fresh": True, "quiet": asked.json, "out": asked.out, "runs": runs, "ignore_failure": True}
    return ScanRequest(factor=[f"layout={','.join(layouts)}"], **rest, **on)  # type: ignore[arg-type]


def _made(
    words: Sequence[str],
    asked: PredictRequest,
    layouts: Sequence[str],
    runs: int = 1,
    on: Mapping[str, str] = launchers.NOTHING,
) -> store.Run:
    """A scan of the layouts, simulated unless `on` names another launcher with its options."""
    where = on or {"on": "simgrid", "platform": asked.simulate}
    request = replace(_request(layouts, runs, where, asked), response=asked.response)
    machine = launchers.machine(request.on, request.launching)
    return measure(command_line.scan(request, words, machine), request, machine)


def _times(made: store.Run, response: str) -> dict[str, Sequence[float]]:
    """The times above 0 of each layout's launches; launches without one are named on standard error.

    Raises UsageError if there is no such time.
    """
    found: dict[str, list[float]] = {}
    others: dict[str, None] = {}
    for record in made.records:
        name, seconds = str(record.configuration.layout), record.response(response)
        if not record.ok:
            others[f"{name} {ending(record)}"] = None
        elif record.timed and seconds > 0:
            found.setdefault(name, []).append(seconds)
        elif record.timed:
            others[f"{name} gave no {response} above 0"] = None
    for said in others:
        note(f"{said}; not counted")
    if not found:
        raise UsageError("no launch gave it above 0", where=response, remedy="give --response a time")
    return dict(found)
