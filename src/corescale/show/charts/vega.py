# SPDX-License-Identifier: Apache-2.0
"""The chart as Vega-Lite, by altair, which checks it against the schema."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import altair as alt

from corescale.show.charts import look
from corescale.show.charts.look import ALARM, GRID, INK, MUTED, PAPER
from corescale.show.charts.model import Axis, Chart, Format, Mark, Series

LABELS: dict[Format, str] = {
    "number": "abs(datum.value) >= 1e4 || datum.value && abs(datum.value) < 1e-3 ? format(datum.value, '~s') :"
    " format(datum.value, '~r')",
    "times": "format(datum.value, '.3~r') + '×'",
    "percent": "format(100 * datum.value, '~r') + '%'",
    "change": "datum.value == 0 ? '0%' : format(100 * datum.value, '+.3~r') + '%'",
    "seconds": "datum.value == 0 ? '0' : abs(datum.value) >= 1 ? format(datum.value, '~r') + ' s' :"
    " abs(datum.value) >= 1e-3 ? format(datum.value * 1e3, '~r') + ' ms' : format(datum.value * 1e6, '~r') + ' us'",
    "bytes": "datum.value == 0 ? '0' : datum.value >= 1073741824 ? format(datum.value / 1073741824, '.3~r') + ' GiB' :"
    " datum.value >= 1048576 ? format(datum.value / 1048576, '.3~r') + ' MiB' :"
    " format(datum.value / 1024, '.3~r') + ' KiB'",
}
"""How an axis writes its numbers, as Vega expressions."""

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'
"""The page's, spelt out: Vega measures text by it."""

JOINED = ("curve", "dashed", "dotted")


def specification(chart: Chart) -> dict[str, Any]:
    """Of JSON values. A chart of several panels has the width of one set by the page (page/charts.js)."""
    layers = [layer for layer in _layers(chart) if layer is not None]
    size = {"width": "container"} if len(chart.panels) == 1 else {}
    height = 30 * len(chart.x.categories) if chart.turned else round(70 * chart.height)
    drawn: Any = alt.layer(*layers).properties(height=height, **size)
    if len(chart.panels) > 1:
        drawn = drawn.properties(width=220)
        facets = {name: alt.Facet(f"{name}:N", sort=list(levels), title=None)
                  for name, levels in (("row", chart.rows), ("column", chart.columns)) if levels != ("",)}  # fmt: skip
        drawn = drawn.facet(data=_data(chart), **facets)
        if chart.own_y:
            drawn = drawn.resolve_scale(y="independent")
    else:
        fit = alt.AutoSizeParams(type="fit-x", contains="padding")
        drawn = drawn.properties(data=_data(chart), autosize=fit)
    if chart.notices:
        drawn = drawn.properties(title=alt.TitleParams(" · ".join(chart.notices), color=look.variable(ALARM),
                                                       anchor="end", fontSize=13))  # fmt: skip
    found: dict[str, Any] = drawn.configure(**_theme()).properties(description=chart.alternative).to_dict()
    return found


def _data(chart: Chart) -> Any:
    data: Any = alt.Data  # its subclass InlineData would be moved aside and given a name
    return data(values=list(_rows(chart)))


def _rows(chart: Chart) -> Iterator[Mapping[str, Any]]:
    """One object a mark. `name` is its series, `kind` decides which layer draws it."""
    shades = look.shaded(chart.cells) if chart.cells else {}
    for panel in chart.panels:
        for series in panel.series:
            for mark in series.marks:
                yield _row(series, mark) | {"row": panel.row, "column": panel.column} | _cell(mark, shades.get(mark))


def _row(series: Series, mark: Mark) -> dict[str, Any]:
    ends = {} if mark.low is None or mark.high is None else {"low": mark.low, "high": mark.high}
    return (
        {
            "name": series.name,
            "kind": series.kind,
            "x": mark.x,
            "y": mark.y,
            "says": mark.says,
            "hollow": mark.hollow,
        }
        | ends
        | ({} if mark.begins is None else {"begins": mark.begins})
    )


def _cell(mark: Mark, shade: tuple[str, str] | None) -> dict[str, Any]:
    if shade is None:
        return {"written": mark.written} if mark.written else {}
    return {"value": mark.value, "written": mark.written, "fill": shade[0], "ink": shade[1]}


def _layers(chart: Chart) -> Iterator[Any]:
    """The layers from back to front."""
    kinds = {series.kind for series in chart.series}
    for value in chart.references:
        at: Any = {"x" if chart.turned else "y": alt.datum(value)}
        yield (
            alt.Chart()
            .mark_rule(color=look.variable(MUTED), strokeDash=[5, 4] if value else [1, 0], aria=False)
            .encode(**at)
        )
    if "cells" in kinds:
        yield from _heat(chart)
        return
    if "steps" not in kinds and any(mark.low is not None for mark in chart.marks()):
        yield from _spread(chart, kinds)
    for kind in JOINED:
        if kind in kinds:
            yield _joined(chart, kind)
    if "bars" in kinds:
        bars = alt.Chart().transform_filter("datum.kind == 'bars'").mark_bar(opacity=0.55, aria=False)
        yield bars.encode(**_place(chart), color=_colour(chart), **_dodge(chart))
        yield _whiskers(chart, "bars")
    if "steps" in kinds:
        yield from _steps(chart)
    if kinds & {"curve", "points", "bars", "steps"}:
        yield _points(chart)
    if chart.turned:
        yield _beside(chart)


def _steps(chart: Chart) -> Iterator[Any]:
    """Bars from where each step begins to where it ends, with the whiskers of its end."""
    bars = alt.Chart().transform_filter("datum.kind == 'steps'").mark_bar(opacity=0.55, aria=False)
    yield bars.encode(**_place(chart), x2="begins:Q", color=_colour(chart))
    yield _whiskers(chart, "steps")


def _spread(chart: Chart, kinds: Collection[str]) -> Iterator[Any]:
    """Bands behind curves, whiskers on every point."""
    if "curve" in kinds and not chart.x.categories:
        band = alt.Chart().transform_filter("datum.kind == 'curve' && isValid(datum.low)")
        yield band.mark_area(opacity=0.18, aria=False).encode(**_ends(chart), color=_colour(chart))
    if "curve" in kinds or "points" in kinds:
        yield _whiskers(chart, "curve", "points")


def _whiskers(chart: Chart, *kinds: str) -> Any:
    chosen = " || ".join(f"datum.kind == '{kind}'" for kind in kinds)
    rule = alt.Chart().transform_filter(f"({chosen}) && isValid(datum.low)")
    if "bars" in kinds:
        rule = rule.mark_rule(strokeWidth=1.6, color=look.variable(INK), aria=False)
        return rule.encode(**_ends(chart), detail="name:N", **_dodge(chart))
    return rule.mark_rule(strokeWidth=2.4 if chart.turned else 1.6, aria=False).encode(
        **_ends(chart), color=_colour(chart)
    )


def _joined(chart: Chart, kind: str) -> Any:
    dash = {"curve": [1, 0], "dashed": [5, 4], "dotted": [2, 3]}[kind]
    line = alt.Chart().transform_filter(f"datum.kind == '{kind}'")
    return line.mark_line(strokeDash=dash, strokeWidth=1.8 if kind == "curve" else 1.4, aria=False).encode(
        **_place(chart), color=_colour(chart), order=alt.Order("x:Q")
    )


def _points(chart: Chart) -> Any:
    bars = any(series.kind == "bars" for series in chart.series)
    size = 26 if bars else 46 if sum(1 for _ in chart.marks()) > 100 else 62
    hollow = alt.condition("datum.hollow", alt.value(look.variable(PAPER)), _colour(chart))
    return (
        alt.Chart()
        .transform_filter("indexof(['curve', 'points', 'bars', 'steps'], datum.kind) >= 0")
        .mark_point(size=size, opacity=1, strokeWidth=1.2)
        .encode(
            **_place(chart),
            **_dodge(chart),
            stroke=_colour(chart),
            fill=hollow,
            shape=_shape(chart),
            tooltip=alt.Tooltip("says:N"),
            description="says:N",
        )
    )


def _heat(chart: Chart) -> Iterator[Any]:
    place = _place(chart)
    yield (
        alt.Chart()
        .mark_rect()
        .encode(**place, fill=alt.Fill("fill:N", scale=None), tooltip=alt.Tooltip("says:N"), description="says:N")
    )
    yield alt.Chart().mark_text(aria=False).encode(**place, text="written:N", color=alt.Color("ink:N", scale=None))


def _beside(chart: Chart) -> Any:
    """What a forest's rows say, at its right edge."""
    words = alt.Chart().mark_text(align="left", aria=False, color=look.variable(INK))
    return words.encode(y=_place(chart)["y"], x=alt.value(alt.expr("width + 12")), text="written:N")


def _place(chart: Chart) -> dict[str, Any]:
    flat, upright = ("y", "x") if chart.turned else ("x", "y")
    x, y = _channel(chart, chart.x), _channel(chart, chart.y)
    return {flat: getattr(alt, flat.upper())(f"x:{_type(chart.x)}", **x),
            upright: getattr(alt, upright.upper())(f"y:{_type(chart.y)}", **y)}  # fmt: skip


def _ends(chart: Chart) -> dict[str, Any]:
    """An interval from low to high, at the place of the mark."""
    place = _place(chart)
    upright = "x" if chart.turned else "y"
    channel = _channel(chart, chart.y)
    place[upright] = getattr(alt, upright.upper())("low:Q", **channel)
    return place | {f"{upright}2": "high:Q"}


def _dodge(chart: Chart) -> dict[str, Any]:
    if not chart.dodged:
        return {}
    names = [series.name for series in chart.series if series.kind == "bars"]
    return {"xOffset": alt.XOffset("name:N", sort=names)}


def _type(axis: Axis) -> str:
    return "N" if axis.categories else "Q"


def _channel(chart: Chart, axis: Axis) -> dict[str, Any]:
    """Scale and axis of a position."""
    if axis.categories:
        return {
            "title": axis.title or None,
            "sort": list(axis.categories),
            "scale": alt.Scale(domain=list(axis.categories), padding=0.12),
            "axis": alt.Axis(
                labelAngle=-30 if chart.crowded and axis is chart.x else 0,
                labelLimit=400,
                domain=not chart.turned,
                ticks=False,
            ),
        }
    scale = alt.Scale(type="log", base=2, nice=False, padding=14) if axis.log else _linear(chart, axis)
    values: dict[str, Any] = {"values": list(axis.ticks)} if axis.ticks else {"tickCount": 8 if chart.turned else 6}
    return {
        "title": axis.title or None,
        "scale": scale,
        "axis": alt.Axis(labelExpr=LABELS[axis.format], grid=True, **values),
    }


def _linear(chart: Chart, axis: Axis) -> Any:
    """A linear scale, from zero where it must be, otherwise with some room around the marks."""
    return alt.Scale(zero=True) if axis.zero else alt.Scale(zero=False, padding=10, nice=axis is not chart.x)


def _colour(chart: Chart) -> Any:
    colours = [look.variable(MUTED if s.kind == "dashed" else look.of(s.slot).colour) for s in chart.series]
    scale = alt.Scale(domain=[s.name for s in chart.series], range=colours)
    return alt.Color("name:N", title=None, scale=scale, legend=_legend(chart))


def _shape(chart: Chart) -> Any:
    shapes = ["stroke" if s.kind in ("dashed", "dotted") else look.of(s.slot).shape for s in chart.series]
    scale = alt.Scale(domain=[s.name for s in chart.series], range=shapes)
    return alt.Shape("name:N", title=None, scale=scale, legend=_legend(chart))


def _legend(chart: Chart) -> Any:
    if not chart.legend:
        return None
    return alt.Legend(
        orient="top",
        columns=chart.legend_columns,
        values=[series.label for series in chart.legend],
        labelLimit=300,
        symbolOpacity=1,
        columnPadding=18,
    )


def _theme() -> dict[str, Any]:
    """The page's font and colours."""
    ink, muted, grid = look.variable(INK), look.variable(MUTED), look.variable(GRID)
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "domainColor": muted,
            "tickColor": muted,
            "gridColor": grid,
            "labelColor": ink,
            "titleColor": ink,
            "labelFontSize": 13,
            "titleFontSize": 13,
            "titleFontWeight": "normal",
        },
        "legend": {"labelColor": ink, "labelFontSize": 13, "symbolSize": 70},
        "header": {"labelColor": muted, "labelFontSize": 13},
        "text": {"fontSize": 13},
    }
