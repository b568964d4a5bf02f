# SPDX-License-Identifier: Apache-2.0
"""Speedup, efficiency and overhead over p: one line for each curve, the ideal line and the model that fits."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from corescale.conclude.answers.scaling import Curve
from corescale.conclude.stats import Interval
from corescale.show import text
from corescale.show.charts.model import Axis, Chart, Mark, Panel, Series, doubling, finite_ends, legible
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
    """what distinguishes the step from others with the same p"""


@dataclass(frozen=True, slots=True)
class Line:
    """The steps of one curve, in order of p. `model`: p and speedup along the fitted model, if one is to be shown."""

    label: str
    steps: tuple[Step, ...]
    model: tuple[tuple[float, float], ...] = ()
    model_name: str = ""


Lines = Sequence[tuple[str, str, Sequence[Line]]]
"""row of panels, column of panels, the lines there"""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity to draw, named as an attribute of Step, and its axis."""

    name: str
    shown: Callable[[Interval], text.Shown]
    axis: Axis
    references: tuple[float, ...] = ()

    def of(self, step: Step) -> Interval:
        """The value of one step."""
        found: Interval = getattr(step, self.name)
        return found

    def said(self, step: Step) -> str:
        """The value of one step in words."""
        return text.join(self.shown(self.of(step))) + (", oversubscribed" if step.oversubscribed else "")


QUANTITIES: Mapping[str, Quantity] = {
    "scaling": Quantity("speedup", text.times, Axis("speedup", "times", log=True)),
    "efficiency": Quantity("efficiency", text.share, Axis("efficiency", "percent", zero=True), (1.0,)),
    "overhead": Quantity("overhead", text.share, Axis("overhead", "percent", zero=True), (0.0,)),
}
"""efficiency: speedup divided by p / p_ref. overhead: f = 1/e - 1 (Qiu et al. 2010), in which causes add up. Speedup is
drawn with the ideal line and the models, on logarithmic axes."""


def over_p(kind: str, name: str, title: str, caption: str, lines: Lines, p_ref: int) -> Chart:
    """A chart of QUANTITIES, with interval bands."""
    quantity = QUANTITIES[kind]
    labels = list(dict.fromkeys(line.label for _, _, at in lines for line in at))
    panels = tuple(
        Panel(
            tuple(
                Series("curve", line.label or "measured", _marks(line, quantity), labels.index(line.label))
                for line in at
            ),
            row,
            column,
        )
        for row, column, at in lines
    )
    ps = sorted({step.p for _, _, at in lines for line in at for step in line.steps})
    ticks = ps if len(ps) <= 10 else [p for p in ps if p & (p - 1) == 0 or p == ps[-1]]
    made = Chart(
        name=name,
        title=title,
        caption=caption,
        alternative=f"{quantity.name.capitalize()} over p. {_said(lines, quantity)}.",
        x=Axis("p, threads in all", log=True, ticks=legible(ticks)),
        y=quantity.axis,
        panels=panels,
        references=quantity.references,
        wide=len(panels) > 1,
    )
    return _with_ideal(made, lines, (ps[0], ps[-1]), p_ref) if kind == "scaling" else made


def _with_ideal(chart: Chart, lines: Lines, ends: tuple[int, int], p_ref: int) -> Chart:
    ideal = Series("dashed", "ideal", tuple(Mark(p, p / p_ref, f"ideal at p={p:g}: {p / p_ref:g}x") for p in ends))
    panels = tuple(
        replace(panel, series=(ideal, *panel.series, *_models(at)))
        for panel, (_, _, at) in zip(chart.panels, lines, strict=True)
    )
    made = replace(chart, panels=panels, alternative=f"{chart.alternative} Ideal is p / {p_ref}.", wide=True)
    values = [float(end) for mark in made.marks() for end in (mark.y, mark.low, mark.high) if end and float(end) > 0]
    return replace(made, y=replace(chart.y, ticks=doubling(min(values), max(values))))


def _marks(line: Line, quantity: Quantity) -> tuple[Mark, ...]:
    head = f"{line.label}, " if line.label else ""
    return tuple(
        Mark(
            step.p,
            quantity.of(step).estimate,
            text.clean(f"{head}{_at(step)}: {quantity.name} {quantity.said(step)}"),
            *finite_ends(quantity.of(step)),
            hollow=step.oversubscribed,
        )
        for step in line.steps
        if math.isfinite(quantity.of(step).estimate)
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


def line(curve: Curve) -> Line:
    """The line of a scan's curve, with its model if there are enough levels of p to test it."""
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


def _said(lines: Lines, quantity: Quantity) -> str:
    said = []
    for row, column, at in lines:
        for line in at:
            head = ", ".join(filter(None, (row, column, line.label)))
            points = ", ".join(f"{_at(step)}: {quantity.said(step)}" for step in line.steps)
            said.append(f"{head}: {points}" if head else points)
    return text.clean("; ".join(said))


def _at(step: Step) -> str:
    """`p=2`, `p=2 (layout=2x1x1)`."""
    return f"p={step.p} ({step.layout})" if step.layout else f"p={step.p}"
