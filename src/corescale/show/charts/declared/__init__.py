# SPDX-License-Identifier: Apache-2.0
"""A declared chart (declare/outputs.py) over the frame of a run (conclude/frame.py).

A new kind needs a function, a line in KINDS, and its name and columns in declare/outputs.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from corescale.conclude.frame import selected
from corescale.declare import outputs
from corescale.declare.experiment import Experiment
from corescale.errors import UsageError
from corescale.show.charts.declared import grouped, ratios
from corescale.show.charts.declared.inputs import Asked, present, relative
from corescale.show.charts.model import Chart

__all__ = ["KINDS", "declared", "to_draw"]


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind of chart is drawn."""

    draw: Callable[[Asked], Chart]
    numeric: bool = False
    """whether x is a number"""


KINDS: dict[outputs.ChartKind, Kind] = {
    "lines": Kind(grouped.lines),
    "bars": Kind(grouped.bars),
    "heat": Kind(grouped.heat),
    "forest": Kind(ratios.forest),
    "weak": Kind(grouped.weak, numeric=True),
    "ladder": Kind(ratios.in_steps),
    "time-order": Kind(ratios.in_time),
    "scaling": Kind(ratios.scaling, numeric=True),
    "efficiency": Kind(ratios.scaling, numeric=True),
    "overhead": Kind(ratios.scaling, numeric=True),
}


def declared(chart: outputs.Chart, frame: pd.DataFrame, experiment: Experiment) -> Chart | None:
    """The chart of the selected launches, or None if none of them has a value to show.

    The launches to normalise by need not be among them. Raises UsageError for a missing column or level.
    """
    wanted = to_draw(chart, frame, experiment)
    if wanted is None:
        return None
    made = KINDS[chart.kind].draw(wanted)
    references = made.references if chart.reference is None else (*made.references, chart.reference)
    origins = sorted({str(origin) for origin in wanted.rows["origin"]} - {"measured"})
    return replace(made, references=references).labelled(origins)


def to_draw(chart: outputs.Chart, frame: pd.DataFrame, experiment: Experiment) -> Asked | None:
    """The data from which `declared` draws the chart."""
    kind, chart = KINDS[chart.kind], chart.completed()
    for name in filter(None, (chart.x, chart.y, chart.colour, chart.style, *chart.facet)):
        present(name, frame, chart.name)
    if kind.numeric and not pd.api.types.is_numeric_dtype(frame[chart.x]):
        raise UsageError(
            f"x = {chart.x!r} has no numbers", where=f"chart {chart.name}", remedy=f"{chart.kind} needs them"
        )
    value = chart.colour if chart.kind == "heat" else chart.y
    rows = frame.assign(**{value: pd.to_numeric(frame[value], errors="coerce")})
    rows = rows.assign(_wanted=selected(frame, chart.where))
    known = np.isfinite(rows[value])
    if not (rows["_wanted"] & known).any():
        return None
    found = Asked(chart, at_zero(chart, rows[known]), experiment, int((rows["_wanted"] & ~known).sum()))
    found = normalised(found) if chart.normalise else found
    rows = found.rows[found.rows["_wanted"].astype(bool)]
    return None if rows.empty else replace(found, rows=rows)


def at_zero(chart: outputs.Chart, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, with those of `at_zero` moved to x = 0 and repeated at every other level of its columns."""
    if not chart.at_zero:
        return rows
    chosen, columns = selected(rows, chart.at_zero), list(chart.at_zero)
    beside = rows.loc[~chosen & rows["_wanted"], columns].drop_duplicates()
    moved = rows[chosen].drop(columns=columns).merge(beside, how="cross").assign(**{chart.x: 0})
    return pd.concat([rows[~chosen], moved], ignore_index=True)


def normalised(asked: Asked) -> Asked:
    """Divides each value by the statistic of the reference launches: drawn ones, if there are any."""
    wanted, rows, where = asked.chart.normalise, asked.rows, f"chart {asked.chart.name}"
    assert wanted is not None
    base = pd.Series(True, index=rows.index)
    for name, level in wanted.to.items():
        present(name, rows, asked.chart.name)
        exact = {"min": rows[name].min, "max": rows[name].max}.get(str(level), lambda level=level: level)()
        if not (chosen := rows[name] == exact).any():
            known = ", ".join(str(one) for one in asked.levels(name))
            remedy = f"measure it too: --levels {name}={level},... (here: {known})"
            raise UsageError(f"is relative to {name}={level}, and no launch has that", where=where, remedy=remedy)
        base &= chosen
    if (drawn := base & rows["_wanted"].astype(bool)).any():
        base = drawn
    for name in wanted.within:
        present(name, rows, asked.chart.name)
    keys = list(dict.fromkeys(("machine", *wanted.within)))
    rows = rows.assign(
        _raw=rows[asked.value],
        _group=rows.groupby(keys, dropna=False).ngroup(),
        _block=rows.groupby(["machine", "replicate"]).ngroup(),
    )
    reference = rows[base]
    means = rows["_group"].map(reference.groupby("_group")[asked.value].agg(asked.chart.statistic))
    rows = rows.assign(**{asked.value: relative(wanted, rows[asked.value] / means)}).dropna(subset=[asked.value])
    if rows.empty:
        raise UsageError("nothing was measured to normalise by", where=where, remedy="change `to` or `within`")
    return replace(asked, rows=rows, reference=reference)
