# SPDX-License-Identifier: Apache-2.0
"""Speedup, efficiency and overhead over p: one line for each curve, the ideal line and the model that fits."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from corescale.conclude.answers.scaling import Curve, Scan
from corescale.conclude.stats import Interval
from corescale.show import text
from corescale.show.charts.model import Axis, Chart, Mark, Panel, Series, doubling, sure
from corescale.show.naming import below

MODEL_POINTS = 60


@dataclass(frozen=True, slots=True)
class Step:
    """One p of a line."""

    p: int
    speedup: Interval
    efficiency: Interval
    overhead: Interval
    oversubscribed: bool = False
    layout: str = ""
    """what distinguishes it from others of the same p"""

    @property
    def said(self) -> str:
        """`2`, `2 (layout=2x1x1)`."""
        return f"{self.p} ({self.layout})" if self.layout else str(self.p)


@dataclass(frozen=True, slots=True)
class Line:
    """Every p of one setting of all else. `model` is p and speedup along the fitted model, if one is to be shown."""

    label: str
    steps: tuple[Step, ...]
    model: tuple[tuple[float, float], ...] = ()
    model_name: str = ""


Lines = Sequence[tuple[str, str, Sequence[Line]]]
"""row of panels, column of panels, the lines there"""


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a chart: its name, title and caption."""

    name: str
    title: str
    caption: str


def lines_of(scan: Scan) -> Lines:
    """All curves of a scan in one panel."""
    return [("", "", [_line(curve) for curve in scan.curves])]


def scaling(words: Words, lines: Lines, p_ref: int) -> Chart:
    """Speedup over p with interval band, model and ideal line, both axes logarithmic."""
    ps = _ps(lines)
    found = _chart(words, lines, "speedup", lambda step: step.speedup, text.times)
    ideal = tuple(Mark(p, p / p_ref, f"ideal at p={p:g}: {p / p_ref:g}x") for p in (ps[0], ps[-1]))
    panels = tuple(
        Panel((Series("dashed", "ideal", ideal), *panel.series, *_models(at)), panel.row, panel.column)
        for panel, (_, _, at) in zip(found.panels, lines, strict=True)
    )
    values = [end for panel in panels for series in panel.series for mark in series.marks for end in _ends(mark)]
    y = Axis("speedup", "times", log=True, ticks=doubling(min(values), max(values)))
    return replace(found, panels=panels, y=y, alternative=f"{found.alternative} Ideal is p / {p_ref}.", wide=True)


def efficiency(words: Words, lines: Lines) -> Chart:
    """The share of the cores' time that went into speedup, over p."""
    found = _chart(words, lines, "efficiency", lambda step: step.efficiency, text.share)
    return replace(found, y=Axis("efficiency", "percent", zero=True), references=(1.0,))


def overhead(words: Words, lines: Lines) -> Chart:
    """f = 1/e - 1 over p (Qiu et al. 2010): 0 is ideal, and causes add up in it."""
    found = _chart(words, lines, "overhead", lambda step: step.overhead, text.share)
    return replace(found, y=Axis("overhead", "percent", zero=True), references=(0.0,))


def _chart(
    words: Words, lines: Lines, what: str, of: Callable[[Step], Interval], shown: Callable[[Interval], text.Shown]
) -> Chart:
    labels = list(dict.fromkeys(line.label for _, _, at in lines for line in at))
    panels = tuple(
        Panel(
            tuple(
                Series("curve", line.label or "measured", _marks(line, what, of, shown), labels.index(line.label))
                for line in at
            ),
            row,
            column,
        )
        for row, column, at in lines
    )
    ps = _ps(lines)
    ticks = ps if len(ps) <= 10 else [p for p in ps if p & (p - 1) == 0 or p == ps[-1]]
    return Chart(
        name=words.name,
        title=words.title,
        caption=words.caption,
        alternative=f"{what.capitalize()} over p. {_said(lines, of, shown)}.",
        x=Axis("p, threads in all", log=True, ticks=tuple(map(float, ticks))),
        y=Axis(what),
        panels=panels,
        wide=len(panels) > 1,
    )


def _marks(
    line: Line, what: str, of: Callable[[Step], Interval], shown: Callable[[Interval], text.Shown]
) -> tuple[Mark, ...]:
    head = f"{line.label}, " if line.label else ""
    return tuple(
        Mark(
            step.p,
            of(step).estimate,
            text.clean(f"{head}p={step.said}: {what} {text.join(shown(of(step)))}{_over(step)}"),
            *sure(of(step)),
            hollow=step.oversubscribed,
        )
        for step in line.steps
        if math.isfinite(of(step).estimate)
    )


def _models(lines: Sequence[Line]) -> list[Series]:
    return [
        Series(
            "dotted",
            f"model: {line.model_name}" if k == 0 else "",
            tuple(Mark(p, y, f"{line.model_name} at p={p:.3g}: {y:.3g}x") for p, y in line.model),
            k,
        )
        for k, line in enumerate(lines)
        if line.model
    ]


def _line(curve: Curve) -> Line:
    steps = tuple(
        Step(row.p, row.speedup, row.efficiency, row.overhead, row.oversubscribed, " ".join(below(row.configuration)))
        for row in curve.rows
        if row.speedup.estimate > 0
    )
    best = curve.choice.best if curve.choice else None
    first = next((row for row in curve.rows if row.configuration == row.reference), None)
    if best is None or not best.identifiable or first is None or not curve.tests_models:
        return Line(text.clean(curve.label), steps)
    p = np.geomspace(*best.measured, MODEL_POINTS)
    model = tuple(zip(p.tolist(), (first.time.estimate / best.time(p)).tolist(), strict=True))
    return Line(text.clean(curve.label), steps, model, best.model)


def _said(lines: Lines, of: Callable[[Step], Interval], shown: Callable[[Interval], text.Shown]) -> str:
    heads = [", ".join(filter(None, (row, column, line.label))) for row, column, at in lines for line in at]
    points = [
        ", ".join(f"p={step.said}: {text.join(shown(of(step)))}{_over(step)}" for step in line.steps)
        for _, _, at in lines
        for line in at
    ]
    return text.clean("; ".join(f"{h}: {said}" if h else said for h, said in zip(heads, points, strict=True)))


def _over(step: Step) -> str:
    return ", oversubscribed" if step.oversubscribed else ""


def _ps(lines: Lines) -> list[int]:
    return sorted({step.p for _, _, at in lines for line in at for step in line.steps})


def _ends(mark: Mark) -> list[float]:
    return [float(end) for end in (mark.y, mark.low, mark.high) if end is not None and float(end) > 0]
