# SPDX-License-Identifier: Apache-2.0
"""Bounds on metrics: shown to be met, shown to be broken, or neither, whenever one looks."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from corescale.cli.output import exit_code
from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.constraints import Judged, broken, judged, not_shown
from corescale.conclude.race.race import Race
from corescale.declare import command_line
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.request import TuneRequest
from corescale.errors import ExitCode
from corescale.records import Record
from corescale.show.headline import recommendation
from support.play import MACHINE, record


def limited(bound: str = "bytes<=1.04*baseline") -> Experiment:
    request = TuneRequest(
        threads="1", factor=["MODE=a,b"], baseline="threads=1,MODE=a", budget="none",
        metric=["bytes=stdout-size"], subject_to=[bound],
    )  # fmt: skip
    return command_line.tune(request, ["x"], MACHINE)


def launches(experiment: Experiment, now: Sequence[float], other: Sequence[float]) -> list[Record]:
    """Blocks of the baseline and b with these metrics; NaN where it is not reported."""
    a, b = configurations(experiment)
    both = [pair for k in range(max(len(now), len(other))) for pair in ((a, k, now), (b, k, other)) if k < len(pair[2])]
    return [
        record(c, 1.0 if c == a else 0.9, block=k, metrics={} if math.isnan(given[k]) else {"bytes": given[k]})
        for c, k, given in both
    ]


def of_b(experiment: Experiment, now: Sequence[float], other: Sequence[float]) -> Judged:
    return judged(launches(experiment, now, other), experiment)[configurations(experiment)[1]][0]


@pytest.mark.parametrize(
    ("other", "state"),
    [([104.0] * 2, "meets"), ([104.1] * 2, "breaks"), ([99, 101, 100], "meets"), ([119, 121, 120], "breaks"),
     ([102, 105, 104], "not shown"), ([100, 120], "not shown")],
)  # fmt: skip
def test_a_metric_is_shown_to_meet_its_bound_or_to_break_it_or_neither(other: list[float], state: str) -> None:
    assert of_b(limited(), [100, 100, 100], other).state == state


def test_a_bound_from_below_and_one_that_is_a_number() -> None:
    assert of_b(limited("bytes>=0.9*baseline"), [100, 101], [80, 81]).state == "breaks"
    assert of_b(limited("bytes>=0.9*baseline"), [100, 101], [100, 101]).state == "meets"
    assert of_b(limited("bytes<=120"), [300, 301], [100, 101]).state == "meets"
    found = of_b(limited("bytes<=101"), [100, 101], [100, 101])
    assert (found.state, found.limit) == ("not shown", "<= 101")


def test_values_that_have_no_logarithm_are_compared_as_they_are() -> None:
    assert of_b(limited("bytes<=0"), [0, 0], [0, 0]).state == "meets"
    assert of_b(limited("bytes<=0"), [0, 0], [3, 3]).state == "breaks"
    assert of_b(limited("bytes<=1.5*baseline"), [2, 2, 0], [1, 0, 1]).state == "not shown"


def test_one_launch_is_judged_by_what_the_others_tell_of_the_scatter() -> None:
    """It bars nothing for good, and where nothing tells, what looks broken is not the answer as things stand."""
    experiment = limited()
    b = configurations(experiment)[1]
    for now, other, state in (([100], [120], "breaks"), ([100], [100], "not shown"), ([100, 101, 99], [150], "breaks")):
        records = launches(experiment, now, other)
        assert judged(records, experiment)[b][0].state == state
        assert (b in broken(records, experiment)) == (state == "breaks") and b not in Race.of(
            records, experiment
        ).standing.eliminated
    assert b in Race.of(launches(experiment, [100, 100], [150, 150]), experiment).standing.eliminated


def test_what_does_not_report_a_metric_breaks_its_bound_at_once() -> None:
    experiment = limited()
    b = configurations(experiment)[1]
    assert broken(launches(experiment, [100], [math.nan]), experiment)[b] == "bytes was not reported"
    assert b in Race.of(launches(experiment, [100], [math.nan]), experiment).standing.eliminated
    unknown = broken(launches(experiment, [math.nan], [100]), experiment)
    assert unknown[b] == "bytes was not reported by the baseline"


@pytest.mark.parametrize(("truth", "false"), [(1.0399, "breaks"), (1.0401, "meets")])
def test_what_is_shown_at_any_moment_is_rarely_false(truth: float, false: str) -> None:
    """Looked at after every launch, at the limit itself: 5% of runs are paid for, and three standard errors."""
    experiment, rng, wrong, runs = limited(), np.random.default_rng(5), 0, 60
    b = configurations(experiment)[1]
    for _ in range(runs):
        now, other = (100 * level * np.exp(0.02 * rng.standard_normal(20)) for level in (1.0, truth))
        records = launches(experiment, now.tolist(), other.tolist())
        seen = (judged(records[: 2 * n], experiment)[b][0] for n in range(1, 21))
        wrong += any(one.state == false and one.value.low is not None for one in seen)
    assert wrong <= 0.05 * runs + 3 * math.sqrt(0.05 * 0.95 * runs)


def test_the_answer_says_what_it_is_not_shown_to_meet() -> None:
    experiment = limited()
    now, b = configurations(experiment)
    records = launches(experiment, [100, 98, 102, 99, 101, 100], [103, 105, 102, 104, 103, 105])
    fresh = [
        record(c, 1.0 if c == now else 0.9 + k / 1000, phase="confirm", block=100 + k, metrics={"bytes": size + k % 2})
        for k in range(8)
        for c, size in ((now, 100.0), (b, 103.0))
    ]
    answer = recommend([*records, *fresh], experiment)
    assert answer.chosen == b and not_shown([*records, *fresh], experiment, b) == answer.not_shown
    assert "; bytes not shown to be <= 1.04x baseline: 1.033x" in recommendation(answer)
    assert answer.decided and exit_code(answer) == ExitCode.INCONCLUSIVE, "no script may adopt it"
    sized = [100.0] * 6
    assert recommend([*launches(experiment, sized, sized), *fresh[:0]], experiment).not_shown == ()


def test_a_race_goes_on_until_its_answer_is_shown_to_meet_the_bound() -> None:
    """b breaks it and is eliminated, so there is nothing to compare; a alone is launched again."""
    experiment = limited("bytes<=101")
    now, _ = configurations(experiment)
    block = Race.of(launches(experiment, [100, 101.5], [300, 301]), experiment).next_block()
    assert block is not None and (block.phase, block.configurations) == ("measure", (now,))
    assert Race.of(launches(experiment, [99] * 4, [300, 301]), experiment).next_block() is None, "shown to meet it"
    each = (*limited("bytes<=50").tuning.constraints, *experiment.tuning.constraints)
    both = experiment.model_copy(update={"tuning": experiment.tuning.model_copy(update={"constraints": each})})
    assert Race.of(launches(both, [100, 101.5] * 2, [300, 301]), both).next_block() is None, "it breaks the other"


def test_a_baseline_that_breaks_the_bound_is_said_to_break_it_in_the_unit_of_the_metric() -> None:
    experiment = limited("bytes<=30MiB").model_copy(update={"metrics": {"bytes": "peak-memory"}})
    for other, meets in (([12 * 2**20], "is not shown to break"), ([12 * 2**20] * 3, "meets")):
        said = recommendation(recommend(launches(experiment, [31 * 2**20] * len(other), other), experiment))
        assert said.startswith(
            f"threads=1 MODE=b is the fastest that {meets} the constraint, and threads=1 MODE=a breaks it"
        )
        assert ("; bytes not shown to be <= 30 MiB: 12 MiB in 1 launch" in said) == (meets != "meets")


def test_only_a_launch_that_is_shown_to_meet_all_constraints_caps_others() -> None:
    """A fast baseline that breaks them must not stop the slower launch that meets them."""
    experiment = limited("bytes<=90")

    def cap(now: list[float], other: list[float]) -> float | None:
        block = Race.of(launches(experiment, now, other), experiment).next_block()
        assert block is not None
        return block.cap

    assert cap([100], [80]) is None
    assert cap([80, 80, 80], []) == pytest.approx(3.0)


def test_a_configuration_of_which_no_launch_ended_is_no_answer() -> None:
    experiment = limited()
    now, b = configurations(experiment)
    records = [record(now, 1.0, metrics={"bytes": 100.0}), record(b, 0.5, status="capped", metrics={"bytes": 1.0})]
    assert broken(records, experiment) == {b: "bytes is not known, as no launch ended"}
    assert recommend(records, experiment).chosen == now
