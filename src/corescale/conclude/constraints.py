# SPDX-License-Identifier: Apache-2.0
"""Declared bounds on metrics: which configurations meet them, which break them, and for which this is not shown.

The mean of a metric's logarithm is compared with the limit; if a value is not positive, the plain mean is. Its t
interval may be read at any time: the planned looks divide the error among them, and between two looks the interval does
not change. The variance comes from the configuration's own launches, plus a few degrees of freedom from those of the
others, as in the race.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy

from corescale.conclude.race.options import OPTIONS
from corescale.conclude.stats import Interval
from corescale.declare.experiment import Constraint, Experiment
from corescale.declare.grid import baseline
from corescale.declare.metric_sources import number
from corescale.declare.stop import MOST_BLOCKS, growing
from corescale.records import Configuration, Record

LOOKS = (1, *itertools.takewhile(lambda n: n <= MOST_BLOCKS, growing(2)))
"""Numbers of launches at which there is a look."""

ROUNDING = 1e-9
"""Logarithm by which a metric without scatter may exceed its limit and still meet it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Whether one configuration meets one constraint."""

    metric: str
    state: Literal["meets", "breaks", "not shown"]
    """`breaks`: the interval is beyond the limit, or an estimate without scatter is, or no value was reported"""
    value: Interval
    """the metric, or its multiple of the baseline (`relative`); no ends while its scatter is unknown"""
    limit: str
    """`<= 1.04x baseline`; if no value was reported, also which launch reported none"""
    launches: int
    relative: bool = False
    source: str = ""
    """of the metric"""

    @property
    def said(self) -> str:
        """What a message says, such as `bytes = 1.1x [1.06, 1.14], not <= 1.04x baseline`."""
        if math.isnan(self.value.estimate):
            return f"{self.metric} was not reported{self.limit}"
        if self.state == "not shown":
            return f"{self.metric} not shown to be {self.limit}: {self._shown}"
        return f"{self.metric} = {self._shown}, {'not ' * (self.state == 'breaks')}{self.limit}"

    @property
    def _shown(self) -> str:
        value, ends = self._written(self.value.estimate), ""
        if self.value.low is not None and self.value.high is not None:
            low, high = self._written(self.value.low), self._written(self.value.high)
            ends = f" [{low}, {high}]" if {low, high} != {value} else ""
        elif self.state == "not shown":
            ends = f" in {self.launches} launch{'es' * (self.launches > 1)}"
        return f"{value}{'x' * self.relative}{ends}"

    def _written(self, value: float) -> str:
        return f"{value:.4g}" if self.relative else number(value, self.source)


def judged(records: Sequence[Record], experiment: Experiment) -> dict[Configuration, tuple[Judged, ...]]:
    """Whether every configuration that succeeded meets each of the constraints, by its launches so far."""
    made = [record for record in records if record.ok and record.timed]
    if not experiment.tuning.constraints or not made:
        return {}
    places = {c: k for k, c in enumerate(dict.fromkeys(record.configuration for record in made))}
    now, tail = places.get(baseline(experiment)), (1 - experiment.stop.confidence) / len(LOOKS)
    asked = [(each, experiment.metrics.get(each.metric, "")) for each in experiment.tuning.constraints]
    found = [_Metric(made, places, each, source, now, tail) for each, source in asked]
    return {c: tuple(each.judged(k) for each in found) for c, k in places.items()}


def broken(records: Sequence[Record], experiment: Experiment) -> dict[Configuration, str]:
    """The configurations that break a constraint, and how; also those of which every launch was stopped too early."""
    found = judged(records, experiment)
    bad = {c: [one.said for one in each if one.state == "breaks"] for c, each in found.items()}
    if experiment.tuning.constraints:
        unknown = f"{experiment.tuning.constraints[0].metric} is not known, as no launch ended"
        bad |= {r.configuration: [unknown] for r in records if r.status == "capped" and r.configuration not in found}
    return {c: said[0] for c, said in bad.items() if said}


def not_shown(records: Sequence[Record], experiment: Experiment, configuration: Configuration) -> tuple[str, ...]:
    """The constraints that this configuration is neither shown to meet nor to break."""
    return tuple(one.said for one in judged(records, experiment).get(configuration, ()) if one.state == "not shown")


class _Metric:
    """The values of a constraint's metric, launch by launch."""

    def __init__(
        self,
        made: Sequence[Record],
        places: dict[Configuration, int],
        constraint: Constraint,
        source: str,
        now: int | None,
        tail: float,
    ) -> None:
        values = np.array([record.metrics.get(constraint.metric, math.nan) for record in made])
        whose, given = np.array([places[record.configuration] for record in made]), ~np.isnan(values)
        self._silent, self._size = {*whose[~given].tolist()}, len(places)
        self._logs = bool((values[given] > 0).all()) and constraint.bound > 0
        self._values, self._whose = np.log(values[given]) if self._logs else values[given], whose[given]
        self._constraint, self._now, self._tail = constraint, now if constraint.relative else None, tail
        self._source = source
        self._unknown = constraint.relative and (now is None or now in self._silent)

    def judged(self, c: int) -> Judged:
        """Whether configuration `c` meets the constraint, by its launches up to the last look."""
        launches = np.flatnonzero(self._whose == c)
        if c in self._silent or self._unknown:
            by = "" if c in self._silent else " by the baseline"
            return Judged(self._constraint.metric, "breaks", Interval(math.nan, None, None, None, 0), by, launches.size)
        look = max(n for n in LOOKS if n <= launches.size)
        cut = int(launches[look - 1]) + 1
        bound, relation = self._constraint.bound, self._constraint.relation
        relative = self._now is not None and self._logs
        limit, parts = math.log(bound) if self._logs else bound, [self._mean(c, cut)]
        if self._now is not None:
            now = self._mean(self._now, cut)
            limit = limit + now.value if self._logs else limit * now.value
            parts.append(now if self._logs else now._replace(variance=now.variance * bound**2))
        off, reach = parts[0].value - limit, 0.0 if c == self._now else self._reach(parts)
        known = not math.isinf(reach)
        found = Interval(off, off - reach if known else None, off + reach if known else None, 1 - self._tail, look)
        value = found.map((lambda x: bound * math.exp(x)) if self._logs else (lambda x: x + limit))
        written = f"{bound:.4g}x baseline" if relative else number(bound if self._logs else limit, self._source)
        state = _state(found if relation == "<=" else found.map(lambda x: -x))
        limit_said = f"{relation} {written}"
        return Judged(self._constraint.metric, state, value, limit_said, launches.size, relative, self._source)

    def _mean(self, c: int, cut: int) -> "_Mean":
        """The mean of configuration `c` by the launches before `cut`; the others lend to its variance."""
        values, whose = self._values[:cut], self._whose[:cut]
        counts = np.bincount(whose, minlength=self._size)
        with np.errstate(invalid="ignore"):
            means = np.bincount(whose, values, self._size) / counts
        squares = np.bincount(whose, (values - means[whose]) ** 2, self._size)
        degrees = np.maximum(counts - 1, 0)
        others = float(degrees.sum() - degrees[c])
        lent = min(OPTIONS.lent, others)
        pooled = float(squares.sum() - squares[c]) / others if others else 0.0
        freedom = lent + float(degrees[c])
        if not freedom or not counts[c]:
            return _Mean(float(means[c]), math.inf, 0.0)
        variance = max(0.0, lent * pooled + float(squares[c])) / freedom / int(counts[c])
        return _Mean(float(means[c]), variance, freedom)

    def _reach(self, parts: Sequence["_Mean"]) -> float:
        """Half the width of the interval of the difference from the limit; inf if it is unknown."""
        total = sum(part.variance for part in parts)
        if total == 0 or math.isinf(total):
            return total
        freedom = total**2 / sum(part.variance**2 / part.freedom for part in parts)
        return float(scipy.special.stdtrit(freedom, 1 - self._tail)) * math.sqrt(total)


class _Mean(NamedTuple):
    """A mean, its variance, and the degrees of freedom of that."""

    value: float
    variance: float
    freedom: float


def _state(off: Interval) -> Literal["meets", "breaks", "not shown"]:
    """What the interval of the distance beyond the limit shows."""
    if off.low is None or off.high is None:
        return "breaks" if off.estimate > ROUNDING else "not shown"
    if off.low > ROUNDING:
        return "breaks"
    return "meets" if off.high <= ROUNDING else "not shown"
