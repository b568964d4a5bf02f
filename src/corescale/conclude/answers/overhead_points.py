# SPDX-License-Identifier: Apache-2.0
"""What a sum of factors is fitted to: launches as configurations, each with its factors and its overhead."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corescale.conclude import stats
from corescale.conclude.answers.findings import BLOCK
from corescale.conclude.models.overhead_factors import Measured
from corescale.conclude.stats import Floats, Interval
from corescale.declare.experiment import Experiment
from corescale.declare.outputs import Overheads
from corescale.records import Level

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """The overhead of one configuration that is no reference."""

    size: Mapping[str, Level]
    """levels of the factors that do not make p"""
    p: int
    factors: Mapping[str, float]
    overhead: Interval
    oversubscribed: bool
    bar: Level = ""
    """what its bar is called, if the chart has bars"""


@dataclass(frozen=True, slots=True, eq=False)
class Configurations:
    """Configurations that share a fit."""

    measured: Measured
    factors: Mapping[str, Floats]
    """a value for each configuration"""
    rows: Sequence[Mapping[str, Level]]
    """the columns of a launch of each configuration"""
    apart: tuple[str, ...]
    """factors that do not make p: their levels are a size"""
    bars: str = ""
    """the column that names bars"""

    def points(self, confidence: float) -> tuple[Point, ...]:
        """Points of all configurations but the references; f has the signed-rank interval of ratios within blocks."""
        columns, overheads = self.measured.overheads()
        return tuple(
            Point(
                {name: self.rows[k][name] for name in self.apart},
                int(self.rows[k]["p"]),
                {name: float(values[k]) for name, values in self.factors.items()},
                stats.hodges_lehmann(np.log1p(found), confidence).map(math.expm1),
                bool(self.rows[k]["oversubscribed"]),
                self.rows[k][self.bars] if self.bars else "",
            )
            for k, found in zip(columns, overheads.T, strict=True)
            if np.isfinite(found).any()
        )


def configurations(
    rows: "pd.DataFrame", experiment: Experiment, declared: Overheads, at: Mapping[str, Level]
) -> Configurations:
    """The launches of these rows, all of which have the levels `at`; raises UsageError for a factor without a value."""
    names = [factor.name for factor in experiment.factors if factor.name not in at]
    apart = tuple(name for name in names if name not in experiment.makes_p)
    values = rows[declared.y].astype("float64")
    rows = rows.assign(_log=values.where(values > 0).map(np.log, na_action="ignore"))
    rows = rows.assign(_one=rows.groupby(names).ngroup() if names else 0)
    logs = rows.groupby([*BLOCK, "_one"])["_log"].mean().unstack("_one")
    each = [{str(k): v for k, v in row.items()} for row in rows.groupby("_one").first().to_dict("records")]
    sizes = [tuple(row[name] for name in apart) for row in each]
    factors = {
        name: np.array([float(formula.value(row, name)) for row in each])
        for name, formula in declared.formulas().items()
    }
    times = np.exp(logs.to_numpy(dtype=np.float64))
    return Configurations(
        Measured.of(times, np.array([float(row["p"]) for row in each]), sizes), factors, each, apart, declared.bars
    )
