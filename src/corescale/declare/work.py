# SPDX-License-Identifier: Apache-2.0
"""The work in weak scaling, which grows with p so that the work per thread is constant."""

import math
from collections.abc import Mapping

from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations, parameters
from corescale.errors import UsageError
from corescale.records import Configuration, Level

CONSTANT = 0.01
"""Work per thread is constant if it differs by at most this fraction over p, as by rounding to whole rows."""


def must_be_even(experiment: Experiment, where: str) -> None:
    """Raises UsageError if weak scaling is asked for and the declared work per thread depends on p."""
    if why := uneven(experiment, {c: work_of(experiment, c) for c in configurations(experiment)}):
        raise UsageError(why, where=where, remedy="let the work grow with the threads, as {work} = p * load")


def work_of(experiment: Experiment, chosen: Configuration) -> float:
    """The declared work of a configuration; NaN if there is none."""
    value = parameters(experiment, chosen).get(experiment.scaling.weak.work) if experiment.scaling.weak else None
    return float(value) if isinstance(value, int | float) else math.nan


def uneven(experiment: Experiment, works: Mapping[Configuration, float], says: str = "as declared") -> str:
    """Why this is not weak scaling, if it is not: at equal other levels, the work per thread depends on p."""
    groups: dict[tuple[tuple[str, Level], ...], list[tuple[float, int]]] = {}
    for c, work in works.items():
        groups.setdefault(experiment.beside_p(c), []).append((work / c.layout.p, c.layout.p))
    for found in ([pair for pair in group if math.isfinite(pair[0])] for group in groups.values()):
        (low, p_low), (high, p_high) = min(found, default=(1.0, 1)), max(found, default=(1.0, 1))
        if high - low > CONSTANT * high:
            return (
                "this is not weak scaling: the work per thread is not constant"
                f" ({says}, {high:g} at p = {p_high} and {low:g} at p = {p_low})"
            )
    return ""
