# SPDX-License-Identifier: Apache-2.0
"""What a gain is on average over the fresh launches, where that is another number than the typical one.

The gain is about the centre of the ratios within blocks. Who launches a program all day gains by the ratio of the mean
times, and one that is sometimes slow by itself loses there what its typical launch gains.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude import stats
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.response import response
from corescale.conclude.stats import Floats, Interval
from corescale.declare.experiment import Experiment
from corescale.declare.grid import today
from corescale.declare.plan import counted_pairs
from corescale.records import Configuration, Record


@dataclass(frozen=True, slots=True)
class Slow:
    """The launches of one configuration that lie far beyond its median."""

    count: int
    of: int
    times: float
    """their mean as a multiple of the median; NaN for none"""


@dataclass(frozen=True, slots=True)
class Averages:
    """Mean times of today's launch and another in its fresh blocks."""

    ratio: float
    """mean T_today / mean T"""
    slow: Slow
    """launches of the other one"""
    slow_today: Slow


def averages(
    records: Sequence[Record], experiment: Experiment, other: Configuration, gain: Interval | None
) -> Averages | None:
    """None where the ratio of the means lies within the interval of the gain, or where launches are few."""
    blocks = {*counted_pairs(records, other)}
    fresh = [r for r in records if r.block in blocks and r.phase == "confirm"]
    ours, todays = (_times(fresh, experiment, c) for c in (other, today(experiment)))
    if (
        gain is None
        or gain.low is None
        or min(ours.size, todays.size) < stats.fewest_blocks(experiment.stop.confidence)
    ):
        return None
    ratio = float(todays.mean() / ours.mean())
    if gain.covers(ratio):
        return None
    return Averages(ratio, _slow(ours), _slow(todays))


def _times(fresh: Sequence[Record], experiment: Experiment, configuration: Configuration) -> Floats:
    found = [response(r, experiment.response) for r in fresh if r.configuration == configuration]
    return np.array([value for value in found if value > 0])


def _slow(times: Floats) -> Slow:
    """Those beyond the fence, in median absolute deviations of the logarithm, that a race has for outliers."""
    logs = np.log(times)
    away = logs - np.median(logs)
    beyond = times[away > OPTIONS.fence * np.median(np.abs(away))]
    return Slow(beyond.size, times.size, float(beyond.mean() / np.median(times)) if beyond.size else math.nan)
