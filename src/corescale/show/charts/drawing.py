# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: every mark of a chart, by one library)
"""Draws charts with matplotlib, as PNG, as SVG files, and as SVG elements that use a page's colours.

In SVG, each mark carries its value as text, for screen readers and for the page's script, which shows it at the
pointer.
"""

import html
import io
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import EngFormatter, FuncFormatter, NullLocator

from corescale.errors import UsageError
from corescale.show import files, text
from corescale.show.charts import look
from corescale.show.charts.look import ALARM, GRID, INK, MUTED, PAPER
from corescale.show.charts.model import Axis, Chart, Format, Panel, Place, Series

DASHES: Any = (0, (5, 4))
LINES = ("-", "--", ":", "-.")
"""styles of curves in one colour"""


def _seconds(value: float) -> str:
    """The value with a unit prefix such that no zeros follow a decimal point: `500 ms`, `2 s`."""
    factor, unit = next(((f, u) for f, u in ((1.0, "s"), (1e3, "ms")) if abs(value) * f >= 1), (1e6, "us"))
    return f"{value * factor:g} {unit}" if value else "0"


def _number(value: float) -> str:
    """A number, with a prefix if it is large: `0.00005`, `200`, `20k`."""
    return PREFIXED(value) if abs(value) >= 1e4 else np.format_float_positional(float(f"{value:g}"), trim="-")


def _memory(value: float) -> str:
    unit, name = next(((u, n) for u, n in ((2**30, "GiB"), (2**20, "MiB")) if value >= u), (2**10, "KiB"))
    return f"{value / unit:.3g} {name}" if value else "0"


PREFIXED = EngFormatter(sep="")
WRITERS: dict[Format, Callable[[float], str]] = {
    "number": _number,
    "times": lambda value: f"{value:.3g}×",
    "percent": lambda value: f"{100 * value:g}%",
    "change": lambda value: f"{100 * value:+.3g}%" if value else "0%",
    "seconds": _seconds,
    "bytes": _memory,
}
BAR = 0.55
"""opacity of a bar, so that its interval is visible in front of it"""
GROUP_WIDTH = 0.8
"""total width of a category's bars, if categories are 1 apart"""

NewFigure = Callable[..., Figure]

LETTERS, WHOLE = 9.0, 200
"""letters per line of an axis title: of a vertical one, per inch of the panel's height; of a horizontal one"""


def plotted(charts: Sequence[Chart], name: str, axes: Axes | None) -> Axes:
    """Draws the named chart, or the first if the name is empty, on these axes; raises UsageError for an unknown name.

    Without axes, it is drawn in a new figure of pyplot's, and the axes of its first panel are returned.
    """
    from matplotlib import pyplot  # noqa: PLC0415  selects a backend, which only this needs

    found = next((one for one in charts if name in ("", one.name)), None)
    if found is None:
        remedy = f"give one of {', '.join(one.name for one in charts)}"
        raise UsageError(f"no chart {name!r}", where="plot", remedy=remedy)
    if axes is not None:
        draw_on(axes, found)
        return axes
    with mpl.rc_context(STYLE):
        figure = _titled(found, pyplot.figure)
    figure.set_facecolor(PAPER)
    return next(axes for axes in figure.axes if axes.get_visible())


def draw_on(axes: Axes, chart: Chart) -> None:
    """Draws a chart of one panel on given axes; raises UsageError for a chart of several panels."""
    if len(chart.panels) != 1:
        raise UsageError(f"the chart {chart.name} has {len(chart.panels)} panels", remedy="leave out ax")
    _panel(axes, chart, chart.panels[0])
    if chart.y.zero and not chart.turned:
        axes.set_ylim(bottom=0)
    axes.set_title(" · ".join([text.clean(chart.title), *chart.notices]))
    if chart.legend:
        axes.legend(handles=[_handle(series) for series in chart.legend])


def _titled(chart: Chart, new: NewFigure = Figure) -> Figure:
    """The figure of a chart, with the title inside."""
    figure = _figure(chart, new)
    lines = textwrap.wrap(text.clean(chart.title), 92 if chart.wide else 44)
    figure.set_size_inches(figure.get_figwidth(), figure.get_figheight() + 0.3 * len(lines))
    figure.text(0.01, 0.985, "\n".join(lines), ha="left", va="top", fontsize=13)
    height, rows = figure.get_figheight(), -(-len(chart.legend) // chart.legend_columns)
    title, legend = 0.3 * len(lines) / height, (0.08 + 0.22 * rows) / height if figure.legends else 0.0
    cast(ConstrainedLayoutEngine, figure.get_layout_engine()).set(rect=(0, 0, 1, 1 - title - legend))
    for one in figure.legends:
        one.set_bbox_to_anchor((0, 0, 1, 1 - title), transform=figure.transFigure)
    return figure


def _figure(chart: Chart, new: NewFigure = Figure) -> Figure:
    rows, columns = chart.rows, chart.columns
    figure = new(figsize=(10.4 if chart.wide else 5.0, chart.height * len(rows)), layout="constrained")
    share: Any = {"sharex": True, "sharey": not chart.own_y} if len(chart.panels) > 1 else {}
    grid = figure.subplots(len(rows), len(columns), squeeze=False, **share)
    for axes in grid.flat:
        axes.set_visible(False)
    for panel in chart.panels:
        axes = grid[rows.index(panel.row)][columns.index(panel.column)]
        axes.set_visible(True)
        _panel(axes, chart, panel)
        place = "center" if len(chart.panels) > 1 else "left"  # next to a notice, if there is one panel
        axes.set_title(" · ".join(filter(None, (panel.row, panel.column))), loc=place, fontsize=10.5, color=MUTED)
    for axes in grid.flat:  # after all is drawn, because setting a limit keeps a shared range from growing
        if chart.y.zero and not chart.turned and axes.get_ylim()[0] > -0.05 * axes.get_ylim()[1]:
            axes.set_ylim(bottom=0)
    for axes in grid[:-1].flat:
        axes.xaxis.label.set_visible(False)
    for axes in [] if chart.own_y else grid[:, 1:].flat:
        axes.yaxis.label.set_visible(False)
    _above(figure, chart)
    return figure


def _above(figure: Figure, chart: Chart) -> None:
    """Puts legend and notices above the axes, where they cover no marks."""
    notice = " · ".join(chart.notices)
    if notice and len(chart.panels) == 1:
        figure.axes[0].set_title(notice, loc="right", color=ALARM, weight="bold", fontsize=9.5)
    elif notice:
        said = Line2D([], [], linestyle="none", label=notice)
        place = figure.legend(handles=[said], loc="outside upper right", fontsize=9.5, handlelength=0)
        place.get_texts()[0].set(color=ALARM, weight="bold")
    if chart.legend:
        columns = min(len(chart.legend), chart.legend_columns)
        figure.legend(handles=[_handle(series) for series in chart.legend], loc="outside upper left", ncols=columns,
                      fontsize=9.5, handlelength=3.2 if chart.styled else 1.8, columnspacing=1.4)  # fmt: skip


def _handle(series: Series) -> Line2D | Patch:
    if series.kind in ("dashed", "dotted"):
        colour = MUTED if series.kind == "dashed" else look.of(series.slot).colour
        return Line2D([], [], color=colour, label=series.label, linestyle=DASHES if series.kind == "dashed" else ":")
    seen = look.of(series.slot)
    if series.kind in ("bars", "spans", "steps"):
        return Patch(facecolor=seen.colour, alpha=1 if series.kind == "spans" else BAR, label=series.label,
                     hatch=seen.hatch, edgecolor=PAPER, linewidth=0)  # fmt: skip
    line: Any = LINES[series.style % len(LINES)] if series.kind == "curve" else "none"
    return Line2D([], [], color=seen.colour, marker=seen.marker, linestyle=line, markeredgecolor=PAPER,
                  markersize=7, label=series.label)  # fmt: skip


def _panel(axes: Axes, chart: Chart, panel: Panel) -> None:
    _scales(axes, chart)
    axes.margins(0.05, 0.08)
    for value in chart.references:
        across = axes.axvline if chart.turned else axes.axhline
        across(value, color=MUTED, linestyle=DASHES if value else "-", linewidth=1.2 if value else 1, zorder=1)
    for series in panel.series:
        DRAW[series.kind](axes, chart, series)
    if chart.turned:
        _written(axes, chart, panel)


def _scales(axes: Axes, chart: Chart) -> None:
    upright, flat = (chart.x, chart.y) if chart.turned else (chart.y, chart.x)
    both: tuple[tuple[Any, Axis, Literal["x", "y"]], ...] = ((axes.xaxis, flat, "x"), (axes.yaxis, upright, "y"))
    for axis, sides, name in both:
        if sides.log:
            getattr(axes, f"set_{name}scale")("log", base=2)
            axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _, sides=sides: WRITERS[sides.format](value)))
        if sides.ticks:
            axis.set_ticks(sides.ticks)
        length = int(LETTERS * chart.height) if name == "y" else WHOLE
        axis.set_label_text("\n".join(textwrap.wrap(text.clean(sides.title), length)))
        axis.grid(visible=not sides.categories)
        if sides.categories:
            _categories(axes, name, sides.categories, chart)


def _categories(axes: Axes, name: Literal["x", "y"], labels: Sequence[str], chart: Chart) -> None:
    """Writes the names of categories at 0, 1, ...; on a vertical axis they start at the top."""
    shown = [text.clean(label) for label in labels]
    slanted: Any = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if name == "x" and chart.crowded else {}
    getattr(axes, f"set_{name}ticks")(range(len(shown)), shown, **slanted)
    axes.tick_params(axis=name, length=0)
    ends = (len(shown) - 0.4, -0.6) if name == "y" else (-0.6, len(shown) - 0.4)
    getattr(axes, f"set_{name}lim")(*ends)


def _at(axis: Axis, place: Place) -> float:
    return float(axis.categories.index(str(place))) if axis.categories else float(place)


def _places(chart: Chart, series: Series) -> list[float]:
    return [_at(chart.x, mark.x) for mark in series.marks]


def _values(series: Series) -> list[float]:
    return [float(mark.y) for mark in series.marks]


def _curve(axes: Axes, chart: Chart, series: Series) -> None:
    """Points joined by a line, whiskers on each and, unless there are line styles, a band between them."""
    x, seen = _places(chart, series), look.of(series.slot)
    line = LINES[series.style % len(LINES)]
    axes.plot(x, _values(series), color=seen.colour, linestyle=line, linewidth=1.8, zorder=3)
    bounded = [(at, m.low, m.high) for at, m in zip(x, series.marks, strict=True) if None not in (m.low, m.high)]
    if len(bounded) > 1 and not chart.styled:
        at, low, high = zip(*bounded, strict=True)
        axes.fill_between(at, low, high, color=seen.colour, alpha=0.18, linewidth=0)
    _whiskers(axes, chart, series, x, 1.6)
    _points(axes, chart, series, x)


def _scattered(axes: Axes, chart: Chart, series: Series) -> None:
    x = _places(chart, series)
    _whiskers(axes, chart, series, x, 2.4 if chart.turned else 1.6)
    _points(axes, chart, series, x)


def _bars(axes: Axes, chart: Chart, series: Series) -> None:
    """Bars, each with its interval. They are side by side if series share a category, and hollow if oversubscribed."""
    named = [one.name for one in chart.series if one.kind == "bars"]
    width = GROUP_WIDTH / len(named) if chart.dodged else GROUP_WIDTH
    shift = (named.index(series.name) - (len(named) - 1) / 2) * width if chart.dodged else 0.0
    x, seen = [at + shift for at in _places(chart, series)], look.of(series.slot)
    hollow = [mark.hollow for mark in series.marks]
    faces, rims = [PAPER if each else seen.colour for each in hollow], [2 if each else 0 for each in hollow]
    edges = [seen.colour if each else PAPER for each in hollow]
    style: Any = {"color": faces, "alpha": BAR, "edgecolor": edges, "linewidth": rims, "zorder": 2}
    _say(series, axes.bar(x, _values(series), width=0.92 * width, hatch=seen.hatch, **style))
    _whiskers(axes, chart, series, x, 1.6)


def _say(series: Series, drawn: Iterable[Artist]) -> None:
    """Stores each mark's text as a link address, because matplotlib writes no other text of a mark into SVG."""
    for mark, artist in zip(series.marks, drawn, strict=True):
        artist.set_url(mark.says)


def _spans(axes: Axes, chart: Chart, series: Series) -> None:
    """Draws horizontal bars, each from its own start."""
    begins = [mark.begins or 0.0 for mark in series.marks]
    lengths = [end - begin for end, begin in zip(_values(series), begins, strict=True)]
    _say(series, axes.barh(_places(chart, series), lengths, 0.72, begins, color=look.of(series.slot).colour))


def _steps(axes: Axes, chart: Chart, series: Series) -> None:
    """Draws horizontal bars. Each begins at the end of the one before, and a thin line connects them."""
    colour = look.of(series.slot).colour
    for at, mark in zip(_places(chart, series), series.marks, strict=True):
        begins, length = mark.begins or 1.0, float(mark.y) - (mark.begins or 1.0)
        face, rim = (PAPER, 2) if mark.hollow else (colour, 0)
        axes.barh(at, length, 0.62, begins, color=face, alpha=BAR, edgecolor=colour, linewidth=rim, zorder=2)
        axes.vlines(begins, max(at - 1, 0), at, color=MUTED, linewidth=0.8, zorder=1)
    _scattered(axes, chart, series)


def _line(axes: Axes, chart: Chart, series: Series) -> None:
    dashed = series.kind == "dashed"
    colour = MUTED if dashed else look.of(series.slot).colour
    axes.plot(_places(chart, series), _values(series), color=colour, linestyle=DASHES if dashed else ":",
              linewidth=1.2 if dashed else 1.6, zorder=2)  # fmt: skip


def _heat(axes: Axes, chart: Chart, series: Series) -> None:
    """Coloured cells, each with its number."""
    shades = look.shaded(chart.cells)
    for mark in series.marks:
        (colour, ink), x, y = shades[mark], _at(chart.x, mark.x), _at(chart.y, mark.y)
        axes.add_patch(Rectangle((x - 0.49, y - 0.49), 0.98, 0.98, facecolor=colour, linewidth=0, url=mark.says))
        axes.text(x, y, mark.written, color=ink, ha="center", va="center")


def _points(axes: Axes, chart: Chart, series: Series, x: Sequence[float]) -> None:
    seen, hollow = look.of(series.slot), [mark.hollow for mark in series.marks]
    across, up = (_values(series), x) if chart.turned else (x, _values(series))
    style: Any = {
        "facecolors": [PAPER if each else seen.colour for each in hollow],
        "edgecolors": [seen.colour if each else PAPER for each in hollow],
        "linewidths": [1.5 if each else 0.6 for each in hollow],
        "urls": [mark.says for mark in series.marks],
    }
    axes.scatter(across, up, s=_size(series), marker=seen.marker, zorder=4, **style)


def _size(series: Series) -> float:
    """The area of a point in square points, smaller if there are many."""
    if series.kind == "bars":
        return 18
    return 46 if series.slot == look.NOISY else 34 if len(series.marks) < 40 else 20


def _whiskers(axes: Axes, chart: Chart, series: Series, x: Sequence[float], width: float) -> None:
    ink = INK if series.kind == "bars" else look.of(series.slot).colour
    known = ((at, mark.low, mark.high) for at, mark in zip(x, series.marks, strict=True))
    ends = [(at, low, high) for at, low, high in known if low is not None and high is not None]
    if not ends:
        return
    at, low, high = zip(*ends, strict=True)
    along = axes.hlines if chart.turned else axes.vlines
    along(at, low, high, color=ink, linewidth=width, zorder=5 if series.kind == "bars" else 3)
    if series.kind == "bars":  # with caps, so that short intervals are visible
        axes.scatter([*at, *at], [*low, *high], s=30, marker="_", color=ink, zorder=5)


def _written(axes: Axes, chart: Chart, panel: Panel) -> None:
    """Writes the numbers of a forest's rows next to them."""
    said = {str(mark.x): mark.written for series in panel.series for mark in series.marks}
    for side in ("left", "right"):
        axes.spines[side].set_visible(False)
    beside = axes.secondary_yaxis("right")
    beside.set_yticks(range(len(chart.x.categories)), [said.get(row, "") for row in chart.x.categories])
    beside.tick_params(axis="y", length=0)
    beside.spines["right"].set_visible(False)


DRAW: dict[str, Callable[[Axes, Chart, Series], None]] = {
    "curve": _curve,
    "points": _scattered,
    "bars": _bars,
    "cells": _heat,
    "spans": _spans,
    "steps": _steps,
    "dashed": _line,
    "dotted": _line,
}


STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "corescale",
    "font.family": "sans-serif",
    "font.size": 10.5,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "text.parse_math": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


Draw = Callable[[], Figure]
"""Draws a figure; it is called with STYLE in effect."""


def write(chart: Chart, folder: Path) -> tuple[Path, Path]:
    """NAME.png and NAME.svg on white, for documents."""
    return save(chart.name, chart.alternative, lambda: _titled(chart), folder)


def svg(chart: Chart) -> str:
    """An SVG element for a page."""
    return inline(chart.name, chart.alternative, lambda: _figure(chart))


def inline(name: str, alternative: str, draw: Draw) -> str:
    """An SVG element of any figure: text is text, colours are the page's, and identifiers begin with `name`."""
    with mpl.rc_context(STYLE):
        drawn = _svg(alternative, draw(), "none")
    drawn = re.sub(r'\b(id="|url\(#|xlink:href="#)', rf"\g<1>{name}-", drawn)
    drawn = re.sub(
        "#[0-9a-f]{6}",
        lambda match: f"var({look.VARIABLES[match[0]]})" if match[0] in look.VARIABLES else match[0],
        drawn[drawn.index("<svg") :],
    )
    return re.sub(r"(font: [\d.]+px) [^;\"]*", r"\1 inherit", drawn)


def save(name: str, alternative: str, draw: Draw, folder: Path) -> tuple[Path, Path]:
    """NAME.png and NAME.svg on white, each whole or not at all. `alternative`: the picture in words."""
    png, plain = folder / f"{name}.png", folder / f"{name}.svg"
    drawn = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure = draw()
        figure.savefig(drawn, dpi=160, facecolor=PAPER, metadata={"Software": None, "Title": alternative})
        written = _svg(alternative, figure, PAPER)
    files.write(str(png), drawn.getvalue())
    files.write(str(plain), written)
    return png, plain


def _svg(alternative: str, figure: Figure, paper: str) -> str:
    """The SVG of a figure, with attributes instead of a style element, which would apply to the whole page."""
    file = io.StringIO()
    figure.set_facecolor(paper)
    # Figure.savefig() draws the whole figure once more, without output, for a layout that drawing makes anyway.
    canvas: Any = FigureCanvasSVG(figure)
    canvas.print_svg(file, metadata={"Date": None, "Creator": None})
    drawn = re.sub(r"<(metadata|style)\b.*?</\1>", "", file.getvalue(), flags=re.DOTALL)
    drawn = re.sub(r'<a xlink:href="([^"]*)" target="_blank">', r'<g role="graphics-symbol" aria-label="\1">', drawn)
    drawn = drawn.replace("</a>", "</g>")
    label = html.escape(text.clean(alternative)).replace("\\", r"\\")
    lines = 'stroke-linejoin="round" stroke-linecap="butt"'
    return re.sub(r"<svg ([^>]*)>", rf'<svg role="graphics-document" aria-label="{label}" {lines} \1>', drawn, count=1)
