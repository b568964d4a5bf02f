# SPDX-License-Identifier: Apache-2.0
"""Fresh blocks: how many, what they decide, and what happens where they refute or fail the favourite."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t, ttest_1samp

from corescale.cli.output import exit_code
from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.doubts import doubts
from corescale.conclude.race.confirmation import Gain, gain, looks, planned, shares
from corescale.conclude.race.lost import lost
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.race import race
from corescale.conclude.race.records import Lead
from corescale.conclude.response import step
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.plan import SHIFTED, counted_pairs, invocations
from corescale.errors import ExitCode
from corescale.records import Record
from corescale.show.headline import beside, recommendation
from support.fresh import fresh, measured, of, scattered, tuning
from support.play import blocks, play, record


def test_the_error_of_all_looks_together_is_that_of_one() -> None:
    assert looks(6)[:4] == (6, 9, 14, 21)
    assert sum(shares(40, 0.05)) == pytest.approx(0.05)
    assert shares(1, 0.05)[0] == pytest.approx(0.04)


def test_the_first_look_is_planned_from_the_lead_and_the_noise() -> None:
    assert planned(Lead(gain=0.2, noise=0.0002)) == OPTIONS.room
    assert planned(Lead(gain=0.1, noise=0.05)) == OPTIONS.longest
    assert OPTIONS.room < planned(Lead(gain=0.1, noise=0.01)) < OPTIONS.longest


def test_a_refuted_favourite_gives_way_to_the_next_best_once() -> None:
    experiment = tuning()
    now, b, c = configurations(experiment)
    records = measured(experiment, {"a": 1.0, "b": 0.9, "c": 0.93})
    assert recommend(records, experiment).winner == b
    refuted = [*records, *fresh((now, b), scattered(0.99, 0.003, 6))]
    block = race(experiment)(refuted)
    assert block is not None and block.phase == "confirm" and block.configurations == (now, c)
    both = [*refuted, *fresh((now, c), scattered(0.98, 0.003, 6), 2000)]
    assert race(experiment)(both) is None
    answer = recommend(both, experiment)
    assert answer.decided and answer.chosen == now and exit_code(answer) == ExitCode.OK
    assert recommendation(answer).startswith("keep today's launch")


def test_a_larger_budget_adds_looks_and_does_not_move_the_first() -> None:
    """Two pairs were all that was paid for; the next look is at six, with what later looks have of the error."""
    small, large = tuning("a,b", budget="12x"), tuning("a,b", budget="100x")
    now, b = configurations(small)
    opened = measured(tuning("a,b"), {"a": 1.0, "b": 0.97})[:8]
    ratios = [0.97, 1.07, 1.01, 1.06, 1.02, 1.04]

    def told(experiment: Experiment, count: int) -> Gain:
        made = [replace(r, looks=(2,)) for r in fresh((now, b), ratios[:count])]
        found = recommend([*opened, *made], experiment).fresh
        assert found is not None
        return found

    assert told(small, 2).ratio == told(large, 2).ratio == told(large, 5).ratio
    alone = gain([*opened, *fresh((now, b), ratios)], large, b, (6,))
    six = told(large, 6)
    assert alone is not None and six.by == "t" and six.ratio.n == 6
    assert six.ratio.low is not None and alone.ratio.low is not None and six.ratio.low < alone.ratio.low
    block = race(large)([*opened, *(replace(r, looks=(2,)) for r in fresh((now, b), ratios[:2]))])
    assert block is not None and block.looks == (2, 6)


def test_each_pair_that_a_small_budget_pays_for_counts_also_when_the_run_goes_on() -> None:
    """24 launches: the fifth pair of several looks repeats the order of the fourth and does not count."""
    small, large = tuning("a,b", budget="24x"), tuning("a,b", budget="100x")
    (now, b), truth = configurations(small), of({"a": 1.0, "b": 0.98})
    first = play(small, truth, race(small), 0.05)
    planned = next(r.looks for r in first if r.phase == "confirm")
    assert len(first) == 24 and len(planned) == 1 and planned[0] > SHIFTED // 2
    assert len(counted_pairs(first, b)) == blocks(first, "confirm") == planned[0]
    both = play(large, truth, race(large), 0.05, before=first)
    assert both[: len(first)] == first and blocks(both, "confirm") > 2 * planned[0]
    assert counted_pairs(both, b)[: planned[0]] == counted_pairs(first, b)
    found, then = (recommend(records, small).fresh for records in (first, both))
    assert found is not None and then is not None and found.by == "t" and found.ratio.n == planned[0]
    assert len(counted_pairs(both, b)) < blocks(both, "confirm") and recommend(both, large).today == now


def test_fresh_launches_carry_the_looks_that_were_planned_before_them() -> None:
    experiment = tuning("a,b", budget="16x")
    block = race(experiment)(measured(experiment, {"a": 1.0, "b": 0.8}))
    assert block is not None and block.phase == "confirm" and len(block.looks) == 1
    made = invocations(block, 7, 0, configurations(experiment)[0], 1)
    assert {one.record("x", started=0.0, wall=1.0, status="ok", exit_code=0).looks for one in made} == {block.looks}


def test_a_refuted_favourite_says_nothing_of_what_was_never_launched() -> None:
    experiment = tuning("a,b,c,d,e,f,g,h", budget="30x")
    now, b = configurations(experiment)[:2]
    opened = [record(c, 1.0 if c == now else 0.9, block=k) for k in (0, 1) for c in (now, b)]
    answer = recommend([*opened, *fresh((now, b), scattered(0.99, 0.003, 6))], experiment)
    assert answer.keep_today and not answer.decided and exit_code(answer) == ExitCode.INCONCLUSIVE
    assert recommendation(answer).startswith("not decided: ") and "6 of 8 were never launched" in recommendation(answer)


def test_a_gain_that_is_another_one_on_average_says_so() -> None:
    """Three of twenty launches take 1.5 times as long: who launches all day gains half of what the first line says."""
    experiment = tuning("a,b")
    now, b = configurations(experiment)
    ratios = [1.12 * math.exp(0.004 * (k % 5 - 2)) / (1.5 if k in (15, 17, 19) else 1) for k in range(20)]
    records = [*measured(experiment, {"a": 1.0, "b": 0.9}), *fresh((now, b), ratios)]
    answer = recommend(records, experiment)
    assert not answer.keep_today and answer.averages is not None
    (line,) = [line for line in beside(answer, "wall") if "on average" in line]
    assert line == (
        "on average over its fresh launches it is 1.04x faster: of threads=1 MODE=b 3 of 20 take 1.5 times its median"
    )
    quiet = [*measured(experiment, {"a": 1.0, "b": 0.9}), *fresh((now, b), scattered(1.12, 0.01, 20))]
    assert recommend(quiet, experiment).averages is None


def test_what_is_not_decided_says_how_many_more_blocks_would_tell_and_exits_with_3() -> None:
    experiment = tuning("a,b")
    now, b = configurations(experiment)
    records = [*measured(experiment, {"a": 1.0, "b": 0.9}), *fresh((now, b), scattered(1.08, 0.2, 9))]
    answer = recommend(records, experiment)
    assert not answer.decided and exit_code(answer) == ExitCode.INCONCLUSIVE
    assert answer.fresh is not None and answer.fresh.more is not None and answer.fresh.more > 9
    assert f"about {answer.fresh.more} more blocks would tell" in recommendation(answer)
    more = [*records, *fresh((now, b), scattered(1.08, 0.2, 2 * answer.fresh.more, seed=2), 3000)]
    assert recommend(more, experiment).decided


def test_between_looks_the_interval_is_that_of_the_last_one() -> None:
    experiment = tuning("a,b")
    now, b = configurations(experiment)
    records = measured(experiment, {"a": 1.0, "b": 0.9})
    ratios = scattered(1.1, 0.1, 9)
    six, eight, nine = (recommend([*records, *fresh((now, b), ratios[:n])], experiment).gain for n in (6, 8, 9))
    assert six == eight != nine


def test_few_pairs_have_a_t_interval_that_says_so() -> None:
    experiment = tuning("a,b,c", budget="14x")
    records = play(experiment, of({"a": 1.0, "b": 0.8, "c": 0.9}), race(experiment), 0.01)
    assert 2 <= blocks(records, "confirm") < 6
    assert " by a t interval" in recommendation(recommend(records, experiment))


def test_of_six_pairs_where_no_more_are_paid_for_not_all_must_be_faster() -> None:
    """Signed ranks would ask that; where more may follow they are asked, for they need no normal noise."""
    ratios = [1.2, 1.25, 1.15, 1.2, 0.99, 1.22]
    six, more = tuning("a,b,c", confirm="6"), tuning("a,b,c")
    now, b, _ = configurations(six)
    records = [*measured(more, {"a": 1.0, "b": 0.83, "c": 0.9}), *fresh((now, b), ratios)]
    told, open_ = recommend(records, six).fresh, recommend(records, more).fresh
    assert told is not None and (told.by, told.verdict) == ("t", "faster")
    assert open_ is not None and (open_.by, open_.verdict) == ("signed ranks", None)


@pytest.mark.parametrize(("todays", "others"), [(0.005, 0.1), (0.1, 0.005)])
def test_two_pairs_of_unequal_noise_have_the_freedom_of_the_noisy_one(todays: float, others: float) -> None:
    """Two alike, one with twenty times the scatter: many launches of the quiet one say nothing of it."""
    experiment = tuning("a,b", confirm="2")
    now, b = configurations(experiment)
    rng, covered = np.random.default_rng(5), 0
    for _ in range(200):
        made = [
            replace(r, wall=math.exp((todays if r.configuration == now else others) * float(rng.standard_normal())))
            for r in [record(c, 1.0, block=k) for k in range(4) for c in (now, b)] + fresh((now, b), [1.0, 1.0])
        ]
        found = gain(made, experiment, b, (2,))
        covered += found is not None and found.ratio.covers(1.0)
    assert covered >= 180


@pytest.mark.parametrize(("measuring", "pairwise"), [(4, False), (5, True)])
def test_two_pairs_go_by_single_launches_unless_the_race_has_four_degrees_of_freedom(
    measuring: int, pairwise: bool
) -> None:
    """The blocks of two differ by tens of per cent, their ratios by one: only differences within blocks are quiet."""
    experiment = tuning("a,b", confirm="2")
    (now, b), rng = configurations(experiment), np.random.default_rng(8)
    shifts = [1.0, 1.5, 0.8, 1.3, 0.7][:measuring]
    records = [
        record(c, shift * math.exp(0.01 * float(rng.standard_normal())), block=block)
        for block, shift in enumerate(shifts)
        for c in (now, b)
    ]
    made = [*records, *fresh((now, b), [1.09, 1.11])]
    found = gain(made, experiment, b, (2,))
    assert found is not None and found.by == "t" and found.ratio.low is not None and found.ratio.high is not None
    half = math.log(found.ratio.high / found.ratio.low) / 2
    todays = [np.log([r.wall for r in made if r.configuration == now])]
    others = [np.log([r.wall for r in made if (r.configuration, r.phase) == (b, of)]) for of in ("measure", "confirm")]
    squares = sum(((each - each.mean()) ** 2).sum() for each in todays + others)
    freedom = sum(each.size - 1 for each in todays + others)
    single = t.ppf(0.975, freedom) * math.sqrt(2 * squares / freedom / 2)
    assert half < single / 5 if pairwise else half == pytest.approx(single, rel=0.03)


def test_quiet_others_do_not_narrow_the_t_interval_of_noisy_pairs() -> None:
    """What configurations lend is worth the less the less they are alike."""
    experiment = tuning("a,b,c,d,e,f", confirm="6")
    everyone, ratios = configurations(experiment), scattered(1.1, 0.14, 6)
    rng, records = np.random.default_rng(4), list[Record]()
    for block in range(8):
        sizes = [0.1 if c in everyone[:2] else 0.01 for c in everyone]
        drawn = [math.exp(size * float(rng.standard_normal())) for size in sizes]
        records += [record(c, x, block=block) for c, x in zip(everyone, drawn, strict=True)]
    found = gain([*records, *fresh(everyone[:2], ratios)], experiment, everyone[1], (6,))
    assert found is not None and found.by == "t" and found.ratio.low is not None and found.ratio.high is not None
    alone = ttest_1samp(np.log(ratios), 0).confidence_interval(0.95)
    assert math.log(found.ratio.high / found.ratio.low) > 0.8 * (alone.high - alone.low)


def test_a_response_without_noise_ends_at_once() -> None:
    experiment = tuning()
    records = play(experiment, of({"a": 1.0, "b": 0.9, "c": 0.95}), race(experiment), 0.0)
    assert blocks(records, "measure") == 2
    assert not recommend(records, experiment).keep_today


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.0, 1.0], 1.0), ([1.0, 1.1, 1.0], 0.1), ([0.25, 0.3, 0.25], 0.05), ([1500, 1600, 1500], 100.0),
     ([0.1 + 0.2, 0.3], 0.1), ([1.0012345678, 1.1], 1e-8), ([12345678901.0, 12345678902.0], 1.0)],
)  # fmt: skip
def test_the_step_of_a_response_is_that_of_its_digits_or_of_its_launches(values: list[float], expected: float) -> None:
    (now, *_) = configurations(tuning())
    assert step([record(now, value, block=k) for k, value in enumerate(values)], "wall") == pytest.approx(expected)


def test_no_claim_is_narrower_than_the_digits_of_its_response() -> None:
    experiment = tuning("a,b")
    now, b = configurations(experiment)
    records = [record(c, 1.1 if c == now else 1.0, block=k) for k in range(6) for c in (now, b)]
    answer = recommend([*records, *fresh((now, b), [1.1] * 6)], experiment)
    assert answer.gain is not None and answer.gain.low is not None and answer.gain.low < 1.01
    (said,) = [line for line in doubts(records, experiment).lines if "steps" in line]
    assert said == "the time is told in steps of 0.1, 0.095 of its median: what is less cannot be seen"


def test_one_noisy_metric_bars_nothing_for_good_but_several_do() -> None:
    experiment = tuning("a,b", metric=["bytes=stdout-size"], subject_to=["bytes<=1.1*today"])
    now, b = configurations(experiment)

    def launches(*sizes: float) -> list[Record]:
        today_ = [record(now, 1.0, block=k, metrics={"bytes": 100.0}) for k in range(len(sizes))]
        return [*today_, *(record(b, 0.9, block=k, metrics={"bytes": size}) for k, size in enumerate(sizes))]

    assert b not in lost(launches(120), experiment)
    assert b not in lost(launches(120, 100, 100), experiment)
    assert b not in lost(launches(120, 120, 100), experiment)
    assert b in lost(launches(120, 121, 120), experiment)
