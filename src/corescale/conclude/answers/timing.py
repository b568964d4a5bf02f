# SPDX-License-Identifier: Apache-2.0
"""The time of one command alone, as hyperfine reports it: mean, spread, range, and launches far from the others."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from corescale.conclude.response import of
from corescale.records import Configuration, Record

FAR = 14.826
"""median deviations from the median beyond which a launch is an outlier: ten standard deviations of a normal time"""


@dataclass(frozen=True, slots=True)
class Timing:
    """Statistics of the launches that succeeded; in seconds, or in the unit of the response."""

    mean: float
    deviation: float | None
    """standard deviation of a launch; None for one"""
    median: float
    least: float
    most: float
    user: float
    system: float
    launches: int
    apart: int
    """launches far from the others"""


def timing(records: Sequence[Record], configuration: Configuration, name: str) -> Timing | None:
    """The times of a configuration's measuring launches; None where none gave the response."""
    launches = [r for r in of(records, configuration) if math.isfinite(r.response(name))]
    if not launches:
        return None
    values = [record.response(name) for record in launches]
    middle = statistics.median(values)
    spread = statistics.median(abs(value - middle) for value in values)
    return Timing(
        mean=statistics.fmean(values),
        deviation=statistics.stdev(values) if len(values) > 1 else None,
        median=middle,
        least=min(values),
        most=max(values),
        user=statistics.fmean(record.user for record in launches),
        system=statistics.fmean(record.system for record in launches),
        launches=len(values),
        apart=sum(abs(value - middle) > FAR * spread for value in values) if spread else 0,
    )
