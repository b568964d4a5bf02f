# SPDX-License-Identifier: Apache-2.0
"""The overhead law over threads x ranks orders a race, and decides nothing."""

import dataclasses

import numpy as np
import pytest

from corescale.conclude.race import bounds
from corescale.conclude.race.race import Race
from corescale.declare import command_line
from corescale.declare.grid import configurations
from corescale.declare.request import TuneRequest
from corescale.records import Configuration
from support.play import MACHINE, play

GRID = np.array([(t, m) for t in (1, 2, 3, 4, 6, 12) for m in (1, 2, 4, 8, 16, 64) if t * m <= 192], dtype=np.float64)


def log_times(threads: float, ranks: float) -> np.ndarray:
    t, m = GRID.T
    return np.asarray(np.log(7 * (1 + threads * (t - 1) + ranks * (m - 1)) / (t * m)))


def test_a_few_launches_give_back_every_mix() -> None:
    truth = log_times(0.05, 0.0023)
    seen = np.full(len(GRID), np.nan)
    seen[[0, 5, 9, 20, 30]] = truth[[0, 5, 9, 20, 30]]
    found = bounds.trend(GRID, seen)
    assert found is not None and found == pytest.approx(truth, abs=1e-6)
    assert GRID[int(np.argmin(found))].tolist() == [3, 64]


def test_too_few_launches_say_nothing() -> None:
    seen = np.full(len(GRID), np.nan)
    assert bounds.trend(GRID, seen) is None
    seen[[0, 1]] = 1.0
    assert bounds.trend(GRID, seen) is None


SIXTEEN = dataclasses.replace(MACHINE, affinity=tuple(range(16)))


def seconds(c: Configuration) -> float:
    t, m = c.layout.threads_per_rank, c.layout.ranks_per_node
    return 3 * (1 + 0.08 * (t - 1) + 0.02 * (m - 1)) / (t * m)


def test_a_tune_over_threads_and_ranks_tries_what_the_law_says_first_and_answers_by_the_race() -> None:
    request = TuneRequest(threads="1,2,4,8,16", ranks="1,2,4,8,16", budget="none")
    experiment = command_line.tune(request, ["x", "{threads}"], SIXTEEN)
    records = play(experiment, seconds, Race(experiment), noise=0.005)
    said, best = Race.of(records, experiment).answer(), min(configurations(experiment), key=seconds)
    assert seconds(said.leader) <= 1.02 * seconds(best) and said.proved
    tried = list(dict.fromkeys(r.configuration for r in records))
    assert min(map(seconds, tried[:12])) <= 1.02 * seconds(best)
