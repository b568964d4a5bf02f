# SPDX-License-Identifier: Apache-2.0
"""What a budget in time counts: launches, what comes between them, and no pause."""

import pytest

from corescale.conclude import budget
from corescale.declare.grid import configurations
from corescale.declare.plan import Block
from corescale.records import Record
from support.play import race_tuning, record

LAUNCHES, WALL, BETWEEN = 20, 0.2, 0.05


def made(count: int = LAUNCHES, pause: float = 0.0, start: float = 1e9) -> list[Record]:
    """Launches one after the other, a pause in their middle."""
    now = configurations(race_tuning(budget="9s"))[0]
    starts = [start + k * (WALL + BETWEEN) + (pause if k >= count // 2 else 0) for k in range(count)]
    return [record(now, WALL, started=at, block=k) for k, at in enumerate(starts)]


def test_time_between_launches_is_spent() -> None:
    assert budget.spent([]) == 0
    assert budget.spent(made(1)) == pytest.approx(WALL)
    assert budget.spent(made()) == pytest.approx(LAUNCHES * WALL + (LAUNCHES - 1) * BETWEEN)


@pytest.mark.parametrize("pause", [60.0, 1e6])
def test_a_pause_of_the_run_counts_as_ten_seconds_at_most(pause: float) -> None:
    assert budget.spent(made(pause=pause)) == pytest.approx(budget.spent(made()) - BETWEEN + budget.PAUSE)


def test_slow_hooks_are_no_pause() -> None:
    now = configurations(race_tuning(budget="9s"))[0]
    assert budget.spent([record(now, 1.0, started=31.0 * k) for k in range(5)]) == pytest.approx(5 + 4 * 30)


def test_the_next_block_takes_its_gaps_as_well() -> None:
    """Two launches of 0.2 s and what comes between, where 0.45 s are left, and 0.6 s."""
    used = budget.spent(made())
    for left, too_long in ((0.45, True), (0.6, False)):
        experiment = race_tuning(budget=f"{used + left}s")
        assert budget.too_long(Block("measure", configurations(experiment)[:2]), made(), experiment) == too_long
