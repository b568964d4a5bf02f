# SPDX-License-Identifier: Apache-2.0
"""The race: its bounds, what it launches, and what it says when it is stopped."""

import math

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import ttest_1samp

from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.race import elimination
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.plan import first_columns, next_columns
from corescale.conclude.race.race import race
from corescale.conclude.race.records import raced, statement
from corescale.conclude.race.standing import Field, standing, worth_trying
from corescale.conclude.race.surrogate import believe
from corescale.conclude.stats import Floats
from corescale.declare import plan
from corescale.declare.grid import configurations
from corescale.records import Configuration
from corescale.show.so_far import known
from support.play import blocks, play, record
from support.play import race_truth as truth
from support.play import race_tuning as tuning


def test_a_race_finds_the_best_and_says_how_sure_it_is_with_few_launches() -> None:
    experiment = tuning(budget="none")
    records = play(experiment, truth, race(experiment), noise=0.02)
    answer = recommend(records, experiment)
    assert answer.winner["block"] == 3
    assert answer.within is not None
    assert answer.within <= 0.02 + 1e-9
    assert answer.gain is not None
    assert answer.gain.n == blocks(records, "confirm") - 1 == OPTIONS.room, "one of eight does not count"
    assert len(records) < 8 * len(configurations(experiment))


def test_today_returns_in_every_block_that_would_go_long_without_it() -> None:
    experiment = tuning(budget="none")
    now = configurations(experiment)[0]
    records = play(experiment, truth, race(experiment), noise=0.02)
    places = [k for k, r in enumerate(records) if r.configuration == now]
    assert max(np.diff([-1, *places])) <= 2 * 7 + 1
    assert len(places) >= len(records) / 8


def test_stopped_at_any_moment_it_never_claims_what_it_does_not_know() -> None:
    experiment = tuning(budget="none")
    records = play(experiment, truth, race(experiment), noise=0.05)
    last = [k for k in range(len(records) - 1) if records[k].block != records[k + 1].block]
    bounds = []
    for cut in last:
        said = statement(records[: cut + 1], experiment)
        true = truth(said.answer) / min(map(truth, configurations(experiment))) - 1
        assert said.bound is None or said.bound >= true
        bounds.append(said.bound)
    assert bounds[0] is None and last[0] < 10, "a first answer comes without a bound"
    known = [bound for bound in bounds if bound is not None]
    assert known[0] > 0.02 >= known[-1] - 1e-9, "then there is one, and in the end it is the wanted"


def test_a_spent_budget_is_kept_and_leaves_room_to_confirm() -> None:
    experiment = tuning(budget="80s")
    records = play(experiment, truth, race(experiment), noise=0.05)
    assert sum(r.wall for r in records) <= 80
    answer = recommend(records, experiment)
    assert answer.winner == answer.today or blocks(records, "confirm") >= OPTIONS.room
    assert answer.within is None or answer.within > 0.02


def test_one_that_fails_is_launched_no_more_and_never_wins() -> None:
    experiment = tuning(budget="none")
    bad = min(configurations(experiment), key=truth)
    policy = race(experiment)
    records = [record(c, truth(c), block=0) for c in policy([]).configurations]  # type: ignore[union-attr]
    records += [
        record(bad, 0.1, block=1, status="failed", exit_code=1, tail="no"),
        record(records[0].configuration, 1.0, block=1),
    ]
    for number in range(2, 40):
        block = policy(records)
        if block is None:
            break
        assert bad not in block.configurations
        records += [record(c, truth(c) * math.exp(1e-3 * ((k * number) % 7)), block=number, phase=block.phase)
                    for k, c in enumerate(block.configurations)]  # fmt: skip
    assert recommend(records, experiment).winner != bad


def test_of_the_proved_ones_the_simplest_is_taken() -> None:
    experiment = tuning(budget="none")
    now = configurations(experiment)[0]
    rng = np.random.default_rng(1)
    records = [
        record(c, (0.999 if c != now else 1.0) * math.exp(0.001 * rng.standard_normal()), block=b)
        for b in range(12)
        for c in configurations(experiment)
    ]
    assert statement(records, experiment).answer == now


def test_the_first_block_has_every_level_about_equally_often() -> None:
    codes = np.array([[a, b] for a in range(4) for b in range(4)])
    first = first_columns(Field(codes, 0))
    assert 0 in first
    assert all(sorted(np.bincount(codes[first, factor])) == [1, 1, 1, 2] for factor in (0, 1))
    assert first_columns(Field(codes[:3], 1)).tolist() == [0, 1, 2]


def test_the_first_block_has_all_where_it_has_room_for_them() -> None:
    codes = np.arange(8)[:, None]
    sizes = [first_columns(Field(codes[:n], 0)).size for n in (6, OPTIONS.largest, OPTIONS.largest + 1)]
    assert sizes == [6, OPTIONS.largest, OPTIONS.first_block]


def test_the_first_block_has_what_is_tried_alone_as_far_as_the_budget_goes() -> None:
    codes = np.array([[a, b] for a in range(6) for b in range(4)])
    field = Field(codes, 0, alone=(4, 8, 12, 16, 20, 1))
    assert first_columns(field).tolist() == [0, 1, 4, 8, 12, 16, 20]
    assert first_columns(field, left=4).tolist() == [0, 4, 8, 12]


def test_settings_of_an_allocator_are_tried_when_it_leads_and_else_last() -> None:
    """Columns: two allocators, and two settings of each, which change nothing."""
    codes = np.array([[0, 0], [1, 0], [0, 1], [0, 2], [1, 1], [1, 2]])
    field = Field(codes, 0, alone=(1,), plain=(0, 1, 0, 0, 1, 1))
    assert first_columns(field).tolist() == [0, 1]
    blocks = np.full((1, 6), np.nan)
    blocks[0, :2] = 0.0, -0.3
    tried: list[list[int]] = []
    while (columns := next_columns(field, blocks)) is not None and len(tried) < 2:
        tried.append(columns.tolist())
        row = np.full((1, 6), np.nan)
        row[0, columns] = np.where(codes[columns, 0] == 1, -0.3, 0.0)
        blocks = np.vstack([blocks, row])
    assert tried == [[4, 5], [2, 3]]


def test_settings_of_an_allocator_that_lost_are_tried_last() -> None:
    field = Field(np.array([[0, 0], [1, 0], [2, 1]]), 0, plain=(0, 1, -1))
    found = standing(field, np.array([[0.0, 0.1, np.nan]]))
    assert worth_trying(field, found).tolist() == [True, True, False]


def test_the_surrogate_gives_back_an_additive_truth_from_a_few() -> None:
    codes = np.array([[a, b, c] for a in range(4) for b in range(3) for c in range(2)])
    expected = 0.1 * codes[:, 0] - 0.2 * codes[:, 1] + 0.05 * codes[:, 2]
    means = np.where(np.arange(24) % 2 == np.arange(24) // 6 % 2, expected, np.nan)
    found = believe(codes, means[None, :], np.full(24, 1e-6))
    assert int(np.argmin(found.mean)) == int(np.argmin(expected))
    assert np.corrcoef(found.mean, expected)[0, 1] > 0.98


@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_bounds_hold_at_every_look_and_for_every_leader(noise: float) -> None:
    """Each race of 30 blocks is looked at after every block; a bound of any leader that is ever false counts."""
    rng, wrong, true = np.random.default_rng(5), 0, np.linspace(0, 0.05, 6)
    for _ in range(150):
        rows = true + noise * rng.standard_normal((30, 6))
        wrong += any(_false(rows[:n], true) for n in (2, 3, 4, 5, 9, 15, 30))
    assert wrong <= 8 + 8  # 5% of 150, and three standard deviations


@pytest.mark.parametrize("blocks", [2, 3, 5])
def test_two_configurations_have_the_degrees_of_freedom_of_their_blocks(blocks: int) -> None:
    rows = np.random.default_rng(blocks).standard_normal((blocks, 2))
    differences, tail = rows[:, 0] - rows[:, 1], elimination.tail(0.95, 2)
    expected = ttest_1samp(differences, 0).confidence_interval(1 - 2 * tail).high
    assert elimination.upper_bounds(rows, 0, tail)[1] == pytest.approx(expected)


def test_what_others_lend_is_what_they_have_and_no_more_than_the_prior() -> None:
    """Of 3 in 4 blocks one has 2 degrees of freedom beside a pair; of 24 they have more than are lent."""
    rows = np.random.default_rng(2).standard_normal((4, 24))
    for n, size, lent in ((4, 2, 0.0), (4, 3, 2.0), (4, 24, 8.0), (3, 24, 4.0)):
        tail, part = elimination.tail(0.95, size), rows[:n, :size]
        fitted, squares = elimination.fit(part), ((part[:, 0] - part[:, 1]) - (part[:, 0] - part[:, 1]).mean()) ** 2
        others = 2 * fitted.squares[2:].sum() / max(fitted.degrees[2:].sum(), 1)
        variance = (lent * others + squares.sum()) / (lent + n - 1)
        half = stdtrit(lent + n - 1, 1 - tail) * math.sqrt(variance / n)
        found = elimination.upper_bounds(part, 0, tail)[1]
        assert found == pytest.approx((part[:, 0] - part[:, 1]).mean() + half)


def test_one_launch_in_a_burst_does_not_widen_what_others_lend() -> None:
    rows = 0.01 * np.random.default_rng(4).standard_normal((6, 12))
    quiet = elimination.upper_bounds(rows, 0, elimination.tail(0.95, 12))[1]
    rows[3, 11] += 0.4
    assert elimination.upper_bounds(rows, 0, elimination.tail(0.95, 12))[1] < 2 * quiet


def test_after_one_launch_only_what_takes_far_longer_has_lost() -> None:
    experiment = tuning(budget="none")
    now = configurations(experiment)[0]
    block = race(experiment)([record(now, 1.0, phase="warmup")])
    assert block is not None and block.cap == 10.0


def test_what_is_remembered_of_a_look_is_what_would_be_found_again() -> None:
    """Rows that grow, as in a race, in which not everyone is launched in every block."""
    rng, tail = np.random.default_rng(6), elimination.tail(0.95, 8)
    rows = np.where(rng.random((24, 8)) < 0.7, 0.02 * rng.standard_normal((24, 8)), np.nan)
    elimination.forget()
    grown = [elimination.Bounds(rows[:n], tail).of(c) for n in range(1, 25) for c in range(8)]
    for k, found in enumerate(grown):
        elimination.forget()
        assert found.tolist() == elimination.upper_bounds(rows[: 1 + k // 8], k % 8, tail).tolist()


def _false(rows: Floats, true: Floats) -> bool:
    tail = elimination.tail(0.95, 6)
    return any(elimination.upper_bounds(rows, c, tail).max() < true[c] - 1e-12 for c in range(6))


def test_a_drift_in_the_opening_is_taken_out() -> None:
    rng = np.random.default_rng(2)
    blocks = np.full((8, 17), np.nan)
    for b in range(8):
        blocks[b, [0, 1 + 2 * b, 2 + 2 * b]] = 0.05 * b + 0.001 * rng.standard_normal(3)
    row = elimination.joined(blocks, 0)[0]
    assert np.ptp(row) < 0.03  # of 0.35


def test_a_failing_today_that_is_ignored_does_not_hold_up_the_race() -> None:
    experiment = tuning(budget="none")
    now = configurations(experiment)[0]
    records = [
        record(now, 0.1, status="failed", block=0),
        *(record(c, truth(c), block=0) for c in configurations(experiment)[1:9]),
    ]
    block = race(experiment)(records)
    assert block is not None
    assert now not in block.configurations


def test_a_launch_that_has_lost_is_killed_counts_as_at_least_the_cap_and_loses_after_two() -> None:
    experiment = tuning(budget="none")
    now, other, slow = configurations(experiment)[:3]
    policy = race(experiment)
    records = [record(c, 1.0, block=b) for b in range(2) for c in (now, other)]
    block = policy(records)
    assert block is not None
    assert block.cap == 3.0
    assert [i.cap for i in plan.invocations(block, 0, 0, now, 1, since=7) if i.configuration == now] == [None]
    once = [*records, record(slow, 3.0, block=2, status="capped"), record(now, 1.0, block=2)]
    raced_once = raced(once, experiment)
    assert raced_once.blocks[-1, raced_once.configurations.index(slow)] == pytest.approx(math.log(3))
    twice = [*once, record(slow, 3.0, block=3, status="capped"), record(now, 1.0, block=3)]
    assert slow not in raced(twice, experiment).configurations
    assert [c.excluded for c in recommend(twice, experiment).candidates][-1] == "lost: killed after 3 s"


def test_the_time_after_which_a_launch_has_lost_is_not_that_of_what_has_lost_itself() -> None:
    experiment = tuning(budget="none")
    now, other, fast = configurations(experiment)[:3]
    records = [record(c, 1.0, block=b) for b in range(2) for c in (now, other)]
    policy, quick = race(experiment), [record(fast, 0.1, block=b) for b in (2, 3)]
    for behind, cap in ((quick, 0.3), ([*quick, record(fast, 0.1, status="failed", block=4)], 3.0)):
        block = policy([*records, *behind])
        assert block is not None and block.cap == pytest.approx(cap)


def test_capping_saves_the_time_of_what_is_far_behind() -> None:
    experiment = tuning(budget="none")
    assert configurations(experiment)[0]["mode"] == "a"

    def slow(c: Configuration) -> float:
        return truth(c) * (30 if c["mode"] == "b" else 1)

    capped, whole = (play(experiment, slow, race(experiment), noise=0.02, capping=capping) for capping in (True, False))
    assert {str(recommend(records, experiment).winner["mode"]) for records in (capped, whole)} == {"a"}
    assert sum(r.wall for r in capped) < 0.5 * sum(r.wall for r in whole)


def test_an_interrupted_race_says_what_it_knows_and_no_more() -> None:
    experiment = tuning(budget="none")
    records = play(experiment, truth, race(experiment), noise=0.02)
    first = [r for r in records if r.block == 0]
    assert known(first, experiment).endswith("5 of 24 tried; nothing is proved yet")
    assert "of the best at 95%" in known(records, experiment)
    assert known([], experiment) == ""
