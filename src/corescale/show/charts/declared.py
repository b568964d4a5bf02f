# SPDX-License-Identifier: Apache-2.0
"""A declared chart (declare/outputs.py) over the frame of a run (conclude/frame.py): one function a kind."""

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from corescale.conclude import stats
from corescale.conclude.laws import Fit, fit
from corescale.conclude.laws.flat import FLAT
from corescale.conclude.means import bootstrapped
from corescale.conclude.stats import Interval
from corescale.declare import outputs
from corescale.declare.experiment import Experiment
from corescale.errors import UsageError
from corescale.records import Level
from corescale.show import text
from corescale.show.charts import curves
from corescale.show.charts.curves import Line, Lines, Step, Words
from corescale.show.charts.forest import forest
from corescale.show.charts.model import Axis, Chart, Format, Mark, Panel, Series, SeriesKind, sure
from corescale.show.charts.order import Point, order

DEFAULTS: dict[outputs.ChartKind, Mapping[str, str]] = {
    "lines": {"y": "time"},
    "bars": {"y": "time"},
    "forest": {"y": "time"},
    "heat": {"colour": "time"},
    "weak": {"x": "work", "y": "time"},
    "scaling": {"x": "p", "y": "time"},
    "efficiency": {"x": "p", "y": "time"},
    "overhead": {"x": "p", "y": "time"},
    "time-order": {"x": "order", "y": "time"},
}
"""Columns that a kind takes where none is declared. A heat map's x and y are factors, its colour is the value."""

NUMERIC = frozenset({"weak", "scaling", "efficiency", "overhead"})
"""Kinds whose x is a number."""

OWN_RANGE = 5
"""Panels whose largest values differ by more than this each have a range of y of their own."""

MANY = 20
"""Launches from which a percentile bootstrap is no longer said to be too narrow."""

Shown = Callable[[Interval], text.Shown]


@dataclass(frozen=True)
class Asked:
    """A declaration with its defaults, the launches it is about, and what they were part of."""

    chart: outputs.Chart
    rows: pd.DataFrame
    experiment: Experiment
    failed: int
    """launches without a value"""

    @property
    def value(self) -> str:
        """The column whose numbers are shown."""
        return self.chart.colour if self.chart.kind == "heat" else self.chart.y

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns that split the launches into marks."""
        chart = self.chart
        named = (chart.x, chart.y) if chart.kind == "heat" else (chart.x, chart.colour)
        return tuple(dict.fromkeys(name for name in (*named, *chart.facet) if name))


def declared(chart: outputs.Chart, frame: pd.DataFrame, experiment: Experiment) -> Chart | None:
    """The chart, or None where no launch has what it shows. UsageError for a column or level that is not there."""
    chart = chart.model_copy(
        update={key: name for key, name in DEFAULTS[chart.kind].items() if not getattr(chart, key)}
    )
    for name in filter(None, (chart.x, chart.y, chart.colour, *chart.facet)):
        _present(name, frame, chart.name)
    if chart.kind in NUMERIC and not pd.api.types.is_numeric_dtype(frame[chart.x]):
        raise UsageError(
            f"x = {chart.x!r} has no numbers", where=f"chart {chart.name}", remedy=f"{chart.kind} needs them"
        )
    value = chart.colour if chart.kind == "heat" else chart.y
    rows = frame.assign(**{value: pd.to_numeric(frame[value], errors="coerce")})
    rows = rows[np.isfinite(rows[value])]
    if rows.empty:
        return None
    asked = Asked(chart, rows, experiment, len(frame) - len(rows))
    made = KINDS[chart.kind](_normalised(asked) if chart.normalise else asked)
    references = made.references if chart.reference is None else (*made.references, chart.reference)
    origins = sorted({str(origin) for origin in rows["origin"]} - {"measured"})
    return replace(made, references=references).labelled(origins)


def _present(name: str, frame: pd.DataFrame, chart: str) -> None:
    if name not in frame.columns:
        known = [str(column) for column in frame.columns]
        near = difflib.get_close_matches(name, known, 1)
        remedy = f"did you mean {near[0]}?" if near else f"columns here: {', '.join(known)}"
        raise UsageError(f"no column {name!r}", where=f"chart {chart}", remedy=remedy)


def _normalised(asked: Asked) -> Asked:
    """Each value over the statistic of the launches that the declaration names as 1."""
    wanted, rows, where = asked.chart.normalise, asked.rows, f"chart {asked.chart.name}"
    assert wanted is not None
    base = pd.Series(True, index=rows.index)
    for name, level in wanted.to.items():
        _present(name, rows, asked.chart.name)
        exact = {"min": rows[name].min, "max": rows[name].max}.get(str(level), lambda level=level: level)()
        if not (chosen := rows[name] == exact).any():
            known = ", ".join(str(one) for one in _levels(asked, name))
            raise UsageError(
                f"no launch with {name} = {level!r} to normalise by", where=where, remedy=f"it has {known}"
            )
        base &= chosen
    for name in wanted.within:
        _present(name, rows, asked.chart.name)
    keys = list(wanted.within) or ["_all"]
    rows = rows.assign(_all=0)
    means = rows[base].groupby(keys)[asked.value].agg(asked.chart.statistic).rename("_base")
    scaled = rows.join(means, on=keys)
    scaled = scaled.assign(**{asked.value: scaled[asked.value] / scaled["_base"]}).dropna(subset=[asked.value])
    if scaled.empty:
        raise UsageError("nothing was measured to normalise by", where=where, remedy="change `to` or `within`")
    return replace(asked, rows=scaled)


def _lines(asked: Asked) -> Chart:
    """The statistic over x, a line for each level of colour; a fitted law where the kind has one."""
    return _grouped(asked, "curve")


def _bars(asked: Asked) -> Chart:
    """Bars side by side; panels with very different ranges have an axis each."""
    made = _grouped(asked, "bars")
    highest = [max(float(m.y) for s in panel.series for m in s.marks) for panel in made.panels]
    own = min(highest) > 0 and max(highest) > OWN_RANGE * min(highest)
    note = " Each panel has its own range." if own else ""
    return replace(made, own_y=own, caption=f"{made.caption}{note}", y=replace(made.y, zero=True))


def _grouped(asked: Asked, kind: SeriesKind) -> Chart:
    chart = asked.chart
    numbers = kind != "bars" and pd.api.types.is_numeric_dtype(asked.rows[chart.x])
    colours = _levels(asked, chart.colour) if chart.colour else [""]
    shown, written = _quantity(asked)
    panels = []
    for row, column, rows in _panels(asked):
        series = []
        for slot, level in enumerate(colours):
            of = rows[rows[chart.colour] == level] if chart.colour else rows
            label = _name(chart.colour, level) if chart.colour else ""
            head = ", ".join(filter(None, (row, column, label if chart.colour != chart.x else "")))
            marks = tuple(
                _mark(
                    asked, cell, at if numbers else str(at), f"{head}{', ' if head else ''}{_name(chart.x, at)}", shown
                )
                for at in _levels(asked, chart.x)
                if not (cell := of[of[chart.x] == at]).empty
            )
            if marks:
                series.append(Series(kind, label, marks, slot))
        panels.append(Panel(tuple(series), row, column))
    x = Axis(chart.x) if numbers else Axis(chart.x, categories=tuple(str(at) for at in _levels(asked, chart.x)))
    if numbers and (levels := [float(at) for at in _levels(asked, chart.x)]) and len(levels) <= 8:
        x = replace(x, ticks=tuple(levels), log=min(levels) > 0 and len(levels) > 2 and max(levels) >= 8 * min(levels))
    return _made(asked, x, Axis(_title(asked), written), panels)


def _weak(asked: Asked) -> Chart:
    """Time over work with the line T = a + b work of each colour: a is what does not grow with the work."""
    made, (shown, _), said, panels = _grouped(asked, "points"), _quantity(asked), [], []
    slots = {series.label: series.slot for series in made.series}
    law = f"T = a + b {asked.chart.x}"
    for panel, (row, column, rows) in zip(made.panels, _panels(asked), strict=True):
        lines = []
        for label, of in _coloured(asked, rows):
            found = _flat(asked, of)
            if found.identifiable:
                name = " ".join(filter(None, (row, column, label)))
                values = ", ".join(f"{key} = {text.join(shown(value))}" for key, value in found.parameters.items())
                said.append(f"{name}: {values}" if name else values)
                ends = ((work, float(found.time(work))) for work in found.measured)
                marks = tuple(Mark(work, time, f"fit at {work:g}: {time:.4g}") for work, time in ends)
                lines.append(Series("dotted", "" if slots[label] else law, marks, slots[label]))
        panels.append(replace(panel, series=(*panel.series, *lines)))
    fits = f" {law}: {'; '.join(said)}." if said else ""
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
    table = _logs(asked, rows)
    return fit(FLAT, [float(work) for work in table.columns], table.to_numpy(), asked.experiment.stop.confidence)


def _heat(asked: Asked) -> Chart:
    """The value at every pair of levels, as a colour and as a number."""
    chart = asked.chart
    shown, _ = _quantity(asked)
    panels = []
    for row, column, rows in _panels(asked):
        marks = []
        for y in _levels(asked, chart.y):
            for x in _levels(asked, chart.x):
                cell = rows[(rows[chart.x] == x) & (rows[chart.y] == y)]
                if not cell.empty:
                    head = ", ".join(filter(None, (row, column, _name(chart.x, x), _name(chart.y, y))))
                    mark = _mark(asked, cell, str(x), head, shown)
                    written = shown(Interval(float(mark.y), mark.low, mark.high, None, 0))[0] + "*" * mark.hollow
                    marks.append(replace(mark, y=str(y), value=float(mark.y), low=None, high=None, written=written))
        panels.append(Panel((Series("cells", "", tuple(marks)),), row, column))
    axes = [Axis(name, categories=tuple(str(at) for at in _levels(asked, name))) for name in (chart.x, chart.y)]
    made = _made(asked, axes[0], axes[1], panels)
    return replace(made, wide=made.wide or len(axes[0].categories) > 6, height=1.3 + 0.45 * len(axes[1].categories))


def _forest(asked: Asked) -> Chart:
    """A row for each level of x, and of facets, grouped by colour."""
    chart, (shown, written) = asked.chart, _quantity(asked)
    groups = []
    for level in _levels(asked, chart.colour) if chart.colour else [""]:
        rows = []
        for row, column, of in _panels(asked):
            for at in _levels(asked, chart.x):
                cell = of[(of[chart.x] == at) & ((of[chart.colour] == level) if chart.colour else True)]
                if not cell.empty:
                    colour = _name(chart.colour, level) if chart.colour not in ("", chart.x) else ""
                    label = text.clean(" ".join(filter(None, (row, column, colour, _name(chart.x, at)))))
                    rows.append((label, _estimate(asked, cell), bool(cell["oversubscribed"].any())))
        groups.append((_name(chart.colour, level) if chart.colour else "", rows))
    made = forest(chart.name, chart.title, _caption(asked), _title(asked), groups, shown=shown, format=written,
                  reference=1.0 if chart.normalise else None)  # fmt: skip
    return replace(made, references=() if chart.reference is not None else made.references)


def _order(asked: Asked) -> Chart:
    """Launches in the order made, each against the median of its own configuration."""
    chart, rows = asked.chart, asked.rows
    keys = [
        name for name in dict.fromkeys((*(f.name for f in asked.experiment.factors), "p", "machine")) if name in rows
    ]
    usual = rows.groupby(keys, dropna=False)[asked.value].transform("median")
    varied = [name for name in keys if rows[name].nunique() > 1 and name != "p"]
    points = [
        Point(int(row["order"]), text.clean(" ".join(_name(name, row[name]) for name in varied)) or "as given",
              row[asked.value] / median - 1, _name(chart.colour, row[chart.colour]) if chart.colour else "measuring",
              bool(row["noisy"]), bool(row["oversubscribed"]))
        for row, median in zip(rows.to_dict("records"), usual, strict=True)
        if median > 0
    ]  # fmt: skip
    return order(chart.name, chart.title, chart.caption, points)


def _curves(asked: Asked) -> Chart:
    """Speedup, efficiency or overhead from ratios within blocks, against the smallest x of the same curve."""
    chart = asked.chart
    ps = [int(p) for p in _levels(asked, chart.x)]
    lines: Lines = [(row, column, [_line(asked, level, of) for level, of in _coloured(asked, rows)])
                    for row, column, rows in _panels(asked)]  # fmt: skip
    caption = (
        f"{chart.caption} Against {chart.x} = {ps[0]} of the same curve, ratios within blocks; bands and whiskers: "
        f"{text.percent(asked.experiment.stop.confidence)} signed-rank intervals.{_beside(asked)}"
    )
    words = Words(chart.name, chart.title, caption.strip())
    if chart.kind == "scaling":
        return curves.scaling(words, lines, ps[0])
    return curves.efficiency(words, lines) if chart.kind == "efficiency" else curves.overhead(words, lines)


def _coloured(asked: Asked, rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    name = asked.chart.colour
    if not name:
        yield "", rows
        return
    for level in _levels(asked, name):
        if not (chosen := rows[rows[name] == level]).empty:
            yield _name(name, level), chosen


def _line(asked: Asked, label: str, rows: pd.DataFrame) -> Line:
    chart, table = asked.chart, _logs(asked, rows)
    levels = list(table.columns)
    first = levels[0]
    steps = []
    for level in levels:
        ratio = stats.hodges_lehmann(table[first] - table[level], asked.experiment.stop.confidence)
        over = bool(rows[rows[chart.x] == level]["oversubscribed"].any())
        steps.append(Step(int(level), stats.speedup(ratio), stats.efficiency(ratio, int(first), int(level)),
                          stats.overhead(ratio, int(first), int(level)), over))  # fmt: skip
    return Line(label, tuple(step for step in steps if math.isfinite(step.speedup.estimate)))


def _logs(asked: Asked, rows: pd.DataFrame) -> pd.DataFrame:
    """Mean logarithm of y, a row a block and a column a level of x, from the smallest."""
    logs = rows.assign(_log=np.log(rows[asked.chart.y].where(rows[asked.chart.y] > 0)))
    return logs.pivot_table(index=["machine", "replicate"], columns=asked.chart.x, values="_log", sort=True)


def _panels(asked: Asked) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Row, column and launches of each panel that has any."""
    facet = asked.chart.facet
    rows_by, columns_by = (facet[0], facet[1]) if len(facet) == 2 else ("", facet[0] if facet else "")
    for down in _levels(asked, rows_by) if rows_by else [""]:
        for across in _levels(asked, columns_by) if columns_by else [""]:
            chosen = asked.rows
            chosen = chosen[chosen[rows_by] == down] if rows_by else chosen
            chosen = chosen[chosen[columns_by] == across] if columns_by else chosen
            if not chosen.empty:
                yield _name(rows_by, down) if rows_by else "", _name(columns_by, across) if columns_by else "", chosen


def _levels(asked: Asked, name: str) -> list[Level]:
    """What a column has, in the order declared, or of size, or of the alphabet."""
    factor = asked.experiment.factor(name)
    found: list[Level] = [getattr(level, "item", lambda level=level: level)() for level in asked.rows[name].unique()]
    if factor is not None and not pd.api.types.is_numeric_dtype(asked.rows[name]):
        rank = {level: k for k, level in enumerate(factor.levels)}
        return sorted(found, key=lambda level: (rank.get(level, len(rank)), str(level)))
    return sorted(found, key=lambda level: (isinstance(level, str), level))


def _name(column: str, level: Level) -> str:
    """`threads=4`, `mimalloc`: what is a word needs no column before it."""
    return text.clean(level if isinstance(level, str) else f"{column}={level:g}")


def _estimate(asked: Asked, rows: pd.DataFrame) -> Interval:
    chart = asked.chart
    found = bootstrapped(rows[asked.value], chart.statistic)
    return found if chart.error == "bootstrap" else Interval(found.estimate, None, None, None, found.n)


def _mark(asked: Asked, rows: pd.DataFrame, x: float | str, head: str, shown: Shown) -> Mark:
    found, over = _estimate(asked, rows), bool(rows["oversubscribed"].any())
    said = f"{head}: {text.join(shown(found))}, n = {found.n}" + (", oversubscribed" if over else "")
    return Mark(x if isinstance(x, str) else float(x), found.estimate, text.clean(said), *sure(found), hollow=over)


def _quantity(asked: Asked) -> tuple[Shown, Format]:
    """How the values are written, in words and on an axis."""
    if asked.chart.normalise is not None:
        return text.times, "times"
    if asked.value == "time" and not asked.experiment.response.startswith("metric:"):
        return text.time, "seconds"
    if asked.value == "peak_memory":
        return lambda found: (text.memory(found.estimate), ""), "bytes"
    return text.number, "number"


def _title(asked: Asked) -> str:
    """What the axis of the values says."""
    name = text.quantity_name(asked.experiment.response) if asked.value == "time" else asked.value.replace("_", " ")
    wanted = asked.chart.normalise
    return f"{name} / {name} at {', '.join(f'{k}={v}' for k, v in wanted.to.items())}" if wanted else name


def _caption(asked: Asked) -> str:
    """The declared one, then what the numbers are."""
    chart = asked.chart
    fewest = int(asked.rows.groupby(list(asked.groups), dropna=False).size().min())
    what = f"{chart.statistic.capitalize()} of {fewest} launches or more" if fewest > 1 else "Single launches"
    spread = "whiskers"
    if chart.kind == "heat":
        what, spread = (
            f"Colour and number: {_title(asked)}, {what[:1].lower()}{what[1:]}",
            "brackets, on pointing at a cell",
        )
    error = ""
    if chart.error == "bootstrap" and fewest > 1:
        error = f"; {spread}: bootstrapped 95% intervals of the {chart.statistic}"
        error += ", too narrow at so few" if fewest < MANY else ""
    return f"{chart.caption} {what}{error}.{_beside(asked)}".strip()


def _beside(asked: Asked) -> str:
    """What is averaged over, and what is missing."""
    cells = (
        asked.rows.groupby(list(asked.groups), dropna=False) if asked.groups else asked.rows.assign(_=0).groupby("_")
    )
    columns = [*(factor.name for factor in asked.experiment.factors), "machine"]
    mixed = [name for name in columns if name not in asked.groups and cells[name].nunique().max() > 1]
    over = f" Averaged over every {' and '.join(mixed)}." if mixed else ""
    return over + (f" {asked.failed} launches without a value are left out." if asked.failed else "")


def _made(asked: Asked, x: Axis, y: Axis, panels: Sequence[Panel]) -> Chart:
    chart = asked.chart
    said = "; ".join(mark.says for panel in panels for series in panel.series for mark in series.marks)
    wide = len(panels) > 1 or chart.kind == "bars" or len(x.categories) > 6
    return Chart(
        name=chart.name,
        title=chart.title,
        caption=_caption(asked),
        alternative=text.clean(f"{_title(asked)} by {' and '.join(asked.groups)}. {said}."),
        x=x,
        y=y,
        panels=tuple(panels),
        wide=wide,
        height=2.6 if len(panels) > 1 else 3.5,
    )


KINDS: dict[outputs.ChartKind, Callable[[Asked], Chart]] = {
    "lines": _lines,
    "bars": _bars,
    "heat": _heat,
    "forest": _forest,
    "weak": _weak,
    "time-order": _order,
    "scaling": _curves,
    "efficiency": _curves,
    "overhead": _curves,
}
"""One function for each kind that can be declared."""
