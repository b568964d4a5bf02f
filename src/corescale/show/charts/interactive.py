# SPDX-License-Identifier: Apache-2.0
"""Interactive charts in a page, without any network: the chart as Vega-Lite, and the bundled scripts that draw it.

The scripts are in an optional package (the extra `interactive`); without it a page shows the pictures of static.py.
"""

import base64
import functools
import gzip
import importlib.util
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from corescale.show.charts import look
from corescale.show.charts.look import ALARM, GRID, INK, MUTED, PAPER
from corescale.show.charts.model import Axis, Chart, Format

VEGA_LITE = "6.4"
"""what is bundled"""

Json = dict[str, Any]

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

SAID: Json = {"tooltip": {"field": "says", "type": "nominal"}, "description": {"field": "says", "type": "nominal"}}
"""what a mark says to a reader who points at it or cannot see it"""


def available() -> bool:
    """Whether a page can be made interactive here."""
    return importlib.util.find_spec("vl_convert") is not None


@functools.cache
def scripts() -> str:
    """Vega, Vega-Lite and vega-embed as one script: gzip, as base64, some 0.4 MB. Takes 2 s, once a process."""
    import vl_convert  # noqa: PLC0415  optional

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    return base64.b64encode(gzip.compress(bundle.encode(), 9, mtime=0)).decode("ascii")


def specification(chart: Chart) -> Json:
    """The chart as Vega-Lite, data included, as JSON values. Colours are the page's CSS variables.

    A chart of several panels has the width of one set by the page (templates/charts.js).
    """
    drawn: Json = {"layer": list(_layers(chart))}
    drawn["height"] = 30 * len(chart.x.categories) if chart.turned else round(70 * chart.height)
    found: Json = {"$schema": f"https://vega.github.io/schema/vega-lite/v{VEGA_LITE[0]}.json"}
    found |= {"data": {"values": list(_rows(chart))}, "description": chart.alternative, "config": _theme()}
    if chart.notices:
        colour = look.variable(ALARM)
        found["title"] = {"text": " · ".join(chart.notices), "color": colour, "anchor": "end", "fontSize": 13}
    if len(chart.panels) == 1:
        return found | drawn | {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    levels = {"row": chart.rows, "column": chart.columns}
    facet = {name: _field(name, "nominal", sort=list(of), title=None) for name, of in levels.items() if of != ("",)}
    resolve = {"resolve": {"scale": {"y": "independent"}}} if chart.own_y else {}
    return found | {"spec": drawn | {"width": 220}, "facet": facet} | resolve


def _rows(chart: Chart) -> Iterator[Mapping[str, Any]]:
    """One object a mark. `name` is its series, `kind` decides which layer draws it."""
    shades = look.shaded(chart.cells) if chart.cells else {}
    for panel in chart.panels:
        for series in panel.series:
            for mark in series.marks:
                low, high = (None, None) if None in (mark.low, mark.high) else (mark.low, mark.high)
                fill, ink = shades.get(mark, (None, None))
                row = {
                    "name": series.name, "kind": series.kind, "row": panel.row, "column": panel.column,
                    "x": mark.x, "y": mark.y, "says": mark.says, "hollow": mark.hollow, "low": low, "high": high,
                    "begins": mark.begins, "written": mark.written or None, "fill": fill, "ink": ink,
                }  # fmt: skip
                yield {name: value for name, value in row.items() if value is not None}


def _layers(chart: Chart) -> Iterator[Json]:
    """The layers from back to front."""
    kinds = {series.kind for series in chart.series}
    for value in chart.references:
        across: Json = {"x" if chart.turned else "y": {"datum": value}}
        yield _layer("rule", across, color=look.variable(MUTED), strokeDash=[5, 4] if value else [1, 0])
    if "cells" in kinds:
        yield from _heat(chart)
        return
    if not kinds & {"spans", "steps"} and any(mark.low is not None for mark in chart.marks()):
        yield from _spread(chart, kinds)
    for kind, dash in {"curve": [1, 0], "dashed": [5, 4], "dotted": [2, 3]}.items():
        if kind in kinds:
            order: Json = {"order": _field("x")}
            width = 1.8 if kind == "curve" else 1.4
            yield _layer("line", _place(chart) | _colour(chart) | order, kind, strokeDash=dash, strokeWidth=width)
    if "bars" in kinds:
        yield _layer("bar", _place(chart) | _colour(chart) | _dodge(chart), "bars", opacity=0.55)
        yield _whiskers(chart, "bars")
    if "spans" in kinds:
        begins = {"x2": {"field": "begins"}}
        yield _layer("bar", _place(chart) | begins | _colour(chart) | SAID, "spans", aria=True)
    if "steps" in kinds:
        yield _layer("bar", _place(chart) | {"x2": {"field": "begins"}} | _colour(chart), "steps", opacity=0.55)
        yield _whiskers(chart, "steps")
    if kinds & {"curve", "points", "bars", "steps"}:
        yield _points(chart)
    if chart.turned:  # what a row says, at the right edge
        at = {"y": _place(chart)["y"], "x": {"value": {"expr": "width + 12"}}, "text": _field("written", "nominal")}
        made = _layer("text", at, align="left", color=look.variable(INK))
        yield made | {"transform": [{"filter": "isValid(datum.written)"}]}


def _layer(mark: str, encoding: Mapping[str, Any], *kinds: str, **style: Any) -> Json:
    """A mark for each row of the kinds, or for every row."""
    made: Json = {"mark": {"type": mark, "aria": False, **style}, "encoding": encoding}
    return made | ({"transform": [{"filter": f"indexof({list(kinds)}, datum.kind) >= 0"}]} if kinds else {})


def _field(name: str, kind: str = "quantitative", **more: Any) -> Json:
    return {"field": name, "type": kind, **more}


def _spread(chart: Chart, kinds: Collection[str]) -> Iterator[Json]:
    """Bands behind curves, whiskers on every point."""
    if "curve" in kinds and not chart.x.categories:
        yield _where_sure(_layer("area", _ends(chart) | _colour(chart), "curve", opacity=0.18))
    if "curve" in kinds or "points" in kinds:
        yield _whiskers(chart, "curve", "points")


def _whiskers(chart: Chart, *kinds: str) -> Json:
    if "bars" in kinds:
        at = _ends(chart) | {"detail": _field("name", "nominal")} | _dodge(chart)
        return _where_sure(_layer("rule", at, *kinds, strokeWidth=1.6, color=look.variable(INK)))
    return _where_sure(_layer("rule", _ends(chart) | _colour(chart), *kinds, strokeWidth=2.4 if chart.turned else 1.6))


def _where_sure(layer: Json) -> Json:
    """For the marks that have an interval."""
    return layer | {"transform": [*layer["transform"], {"filter": "isValid(datum.low)"}]}


def _points(chart: Chart) -> Json:
    bars = any(series.kind == "bars" for series in chart.series)
    size = 26 if bars else 46 if sum(1 for _ in chart.marks()) > 100 else 62
    colour = _colour(chart)["color"]
    fill = colour | {"condition": {"test": "datum.hollow", "value": look.variable(PAPER)}}
    drawn = {"stroke": colour, "fill": fill, "shape": _shape(chart), **SAID}
    kinds = ("curve", "points", "bars", "steps")
    encoding = _place(chart) | _dodge(chart) | drawn
    return _layer("point", encoding, *kinds, aria=True, size=size, opacity=1, strokeWidth=1.2)


def _heat(chart: Chart) -> Iterator[Json]:
    place = _place(chart)
    yield _layer("rect", place | {"fill": _field("fill", "nominal", scale=None)} | SAID, aria=True)
    ink = _field("ink", "nominal", scale=None)
    yield _layer("text", place | {"text": _field("written", "nominal"), "color": ink})


def _place(chart: Chart) -> Json:
    flat, upright = ("y", "x") if chart.turned else ("x", "y")
    return {flat: _axis(chart, "x", chart.x), upright: _axis(chart, "y", chart.y)}


def _ends(chart: Chart) -> Json:
    """An interval from low to high, at the place of the mark."""
    upright = "x" if chart.turned else "y"
    return _place(chart) | {upright: _axis(chart, "low", chart.y), f"{upright}2": {"field": "high"}}


def _dodge(chart: Chart) -> Json:
    names = [series.name for series in chart.series if series.kind == "bars"]
    return {"xOffset": _field("name", "nominal", sort=names)} if chart.dodged else {}


def _axis(chart: Chart, name: str, axis: Axis) -> Json:
    """A position, with its scale and axis."""
    title = axis.title or None
    if axis.categories:
        angle = -30 if chart.crowded and axis is chart.x else 0
        names: Json = {"labelAngle": angle, "labelLimit": 400, "domain": not chart.turned, "ticks": False}
        scale: Json = {"domain": list(axis.categories), "padding": 0.12}
        return _field(name, "nominal", title=title, sort=list(axis.categories), scale=scale, axis=names)
    values: Json = {"values": list(axis.ticks)} if axis.ticks else {"tickCount": 8 if chart.turned else 6}
    shown = {"labelExpr": LABELS[axis.format], "grid": True, **values}
    return _field(name, title=title, scale=_scale(chart, axis), axis=shown)


def _scale(chart: Chart, axis: Axis) -> Json:
    """Logarithmic, or linear: from zero where it must be, otherwise with some room around the marks."""
    if axis.log:
        return {"type": "log", "base": 2, "nice": False, "padding": 14}
    return {"zero": True} if axis.zero else {"zero": False, "padding": 10, "nice": axis is not chart.x}


def _colour(chart: Chart) -> Json:
    colours = [look.variable(MUTED if s.kind == "dashed" else look.of(s.slot).colour) for s in chart.series]
    return {"color": _by_name(chart, colours)}


def _shape(chart: Chart) -> Json:
    return _by_name(
        chart, ["stroke" if s.kind in ("dashed", "dotted") else look.of(s.slot).shape for s in chart.series]
    )


def _by_name(chart: Chart, looks: list[str]) -> Json:
    """A look for each series, with the legend of those that are named."""
    scale = {"domain": [series.name for series in chart.series], "range": looks}
    legend = {
        "orient": "top",
        "columns": chart.legend_columns,
        "values": [series.label for series in chart.legend],
        "labelLimit": 300,
        "symbolOpacity": 1,
        "columnPadding": 18,
    }
    return _field("name", "nominal", title=None, scale=scale, legend=legend if chart.legend else None)


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
