# SPDX-License-Identifier: Apache-2.0
"""Charts of a study's answers: measured overhead beside the fitted sums of factors, and differences level by level."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.overhead_points import Point
from corescale.conclude.answers.overheads import Modelled
from corescale.conclude.laws.overhead_factors import OverheadFit
from corescale.records import Level
from corescale.show import text
from corescale.show.charts.declared.asked import named
from corescale.show.charts.forest import forest
from corescale.show.charts.model import Axis, Chart, Mark, Panel, Series, sure

HOW = "f = p T(p) / (p_ref T(p_ref)) - 1 against {x}, with intervals from ratios within blocks; dotted: fitted sums."


def answered(answers: Iterable[Answer | Modelled]) -> Iterator[Chart]:
    """A chart for each statement about overhead, and for each about a difference that has several answers."""
    by_name: dict[str, list[Answer | Modelled]] = {}
    for one in answers:
        by_name.setdefault(one.finding.name, []).append(one)
    for group in by_name.values():
        fitted = [one for one in group if isinstance(one, Modelled) and one.claimed is not None]
        different = [one for one in group if isinstance(one, Answer) and one.finding.difference]
        measured = [one for one in different if math.isfinite(one.ratio.estimate)]
        if fitted:
            yield _overheads(fitted)
        elif len(measured) > 1:
            yield _differences(measured)


def _overheads(answers: Sequence[Modelled]) -> Chart:
    """f of each configuration over the first factor that is claimed, a panel for each answer."""
    finding = answers[0].finding
    x, sizes = finding.claim.split("+")[0].strip(), _sizes(answers)
    names = [*dict.fromkeys(sizes.values()), *dict.fromkeys(label for one in answers for label, _ in _fits(one))]
    panels = tuple(
        Panel((*_measured(one, x, sizes, names), *_lines(one, x, names)), "", _at(one.at)) for one in answers
    )
    said = (mark.says for panel in panels for series in panel.series for mark in series.marks if mark.says)
    return Chart(
        name=finding.name,
        title=finding.statement,
        caption=HOW.format(x=f"{x} = {finding.factors[x]}"),
        alternative=text.clean(f"overhead against {x}. {'; '.join(said)}."),
        x=Axis(x, zero=True),
        y=Axis("overhead f", "percent", zero=True),
        panels=panels,
        references=(0.0,),
        wide=len(panels) > 1,
    )


def _sizes(answers: Sequence[Modelled]) -> Mapping[Point, str]:
    """What each point's size is called: the levels that are not the same for all."""
    points = [point for one in answers for point in one.points]
    levels = {name: {point.size[name] for point in points} for name in (points[0].size if points else ())}
    varied = [name for name, found in levels.items() if len(found) > 1]
    return {point: _at({name: point.size[name] for name in varied}) or "measured" for point in points}


def _measured(answer: Modelled, x: str, sizes: Mapping[Point, str], names: Sequence[str]) -> Iterator[Series]:
    """The points of each size, whose look is the place of its name."""
    for size in dict.fromkeys(sizes[point] for point in answer.points):
        marks = tuple(_mark(point, x, size) for point in answer.points if sizes[point] == size)
        yield Series("points", size, marks, names.index(size))


def _mark(point: Point, x: str, size: str) -> Mark:
    over = ", oversubscribed" if point.oversubscribed else ""
    said = f"{size} p={point.p}: f = {text.join(text.share(point.overhead))}{over}"
    found = point.overhead
    return Mark(point.factors[x], found.estimate, said, *sure(found), hollow=point.oversubscribed)


def _fits(answer: Modelled) -> Iterator[tuple[str, OverheadFit]]:
    """The claimed sum under its name, and what it is compared with: the better sum, or its fit elsewhere."""
    assert answer.claimed is not None and answer.choice is not None, "asked for by the caller"
    yield answer.claimed.model, answer.claimed
    if answer.beside is not None:
        yield f"{answer.claimed.model} as fitted elsewhere", answer.beside
    elif answer.choice.best is not None and answer.choice.best is not answer.claimed:
        yield answer.choice.best.model, answer.choice.best


def _lines(answer: Modelled, x: str, names: Sequence[str]) -> Iterator[Series]:
    """What each fit says of the same configurations; from no overhead at 0 where x is all that it has."""
    for label, fit in _fits(answer):
        found = sorted((point.factors[x], fit.overhead(point.factors).estimate) for point in answer.points)
        start = [(0.0, 0.0)] if fit.factors == (x,) else []
        marks = (Mark(at, f, f"{label} at {at:.4g}: f = {text.percent(f)}") for at, f in (*start, *found))
        yield Series("dotted", label, tuple(marks), names.index(label))


def _differences(answers: Sequence[Answer]) -> Chart:
    finding = answers[0].finding
    rows = [(_at(one.at), one.ratio, bool(one.oversubscribed)) for one in answers]
    caption = f"Differences within blocks, with intervals; {finding.claim} is claimed."
    what = f"difference of {finding.y.replace('_', ' ')}"
    return forest(finding.name, finding.statement, caption, what, [("", rows)],
                  shown=text.number, format="number", reference=0.0)  # fmt: skip


def _at(levels: Mapping[str, Level]) -> str:
    return " ".join(named(name, level) for name, level in levels.items())
