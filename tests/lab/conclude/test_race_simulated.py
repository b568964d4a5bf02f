# SPDX-License-Identifier: Apache-2.0
"""The promises of a race on landscapes with a known truth; benchmarks/race.py prints the whole tables.

Seeds are the benchmark's own and were not chosen. Bounds on shares leave three standard errors of the number of races.
"""

import importlib
import itertools
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest


def benchmark(name: str) -> ModuleType:
    sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    return benchmark("race")


@pytest.fixture(scope="module")
def adversaries() -> ModuleType:
    return benchmark("race_adversarial")


def at_most(share: float, races: int) -> float:
    return share * races + 3 * math.sqrt(share * (1 - share) * races)


@pytest.mark.parametrize("landscape", ["one effect", "two interacting", "trap", "near ties", "unequal noise", "drift"])
def test_claims_are_true_and_intervals_cover_after_selection(simulation: ModuleType, landscape: str) -> None:
    found = simulation.tally(landscape, 24, 0.03, 12, 0)
    assert found.claimed == 12 and found.changed > 0
    assert found.wrong <= at_most(0.05, found.claimed)
    assert found.changed - found.covered <= at_most(0.05, found.changed)


def test_equal_configurations_are_rarely_called_faster(simulation: ModuleType) -> None:
    found = simulation.tally("flat", 24, 0.01, 100, 0)
    assert found.faster <= at_most(0.05, 100)


@pytest.mark.parametrize("landscape", ["two interacting", "unequal noise", "drift"])
def test_launches_are_a_fraction_of_those_of_uniform_blocks(simulation: ModuleType, landscape: str) -> None:
    found = simulation.tally(landscape, 60, 0.03, 4, 4)
    assert found.full_blocks >= 25
    assert found.ratio <= 0.25


@pytest.mark.parametrize("landscape", ["flat", "trap"])
def test_launches_are_hardly_more_where_little_can_be_saved(simulation: ModuleType, landscape: str) -> None:
    assert simulation.tally(landscape, 24, 0.01, 10, 10).ratio <= 1.1


def test_told_its_budget_a_race_beats_its_peers(simulation: ModuleType) -> None:
    """Over four landscapes; optuna, the third peer, is not installed for tests."""
    budgets, players = (24, 60, 120), simulation.players.PLAYERS
    means = dict.fromkeys(("race", "uniform", "successive halving"), 0.0)
    for landscape, player in itertools.product(("one effect", "two interacting", "near ties", "drift"), means):
        lands = [simulation.landscape(landscape, 60, 0.03, seed) for seed in range(4)]
        means[player] += sum(sum(land.regret[players[player](land, budgets)]) for land in lands)
    assert means["race"] < min(means["uniform"], means["successive halving"])


@pytest.mark.parametrize("landscape", ["two levels", "three quiet levels", "six quiet allocators"])
def test_claims_are_true_where_races_have_been_wrong(adversaries: ModuleType, landscape: str) -> None:
    """By the product's own loop; benchmarks/race.py adversarial has more seeds."""
    found = adversaries.tally(landscape, 20)
    assert found.claimed == 20
    assert found.wrong <= at_most(0.05, 20)
