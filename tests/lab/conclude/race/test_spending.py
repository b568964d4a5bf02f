# SPDX-License-Identifier: Apache-2.0
"""What a budget is spent on that cannot pay for a proof."""

import math
from dataclasses import replace

import numpy as np
import pytest

from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.budget import launches_left
from corescale.conclude.race import plan, spending
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.plan import next_columns, pays_for_all
from corescale.conclude.race.race import race
from corescale.conclude.race.spending import block_size, most_telling, values
from corescale.conclude.race.standing import Field, Standing, standing
from corescale.conclude.race.surrogate import believe
from corescale.declare.grid import configurations, today
from support.play import play
from support.play import race_truth as truth
from support.play import race_tuning as tuning

GRID = np.array([[a, b, c] for a in range(4) for b in range(3) for c in range(2)])


def stands(rows: list[dict[int, float]]) -> Standing:
    """After blocks, each a column -> log time."""
    blocks = np.full((len(rows), len(GRID)), np.nan)
    for row, seen in zip(blocks, rows, strict=True):
        row[list(seen)] = list(seen.values())
    return standing(Field(GRID, 0), blocks)


def test_what_may_be_the_fastest_is_launched_and_not_what_is_far_behind() -> None:
    rng = np.random.default_rng(3)
    true = 0.1 * GRID[:, 0] + 0.1 * GRID[:, 1] + 0.1 * GRID[:, 2]
    found = stands([{k: true[k] + 0.02 * rng.standard_normal() for k in range(24)} for _ in range(3)])
    worth = values(found, 30.0)
    assert worth[0] > 0
    assert worth[-1] < worth.max() / 1000
    order, many = most_telling(found, 8.0)
    assert set(order[:many].tolist()) <= {0, 1, 2, 6}  # the best, and those that differ from it in one level


def test_what_was_fast_once_is_launched_again_though_the_surrogate_does_not_believe_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(1)
    true = 0.06 * GRID.sum(axis=1).astype(float)
    true[-1] = -0.12
    first = {k: true[k] + 0.1 * rng.standard_normal() for k in range(24)}
    second = {k: true[k] + 0.1 * rng.standard_normal() for k in (0, 1, 2, 6)}
    found = stands([first, second])
    assert int(np.argmin(found.belief.mean)) != 23
    assert values(found, 30.0)[23] > values(found, 30.0)[20]
    ranks = []
    for trust in (0.5, 1.0):
        monkeypatch.setattr(spending, "OPTIONS", replace(OPTIONS, trust=trust))
        worth = values(found, 30.0)
        ranks.append(int((worth > worth[23]).sum()))
    assert ranks[0] < ranks[1]


def test_blocks_are_smaller_when_little_is_left() -> None:
    assert [block_size(left) for left in (1, 2, 8, 12, 28, math.inf)] == [1, 2, 2, 3, 7, 7]


ADDITIVE = 0.06 * GRID.sum(axis=1).astype(float)
CUT_SHORT = np.array([0, 6, 7, 1, 2, 12, 13, 8, 14, 18, 3, 9])
"""the configurations that an opening tried before its budget ended it"""


def after_an_opening(seed: int, once: float = 0.0) -> np.ndarray:
    """Blocks of three, each configuration in one of them; the last one was faster by luck, by `once`."""
    noise = 0.01 * np.random.default_rng(seed).standard_normal(len(GRID))
    noise[CUT_SHORT[-1]] -= once
    blocks = np.full((4, len(GRID)), np.nan)
    for row, columns in zip(blocks, CUT_SHORT.reshape(4, 3), strict=True):
        row[columns] = (ADDITIVE + noise)[columns]
    return blocks


@pytest.mark.parametrize(("again", "returns"), [(1, False), (OPTIONS.again, True)])
def test_what_leads_by_one_launch_is_launched_again_before_others_are_tried(
    monkeypatch: pytest.MonkeyPatch, again: int, returns: bool
) -> None:
    monkeypatch.setattr(plan, "OPTIONS", replace(OPTIONS, again=again))
    lucky, blocks = int(CUT_SHORT[-1]), after_an_opening(1, once=0.5)
    columns = next_columns(Field(GRID, 0), blocks, 4.0)
    assert columns is not None and (lucky in columns) == returns
    twice = np.vstack([blocks, np.where(np.arange(len(GRID)) == lucky, ADDITIVE - 0.5, np.nan)])
    then = next_columns(Field(GRID, 0), twice, 4.0)
    assert then is not None and lucky not in then


@pytest.mark.parametrize(("drawn", "tried"), [(0.0, False), (OPTIONS.drawn, True)])
def test_the_last_launches_of_a_budget_go_also_where_the_surrogate_hopes_for_nothing(
    monkeypatch: pytest.MonkeyPatch, drawn: float, tried: bool
) -> None:
    """The 23rd has the slowest level of every factor; two new ones a block, of which one is drawn among eleven."""
    monkeypatch.setattr(plan, "OPTIONS", replace(OPTIONS, drawn=drawn, again=1))
    blocks = [next_columns(Field(GRID, 0), after_an_opening(seed), 4.0) for seed in range(40)]
    assert any(block is not None and 23 in block for block in blocks) == tried


@pytest.mark.parametrize("budget", [*range(7, 20), 24, 30])
def test_every_launch_of_a_budget_is_made(budget: int) -> None:
    experiment = tuning(budget=f"{budget}x", confirm="0")
    assert len(play(experiment, truth, race(experiment), noise=0.05)) == budget


def test_todays_launch_does_not_return_where_a_budget_does_not_pay_for_one_of_each() -> None:
    untried = np.full((1, 24), np.nan)
    untried[0, :10] = 0.0
    assert [pays_for_all(untried, left) for left in (14, 16, math.inf)] == [False, True, True]
    made = {}
    for budget in (24, 60):
        experiment = tuning(budget=f"{budget}x", confirm="0")
        records = play(experiment, truth, race(experiment), noise=0.0)
        made[budget] = sum(record.configuration == today(experiment) for record in records)
    assert made[24] == 1 and made[60] >= 4


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_what_blocks_have_in_common_is_taken_out_as_far_as_they_differ(shift: float) -> None:
    """Two blocks that share no configuration but today's; the second is slower as a whole, or is not."""
    rng = np.random.default_rng(2)
    true = 0.1 * GRID[:, 0] + 0.05 * GRID[:, 1]
    blocks = np.full((8, 24), np.nan)
    for number, row in enumerate(blocks):
        columns = [0, *rng.choice(np.arange(1, 24), 8, replace=False)]
        row[columns] = true[columns] + 0.01 * rng.standard_normal(9) + shift * (number % 2)
    found = believe(GRID, blocks, np.full(24, 1e-4))
    error = found.mean - found.mean.mean() - (true - true.mean())
    assert np.abs(error).max() < 0.03


def test_a_budget_in_launches_is_kept_and_goes_to_the_fast_ones() -> None:
    experiment = tuning(budget="70x")
    records = play(experiment, truth, race(experiment), noise=0.05)
    assert len(records) <= 70
    assert recommend(records, experiment).gain is not None
    made = {
        c: sum(r.configuration == c for r in records if r.phase == "measure") for c in configurations(experiment)[1:]
    }
    order = sorted(made, key=truth)
    assert sum(made[c] for c in order[:5]) > sum(made[c] for c in order[-5:])


def test_launches_left_of_a_budget_in_launches_and_in_time() -> None:
    by_number, by_time = tuning(budget="50x"), tuning(budget="100s")
    assert launches_left([], by_number) == 50
    assert launches_left([], by_time) == math.inf
    records = play(by_time, lambda c: 2.0, race(by_time), noise=0.0)[:10]
    assert launches_left(records, by_number) == 40
    assert launches_left(records, by_number, confirmations=10) == 20
    assert launches_left(records, by_time) == pytest.approx(40)
    assert launches_left(records, by_time, confirmations=10) == pytest.approx(20)
