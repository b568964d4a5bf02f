# SPDX-License-Identifier: Apache-2.0
"""Forecasts of time at other numbers of cores, and scores of earlier forecasts.

A forecast is *sealed* if it was written down before its p was measured. It is made *afterwards* if it comes from the
smaller p of a finished run: the larger p were measured then, but the forecast does not use them.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np

from corescale.conclude.answers.scaling import Curve, scan
from corescale.conclude.models import MODELS
from corescale.conclude.models.fit import Fit
from corescale.conclude.models.normal_form import normal_form
from corescale.conclude.response import Table, table
from corescale.conclude.stats import Floats, Interval
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.records import Configuration, Level, Record

FAR = 4.0
"""a model is trusted up to this multiple of the largest measured p: twice the multiple that is tested"""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One curve's typical time at p."""

    label: str
    p: int
    seconds: Interval
    model: str
    reason: str
    warning: str
    measured: tuple[float, float]
    """smallest and largest p measured"""
    levels: int
    """number of distinct p measured"""
    there: Interval | None = None
    """the time measured at p, if it was"""
    crowded: Interval | None = None
    """the measured time of p threads or ranks on fewer cores; it says nothing about p cores"""

    @property
    def beyond(self) -> float:
        """p divided by the largest measured p."""
        return self.p / self.measured[1]


@dataclass(frozen=True, slots=True)
class Scored:
    """A forecast from some p <= P / 2, next to what was measured at P."""

    label: str
    p: int
    forecast: Interval
    measured: float
    """geometric mean of the times at P, seconds"""
    largest: float
    """the largest p from which it was made"""
    made: Literal["sealed", "afterwards"] = "afterwards"
    oversubscribed: bool = False
    """whether P exceeds the cores: no model covers that, so the forecast does not count"""

    @property
    def covered(self) -> bool | None:
        """Whether the interval contains the measured time; None if the forecast had no interval."""
        low, high = self.forecast.low, self.forecast.high
        return None if low is None or high is None else low <= self.measured <= high

    @property
    def counts(self) -> bool:
        """Whether it counts in the track record of forecasts."""
        return self.covered is not None and not self.oversubscribed


NORMAL_FORM = "normal-form"
MODEL_NAMES = (*MODELS, NORMAL_FORM)
"""models of p for forecasts; if none is named, the scan's choice is used"""


def predict(records: Sequence[Record], experiment: Experiment, p: int, model: str = "") -> tuple[Prediction, ...]:
    """The forecast of every curve of a scan that a model describes.

    `model` is one of MODEL_NAMES; if it is empty, each curve has the model that the scan chose.

    ValueError if the levels of p do not determine the model that was asked for.
    """
    curves = scan(records, experiment).curves
    if not model:
        return tuple(
            _prediction(curve, fit, p, fit.model, curve.choice.statement if curve.choice else "")
            for curve, fit in _fitted(curves)
        )
    times = table(records, experiment.response)
    made = [(curve, *_asked(curve, times, model, experiment)) for curve in curves if curve.choice is not None]
    return tuple(_prediction(curve, fit, p, name, "as asked for") for curve, name, fit in made)


def _asked(curve: Curve, times: Table, model: str, experiment: Experiment) -> tuple[str, Fit]:
    if model != NORMAL_FORM and curve.choice is not None:
        return model, curve.choice.fits[model]
    rows = [row for row in curve.rows if not row.oversubscribed and row.time.estimate > 0]
    logs = np.log(np.column_stack([times.column(row.configuration) for row in rows]))
    found, fit = normal_form([row.p for row in rows], logs, experiment.stop.confidence)
    return found.formula, fit


def held_back(records: Sequence[Record], experiment: Experiment) -> tuple[Scored, ...]:
    """A forecast of the largest P of each curve from the launches at p <= P / 2, as if P had not been measured yet.

    Oversubscribed launches are left out, as they are from the models.
    """
    times, found = table(records, experiment.response), list[Scored]()
    for whole in scan(records, experiment, models=False).curves:
        fair = [row for row in whole.rows if not row.oversubscribed]
        most = max(fair, key=lambda row: row.p, default=None)
        if most is None or not most.time.n:
            continue
        measured = typical(times.column(most.configuration))
        small = [record for record in records if record.configuration.layout.p <= most.p // 2]
        for curve, fit in _fitted(scan(small, experiment).curves):
            if curve.levels == whole.levels:
                found.append(Scored(curve.label, most.p, fit.forecast(most.p).seconds, measured, fit.measured[1]))
    return tuple(found)


def half(experiment: Experiment) -> tuple[Configuration, ...]:
    """The configurations at p <= P / 2, from which a forecast of P can be sealed; empty if they determine no model."""
    every = [c for c in configurations(experiment) if not experiment.is_serial(c)]
    small = [c for c in every if 2 * c.layout.p <= max(one.layout.p for one in every)]
    return tuple(small) if len({c.layout.p for c in small}) >= 2 else ()


def to_seal(records: Sequence[Record], experiment: Experiment) -> list[dict[str, Any]]:
    """The forecast of each curve that is sealed before its largest p is measured, as JSON values."""
    largest: dict[tuple[tuple[str, Level], ...], int] = {}
    for c in configurations(experiment):
        if not experiment.is_serial(c):
            beside = experiment.beside_p(c)
            largest[beside] = max(c.layout.p, largest.get(beside, 1))
    return [
        {"levels": dict(curve.levels), "p": largest[curve.levels], "model": fit.model, "from": fit.measured[1]}
        | asdict(fit.forecast(largest[curve.levels]).seconds)
        for curve, fit in _fitted(scan(records, experiment).curves)
        if 2 * fit.measured[1] <= largest[curve.levels]
    ]


def score(sealed: Sequence[Mapping[str, Any]], records: Sequence[Record], experiment: Experiment) -> tuple[Scored, ...]:
    """Sealed forecasts next to what was measured; a curve whose p never ran has no score."""
    times, found = table(records, experiment.response), list[Scored]()
    for curve in scan(records, experiment, models=False).curves:
        for said, row in itertools.product(sealed, curve.rows):
            if said["levels"] == dict(curve.levels) and said["p"] == row.p and row.time.n:
                forecast = Interval(*(said[one.name] for one in fields(Interval)))
                measured, over = typical(times.column(row.configuration)), row.oversubscribed
                found.append(Scored(curve.label, row.p, forecast, measured, said["from"], "sealed", over))
    return tuple(found)


def _fitted(curves: Sequence[Curve]) -> Iterator[tuple[Curve, Fit]]:
    for curve in curves:
        if curve.choice is not None and curve.choice.best is not None:
            yield curve, curve.choice.best


def _prediction(curve: Curve, fit: Fit, p: int, model: str, reason: str) -> Prediction:
    times = {row.oversubscribed: row.time for row in reversed(curve.rows) if row.p == p and row.time.n}
    seconds, (there, crowded) = fit.forecast(p).seconds, (times.get(of) for of in (False, True))
    return Prediction(curve.label, p, seconds, model, reason, fit.warning, fit.measured, fit.levels, there, crowded)


def typical(column: Floats) -> float:
    """The geometric mean of times; NaN is no time."""
    return float(np.exp(np.nanmean(np.log(column))))
