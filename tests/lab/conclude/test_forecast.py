# SPDX-License-Identifier: Apache-2.0
"""Forecasts at other p: they cover a model's truth, and the track record notices a model that breaks."""

import dataclasses

import pytest

from corescale.conclude import forecast
from corescale.conclude.policy import Uniform, uniform
from corescale.declare import command_line
from corescale.declare.experiment import Baseline, Experiment, Scaling
from corescale.declare.request import ScanRequest
from corescale.records import Configuration
from support.play import MACHINE, play

EIGHT = dataclasses.replace(MACHINE, affinity=tuple(range(8)))


def experiment(levels: str = "1,2,3,4,8") -> Experiment:
    return command_line.scan(ScanRequest(threads=levels, runs=8, budget="none"), ["true", "{threads}"], EIGHT)


def amdahl(configuration: Configuration) -> float:
    return 2 * (0.1 + 0.9 / configuration.layout.p)


def breaking(configuration: Configuration) -> float:
    return amdahl(configuration) + (3 if configuration.layout.p == 8 else 0)


def test_a_forecast_covers_the_model_and_says_how_far_it_goes() -> None:
    asked = experiment()
    (found,) = forecast.predict(play(asked, amdahl, Uniform(asked)), asked, 32)
    assert (found.model, found.measured, found.beyond) == ("amdahl", (1.0, 8.0), 4.0)
    assert found.seconds.low is not None and found.seconds.high is not None
    assert found.seconds.low <= 2 * (0.1 + 0.9 / 32) <= found.seconds.high


@pytest.mark.parametrize(("levels", "sure"), [("1,2", False), ("1,2,4", False), ("1,2,3,4", True)])
def test_few_levels_give_no_interval_beyond_them(levels: str, sure: bool) -> None:
    asked = experiment(levels)
    made = play(asked, amdahl, Uniform(asked))
    (beyond,), (within,) = (forecast.predict(made, asked, p) for p in (8, 2))
    assert (beyond.seconds.low is not None) == sure
    assert within.seconds.low is not None


def test_the_track_record_uses_nothing_of_the_largest_p() -> None:
    asked = experiment()
    steady, broken = (forecast.held_back(play(asked, truth, Uniform(asked)), asked) for truth in (amdahl, breaking))
    assert steady[0].p == broken[0].p == 8
    assert steady[0].forecast == broken[0].forecast


def test_the_track_record_notices_a_model_that_breaks() -> None:
    asked = experiment()
    covered = [forecast.held_back(play(asked, amdahl, Uniform(asked), seed=s), asked)[0].covered for s in range(10)]
    assert sum(one is True for one in covered) >= 7
    assert forecast.held_back(play(asked, breaking, Uniform(asked)), asked)[0].covered is False


def test_a_sealed_forecast_is_scored_by_what_came_later() -> None:
    asked = experiment().model_copy(update={"scaling": Scaling(seal=True), "baseline": Baseline(returns=False)})
    for truth, covered in ((amdahl, True), (breaking, False)):
        made = play(asked, truth, uniform(asked))
        early = [record for record in made if record.block < 8]
        assert {record.configuration.layout.p for record in early} == {1, 2, 3, 4}
        assert {record.configuration.layout.p for record in made[len(early) :]} == {1, 2, 3, 4, 8}
        sealed = forecast.to_seal(early, asked)
        assert [(one["p"], one["from"]) for one in sealed] == [(8, 4.0)]
        (scored,) = forecast.score(sealed, made, asked)
        assert (scored.made, scored.covered, scored.oversubscribed) == ("sealed", covered, False)


def test_a_model_can_be_asked_for() -> None:
    asked = experiment()
    made = play(asked, amdahl, Uniform(asked))
    (form,) = forecast.predict(made, asked, 16, "normal-form")
    assert form.model == "T(p) = c0 + c1 p^-1"
    (usl,) = forecast.predict(made, asked, 16, "usl")
    for one in (form, usl):
        assert one.reason == "as asked for" and abs(one.seconds.estimate - amdahl_at(16)) < 0.1 * amdahl_at(16)


def amdahl_at(p: int) -> float:
    return 2 * (0.1 + 0.9 / p)
