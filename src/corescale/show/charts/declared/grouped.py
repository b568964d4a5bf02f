# SPDX-License-Identifier: Apache-2.0
"""Charts of values over a column, with a series for each level of another: lines, bars, weak scaling, heat maps."""

from dataclasses import replace
from typing import Literal

import pandas as pd

from corescale.conclude.models import Fit, fit
from corescale.conclude.models.model import FLAT
from corescale.conclude.stats import Interval
from corescale.errors import UsageError
from corescale.show import text
from corescale.show.charts.declared.inputs import Asked, named
from corescale.show.charts.model import Axis, Chart, Mark, Panel, Series, SeriesKind, decades, legible

OWN_RANGE = 1.5
"""If the largest values of panels differ by more than this factor, each panel has its own range of y."""


def lines(asked: Asked) -> Chart:
    """The statistic over x, with a line for each level of `colour`, and a fitted model if the kind has one."""
    return _grouped(asked, "curve")


def bars(asked: Asked) -> Chart:
    """Bars side by side; panels with very different ranges have an axis each, unless they share a reference."""
    made = _grouped(asked, "bars")
    highest = [max(float(m.y) for s in panel.series for m in s.marks) for panel in made.panels]
    wanted = asked.chart.normalise
    comparable = asked.chart.reference is not None or (wanted is not None and not wanted.within)
    own = not comparable and min(highest) > 0 and max(highest) > OWN_RANGE * min(highest)
    note = " Each panel has its own range." if own else ""
    return replace(made, own_y=own, caption=f"{made.caption}{note}", y=replace(made.y, zero=True))


def _grouped(asked: Asked, kind: SeriesKind) -> Chart:
    chart = asked.chart
    numbers = kind != "bars" and pd.api.types.is_numeric_dtype(asked.rows[chart.x])
    shown, written = asked.quantity()
    panels, levels = [], asked.levels(chart.x)
    for row, column, rows in asked.panels():
        series = []
        for slot, colour, of in asked.coloured(rows[asked.of_a_mark]):
            for style, drawn, some in asked.by_level(chart.style, of):
                named_by = (colour if chart.colour not in chart.facet else "", drawn)
                label = ", ".join(filter(None, named_by))
                parts = (row, column, label if chart.colour != chart.x else "")
                head = "".join(f"{part}, " for part in parts if part)
                cells = dict(iter(some.groupby(chart.x)))
                marks = tuple(
                    asked.mark(cells[at], at if numbers else str(at), f"{head}{named(chart.x, at)}", shown)
                    for at in levels
                    if at in cells
                )
                if marks:
                    series.append(Series(kind, label, marks, slot, style))
        panels.append(Panel(tuple(series), row, column))
    x = Axis(chart.x) if numbers else Axis(chart.x, categories=tuple(map(str, levels)))
    if numbers and (ticks := [float(at) for at in levels]) and len(ticks) <= 8:
        log = min(ticks) > 0 and len(ticks) > 2 and max(ticks) >= 8 * min(ticks)
        x = replace(x, ticks=legible(ticks) if log else tuple(ticks), log=log)
    return asked.made(_asked_for(x, "x", asked), _asked_for(Axis(asked.title(), written), "y", asked), panels)


def _asked_for(axis: Axis, name: Literal["x", "y"], asked: Asked) -> Axis:
    """The axis, logarithmic if the declaration wants it."""
    if name not in asked.chart.log:
        return axis
    column = getattr(asked.chart, name)
    values = asked.rows[column]
    if axis.categories or values.min() <= 0:
        raise UsageError(
            f"log has {name!r}, and {column!r} has values that are no positive numbers",
            where=f"chart {asked.chart.name}", remedy="leave it out of log",
        )  # fmt: skip
    return replace(axis, log=True, ticks=axis.ticks or decades(float(values.min()), float(values.max())))


def weak(asked: Asked) -> Chart:
    """Time over work, with the line T = a + b work for each colour; a is the time that does not grow with the work."""
    made, (shown, _), said, panels = _grouped(asked, "points"), asked.quantity(), [], []
    model = f"T = a + b {asked.chart.x}"
    for panel, (row, column, rows) in zip(made.panels, asked.panels(), strict=True):
        lines = []
        for slot, label, of in asked.coloured(rows):
            found = _flat(asked, of)
            if found.identifiable:
                name = " ".join(filter(None, (row, column, label)))
                values = ", ".join(f"{key} = {text.join(shown(value))}" for key, value in found.parameters.items())
                said.append(f"{name}: {values}" if name else values)
                ends = ((work, float(found.time(work))) for work in found.measured)
                marks = tuple(Mark(work, time, f"fit at {work:g}: {time:.4g}") for work, time in ends)
                lines.append(Series("dotted", "" if slot else model, marks, slot))
        panels.append(replace(panel, series=(*panel.series, *lines)))
    fits = f" {model}: {'; '.join(said)}." if said else ""
    return replace(
        made,
        panels=tuple(panels),
        x=Axis(asked.chart.x, zero=True),
        y=replace(made.y, zero=True),
        caption=made.caption + fits,
        alternative=made.alternative + fits,
    )


def _flat(asked: Asked, rows: pd.DataFrame) -> Fit:
    """The line through the launches of one colour, by blocks."""
    table = asked.logs(rows)
    return fit(FLAT, [float(work) for work in table.columns], table.to_numpy(), asked.experiment.stop.confidence)


def heat(asked: Asked) -> Chart:
    """The value at every pair of levels, as a colour and as a number."""
    chart = asked.chart
    shown, written = asked.quantity()
    panels = []
    for row, column, rows in asked.panels():
        marks = []
        for y in asked.levels(chart.y):
            for x in asked.levels(chart.x):
                cell = rows[(rows[chart.x] == x) & (rows[chart.y] == y)]
                if not cell.empty:
                    head = ", ".join(filter(None, (row, column, named(chart.x, x), named(chart.y, y))))
                    mark = asked.mark(cell, str(x), head, shown)
                    value = float(mark.y)
                    alone = Interval(value, None, None, None, 0)
                    inside = (text.brief(value) if written == "number" else shown(alone)[0]) + "*" * mark.hollow
                    marks.append(replace(mark, y=str(y), value=value, low=None, high=None, written=inside))
        panels.append(Panel((Series("cells", "", tuple(marks)),), row, column))
    axes = [Axis(name, categories=tuple(str(at) for at in asked.levels(name))) for name in (chart.x, chart.y)]
    made = asked.made(axes[0], axes[1], panels)
    return replace(made, wide=made.wide or len(axes[0].categories) > 6, height=1.3 + 0.45 * len(axes[1].categories))
