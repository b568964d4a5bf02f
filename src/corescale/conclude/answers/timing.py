# SPDX-License-Identifier: Apache-2.0
"""Plain times of launches: the times of one command, as hyperfine reports them; slow launches; and the mean gain.

A gain is the centre of the ratios within blocks. But who launches a program all day gains the ratio of the mean times.
If some launches are very slow, that ratio may be below 1 although a typical launch is faster.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude import stats
from corescale.conclude.response import of
from corescale.conclude.stats import Floats, Interval
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline
from corescale.declare.plan import counted_pairs
from corescale.records import Configuration, Record

FENCE = 5.0
"""Multiple of the median deviation beyond which a launch is slow: 7 in 10,000 with normal noise."""


@dataclass(frozen=True, slots=True)
class Slow:
    """The launches of one configuration that lie far beyond its median."""

    count: int
    of: int
    times: float
    """mean of the slow launches, as a multiple of the median; NaN if there are none"""


@dataclass(frozen=True, slots=True)
class Averages:
    """Mean times of the baseline and of another configuration, over their confirmation pairs."""

    ratio: float
    """mean T_baseline / mean T"""
    slow: Slow
    """slow launches of the other configuration"""
    slow_baseline: Slow


def averages(
    records: Sequence[Record], experiment: Experiment, other: Configuration, gain: Interval | None
) -> Averages | None:
    """The mean times; None if their ratio lies within the interval of the gain, or if there are too few launches."""
    blocks = {*counted_pairs(records, other)}
    fresh = [r for r in records if r.block in blocks and r.phase == "confirm"]
    ours, baselines = (_times(fresh, experiment, c) for c in (other, baseline(experiment)))
    if (
        gain is None
        or gain.low is None
        or min(ours.size, baselines.size) < stats.fewest_blocks(experiment.stop.confidence)
    ):
        return None
    ratio = float(baselines.mean() / ours.mean())
    if gain.covers(ratio):
        return None
    return Averages(ratio, slow(ours), slow(baselines))


def _times(fresh: Sequence[Record], experiment: Experiment, configuration: Configuration) -> Floats:
    found = [r.response(experiment.response) for r in fresh if r.configuration == configuration]
    return np.array([value for value in found if value > 0])


def slow(times: Floats) -> Slow:
    """The launches beyond the fence, in median absolute deviations of the logarithm; a time of NaN is left out."""
    times = times[times > 0]
    logs = np.log(times)
    away = logs - (np.median(logs) if logs.size else 0.0)
    beyond = times[away > FENCE * np.median(np.abs(away))] if times.size else times
    return Slow(beyond.size, times.size, float(beyond.mean() / np.median(times)) if beyond.size else math.nan)


FAR = 14.826
"""median deviations from the median beyond which a launch is an outlier: ten standard deviations of a normal time"""


@dataclass(frozen=True, slots=True)
class Timing:
    """Statistics of the launches that succeeded; in seconds, or in the unit of the response."""

    mean: float
    deviation: float | None
    """standard deviation of a launch; None if there is only one"""
    median: float
    least: float
    most: float
    user: float
    """mean CPU seconds; NaN if unknown"""
    system: float
    launches: int
    apart: int
    """launches far from the others"""


def timing(records: Sequence[Record], configuration: Configuration, experiment: Experiment) -> Timing | None:
    """The times of a configuration's measuring launches; None if none gave the response.

    Fewer launches than an interval takes do not show which of them are far: of three, two are often close by chance.
    """
    name = experiment.response
    launches = [r for r in of(records, configuration) if math.isfinite(r.response(name))]
    if not launches:
        return None
    values = [record.response(name) for record in launches]
    middle, known = statistics.median(values), all(math.isfinite(record.cpu) for record in launches)
    enough = len(values) >= stats.fewest_blocks(experiment.stop.confidence)
    spread = statistics.median(abs(value - middle) for value in values) if enough else 0
    return Timing(
        mean=statistics.fmean(values),
        deviation=statistics.stdev(values) if len(values) > 1 else None,
        median=middle,
        least=min(values),
        most=max(values),
        user=statistics.fmean(record.user for record in launches) if known else math.nan,
        system=statistics.fmean(record.system for record in launches) if known else math.nan,
        launches=len(values),
        apart=sum(abs(value - middle) > FAR * spread for value in values) if spread else 0,
    )
