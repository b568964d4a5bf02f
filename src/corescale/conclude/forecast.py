# SPDX-License-Identifier: Apache-2.0
"""Forecasts of time at other numbers of cores, and how earlier forecasts of that kind have fared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude.answers.scaling import Curve, Row, scan
from corescale.conclude.laws.fit import Fit
from corescale.conclude.response import table
from corescale.conclude.stats import Interval
from corescale.declare.experiment import Experiment
from corescale.records import Record

FAR = 4.0
"""times the largest measured p up to which a law is trusted: the track record tries 2, and as much again is let pass"""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One curve's typical time at p."""

    label: str
    p: int
    seconds: Interval
    law: str
    reason: str
    doubt: str
    measured: tuple[float, float]
    """smallest and largest p measured"""

    @property
    def beyond(self) -> float:
        """p over the largest p measured."""
        return self.p / self.measured[1]


@dataclass(frozen=True, slots=True)
class Scored:
    """A forecast from p <= P / 2 beside what was measured at P."""

    label: str
    p: int
    forecast: Interval
    measured: float
    """geometric mean of the times at P, seconds"""

    @property
    def covered(self) -> bool | None:
        """Whether the interval holds what was measured; None where the forecast had no interval."""
        low, high = self.forecast.low, self.forecast.high
        return None if low is None or high is None else low <= self.measured <= high


def predict(records: Sequence[Record], experiment: Experiment, p: int) -> tuple[Prediction, ...]:
    """The forecast of every curve of a scan that a law describes."""
    curves = scan(records, experiment).curves
    return tuple(_prediction(curve, fit, p) for curve, fit in _fitted(curves))


def held_back(records: Sequence[Record], experiment: Experiment) -> tuple[Scored, ...]:
    """Each curve's largest P forecast from the launches at p <= P / 2 alone, as if P had not been measured yet.

    Oversubscribed launches are left out, as they are from the laws.
    """
    times = table(records, experiment.response)
    return tuple(
        Scored(curve.label, most.p, fit.forecast(most.p).seconds, _typical(times.column(most.configuration)))
        for whole in scan(records, experiment, laws=False).curves
        for most in _largest(whole.rows)
        if np.isfinite(times.column(most.configuration)).any()
        for curve, fit in _fitted(scan(_up_to(records, most.p // 2), experiment).curves)
        if curve.levels == whole.levels
    )


def _largest(rows: Sequence[Row]) -> list[Row]:
    fair = [row for row in rows if not row.oversubscribed]
    return [max(fair, key=lambda row: row.p)] if fair else []


def _up_to(records: Sequence[Record], p: int) -> list[Record]:
    return [record for record in records if record.configuration.layout.p <= p]


def _fitted(curves: Sequence[Curve]) -> Iterator[tuple[Curve, Fit]]:
    for curve in curves:
        if curve.choice is not None and curve.choice.best is not None:
            yield curve, curve.choice.best


def _prediction(curve: Curve, fit: Fit, p: int) -> Prediction:
    reason = curve.choice.statement if curve.choice else ""
    return Prediction(curve.label, p, fit.forecast(p).seconds, fit.law, reason, fit.doubt, fit.measured)


def _typical(column: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    return float(np.exp(np.nanmean(np.log(column))))
