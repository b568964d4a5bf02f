# SPDX-License-Identifier: Apache-2.0
"""Launches beside those with one thread: what noise explains is not booked, and what is booked has an interval."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from corescale.conclude.explain.comparison import LAUNCHES, MOST_LAUNCHES, affordable, compared, middle
from corescale.conclude.explain.efficiency import Efficiency
from corescale.conclude.explain.explanation import Explanation
from corescale.conclude.explain.ledger import Ledger
from corescale.conclude.explain.rows import LedgerRow
from corescale.show.explain import lines
from corescale.show.explain_json import as_json

NOISE = 0.03
RACES = 400


def launch(computing: float, allocating: float = 0.0, threads: int = 2) -> Ledger:
    used = {LedgerRow.COMPUTING: computing, LedgerRow.ALLOCATING: allocating}
    rest = {LedgerRow.UNATTRIBUTED: 10.0 * threads - computing - allocating}
    return Ledger(threads, 10.0, dict.fromkeys(LedgerRow, 0.0) | used | rest, cpu=computing + allocating, burnt=0.0)


def launches(computing: float, allocating: float, rng: np.random.Generator, threads: int = 2) -> Sequence[Ledger]:
    factors = np.exp(NOISE * rng.standard_normal((LAUNCHES, 2)))
    return [launch(computing * one, allocating * other, threads) for one, other in factors]


def beside(found: Sequence[Ledger], alone: Sequence[Ledger]) -> Ledger:
    return compared(found[middle([one.wall for one in found])], found, alone)


@pytest.mark.parametrize(("room", "each"), [
    (0.0, 1), (2.9, 1), (3.0, LAUNCHES), (7.5, 8), (100.0, MOST_LAUNCHES), (math.inf, MOST_LAUNCHES),
])  # fmt: skip
def test_there_are_as_many_launches_as_the_budget_has_room_for(room: float, each: int) -> None:
    assert affordable(1.0, room) == each


def test_noise_alone_is_hardly_ever_booked_as_inflated() -> None:
    """Of one launch each, every second difference is above zero. The rank sum of four and four allows 1 of 70."""
    rng = np.random.default_rng(1)
    made = [beside(launches(8.0, 2.0, rng), launches(8.0, 2.0, rng, 1)) for _ in range(RACES)]
    assert sum(one.rows[LedgerRow.INFLATED] > 0 for one in made) <= 0.03 * RACES
    assert sum(one.beyond[LedgerRow.INFLATED].covers(0.0) for one in made) >= 0.95 * RACES
    assert sum(one.beyond[LedgerRow.ALLOCATING].covers(0.0) for one in made) >= 0.95 * RACES


def test_what_costs_more_is_booked_within_its_interval() -> None:
    """A third of the computing, and half of the allocating, which stays in its row."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        alone = launches(8.0, 2.0, rng, 1)
        found = beside(launches(12.0, 4.0, rng), alone)
        more = found.beyond[LedgerRow.INFLATED]
        assert found.rows[LedgerRow.INFLATED] == more.estimate == pytest.approx(4.0, abs=1.5)
        assert more.low is not None and more.low > 0
        assert found.beyond[LedgerRow.ALLOCATING].estimate == pytest.approx(2.0, abs=0.7)
        assert found.rows[LedgerRow.ALLOCATING] == pytest.approx(4.0, abs=0.5)
        assert sum(found.rows.values()) == pytest.approx(found.total)


def test_one_launch_of_each_has_a_difference_without_an_interval() -> None:
    found = beside([launch(9.0, 3.0)], [launch(8.0, 2.0, 1)])
    assert found.rows[LedgerRow.INFLATED] == pytest.approx(1.0)
    assert found.beyond[LedgerRow.INFLATED].low is None
    shown = as_json(Explanation(found, {}, (), {}))
    assert shown["rows"]["inflated computing"]["beyond_one_thread"]["low"] is None
    said = list(lines(shown))
    assert any("inflated computing" in line and "noise may explain it" in line for line in said)
    assert any("allocating" in line and "1.00 more than" in line for line in said)


@pytest.mark.parametrize(("each", "said"), [(1, False), (LAUNCHES, True)])
def test_what_may_be_noise_gets_no_advice(each: int, said: bool) -> None:
    found = beside([launch(12.0)] * each, [launch(8.0, threads=1)] * each)
    assert any("clean vector state" in line for line in lines(as_json(Explanation(found, {}, (), {})))) == said


@pytest.mark.parametrize(
    ("computing", "said"), [(12.0, "4.00 [4.00, 4.00] more than"), (8.0, "as at 1 thread: +0.00 [+0.00, +0.00]"),
                            (6.0, "2.00 [2.00, 2.00] less than")]
)  # fmt: skip
def test_a_row_says_which_way_it_differs(computing: float, said: str) -> None:
    found = beside([launch(computing)] * LAUNCHES, [launch(8.0, threads=1)] * LAUNCHES)
    assert any(said in line for line in lines(as_json(Explanation(found, {}, (), {}))))


def test_work_and_scaling_are_means_over_the_launches() -> None:
    """Each says how much it has done: at p twice as much, for three times as much time."""
    usual = Efficiency(1.0, 1.0, 1.0)
    many = [replace(launch(seconds), work=20.0, efficiency=usual) for seconds in (11.0, 12.0, 13.0)]
    alone = [replace(launch(seconds, threads=1), work=10.0) for seconds in (3.9, 4.0, 4.1)]
    found = beside(many, alone)
    assert found.efficiency is not None
    assert found.efficiency.computation_scaling == pytest.approx(2 / 3)


def test_a_row_that_is_empty_with_one_thread_has_no_difference() -> None:
    found = beside([launch(8.0, 1.0)], [launch(8.0, 0.0, 1)])
    assert found.beyond[LedgerRow.ALLOCATING].n == 0
    assert found.rows[LedgerRow.ALLOCATING] == 1.0


def test_the_launch_in_the_middle_is_shown() -> None:
    assert [middle(walls) for walls in ([3.0], [2.0, 1.0], [1.0, 9.0, 2.0], [4.0, 1.0, 2.0, 3.0])] == [0, 1, 2, 2]
