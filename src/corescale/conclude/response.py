# SPDX-License-Identifier: Apache-2.0
"""From records to numbers: the response of a launch, and the table blocks x configurations that everything reads."""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from corescale.conclude.stats import Floats, Interval
from corescale.declare.experiment import Experiment
from corescale.declare.metric_sources import exact
from corescale.records import Configuration, Phase, Record


def at_least(record: Record, name: str) -> float:
    """The response as in the table; a capped launch counts with the time until it was killed, so seems faster."""
    return record.wall if record.status == "capped" else record.response(name)


DIGITS = 9
"""significant digits to which values of a response are compared; a clock's values have more"""


class Step:
    """The step in which a response is reported: its last digit, or the smallest difference between launches of one
    configuration. A program that prints seconds with one decimal prints 1.0 for 0.96 and 1.04, so equal values do not
    mean that there is no noise. It is 0 if the response is declared as a count, which is exact.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._name, self._digits, self._made = experiment.response, 0, 0
        source = experiment.metrics.get(self._name.removeprefix("metric:"), "") if ":" in self._name else ""
        self._exact = bool(source) and exact(source)
        self._reported: dict[Configuration, set[float]] = {}

    @classmethod
    def of(cls, records: Iterable[Record], experiment: Experiment) -> float:
        """The step of these records."""
        step = cls(experiment)
        for record in records:
            step.add(record)
        return step.size

    def add(self, record: Record) -> None:
        """Adds a launch."""
        if not record.timed or not (value := record.response(self._name)) > 0:
            return
        text = f"{value:.{DIGITS}g}"
        self._reported.setdefault(record.configuration, set()).add(float(text))
        self._digits = max(self._digits, -int(Decimal(text).normalize().as_tuple().exponent))
        self._made += 1

    @property
    def size(self) -> float:
        """The step in which the response is reported."""
        if self._exact:
            return 0.0
        last = 10.0 ** -(self._digits if self._made else DIGITS)
        if sum(map(len, self._reported.values())) == self._made:
            return last
        pairs = (pair for each in self._reported.values() for pair in itertools.pairwise(sorted(each)))
        return max(last, min((after - one for one, after in pairs), default=0.0))


def half_steps(logs: Floats, step: float, variances: Floats | None = None) -> Floats:
    """The rounding error of each column's mean log response.

    It is half a step if launches scatter by less than that. Otherwise it is 0, because rounding is then part of the
    noise, with a mean of 0. `variances`: other estimates of the variance of one launch of each column, used together
    with the columns' own.
    """
    known = np.isfinite(logs)
    count = np.maximum(known.sum(axis=0), 1)
    means = np.where(known, logs, 0.0).sum(axis=0) / count
    if variances is None:
        variances = np.where(known, (logs - means) ** 2, 0.0).sum(axis=0) / np.maximum(count - 1, 1)
    half = step / 2 / np.exp(means)
    return np.asarray(np.where((variances < half**2) & known.any(axis=0), half, 0.0))


@dataclass(frozen=True)
class Table:
    """Responses by block and configuration; NaN if a launch failed or was not made."""

    configurations: tuple[Configuration, ...]
    blocks: tuple[int, ...]
    values: Floats
    """shape (blocks, configurations); geometric mean if a block launched a configuration several times"""

    @functools.cached_property
    def places(self) -> Mapping[Configuration, int]:
        """The column of each configuration."""
        return {configuration: k for k, configuration in enumerate(self.configurations)}

    def column(self, configuration: Configuration) -> Floats:
        """The responses of one configuration in block order. Shape (blocks,)."""
        return self.values[:, self.places[configuration]]

    def log_ratio(self, a: Configuration, b: Configuration) -> Floats:
        """log(T_a / T_b) within each block. Shape (blocks,)."""
        return np.asarray(np.log(self.column(a)) - np.log(self.column(b)), dtype=np.float64)


def widened(log_ratio: Interval, times: Table, a: Configuration, b: Configuration, step: float) -> Interval:
    """The interval of log(T_a / T_b), widened by the steps in which the response is reported."""
    if log_ratio.low is None or log_ratio.high is None:
        return log_ratio
    logs = np.log(np.column_stack([times.column(a), times.column(b)]))
    off = float(half_steps(logs, step).sum())
    return replace(log_ratio, low=log_ratio.low - off, high=log_ratio.high + off)


def table(
    records: Sequence[Record],
    name: str,
    phase: Phase = "measure",
    value: Callable[[Record, str], float] = Record.response,
) -> Table:
    """The table of one phase; configurations in order of first appearance."""
    chosen = [record for record in records if record.phase == phase]
    configurations = tuple(dict.fromkeys(record.configuration for record in chosen))
    blocks = tuple(sorted({record.block for record in chosen}))
    columns = {configuration: k for k, configuration in enumerate(configurations)}
    rows = {block: k for k, block in enumerate(blocks)}
    logs, counts = np.zeros((2, len(blocks), len(configurations)))
    for record in chosen:
        place = rows[record.block], columns[record.configuration]
        found = value(record, name)
        logs[place] += math.log(found) if found > 0 else math.nan
        counts[place] += 1
    with np.errstate(invalid="ignore", divide="ignore"):
        return Table(configurations, blocks, np.exp(logs / counts))


def of(records: Sequence[Record], configuration: Configuration, phase: Phase = "measure") -> tuple[Record, ...]:
    """The launches of one configuration in one phase."""
    return tuple(record for record in records if record.configuration == configuration and record.phase == phase)


def median(values: Sequence[float]) -> float:
    """The median of the finite values, NaN for none."""
    finite = [value for value in values if math.isfinite(value)]
    return float(np.median(finite)) if finite else math.nan
