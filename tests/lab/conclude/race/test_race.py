# SPDX-License-Identifier: Apache-2.0
"""The race: its bounds, what it launches, what pairs decide, and what it says when it is stopped."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest

from corescale.cli.output import exit_code
from corescale.conclude import policy
from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.race import bounds, confirmation
from corescale.conclude.race.confirmation import Plan, Scatter, first_look
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.race import Race
from corescale.conclude.stats import Floats
from corescale.declare import plan
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.errors import ExitCode
from corescale.records import Record
from support.fresh import fresh, measured, of, scattered, tuning
from support.play import after, blocks, play, race_tuning, record
from support.play import race_truth as truth

TIMES = {"a": 1.0, "b": 0.9, "c": 0.93}


def upper(rows: Floats, c: int, tail: float) -> Floats:
    return bounds.upper(rows, bounds.fit(rows), c, tail, OPTIONS)


def gained(records: Sequence[Record], experiment: Experiment) -> tuple[float, float, str]:
    gain = Race.of(records, experiment).answer().gain
    assert gain is not None and gain.ratio.low is not None and gain.ratio.high is not None
    return gain.ratio.low, gain.ratio.high, gain.by


def test_it_finds_the_best_proves_it_and_confirms_it() -> None:
    experiment = race_tuning(budget="none")
    records = play(experiment, truth, Race(experiment), noise=0.02)
    answer = Race.of(records, experiment).answer()
    assert (answer.leader["block"], answer.leader["mode"], answer.stopped) == (3, "b", "proved")
    assert answer.proved and answer.gain is not None and answer.gain.verdict == "faster"
    assert len(records) < 8 * len(configurations(experiment))


def test_the_fold_of_stored_records_goes_on_as_if_it_had_never_stopped() -> None:
    experiment = race_tuning(budget="60x")
    records = play(experiment, truth, Race(experiment), noise=0.05)
    whole, again = Race(experiment), Race.of(records, experiment)
    for k, one in enumerate(records):
        if k and one.block != records[k - 1].block:
            asked = Race.of(records[:k], experiment).next_block()
            assert asked == whole.next_block() and asked is not None and asked.phase == one.phase
        whole.add(one)
    assert whole.answer() == again.answer()
    assert again.next_block() is None


def test_it_says_why_it_stopped() -> None:
    free, small = tuning(), tuning(budget="12x")
    proved = play(free, of(TIMES), Race(free))
    assert Race.of(proved, free).answer().stopped == "proved"
    assert Race.of(proved[:3], free).answer().stopped == "interrupted"
    assert policy.decision(proved[:3], free, finished=True).reason == "budget"
    spent = play(small, of(TIMES), Race(small), 0.1)
    assert len(spent) <= 12 and Race.of(spent, small).answer().stopped == "budget"
    alone = tuning("a")
    assert Race.of([record(configurations(alone)[0], 1.0)], alone).answer().stopped == "nothing to compare"


@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_bounds_hold_at_every_look_and_for_every_leader(noise: float) -> None:
    rng, wrong, true = np.random.default_rng(5), 0, np.linspace(0, 0.05, 6)
    tail = 0.05 / 5 / len(bounds.looks(bounds.FIRST_LOOK, OPTIONS.growth))
    for _ in range(100):
        rows = true + noise * rng.standard_normal((30, 6))
        wrong += any(upper(rows[:n], c, tail).max() < true[c] - 1e-12 for n in (2, 3, 5, 8, 18, 27) for c in range(6))
    assert wrong <= 5 + 7  # 5% of 100, and three standard deviations


@pytest.mark.parametrize(("lent", "holds"), [(OPTIONS.lent, True), (80.0, False)])
def test_a_quiet_majority_does_not_eliminate_a_noisy_best(lent: float, holds: bool) -> None:
    rng, wrong, races = np.random.default_rng(3), 0, 200
    sizes, tail = np.array([0.1, *[0.01] * 11]), 0.05 / 11 / 16
    options = dataclasses.replace(OPTIONS, lent=lent)
    for _ in range(races):
        rows = sizes * rng.standard_normal((8, 12))
        wrong += any(bounds.upper(rows[:n], bounds.fit(rows[:n]), 1, tail, options)[0] < 0 for n in (2, 3, 5, 8))
    assert (wrong <= 0.05 * races + 9) == holds


def test_a_burst_does_not_widen_a_bound_by_signed_ranks() -> None:
    rows = np.column_stack([[0.02, -0.02, 0.01, -0.01, 0.0] * 6, np.zeros(30)])
    quiet = upper(rows, 0, 0.001)[1]
    rows[4, 0] = 1.0
    assert upper(rows, 0, 0.001)[1] < 2 * quiet
    assert upper(rows[:8], 0, 0.001)[1] > 0.1


def test_belief_gives_back_an_additive_truth_from_half_of_the_grid() -> None:
    codes = np.array([[a, b, c] for a in range(4) for b in range(3) for c in range(2)])
    expected = 0.1 * codes[:, 0] - 0.2 * codes[:, 1] + 0.05 * codes[:, 2]
    rows = np.where(np.arange(24) % 2 == np.arange(24) // 6 % 2, expected, np.nan)[None, :]
    found = bounds.believe(codes, bounds.fit(rows), OPTIONS)
    assert int(np.argmin(found)) == int(np.argmin(expected))
    assert np.corrcoef(found, expected)[0, 1] > 0.98


def test_belief_from_the_launched_alone_is_that_from_everything() -> None:
    """In exact arithmetic they are one: what was never launched has no weight in the normal equations."""
    rng, k = np.random.default_rng(4), 40
    codes, rows = rng.integers(0, 4, (k, 3)), np.full((5, k), np.nan)
    rows[:, :9] = rng.normal(0, 0.1, (5, 9))
    fitted, matrix, right = bounds.fit(rows), np.zeros((k, k)), np.zeros(k)
    matrix[np.ix_(fitted.tried, fitted.tried)], right[fitted.tried] = fitted.matrix, fitted.right
    assert fitted.matrix.shape == (9, 9), "thousands that were not launched take no memory"
    same = (codes[:, None, :] == codes[None, :, :]).sum(axis=-1)
    prior = same / OPTIONS.level + np.eye(k) / OPTIONS.interaction
    whole = prior @ np.linalg.solve(np.eye(k) + matrix @ prior, right)
    assert bounds.believe(codes, fitted, OPTIONS) == pytest.approx(whole)


@pytest.mark.parametrize("order", [0.0, 0.05])
def test_one_order_term_takes_out_what_the_first_of_a_pair_bears(order: float) -> None:
    rng, covered, width = np.random.default_rng(2), 0, 0.0
    signs = np.array([1.0, -1.0] * 3)
    for _ in range(200):
        ratios = 0.05 + order * signs + 0.01 * rng.standard_normal(6)
        middle, reach, by = confirmation.interval(ratios, signs, 0.05, Scatter(4, 2e-4), Scatter(9, 1e-2), OPTIONS)
        assert reach is not None and by == "t"
        covered, width = covered + (abs(middle - 0.05) <= reach[0]), width + sum(reach) / 200
    assert covered >= 180 and width < 0.03


def test_the_looks_at_pairs_share_the_error() -> None:
    several = Plan.of(6, 0, math.inf, 0.05, OPTIONS)
    assert several.looks[:4] == (6, 9, 14, 21) and sum(several.errors) == pytest.approx(0.05, rel=0.01)
    assert Plan.of(6, 0, 5, 0.05, OPTIONS) == Plan((5,), (0.05,)) == Plan.of(5, 1, 7, 0.05, OPTIONS)
    assert Plan.of(6, 2, 6, 0.05, OPTIONS) == several, "a budget that ends early gives no look more error"
    assert Plan.of(5, 1, 100, 0.05, OPTIONS).looks[:2] == (5, 8)


def test_the_first_look_is_planned_from_the_lead_and_the_noise() -> None:
    assert first_look(0.2, 1e-4, OPTIONS) == OPTIONS.fewest_pairs
    assert first_look(0.1, 0.05, OPTIONS) == OPTIONS.most_pairs
    assert OPTIONS.fewest_pairs < first_look(0.1, 0.004, OPTIONS) < OPTIONS.most_pairs


def test_a_refuted_leader_ends_the_race_and_the_baseline_is_kept() -> None:
    experiment = tuning()
    now, b, _ = configurations(experiment)
    refuted = [*measured(experiment, TIMES), *fresh((now, b), scattered(0.99, 0.003, 6))]
    assert after(Race(experiment), refuted) is None
    answer = recommend(refuted, experiment)
    assert answer.decided and answer.chosen == now and exit_code(answer) == ExitCode.OK


def test_a_larger_budget_adds_looks_and_does_not_move_the_first() -> None:
    small, large = tuning("a,b", budget="14x"), tuning("a,b", budget="200x")
    first = play(small, of({"a": 1.0, "b": 0.98}), Race(small), 0.05)
    both = play(large, of({"a": 1.0, "b": 0.98}), Race(large), 0.05, before=first)
    assert len(first) <= 14 < len(both) and both[: len(first)] == first
    assert Race.of(first, small).answer().stopped == "budget"


@pytest.mark.parametrize("longer", [{"budget": "none", "within": "0.2%"}, {"budget": "400x", "within": "0.5%"}])
def test_a_confirmed_race_goes_on_if_a_narrower_bound_or_a_larger_budget_is_asked_for(longer: dict[str, str]) -> None:
    times, wider = of({"a": 1.0, "b": 0.9, "c": 0.91}), tuning(**longer)
    first = tuning(**(longer | ({"within": "2%"} if longer["budget"] == "none" else {"budget": "40x"})))
    made = play(first, times, Race(first), 0.02)
    known = Race.of(made, wider).answer()
    assert known.gain is not None and known.gain.verdict == "faster" and not known.proved
    done = Race.of(play(wider, times, Race(wider), 0.02, before=made), wider).answer()
    assert done.gain is not None and done.gain.verdict == "faster" and done.proved


@pytest.mark.parametrize(("killed", "launches", "out"), [(1, 1, False), (2, 2, True), (2, 4, False), (6, 10, True)])
def test_what_is_killed_in_most_of_its_launches_has_lost(killed: int, launches: int, out: bool) -> None:
    experiment = tuning("a,b")
    now, b = configurations(experiment)
    ended = ["capped" if k < killed else "ok" for k in range(launches)]
    records = [record(b, 3.0 if how == "capped" else 1.0, block=k, status=how) for k, how in enumerate(ended)]
    assert Race.of([record(now, 1.0), *records], experiment).standing.eliminated == ({b: "capped"} if out else {})


def test_caps_follow_the_fastest_that_may_still_win() -> None:
    experiment = race_tuning(budget="none")
    now, other, fast = configurations(experiment)[:3]
    first = after(Race(experiment), [record(now, 1.0, phase="warmup")])
    assert first is not None and first.cap == OPTIONS.cap
    failed = after(Race(experiment), [record(now, 0.01, phase="warmup", status="failed")])
    assert failed is not None and failed.cap is None
    records = [record(c, 1.0, block=b) for b in range(2) for c in (now, other)]
    quick = [record(fast, 0.1, block=b) for b in (2, 3)]
    for behind, cap in ((quick, 0.3), ([*quick, record(fast, 0.1, status="failed", block=4)], 3.0)):
        block = after(Race(experiment), [*records, *behind])
        assert block is not None and block.cap == pytest.approx(cap)
        assert [i.cap for i in plan.invocations(block, 0, 0, now, 1, since=7) if i.configuration == now][:1] == [None]


def test_a_failing_baseline_that_is_ignored_does_not_hold_up_the_race() -> None:
    experiment = race_tuning(budget="none")
    now, *others = configurations(experiment)
    block = after(Race(experiment), [record(now, 0.1, status="failed"), *(record(c, truth(c)) for c in others[:8])])
    assert block is not None and now not in block.configurations


def test_of_the_proved_ones_that_with_the_fewest_changes_leads() -> None:
    experiment = race_tuning(budget="none")
    now, rng = configurations(experiment)[0], np.random.default_rng(1)
    records = [
        record(c, (0.999 if c != now else 1.0) * math.exp(0.001 * rng.standard_normal()), block=b)
        for b in range(12)
        for c in configurations(experiment)
    ]
    assert Race.of(records, experiment).leader() == now


@pytest.mark.parametrize("budget", ["8x", "12x", "20x", "40x", "80s"])
def test_a_budget_is_kept_and_pays_for_pairs(budget: str) -> None:
    experiment = race_tuning(budget=budget)
    records = play(experiment, truth, Race(experiment), noise=0.03)
    assert len(records) <= int(budget[:-1]) if budget.endswith("x") else sum(r.wall for r in records) <= 80
    answer = Race.of(records, experiment).answer()
    assert answer.leader == answer.baseline or blocks(records, "confirm") >= 2


def test_times_told_in_tenths_prove_nothing() -> None:
    """1.02 and 0.99 s are both told as 1.0 s."""
    experiment = tuning("a,b", budget="40x")
    records = play(experiment, lambda _: 1.0, Race(experiment), 0.0)
    assert not Race.of(records, experiment).answer().proved
