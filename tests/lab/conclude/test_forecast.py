# SPDX-License-Identifier: Apache-2.0
"""Forecasts at other p: they cover a law's truth, and the track record notices a law that breaks."""

import dataclasses

from corescale.conclude import forecast
from corescale.conclude.policy import uniform
from corescale.declare import command_line
from corescale.declare.command_line.request import ScanRequest
from corescale.declare.experiment import Experiment
from corescale.records import Configuration
from support.play import MACHINE, play

EIGHT = dataclasses.replace(MACHINE, affinity=tuple(range(8)))


def experiment() -> Experiment:
    return command_line.scan(ScanRequest(threads="1,2,4,8", runs=8, budget="none"), ["true", "{threads}"], EIGHT)


def amdahl(configuration: Configuration) -> float:
    return 2 * (0.1 + 0.9 / configuration.layout.p)


def breaking(configuration: Configuration) -> float:
    return amdahl(configuration) + (3 if configuration.layout.p == 8 else 0)


def test_a_forecast_covers_the_law_and_says_how_far_it_goes() -> None:
    asked = experiment()
    (found,) = forecast.predict(play(asked, amdahl, uniform(asked)), asked, 32)
    assert (found.law, found.measured, found.beyond) == ("amdahl", (1.0, 8.0), 4.0)
    assert found.seconds.low is not None and found.seconds.high is not None
    assert found.seconds.low <= 2 * (0.1 + 0.9 / 32) <= found.seconds.high


def test_the_track_record_uses_nothing_of_the_largest_p() -> None:
    asked = experiment()
    steady, broken = (forecast.held_back(play(asked, truth, uniform(asked)), asked) for truth in (amdahl, breaking))
    assert steady[0].p == broken[0].p == 8
    assert steady[0].forecast == broken[0].forecast


def test_the_track_record_notices_a_law_that_breaks() -> None:
    asked = experiment()
    covered = [forecast.held_back(play(asked, amdahl, uniform(asked), seed=s), asked)[0].covered for s in range(10)]
    assert sum(one is True for one in covered) >= 7
    assert forecast.held_back(play(asked, breaking, uniform(asked)), asked)[0].covered is False
