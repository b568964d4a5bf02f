# SPDX-License-Identifier: Apache-2.0
"""Results with a known truth, from a seeded generator. Their records say `fake`, unless a test needs another origin."""

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from corescale.api.results import concluded
from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.answers.verdict import Gates
from corescale.conclude.frame import frame
from corescale.declare import outputs
from corescale.declare.experiment import Command, Experiment, Factor, Presentation, Scaling, Weak
from corescale.declare.grid import baseline, configuration, configurations
from corescale.declare.outputs import Normalise
from corescale.declare.stop import Stop
from corescale.records import Configuration, Layout, Noise, Origin, Phase, Record
from corescale.show import html
from corescale.show.result import Result

Truth = Callable[[Configuration], float]
HOSTILE = "\x1b[31mred\x1b[0m [bold]markup[/bold] </script><b>&\x07 end"
"""What a program may print: terminal sequences, rich markup, HTML, a bell."""

THREADS = Factor(name="threads", kind="threads", levels=(1, 2, 4, 8))


def amdahl(serial: float = 0.12, one: float = 8.0) -> Truth:
    """Seconds of a program with a serial fraction; a better allocator takes a tenth off."""

    def seconds(c: Configuration) -> float:
        p = c.layout.p
        return one * (serial + (1 - serial) / p) * (0.9 if c.get("allocator") == "mimalloc" else 1.0)

    return seconds


def records(
    experiment: Experiment,
    truth: Truth,
    blocks: int,
    *,
    noise: float = 0.015,
    phase: Phase = "measure",
    chosen: Sequence[Configuration] = (),
    first: int = 0,
    seed: int = 7,
    origin: Origin = "fake",
    change: Callable[[Configuration, int], dict[str, Any]] = lambda c, block: {},
) -> list[Record]:
    """Randomised blocks with log-normal noise, part of it common to a block."""
    drawn = random.Random(seed)
    made, clock = [], 1.79e9
    for block in range(first, first + blocks):
        order = list(chosen or configurations(experiment))
        drawn.shuffle(order)
        common = drawn.gauss(0, noise)
        for place, c in enumerate(order):
            wall = truth(c) * 2.718281828 ** (common + drawn.gauss(0, noise))
            clock += wall
            cpu = truth(replace(c, layout=Layout())) * 1.02
            values: dict[str, Any] = {
                "plan": experiment.hash, "configuration": c, "phase": phase, "block": block, "attempt": 0,
                "order": place, "seed": seed, "started": clock, "wall": wall, "status": "ok", "exit_code": 0,
                "user": cpu * 0.97, "system": cpu * 0.03, "peak_memory": 90_000_000 + 4_000_000 * c.layout.p,
                "peak_memory_kind": "process", "threads_asked": c.layout.p, "origin": origin,
                "noise": Noise(involuntary_switches=3),
            }  # fmt: skip
            made.append(Record(**(values | change(c, block))))
    return made


def result(experiment: Experiment, made: Sequence[Record], gate: Gates | None = None) -> Result:
    """Concluded as the command line does it."""
    lines = {c: line(experiment, c) for c in configurations(experiment)}
    return concluded(tuple(made), experiment, lines, ENVIRONMENT, gate)


ENVIRONMENT = {
    "corescale": "0.1.0",
    "kernel": "6.1.0",
    "variables": {"LD_PRELOAD": "<none>"},
    "description": {"hostname": "sample", "cpu_model": "a generator, no machine"},
}


def line(experiment: Experiment, c: Configuration) -> str:
    """Shaped like the real one."""
    preload = "env LD_PRELOAD=/usr/lib/libmimalloc.so " if c.get("allocator") == "mimalloc" else ""
    return f"{preload}{' '.join(experiment.command(c).argv).format(threads=c.layout.p)}"


def scan_result(blocks: int = 12, *, made: Sequence[Record] = (), **options: Any) -> Result:
    """Amdahl's law with a serial fraction of 0.12."""
    experiment = scan_experiment(blocks)
    return result(experiment, made or records(experiment, amdahl(), blocks, **options))


def scan_experiment(blocks: int = 12, factors: Sequence[Factor] = (THREADS,)) -> Experiment:
    command = Command(name="main", argv=("./solver", "-t", "{threads}", "mesh file.dat"))
    stop = Stop(rule="replicates", min_blocks=blocks, max_blocks=blocks)
    return Experiment(verb="scan", commands=(command,), factors=tuple(factors), stop=stop)


def shown_by(experiment: Experiment, **declared: Any) -> Experiment:
    """The experiment with this in its part of a study."""
    return experiment.model_copy(update={"study": experiment.study.model_copy(update=declared)})


def two_curves(blocks: int = 12) -> Result:
    """The same with two allocators."""
    experiment = scan_experiment(blocks, (THREADS, ALLOCATORS))
    return result(experiment, records(experiment, amdahl(), blocks))


ALLOCATORS = Factor(name="allocator", kind="allocator", levels=("system", "mimalloc"))


def tune_experiment(blocks: int = 12, **changes: Any) -> Experiment:
    command = Command(name="main", argv=("./solver", "-t", "{threads}"))
    stop = Stop(rule="race", min_blocks=blocks, max_blocks=blocks)
    values: dict[str, Any] = {"verb": "tune", "commands": (command,), "factors": (THREADS, ALLOCATORS), "stop": stop,
              "left_out": ("allocator tbbmalloc: not installed (package libtbbmalloc2)",)}  # fmt: skip
    return Experiment(**(values | changes))


def tune_result(blocks: int = 12, truth: Truth | None = None, confirm: int = 10, **options: Any) -> Result:
    """mimalloc is 1 / 0.9 = 1.11x faster, at 8 threads as baseline."""
    experiment = tune_experiment(blocks)
    truth = truth or amdahl()
    made = records(experiment, truth, blocks, **options)
    best = recommend(made, experiment).winner
    if confirm and best != baseline(experiment):
        pair = (baseline(experiment), best)
        made += records(experiment, truth, confirm, phase="confirm", chosen=pair, first=blocks, seed=8)
    return result(experiment, made)


def failing_tune() -> Result:
    """Four threads crash with hostile output, two need too much."""

    def change(c: Configuration, block: int) -> dict[str, Any]:
        crash = {"status": "signal", "exit_code": 139, "tail": f"start\n{HOSTILE}\n"} if c.layout.p == 4 else {}
        return crash | {"metrics": {"bytes": 1000.0 if c.layout.p != 2 else 1100.0}}

    experiment = tune_experiment(
        metrics={"bytes": "stdout-size"},
        tuning={"constraints": ({"metric": "bytes", "relation": "<=", "bound": 1.02, "relative": True},)},
    )
    return result(experiment, records(experiment, amdahl(), 12, change=change))


def compare_result(
    blocks: int = 12,
    names: Sequence[str] = ("old", "new"),
    step: float = 0.8,
    gate: Gates | None = None,
    **options: Any,
) -> Result:
    """Each command takes `step` of the time of the one before."""
    experiment = Experiment(
        verb="compare",
        commands=tuple(Command(name=name, argv=(f"./{name}",)) for name in names),
        factors=(Factor(name="command", kind="command", levels=tuple(names)),),
        stop=Stop(rule="replicates", min_blocks=blocks, max_blocks=blocks),
    )
    made = records(experiment, lambda c: step ** names.index(str(c["command"])), blocks, **options)
    return result(experiment, made, gate)


def at(experiment: Experiment, **levels: Any) -> Configuration:
    """The configuration with these levels."""
    return configuration(experiment, levels)


def _all_failed() -> Result:
    """No launch of any configuration succeeded, or took any time."""
    return scan_result(3, change=lambda c, b: {"status": "failed", "exit_code": 1, "wall": 0.0, "tail": "no such file"})


def grid_charts() -> tuple[outputs.Chart, ...]:
    """One of every kind that can be declared."""
    to_one = Normalise(to={"threads": 1}, within=("allocator", "load"))
    to_default = Normalise(to={"allocator": "system"}, within=("threads", "load"))
    given: list[dict[str, Any]] = [
        {"name": "bars", "kind": "bars", "x": "allocator", "colour": "allocator", "facet": ("load", "threads")},
        {"name": "lines", "kind": "lines", "x": "threads", "colour": "allocator", "facet": ("load",),
         "normalise": to_one, "reference": 1.0},
        {"name": "heat", "kind": "heat", "x": "threads", "y": "allocator", "statistic": "median"},
        {"name": "forest", "kind": "forest", "x": "allocator", "colour": "allocator", "normalise": to_default},
        {"name": "order-of-grid", "kind": "time-order"},
        {"name": "scaling", "kind": "scaling", "colour": "allocator", "facet": ("load",)},
        {"name": "efficiency", "kind": "efficiency", "colour": "allocator", "facet": ("load",)},
        {"name": "overhead", "kind": "overhead", "colour": "allocator", "facet": ("load",)},
        {"name": "weak", "kind": "weak", "colour": "threads"},
        {"name": "ladder", "kind": "ladder", "where": {"load": 16},
         "steps": ({"threads": 1, "allocator": "system"}, {"threads": 4}, {"allocator": "mimalloc"})},
    ]  # fmt: skip
    return tuple(outputs.Chart(title=f"Chart {one['name']}", **one) for one in given)


@functools.cache
def grid_result() -> Result:
    """Threads x load x allocator with a chart of every kind: 4 threads oversubscribed, a noisy launch, a failed one."""

    def seconds(c: Configuration) -> float:
        return (0.05 + 0.3 * float(c["load"]) * (1.2 if c.layout.p == 4 else 1)) * (
            0.85 if c["allocator"] == "mimalloc" else 1
        )

    def change(c: Configuration, block: int) -> dict[str, Any]:
        first = c["load"] == 1 and c["allocator"] == "system" and c.layout.p == 1
        noisy = {"noise": Noise(throttled=1.0)} if first and block == 2 else {}
        failed = {"status": "failed", "exit_code": 1} if first and block == 4 else {}
        return {"oversubscribed": c.layout.p == 4} | noisy | failed

    experiment = Experiment(
        verb="scan",
        commands=(Command(name="main", argv=("./grid", "{threads}")),),
        factors=(
            Factor(name="threads", kind="threads", levels=(1, 4)),
            Factor(name="load", kind="parameter", levels=(1, 16)),
            ALLOCATORS,
        ),
        derived={"work": "threads * load"},
        stop=Stop(rule="replicates", min_blocks=8, max_blocks=8),
        study=Presentation(outputs=grid_charts()),
    )
    return result(experiment, records(experiment, seconds, 8, change=change))


def weak_result() -> Result:
    """T = 0.2 + 0.1 load, work = p load: ideal but for what is flat."""
    experiment = Experiment(
        verb="scan",
        commands=(Command(name="main", argv=("./grid", "{threads}")),),
        factors=(
            Factor(name="threads", kind="threads", levels=(1, 2)),
            Factor(name="load", kind="parameter", levels=(1, 4, 16)),
        ),
        derived={"work": "p * load"},
        scaling=Scaling(weak=Weak()),
        stop=Stop(rule="replicates", min_blocks=8, max_blocks=8),
    )
    return result(experiment, records(experiment, lambda c: 0.2 + 0.1 * float(c["load"]), 8))


def many_curves() -> Result:
    """Eleven curves of four p: more than a chart can hold."""
    load = Factor(name="load", kind="parameter", levels=tuple(range(11)))
    experiment = scan_experiment(2, (THREADS, load))
    return result(experiment, records(experiment, amdahl(), 2))


@functools.cache
def grid_frame() -> pd.DataFrame:
    """The frame of its records."""
    return frame(grid_result().records, grid_result().experiment)


@functools.cache
def page(name: str) -> str:
    """The report of one of RESULTS; drawn once, as its charts take seconds."""
    return html.report(RESULTS[name]())


RESULTS: dict[str, Callable[[], Result]] = {
    "scan": functools.cache(scan_result),
    "two curves": functools.cache(two_curves),
    "tune": functools.cache(tune_result),
    "failing tune": functools.cache(failing_tune),
    "compare": functools.cache(lambda: compare_result(gate={"time": 0.05})),
    "few blocks": functools.cache(lambda: scan_result(4)),
    "one block": functools.cache(lambda: scan_result(1)),
    "all failed": functools.cache(_all_failed),
    "grid": grid_result,
}
"""One of each kind that an output has to cope with; concluded once."""
