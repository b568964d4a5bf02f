# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: every verdict on one model, by made-up machines)
"""Statements about overhead: the sum of factors that made the data is found, and nothing is claimed without data."""

from collections.abc import Callable
from typing import Any

import pytest

from corescale.conclude import overhead_forecast
from corescale.conclude.answers.overheads import Modelled, overheads
from corescale.conclude.answers.study import study
from corescale.conclude.forecast import Scored
from corescale.conclude.frame import frame
from corescale.conclude.stats import median_interval
from corescale.declare.experiment import Command, Experiment, Factor
from corescale.declare.outputs import Finding, Normalise, Overheads
from corescale.errors import UsageError
from corescale.records import Configuration
from corescale.show import statements
from support.samples import records, shown_by

Overhead = Callable[[float, float], float]
EXPERIMENT = Experiment(
    verb="study",
    commands=(Command(name="main", argv=("cluster", "{threads}", "{points}")),),
    factors=(
        Factor(name="threads", kind="threads", levels=(1, 2, 4, 8)),
        Factor(name="points", kind="parameter", levels=(1000, 2000, 4000)),
    ),
)
ASKED = {
    "name": "grain",
    "statement": "One factor, the inverse grain size, describes three sizes at once.",
    "factors": {"grain": "p / points", "p": "p"},
    "models": ("grain", "p", "grain + p"),
    "claim": "grain",
}


def truth(overhead: Overhead) -> Callable[[Configuration], float]:
    def seconds(c: Configuration) -> float:
        p, points = c.layout.p, float(c["points"])
        return 1e-6 * points**2 * (1 + (overhead(p, points) if p > 1 else 0)) / p

    return seconds


def by_grain(p: float, points: float) -> float:
    return 60 * p / points


def found(overhead: Overhead, blocks: int = 8, **changes: object) -> Modelled:
    asked = Overheads.model_validate(ASKED | changes)
    rows = frame(records(EXPERIMENT, truth(overhead), blocks, noise=0.01), EXPERIMENT)
    (answer,) = overheads(rows, EXPERIMENT, asked)
    return answer


def test_the_grain_is_found_to_describe_three_sizes_at_once() -> None:
    answer = found(by_grain)
    assert answer.verdict == "holds" and answer.claimed is not None
    assert answer.claimed.coefficients["grain"].estimate == pytest.approx(60, rel=0.1)
    said = statements.answer(answer)
    assert said.startswith("holds: f = ") and "x grain. It is off by" in said and "not shown to predict" in said


def test_one_block_refutes_nothing() -> None:
    answer = found(lambda p, points: 0.05 * p, blocks=1)
    assert answer.verdict == "open" and "fewer than 6 blocks" in answer.why


def test_of_two_factors_that_tell_the_same_neither_is_shown() -> None:
    answer = found(by_grain, factors={"grain": "p / points", "same": "3 * p / points"}, models=("grain", "same"))
    assert (answer.verdict, answer.why) == ("open", "same predicts as well")


def test_another_factor_refutes_it() -> None:
    answer = found(lambda p, points: 0.05 * p)
    assert (answer.verdict, answer.why) == ("does not hold", "p surely predicts better, by more than 0.05")


def test_a_model_that_is_near_enough_is_not_refuted_by_a_nearer_one() -> None:
    def bent(p: float, points: float) -> float:
        return by_grain(p, points) + 0.004 * p

    assert found(bent, models=("grain", "grain + p")).verdict == "holds"
    assert found(bent, models=("grain", "grain + p"), within=0.001).verdict == "does not hold"


def test_what_a_machine_cannot_answer_is_drawn_still() -> None:
    answer = found(by_grain, needs={"threads": 16})
    assert answer.verdict == "not on this machine" and "needs threads >= 16" in answer.why
    assert answer.claimed is not None and answer.points


def test_a_model_that_is_too_far_off_does_not_hold() -> None:
    answer = found(lambda p, points: 1000 * p / points * (1 if points == 1000 else 0.2), models=("grain",))
    assert (answer.verdict, answer.why) == ("does not hold", "it is off by more than 0.05")


def test_overheads_below_what_a_model_may_be_off_by_show_no_model() -> None:
    answer = found(lambda p, points: 0.04 * (1000 / points) ** 0.5, models=("grain",))
    assert answer.verdict == "open" and "no overhead is large enough to decide" in answer.why


@pytest.mark.parametrize(
    ("p_too", "blocks", "verdict"), [(0.0, 8, "holds"), (0.5, 8, "does not hold"), (0.0, 4, "open")]
)
def test_that_more_factors_are_no_better_asks_for_their_errors_alone(p_too: float, blocks: int, verdict: str) -> None:
    def overhead(p: float, points: float) -> float:
        return by_grain(p, points) + p_too * p

    models: dict[str, Any] = {
        "models": ("grain", "grain + p"),
        "no_better": "grain + p",
        "relative": True,
        "within": 0.2,
    }
    assert found(overhead, blocks, **models).verdict == verdict


def test_an_error_may_be_a_share_of_f() -> None:
    """It is off by 0.3 at 2 and 4, and by more at 8; f itself is up to 8."""

    def bent(p: float, points: float) -> float:
        return 1000 * p / points * (1 if points < 4000 else 1.05)

    changes: dict[str, Any] = {"models": ("grain",), "within": 0.05}
    assert found(bent, **changes).verdict != "holds"
    assert found(bent, **changes, relative=True).verdict == "holds"


def test_two_factors_hold_only_where_one_is_surely_worse() -> None:
    models = ("grain", "grain + p")
    both = found(lambda p, points: by_grain(p, points) + 0.05 * p, claim="grain + p", models=models)
    assert both.verdict == "holds"
    one = found(by_grain, claim="grain + p", models=models)
    assert one.verdict in ("open", "does not hold") and one.why


@pytest.mark.parametrize(
    ("blocks", "overhead", "why"),
    [
        (4, by_grain, "fewer than 6 blocks"),
        (8, lambda p, points: 0.0, "no overhead is shown that grain would describe"),
    ],
)
def test_without_data_or_overhead_it_is_open(blocks: int, overhead: Overhead, why: str) -> None:
    answer = found(overhead, blocks, models=("grain",))
    assert answer.verdict == "open" and why in answer.why


FAILING: dict[str, Any] = {"models": ("grain",), "fails_beyond": 1.0, "within": 0.1}


def test_a_line_that_fails_at_large_overhead_is_noticed() -> None:
    """f of 0.06 to 0.96 on the line; the largest, 1.92 by the line, is 9."""
    answer = found(lambda p, points: by_large_grain(p, points) if p < 8 or points > 1000 else 9.0, **FAILING)
    assert answer.verdict == "holds" and answer.reach is not None and answer.reach.beyond == 1
    assert answer.reach.far.estimate == pytest.approx((10 - 2.92) / 10, rel=0.02) and answer.reach.near.estimate < 0.02
    assert "Beyond that, in 1 configuration, it is off by 7" in statements.answer(answer)


def by_large_grain(p: float, points: float) -> float:
    return 240 * p / points


def test_a_line_that_goes_on_refutes_that_it_fails() -> None:
    answer = found(by_large_grain, **FAILING)
    assert answer.verdict == "does not hold" and "less than 10% of the time there too" in answer.why


def test_that_it_fails_is_open_or_unmeasured_without_data() -> None:
    def noisy(p: float, points: float) -> float:
        return by_large_grain(p, points) * (1.25 if p * 1000 > 4 * points else 1)

    sure = found(noisy, **FAILING | {"within": 0.05})
    assert sure.verdict == "holds" and sure.reach is not None
    assert found(noisy, **FAILING | {"within": sure.reach.far.estimate}).verdict == "open"
    assert found(by_large_grain, blocks=4, **FAILING).verdict == "open"
    for limit, why in ((50.0, "no configuration has an overhead above 50"), (0.001, "of at most 0.001")):
        answer = found(by_large_grain, **FAILING | {"fails_beyond": limit})
        assert answer.verdict == "not on this machine" and why in answer.why


def test_a_line_through_one_small_overhead_alone_says_nothing_of_large_ones() -> None:
    """Of f from 0.11 on only the first is below the limit: its line fits by itself, and is far off elsewhere."""
    answer = found(lambda p, points: by_large_grain(p, points) ** 2 + 0.1, **FAILING | {"fails_beyond": 0.135})
    assert answer.verdict == "not on this machine" and "is not tested" in answer.why


@pytest.mark.parametrize(("rival", "threads"), [("", [1, 2]), ("grain + square", [1, 2, 4])])
def test_a_fit_through_every_point_is_no_answer(rival: str, threads: list[int]) -> None:
    """One size, with as many overheads as the sum has factors."""
    models = ("grain", rival) if rival else ("grain",)
    factors = {"grain": "p / points", "square": "p * p"}
    where = {"points": 1000, "threads": threads}
    answer = found(by_grain, factors=factors, models=models, no_better=rival, where=where)
    assert answer.verdict == "not on this machine" and "is not tested" in answer.why


def test_a_claim_about_small_overheads_is_not_judged_by_large_ones() -> None:
    """f of 0.06 to 0.96 on the line; the largest, 1.92 by the line, is 9."""

    def bent(p: float, points: float) -> float:
        return by_large_grain(p, points) if p < 8 or points > 1000 else 9.0

    changes: dict[str, Any] = {"models": ("grain",), "within": 0.1, "relative": True}
    assert found(bent, **changes).verdict == "does not hold"
    assert found(bent, **changes, up_to=10).verdict == "does not hold"
    answer = found(bent, **changes, up_to=1)
    assert answer.verdict == "holds" and "fitted where f is at most 1" in statements.answer(answer)
    assert max(point.overhead.estimate for point in answer.points) == pytest.approx(9, rel=0.05)  # still drawn
    assert found(lambda p, points: by_large_grain(p, points) ** 2, **changes, up_to=1).verdict == "does not hold"
    none = found(bent, **changes, up_to=0.001)
    assert none.verdict == "not on this machine" and "of at most 0.001" in none.why


def test_a_factor_that_lowers_the_overhead_describes_no_overhead() -> None:
    answer = found(lambda p, points: -60 * p / points, models=("grain",))
    assert (answer.verdict, answer.why) == ("does not hold", "grain would lower the overhead")


@pytest.mark.parametrize("times", [{"a": 1, "b": 1}, {"a": 3, "b": 1}, {"a": 1, "b": 3}], ids=str)
@pytest.mark.parametrize(("bend", "verdict"), [(2.0, "holds"), (0.0, "open"), (-2.0, "does not hold")])
def test_a_model_is_compared_between_two_kinds_of_launches(bend: float, verdict: str, times: dict[str, int]) -> None:
    """b bends away from the line where `bend` is above 0, a where it is below; the size of f itself is no matter."""
    kinds = EXPERIMENT.model_copy(
        update={"factors": (*EXPERIMENT.factors, Factor(name="kind", kind="parameter", levels=("a", "b")))}
    )

    def seconds(c: Configuration) -> float:
        p, points = c.layout.p, float(c["points"])
        bent = max(0.0, bend if c["kind"] == "b" else -bend)
        f = by_grain(p, points) + bent * (p / 8) ** 3
        return 1e-6 * points**2 * (1 + (times[str(c["kind"])] * f if p > 1 else 0)) / p

    asked = Overheads.model_validate(
        ASKED | {"models": ("grain",), "where": {"kind": "b"}, "worse_than": {"kind": "a"}}
    )
    (answer,) = overheads(frame(records(kinds, seconds, 8, noise=0.01), kinds), kinds, asked)
    assert answer.verdict == verdict and "The fit that is claimed to predict better is " in statements.answer(answer)


def test_it_is_an_answer_of_the_study() -> None:
    asked = shown_by(EXPERIMENT, outputs=(Overheads.model_validate(ASKED),))
    said = study(records(asked, truth(by_grain), 8, noise=0.01), asked)
    assert [one.verdict for one in said.answers] == ["holds"]
    assert statements.findings(said.answers) == "1 statement: 1 holds"
    assert [one.verdict for one in study([], asked).answers] == ["not on this machine"]


def test_a_model_of_unknown_factors_is_refused() -> None:
    with pytest.raises(ValueError, match="no factor 'n'; factors here: grain, p"):
        Overheads.model_validate(ASKED | {"models": ("grain", "n")})
    with pytest.raises(ValueError, match="none of the models; models here: grain, p"):
        Overheads.model_validate(ASKED | {"models": ("grain", "p"), "claim": "grain + p"})
    with pytest.raises(ValueError, match="drop `up_to`"):
        Overheads.model_validate(ASKED | FAILING | {"up_to": 2})


def test_a_reference_is_taken_away_only_where_a_difference_is_asked() -> None:
    finding = {"name": "x", "statement": "y", "a": {"p": 2}, "b": {"p": 1}, "claim": "> 0"}
    with pytest.raises(ValueError, match="`subtract` is for a finding that is a `difference`"):
        Finding.model_validate(finding | {"normalise": {"to": {"p": 1}, "subtract": True}})
    with pytest.raises(ValueError, match="give one of them"):
        Normalise(to={"p": 1}, inverse=True, subtract=True)
    with pytest.raises(ValueError, match="`less_one` is for a chart"):
        Finding.model_validate(finding | {"normalise": {"to": {"p": 1}, "less_one": True}})


def test_one_fit_forecasts_every_size() -> None:
    made = records(EXPERIMENT, truth(by_grain), 10, noise=0.01)
    said = overhead_forecast.predict(made, EXPERIMENT, 16, ["p / points", "p", "p / points + p"])
    assert [one.label for one in said] == ["points=1000", "points=2000", "points=4000"]
    for one, points in zip(said, (1000, 2000, 4000), strict=True):
        assert one.model == "f = p / points" and one.beyond == 2
        expected = 1e-6 * points**2 * (1 + by_grain(16, points)) / 16
        assert one.seconds.estimate == pytest.approx(expected, rel=0.05) and one.seconds.low is not None


WIDE = EXPERIMENT.model_copy(
    update={"factors": (Factor(name="threads", kind="threads", levels=(1, 2, 4, 8, 16)), EXPERIMENT.factors[1])}
)
"""whose p up to half of the largest are the four levels that an interval needs"""


def held_back(overhead: Overhead, experiment: Experiment = WIDE) -> tuple[Scored, ...]:
    made = records(experiment, truth(overhead), 10, noise=0.01)
    return overhead_forecast.held_back(made, experiment, ["p / points"])


def broken(p: float, points: float) -> float:
    """The line in p / points fails at p = 16."""
    return by_grain(p, points) + (3 if p == 16 else 0)


def test_forecasts_from_the_smaller_half_are_scored_by_the_largest_p() -> None:
    scored = held_back(by_grain)
    assert [(one.label, one.p, one.made) for one in scored] == [
        (f"points={points}", 16, "afterwards") for points in (1000, 2000, 4000)
    ]
    assert all(one.covered for one in scored)
    assert [one.covered for one in held_back(broken)] == [False] * 3
    assert [one.covered for one in held_back(by_grain, EXPERIMENT)] == [None] * 3, "three levels give no interval"


def test_a_scored_forecast_has_seen_nothing_of_the_largest_p() -> None:
    kept, lost = held_back(by_grain), held_back(broken)
    assert [one.forecast for one in kept] == [one.forecast for one in lost]


def test_two_levels_of_p_leave_nothing_to_score() -> None:
    two = EXPERIMENT.model_copy(
        update={"factors": (Factor(name="threads", kind="threads", levels=(1, 2)), EXPERIMENT.factors[1])}
    )
    assert overhead_forecast.held_back(records(two, truth(by_grain), 8), two, ["p / points"]) == ()


def test_systems_and_threads_and_ranks_have_fits_of_their_own() -> None:
    """Overhead of 20 and 60 for threads, 100 and 140 for ranks, times p / points."""
    asked = EXPERIMENT.model_copy(
        update={
            "factors": (
                Factor(name="threads", kind="threads", levels=(1, 2)),
                Factor(name="ranks", kind="ranks", levels=(1, 2)),
                Factor(name="threading", kind="parameter", levels=("tbb", "ports")),
                EXPERIMENT.factors[1],
            )
        }
    )

    def slope(ranks: bool, threading: object) -> float:
        return (100 if ranks else 20) + (40 if threading == "ports" else 0)

    def seconds(c: Configuration) -> float:
        p, points = c.layout.p, float(c["points"])
        f = slope(c.layout.ranks_per_node > 1, c["threading"]) * p / points if p > 1 else 0
        return 1e-6 * points**2 * (1 + f) / p

    said = overhead_forecast.predict(records(asked, seconds, 8, noise=0.002), asked, 4, ["p / points"])
    assert len(said) == 2 * 2 * 3 and {one.label.split()[1] for one in said} == {"ranks", "threads"}
    for one in said:
        points = float(one.label.rpartition("points=")[2])
        truth = (
            1e-6
            * points**2
            * (1 + slope("by ranks" in one.label, "ports" if "ports" in one.label else "") * 4 / points)
            / 4
        )
        assert one.seconds.estimate == pytest.approx(truth, rel=0.01), one.label


def test_a_forecast_of_p_alone_refuses_what_p_does_not_tell() -> None:
    made = records(EXPERIMENT, truth(by_grain), 8)
    for text, why in (("threads", "has threads, which p does not determine; write it with p, points"),
                      ("p /", "not a formula: 'p /'"), ("open(p)", "is more than arithmetic")):  # fmt: skip
        with pytest.raises(UsageError) as refused:
            overhead_forecast.predict(made, EXPERIMENT, 16, [text])
        assert why in str(refused.value)
    assert overhead_forecast.split("p / (points + 1) + p + p * p") == ("p / (points + 1)", "p", "p * p")


def test_a_forecast_is_as_unsure_as_its_reference() -> None:
    """f is known well, T(1) of 8 launches is not, and the forecast is in proportion to it."""
    made = records(EXPERIMENT, truth(by_grain), 8, noise=0.1)
    rows = frame(made, EXPERIMENT)
    for one in overhead_forecast.predict(made, EXPERIMENT, 8, ["p / points"]):
        points = int(one.label.partition("points=")[2])
        alone = rows[(rows["points"] == points) & (rows["p"] == 1)]["time"]
        reference = median_interval(alone, 0.95)
        assert one.seconds.low is not None and one.seconds.high is not None
        assert reference.low is not None and reference.high is not None
        assert one.seconds.high / one.seconds.estimate >= reference.high / reference.estimate
        assert one.seconds.low / one.seconds.estimate <= reference.low / reference.estimate
