# SPDX-License-Identifier: Apache-2.0
"""The signed-rank family against brute force and SciPy, its symmetries, and the stop rule on known data."""

import itertools
import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, wilcoxon

from corescale.conclude import percentiles, stats, two_samples
from corescale.conclude.policy import should_stop
from corescale.conclude.stats import Interval, hodges_lehmann, signed_rank_p
from corescale.declare.stop import Stop

log_ratio = st.floats(-2, 2).map(lambda x: round(x, 3))
samples = st.lists(log_ratio, min_size=6, max_size=25)


def ends(interval: Interval) -> tuple[float, float, float]:
    """Low, estimate and high of an interval that must be there."""
    assert interval.low is not None and interval.high is not None
    return interval.low, interval.estimate, interval.high


def brute_force_p(values: list[float]) -> float:
    """Over all 2^n signs of the ranks of |values|."""
    x = np.array([v for v in values if v != 0])
    if x.size == 0:
        return 1.0
    ranks = np.array([np.mean(np.flatnonzero(np.sort(np.abs(x)) == v)) + 1 for v in np.abs(x)])
    sums = np.array(list(itertools.product([0, 1], repeat=x.size))) @ ranks
    smaller = min(ranks[x > 0].sum(), ranks[x < 0].sum())
    return float(min(1.0, 2 * np.mean(sums <= smaller + 1e-9)))


@given(st.lists(log_ratio, min_size=1, max_size=9))
def test_p_value_is_the_share_of_sign_patterns_ties_and_zeros_included(values: list[float]) -> None:
    assert signed_rank_p(values) == pytest.approx(brute_force_p(values), abs=1e-12)


@pytest.mark.parametrize("n", [6, 10, 25, 60])
def test_p_value_agrees_with_scipy(n: int) -> None:
    x = np.random.default_rng(n).normal(0.2, 1, n)
    assert signed_rank_p(x) == pytest.approx(wilcoxon(x, method="exact").pvalue, rel=1e-9)


def test_p_value_of_many_pairs_continues_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(3).normal(0.1, 1, 200)
    exact = signed_rank_p(x)
    monkeypatch.setattr(stats, "EXACT_UP_TO", 100)
    assert signed_rank_p(x) == pytest.approx(exact, rel=0.02)


def test_p_value_of_nothing_but_zeros_is_one() -> None:
    assert signed_rank_p([0.0] * 9) == 1.0
    assert math.isnan(signed_rank_p([]))


@given(st.lists(log_ratio, min_size=6, max_size=10, unique=True), st.sampled_from([0.8, 0.95]))
def test_interval_holds_exactly_what_the_test_does_not_reject(values: list[float], confidence: float) -> None:
    interval = hodges_lehmann(values, confidence)
    assert interval.low is not None and interval.high is not None
    for shift in (interval.low + 1e-7, interval.high - 1e-7) if interval.high - interval.low > 1e-6 else ():
        assert brute_force_p([v - shift for v in values]) > 1 - confidence - 1e-9
    for shift in (interval.low - 1e-7, interval.high + 1e-7):
        assert brute_force_p([v - shift for v in values]) <= 1 - confidence + 1e-9


@pytest.mark.parametrize(("n", "attained"), [(6, 0.96875), (7, 0.953125), (8, 0.9609375), (15, 0.952148), (40, 0.951)])
def test_attained_confidence_is_at_least_the_asked(n: int, attained: float) -> None:
    interval = hodges_lehmann(np.random.default_rng(1).normal(size=n))
    assert interval.confidence == pytest.approx(attained, abs=1e-3)
    assert interval.confidence is not None and interval.confidence >= 0.95


@pytest.mark.parametrize("n", range(6))
def test_below_six_blocks_there_is_no_interval(n: int) -> None:
    interval = hodges_lehmann([0.1] * n)
    assert (interval.low, interval.high, interval.confidence, interval.n) == (None, None, None, n)
    assert stats.median_interval([1.0] * n).low is None
    assert interval.covers(99.0)


def test_exact_counts_go_over_into_the_normal_model(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = stats.tail_count(200, 0.025)
    monkeypatch.setattr(stats, "EXACT_UP_TO", 100)
    assert abs(stats.tail_count.__wrapped__(200, 0.025) - exact) <= 2


@given(samples, st.floats(-3, 3))
def test_interval_moves_with_its_data_and_mirrors(values: list[float], shift: float) -> None:
    base = hodges_lehmann(values)
    moved = hodges_lehmann([v + shift for v in values])
    mirrored = hodges_lehmann([-v for v in values])
    assert np.allclose(ends(moved), np.array(ends(base)) + shift)
    assert np.allclose(ends(mirrored), -np.array(ends(base))[::-1])


@given(samples, st.randoms(use_true_random=False))
def test_order_of_blocks_does_not_matter_and_failures_are_left_out(values: list[float], random: Random) -> None:
    shuffled = [*values, math.nan, math.inf]
    random.shuffle(shuffled)
    assert hodges_lehmann(shuffled) == hodges_lehmann(values)


@given(samples, st.floats(1e-6, 1e6))
def test_a_ratio_has_no_unit(values: list[float], unit: float) -> None:
    a, b = np.exp(values), np.exp(np.array(values[::-1]) / 3)
    one, other = stats.ratio_interval(a, b), stats.ratio_interval(a * unit, b * unit)
    assert np.allclose(ends(one), ends(other))


def test_a_failed_launch_takes_its_pair_with_it() -> None:
    ratio = stats.ratio_interval([2.0] * 7 + [math.nan, 0.0], [1.0] * 9)
    assert ratio.n == 7
    assert ratio.estimate == pytest.approx(2.0)


@given(samples, st.integers(1, 64), st.integers(1, 64))
def test_speedup_efficiency_and_overhead_are_one_interval(values: list[float], p_ref: int, p: int) -> None:
    log_ratio = hodges_lehmann(values)
    s = stats.speedup(log_ratio)
    e, f = stats.efficiency(log_ratio, p_ref, p), stats.overhead(log_ratio, p_ref, p)
    for interval in (s, e, f):
        assert list(ends(interval)) == sorted(ends(interval))
        assert interval.confidence == log_ratio.confidence
    assert e.estimate == pytest.approx(p_ref * s.estimate / p)
    assert ends(f) == pytest.approx([1 / end - 1 for end in reversed(ends(e))])


def test_a_map_without_interval_stays_without() -> None:
    assert Interval(1.0, None, None, None, 3).map(math.exp) == Interval(math.e, None, None, None, 3)


def test_median_interval_is_the_known_order_statistics() -> None:
    interval = stats.median_interval([3.0, 1, 2, 6, 5, 4, 8, 7, 9, 10, 12, 11, 15, 14, 13])
    assert (interval.low, interval.estimate, interval.high) == (4, 8, 12)
    assert interval.confidence == pytest.approx(1 - 2 * sum(math.comb(15, k) for k in range(4)) / 2**15)


def test_typical_times_survive_an_outlier_and_a_failed_column() -> None:
    times = np.column_stack([[1.0, 1.1, 0.9, 1.0, 50.0], [math.nan] * 5])
    typical = stats.typical_times(times)
    assert 0.9 < typical[0] < 1.3
    assert math.isnan(typical[1])


def test_five_statements_share_the_warning() -> None:
    assert stats.bonferroni(0.95, 5) == pytest.approx(0.99)


class TestStop:
    wide = Interval(0.0, -0.1, 0.1, 0.96, 10)
    narrow = Interval(0.0, -0.01, 0.01, 0.96, 10)
    rule = Stop(min_blocks=8, max_blocks=40, width=0.02)

    def test_looks_are_declared_and_end_with_the_last_block(self) -> None:
        assert self.rule.looks == (8, 10, 13, 17, 22, 28, 35, 40)
        assert Stop(min_blocks=9, max_blocks=9).looks == (9,)

    def test_stops_by_width_only_where_a_look_was_planned(self) -> None:
        assert should_stop(self.rule, [self.narrow], 10).reason == "width"
        assert should_stop(self.rule, [self.narrow], 11).reason is None

    def test_the_widest_interval_decides(self) -> None:
        decision = should_stop(self.rule, [self.narrow, self.wide], 10)
        assert decision.reason is None
        assert decision.reached_width == pytest.approx(math.expm1(0.1))

    def test_giving_up_says_why_and_how_far_it_came(self) -> None:
        assert should_stop(self.rule, [self.wide], 40).reason == "blocks"
        assert should_stop(self.rule, [self.wide], 9, budget_spent=True).reason == "budget"
        assert should_stop(self.rule, [Interval(0.0, None, None, None, 5)], 8).reached_width is None

    def test_a_number_of_blocks_that_was_asked_for_is_why_it_ends(self) -> None:
        asked = Stop(rule="replicates", min_blocks=10, max_blocks=10, width=0.02)
        assert should_stop(asked, [self.narrow], 10).reason == "blocks"

    def test_each_look_reserves_error(self) -> None:
        assert self.rule.reading_confidence == pytest.approx(0.96)

    @pytest.mark.parametrize("wrong", [{"width": 0}, {"confidence": 1}, {"min_blocks": 41}])
    def test_refuses_what_makes_no_sense(self, wrong: dict[str, int]) -> None:
        with pytest.raises(ValueError, match="Stop"):
            Stop.model_validate(wrong)


@pytest.mark.parametrize(
    ("bound", "share"), [(-1.0, 0.0), (0.0, 0.0), (math.log(2), 1.0), (800.0, None), (math.inf, None)]
)
def test_a_bound_that_says_nothing_is_none(bound: float, share: float | None) -> None:
    assert stats.excess(bound) == (share if share is None else pytest.approx(share))


@pytest.mark.parametrize(("m", "n"), [(4, 5), (5, 3), (2, 6)])
def test_rank_sums_are_counted_as_all_orders_have_them(m: int, n: int) -> None:
    sums = [sum(one > other for one in chosen for other in set(range(m + n)) - set(chosen))
            for chosen in itertools.combinations(range(m + n), m)]  # fmt: skip
    shares = [sum(one <= u for one in sums) / len(sums) for u in range(m * n + 1)]
    assert two_samples._rank_sums(m, n) == pytest.approx(shares)


def test_the_interval_of_two_samples_covers() -> None:
    drawn = np.random.default_rng(4)
    samples = [(drawn.lognormal(0.3, 0.2, 8), drawn.lognormal(0.0, 0.2, 11)) for _ in range(1000)]
    found = [two_samples.unpaired_ratio(a, b) for a, b in samples]
    assert 0.935 < sum(one.covers(math.exp(0.3)) for one in found) / 1000 < 0.98
    assert two_samples.unpaired_ratio([1.0, 2.0], [1.0, 3.0]).low is None
    assert math.isnan(two_samples.unpaired_ratio([math.nan], [1.0]).estimate)


@pytest.mark.parametrize(("part", "whole"), [(0, 1), (1, 1), (0, 40), (1, 40), (13, 40), (39, 40), (40, 40), (7, 5000)])
def test_the_interval_of_a_share_is_scipys(part: int, whole: int) -> None:
    asked = binomtest(part, whole).proportion_ci(method="wilson")
    assert ends(stats.share(part, whole)) == pytest.approx((asked.low, part / whole, asked.high), abs=1e-12)


def test_a_ratio_to_a_reference_that_is_0_or_mostly_absent_has_no_interval() -> None:
    blocks = np.arange(3)
    nothing = percentiles.bootstrapped_ratio([((blocks, [1.0, 2.0, 3.0]), (blocks, [0.0, 0.0, 0.0]))])
    absent = percentiles.bootstrapped_ratio([(([0, 0], [1.0, 1.0]), ([1, 1], [2.0, 2.0]))])
    assert nothing.low is absent.low is None and absent.estimate == 0.5
