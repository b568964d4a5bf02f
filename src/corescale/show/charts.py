# SPDX-License-Identifier: Apache-2.0
"""The charts of a report, drawn by matplotlib: figures, as SVG that follows the page's colours, or as PNG.

The palette is Okabe and Ito's, which colour-blind people can tell apart; shapes differ besides. Every chart has a text
that says what it shows.
"""

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axes._secondary_axes import SecondaryAxis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from corescale.conclude.recommendation import Recommendation
from corescale.conclude.response import median, response
from corescale.conclude.scaling import Curve, Row, Scan
from corescale.conclude.stats import Interval
from corescale.records import Configuration, Record
from corescale.show import text
from corescale.show.result import Result

SERIES = ("#0072b2", "#d55e00", "#009e73", "#aa4499", "#b07d00", "#3a9bd1")
MARKERS = ("o", "s", "^", "D", "v", "P")
INK, MUTED, GRID, ALARM = "#1b1f24", "#68717d", "#dfe3e8", "#c23b00"
PAPER = "#ffffff"

VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--grid", ALARM: "--alarm", PAPER: "--paper"} | {
    colour: f"--series-{k + 1}" for k, colour in enumerate(SERIES)
}
"""Each colour drawn, and the CSS variable that an inline SVG takes instead, so that dark pages work."""

CONFIRMED = "confirmed:"

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


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure under its title, and what it shows in words."""

    name: str
    title: str
    caption: str
    alternative: str
    figure: Figure

    def svg(self) -> str:
        """An inline SVG element: text stays text, colours are the page's, identifiers are this chart's alone."""
        with mpl.rc_context(STYLE):
            file = io.StringIO()
            self.figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        drawn = file.getvalue()
        drawn = drawn[drawn.index("<svg") :]
        drawn = re.sub(r'\b(id="|url\(#|xlink:href="#)', rf"\g<1>{self.name}-", drawn)
        drawn = re.sub(
            "#[0-9a-f]{6}", lambda match: f"var({VARIABLES[match[0]]})" if match[0] in VARIABLES else match[0], drawn
        )
        drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
        drawn = re.sub(r"(font: [\d.]+px) [^;\"]*", r"\1 inherit", drawn)
        label = text.attribute(self.alternative)
        return re.sub(r"<svg ([^>]*)>", rf'<svg role="img" aria-label="{_literal(label)}" \1>', drawn, count=1)

    def png(self, target: Path, dpi: int = 160) -> None:
        """The chart on white, for documents."""
        with mpl.rc_context(STYLE):
            self.figure.savefig(target, format="png", dpi=dpi, facecolor=PAPER, metadata={"Software": None})


def charts(result: Result, scan: Scan | None) -> tuple[Chart, ...]:
    """Every chart that the records allow. `scan` is None where no parallelism was varied."""
    with mpl.rc_context(STYLE):
        found: list[Chart | None] = [_forest(result), _time_order(result)]
        if scan is not None and len({row.p for row in scan.rows if row.speedup.estimate > 0}) > 1:
            found = [_scaling(result, scan), _efficiency(result, scan), *found]
        return tuple(_labelled(chart, result.origins) for chart in found if chart is not None)


def _labelled(chart: Chart, origins: Sequence[str]) -> Chart:
    """Says on the chart itself, title and text that its numbers were not measured, where that is so."""
    if not origins:
        return chart
    label = ", ".join(origins)
    chart.figure.text(0.995, 0.99, label, color=ALARM, weight="bold", ha="right", va="top")
    return replace(chart, title=f"{chart.title} ({label})", alternative=f"{label}: {chart.alternative}")


def _scaling(result: Result, scan: Scan) -> Chart:
    """Speedup over p with interval band, law and ideal line."""
    figure, axes = _figure()
    ps = [row.p for row in scan.rows]
    ends = np.array([min(ps), max(ps)], dtype=float)
    axes.plot(ends, ends / scan.p_ref, color=MUTED, linestyle=(0, (5, 4)), linewidth=1.2, label="ideal")
    for k, curve in enumerate(scan.curves):
        _curve(axes, curve, k, lambda row: row.speedup, curve.label or "measured")
        _law(axes, curve, k)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    _ticks_of_p(axes, ps)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_ylabel("speedup")
    _legend(axes)
    caption = (
        f"Speedup 1 is {text.clean(scan.baseline)}. Bands and whiskers: {text.percent(result.confidence)} intervals."
    )
    said = "; ".join(_says(curve, lambda row: text.times(row.speedup)) for curve in scan.curves)
    return Chart("scaling", "Scaling", caption, f"Speedup over p. {said}. Ideal is p / {scan.p_ref}.", figure)


def _efficiency(result: Result, scan: Scan) -> Chart:
    """Efficiency over p in percent."""
    figure, axes = _figure()
    axes.axhline(100, color=MUTED, linestyle=(0, (5, 4)), linewidth=1.2)
    for k, curve in enumerate(scan.curves):
        _curve(axes, curve, k, lambda row: row.efficiency.map(lambda share: 100 * share), curve.label or "measured")
    axes.set_xscale("log", base=2)
    _ticks_of_p(axes, [row.p for row in scan.rows])
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
    axes.set_ylabel("efficiency")
    if len(scan.curves) > 1:
        _legend(axes)
    said = "; ".join(_says(curve, lambda row: text.share(row.efficiency)) for curve in scan.curves)
    caption = "The share of the cores' time that went into speedup; 100% is ideal."
    return Chart("efficiency", "Efficiency", caption, f"Efficiency over p. {said}.", figure)


def _forest(result: Result) -> Chart | None:
    """Every paired ratio with its interval, the confirmed gain above them; the dashed line is "no difference"."""
    name, rows = result.ratios[0], _ratios(result)
    if not rows:
        return None
    figure, axes = _figure(wide=True, height=0.32 * len(rows) + 1.0)
    for place, (label, ratio) in enumerate(reversed(rows)):
        _whisker(axes, ratio, place, SERIES[2] if label.startswith(CONFIRMED) else SERIES[0])
    axes.axvline(1, color=MUTED, linestyle=(0, (5, 4)), linewidth=1.2, zorder=1)
    if max(ratio.estimate for _, ratio in rows) > 2.5 * min(ratio.estimate for _, ratio in rows):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}×"))
    axes.grid(visible=True, axis="x")
    axes.set_xlabel(name)
    _rows(axes, [label for label, _ in rows])
    beside = axes.secondary_yaxis("right")
    _rows(beside, [text.join(text.times(ratio)) for _, ratio in rows])
    said = "; ".join(f"{label}: {text.join(text.times(ratio))}" for label, ratio in rows)
    caption = (
        f"Ratios within blocks, with {text.percent(result.confidence)} intervals; the dashed line is no difference."
    )
    return Chart("forest", f"Ratios: {name}", caption, f"{name}. {said}.", figure)


def _ratios(result: Result) -> list[tuple[str, Interval]]:
    found = result.conclusion
    confirmed = (
        [(f"{CONFIRMED} {_label(found.winner)}", found.gain)]
        if isinstance(found, Recommendation) and found.gain
        else []
    )
    return [*confirmed, *((_label(c), ratio) for c, ratio in result.ratios[1].items() if ratio.estimate > 0)]


def _rows(axes: Axes | SecondaryAxis, labels: Sequence[str]) -> None:
    """One label a row, the first on top, and no axis line."""
    axes.set_yticks(range(len(labels)), [text.clean(label) for label in reversed(labels)])
    axes.tick_params(axis="y", length=0)
    for side in ("left", "right"):
        axes.spines[side].set_visible(False)
    if isinstance(axes, Axes) and not isinstance(axes, SecondaryAxis):
        axes.set_ylim(-0.6, len(labels) - 0.4)


def _time_order(result: Result) -> Chart | None:
    """Every launch in the order it was made, relative to its configuration's median; flagged ones are crossed."""
    launches = [(k, record) for k, record in enumerate(result.records) if record.timed and record.ok]
    usual = _medians([record for _, record in launches], result.experiment.response)
    points = [
        (k, record, 100 * (response(record, result.experiment.response) / usual[record.configuration] - 1))
        for k, record in launches
        if usual.get(record.configuration, 0) > 0
    ]
    if not points:
        return None
    figure, axes = _figure(wide=True, height=2.4)
    axes.axhline(0, color=MUTED, linewidth=1)
    _scatter(axes, points, result.noisy)
    axes.set_xlabel("launch, in the order made")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}%"))
    axes.grid(visible=True, axis="y")
    _legend(axes)
    worst = max(abs(change) for _, _, change in points)
    said = f"{len(points)} launches, {len(result.noisy)} flagged as noisy; the farthest is {worst:.1f}% from its median"
    caption = (
        "Time against the median of the same configuration. A trend or runs of slow launches mean a restless machine."
    )
    return Chart("order", "In order of time", caption, f"{said}.", figure)


def _figure(height: float = 3.5, wide: bool = False) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(10.4 if wide else 5.0, height), layout="constrained")
    return figure, figure.add_subplot()


def _curve(axes: Axes, curve: Curve, k: int, of: Callable[[Row], Interval], label: str) -> None:
    """Points joined by a line, whiskers on each and a band between them."""
    colour = SERIES[k % len(SERIES)]
    rows = [(row.p, of(row)) for row in curve.rows if math.isfinite(of(row).estimate)]
    p = [row[0] for row in rows]
    look: dict[str, Any] = {
        "linewidth": 1.8,
        "marker": MARKERS[k % len(MARKERS)],
        "markersize": 5.5,
        "markeredgecolor": PAPER,
    }
    axes.plot(p, [value.estimate for _, value in rows], color=colour, label=text.clean(label), zorder=3, **look)
    sure = [(x, value.low, value.high) for x, value in rows if value.low is not None and value.high is not None]
    if sure:
        x, low, high = zip(*sure, strict=True)
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.vlines(x, low, high, color=colour, linewidth=1.6, zorder=2)


def _law(axes: Axes, curve: Curve, k: int) -> None:
    """The chosen law as a dotted line over the measured range."""
    best = curve.choice.best if curve.choice else None
    first = next((row for row in curve.rows if row.configuration == row.reference), None)
    if best is None or not best.identifiable or first is None:
        return
    p = np.geomspace(*best.measured, 60)
    axes.plot(p, first.time.estimate / best.time(p), color=SERIES[k % len(SERIES)], linestyle=":", linewidth=1.4,
              label=f"law: {best.law}" if k == 0 else None, zorder=2)  # fmt: skip


def _ticks_of_p(axes: Axes, ps: Sequence[int]) -> None:
    levels = sorted(set(ps))
    shown = levels if len(levels) <= 10 else [p for p in levels if p & (p - 1) == 0 or p == levels[-1]]
    axes.set_xticks(shown, [str(p) for p in shown])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("p, threads in all")
    axes.grid(visible=True)


def _whisker(axes: Axes, ratio: Interval, place: int, colour: str) -> None:
    if ratio.low is not None and ratio.high is not None:
        axes.plot([ratio.low, ratio.high], [place, place], color=colour, linewidth=2.4, solid_capstyle="round")
    axes.plot([ratio.estimate], [place], marker="o", color=colour, markersize=6.5, markeredgecolor=PAPER, zorder=3)


def _scatter(axes: Axes, points: Sequence[tuple[int, Record, float]], noisy: frozenset[int]) -> None:
    groups = (
        ("measuring", "o", SERIES[0], [x for x in points if x[0] not in noisy and x[1].phase == "measure"]),
        ("confirming", "s", SERIES[2], [x for x in points if x[0] not in noisy and x[1].phase == "confirm"]),
        ("flagged as noisy", "X", ALARM, [x for x in points if x[0] in noisy]),
    )
    for label, marker, colour, chosen in groups:
        if chosen:
            x, y = [point[0] + 1 for point in chosen], [point[2] for point in chosen]
            look: dict[str, Any] = {
                "s": 46 if marker == "X" else 22,
                "marker": marker,
                "edgecolors": PAPER,
                "linewidths": 0.6,
            }
            axes.scatter(x, y, color=colour, label=label, zorder=3, **look)


def _medians(records: Sequence[Record], name: str) -> Mapping[Configuration, float]:
    kinds = dict.fromkeys(record.configuration for record in records)
    return {c: median([response(record, name) for record in records if record.configuration == c]) for c in kinds}


def _legend(axes: Axes) -> None:
    if len(axes.get_legend_handles_labels()[0]) > 1:
        axes.legend(loc="best", fontsize=9.5, handlelength=1.8)


def _label(configuration: Configuration) -> str:
    return text.clean(configuration.label.removeprefix("command="))


def _says(curve: Curve, of: Callable[[Row], text.Shown]) -> str:
    points = ", ".join(f"p={row.p}: {text.join(of(row))}" for row in curve.rows)
    return text.clean(f"{curve.label}: {points}" if curve.label else points)


def _literal(replacement: str) -> str:
    return replacement.replace("\\", "\\\\")
