# SPDX-License-Identifier: Apache-2.0
"""Races of a factor MODE, and confirmation pairs of chosen ratios behind them."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from corescale.conclude.race.race import Race
from corescale.declare import command_line
from corescale.declare.experiment import Experiment
from corescale.declare.request import TuneRequest
from corescale.records import Configuration, Record
from support.play import MACHINE, play, record

Times = dict[str, float]


def tuning(modes: str = "a,b,c", **options: object) -> Experiment:
    now = f"threads=1,MODE={modes.partition(',')[0]}"
    usual = {"threads": "1", "factor": [f"MODE={modes}"], "baseline": now, "budget": "none"}
    return command_line.tune(TuneRequest(**(usual | options)), ["x"], MACHINE)  # type: ignore[arg-type]


def of(times: Times) -> Callable[[Configuration], float]:
    return lambda c: times[str(c["MODE"])]


def measured(experiment: Experiment, times: Times, noise: float = 0.01) -> list[Record]:
    """What a race measures until it wants confirmation pairs."""
    return [r for r in play(experiment, of(times), Race(experiment), noise) if r.phase == "measure"]


def fresh(chosen: Sequence[Configuration], ratios: Sequence[float], first: int = 1000) -> list[Record]:
    """Blocks of the baseline and another, which is faster by these ratios; their orders alternate, so all count."""
    now, other = chosen
    return [
        record(c, 1.0 if c == now else 1 / ratio, phase="confirm", block=first + k, order=place)
        for k, ratio in enumerate(ratios)
        for place, c in enumerate((now, other) if k % 2 else (other, now))
    ]


def scattered(ratio: float, size: float, count: int, seed: int = 1) -> list[float]:
    draws = np.random.default_rng(seed).standard_normal(count)
    return [ratio * math.exp(size * float(draw)) for draw in draws - draws.mean()]
