# SPDX-License-Identifier: Apache-2.0
"""Charts of a study's answers: measured overheads with the fitted models, and differences by level."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.overheads import Modelled, Point
from corescale.conclude.models.overhead_factors import OverheadFit
from corescale.records import Level
from corescale.show import text
from corescale.show.charts.declared.inputs import named, natural
from corescale.show.charts.forest import forest
from corescale.show.charts.model import Axis, Chart, Mark, Panel, Series, SeriesKind, finite_ends, rounded
from corescale.show.statements import tally

Marked = dict[tuple[SeriesKind, str], list[Mark]]
"""marks of each series, by its kind and label"""

HOW = "f = p T(p) / (p_ref T(p_ref)) - 1 against {x}, with intervals from ratios within blocks; dotted: fitted sums."

MOST_TICKS = 4
"""most ticks on the axis of a factor, besides 0"""


def of_answers(answers: Iterable[Answer | Modelled]) -> Iterator[Chart]:
    """A chart for each statement about overhead, and for each statement about a difference with several answers."""
    by_name: dict[str, list[Answer | Modelled]] = {}
    for one in answers:
        by_name.setdefault(one.finding.name, []).append(one)
    for group in by_name.values():
        fitted = [one for one in group if isinstance(one, Modelled) and one.claimed is not None]
        different = [one for one in group if isinstance(one, Answer) and one.finding.difference]
        measured = [one for one in different if math.isfinite(one.ratio.estimate)]
        if fitted:
            yield _bars(fitted) if fitted[0].finding.bars else _overheads(fitted)
        elif len(measured) > 1:
            yield _differences(measured)


def _overheads(answers: Sequence[Modelled]) -> Chart:
    """f of each configuration over the first claimed factor, with a panel for each answer."""
    finding, sizes = answers[0].finding, _sizes(answers)
    x = finding.claim.split("+")[0].strip()
    marked = {("", _at(one.at)): {**_measured(one, x, sizes), **_lines(one, x)} for one in answers}
    ticks = _ticks(max((p.factors[x] for one in answers for p in one.points), default=0.0))
    made = _panels(answers, f"against {x}", Axis(x, zero=True, ticks=ticks), marked)
    return replace(made, caption=HOW.format(x=f"{x} = {finding.factors[x]}"), references=(0.0,), wide=len(marked) > 1)


def _bars(answers: Sequence[Modelled]) -> Chart:
    """f of each configuration next to the predictions of every model, with a panel for each size."""
    finding, sizes = answers[0].finding, _sizes(answers)
    marked: dict[tuple[str, str], Marked] = {(size, ""): {} for size in dict.fromkeys(sizes.values())}
    differ = [name for name in answers[0].at if len(answers) == 1 or len({one.at[name] for one in answers}) > 1]
    for one in answers:
        at = _at({name: one.at[name] for name in differ})
        for point in one.points:
            bar, series, name = str(point.bar), marked[sizes[point], ""], at or "launches"
            place = f"{bar} {sizes[point]}" if len(marked) > 1 else bar
            series.setdefault(("bars", name), []).append(replace(_mark(point, "", f"{name} at {place}"), x=bar))
            for fit in one.choice.fits if one.choice else ():
                name, f = f"{at}: {fit.model}" if at else fit.model, fit.overhead(point.factors).estimate
                series.setdefault(("bars", name), []).append(Mark(bar, f, f"{name} at {place}: f = {f:.3g}"))
    categories = sorted({str(point.bar) for one in answers for point in one.points}, key=natural)
    made = _panels(answers, f"by {finding.bars}", Axis(finding.bars, categories=tuple(categories)), marked)
    caption = "f = p T(p) / (p_ref T(p_ref)) - 1, and what each fitted sum of factors says of it: "
    caption += "; ".join(f"{name} = {text}" for name, text in finding.factors.items())
    caption += "" if finding.up_to is None else f"; fitted where f is at most {finding.up_to:g}"
    return replace(made, caption=caption, wide=True, own_y=True)


def _panels(answers: Sequence[Modelled], over: str, x: Axis, marked: Mapping[tuple[str, str], Marked]) -> Chart:
    """Overhead over x, with a panel for each row and column."""
    slots = {name: slot for slot, name in enumerate(dict.fromkeys(name for of in marked.values() for name in of))}
    panels = tuple(
        Panel(tuple(Series(*name, tuple(marks), slots[name]) for name, marks in of.items()), *place)
        for place, of in marked.items()
    )
    said = (mark.says for panel in panels for series in panel.series for mark in series.marks if mark.says)
    return Chart(
        name=answers[0].finding.name,
        title=_title(answers),
        caption="",
        alternative=text.clean(f"overhead {over}. {'; '.join(said)}."),
        x=x,
        y=Axis("overhead f", zero=True),
        panels=panels,
    )


def _sizes(answers: Sequence[Modelled]) -> Mapping[Point, str]:
    """The name of each point's size: the levels in which sizes differ."""
    points = [point for one in answers for point in one.points]
    levels = {name: {point.size[name] for point in points} for name in (points[0].size if points else ())}
    varied = [name for name, found in levels.items() if len(found) > 1]
    return {point: _at({name: point.size[name] for name in varied}) or "launches" for point in points}


def _measured(answer: Modelled, x: str, sizes: Mapping[Point, str]) -> Marked:
    """The points of each size."""
    marked: Marked = {}
    for point in answer.points:
        marked.setdefault(("points", sizes[point]), []).append(_mark(point, x, f"{sizes[point]} p={point.p}"))
    return marked


def _mark(point: Point, x: str, called: str) -> Mark:
    over = ", oversubscribed" if point.oversubscribed else ""
    said = f"{called}: f = {text.join(text.ratio(point.overhead))}{over}"
    found = point.overhead
    return Mark(point.factors.get(x, 0.0), found.estimate, said, *finite_ends(found), hollow=point.oversubscribed)


def _fits(answer: Modelled) -> Iterator[tuple[str, OverheadFit]]:
    """The claimed model and its rival, a better one or the same fitted elsewhere, each with its label."""
    assert answer.claimed is not None and answer.choice is not None, "asked for by the caller"
    yield answer.claimed.model, answer.claimed
    if answer.beside is not None:
        yield f"{answer.claimed.model} as fitted elsewhere", answer.beside
    elif answer.choice.best is not None and answer.choice.best is not answer.claimed:
        yield answer.choice.best.model, answer.choice.best


def _lines(answer: Modelled, x: str) -> Marked:
    """The predictions of each fit for the same configurations: a line for each p, or one if x is the only factor."""
    marked: Marked = {}
    for label, fit in _fits(answer):
        alone = fit.factors == (x,)
        for point in sorted(answer.points, key=lambda point: point.factors[x]):
            name = label if alone else f"{label}, p = {point.p}"
            at, f = point.factors[x], fit.overhead(point.factors).estimate
            line = marked.setdefault(("dotted", name), [Mark(0.0, 0.0)] if alone else [])
            line.append(Mark(at, f, f"{name} at {at:.4g}: f = {f:.3g}"))
    return marked


def _differences(answers: Sequence[Answer]) -> Chart:
    finding = answers[0].finding
    inorder = sorted(answers, key=lambda one: [natural(level) for level in one.at.values()])
    rows = [(_at(one.at), one.ratio, bool(one.oversubscribed)) for one in inorder]
    caption = f"Differences within blocks, with intervals; {finding.claim} is claimed."
    relative = finding.normalise is not None and not finding.normalise.subtract
    what = finding.label or f"difference of {finding.y.replace('_', ' ')}{', relative' if relative else ''}"
    if finding.bars:
        return _upright(inorder, caption, what)
    return forest(finding.name, _title(answers), caption, what, [("", rows)],
                  shown=text.number, format="number", reference=0.0)  # fmt: skip


def _upright(answers: Sequence[Answer], caption: str, what: str) -> Chart:
    """A bar for each answer, by one column; the levels of the others name the series."""
    finding, series = answers[0].finding, dict[str, list[Mark]]()
    for one in answers:
        said = f"{_at(one.at)}: {text.join(text.number(one.ratio))}"
        label = _at({name: level for name, level in one.at.items() if name != finding.bars})
        mark = Mark(str(one.at[finding.bars]), one.ratio.estimate, said, *finite_ends(one.ratio))
        series.setdefault(label, []).append(replace(mark, hollow=bool(one.oversubscribed)))
    said = "; ".join(mark.says for marks in series.values() for mark in marks)
    bars = (Series("bars", label, tuple(marks), slot) for slot, (label, marks) in enumerate(series.items()))
    return Chart(
        name=finding.name,
        title=_title(answers),
        caption=caption,
        alternative=text.clean(f"{what} by {finding.bars}. {said}."),
        x=Axis(finding.bars, categories=tuple(dict.fromkeys(str(one.at[finding.bars]) for one in answers))),
        y=Axis(what, zero=True),
        panels=(Panel(tuple(bars)),),
        references=(0.0,),
        wide=True,
    )


def _ticks(largest: float) -> tuple[float, ...]:
    """0 and at most MOST_TICKS round numbers; more would overlap, because small numbers are long."""
    step = rounded(largest / MOST_TICKS)
    return tuple(round(k * step, 12) for k in range(MOST_TICKS + 1) if k * step <= largest) if step else ()


def _title(answers: Sequence[Answer | Modelled]) -> str:
    """The statement with its verdicts, because the picture of a claim does not show whether it holds."""
    return f"{answers[0].finding.statement} Verdicts: {tally(answers)}."


def _at(levels: Mapping[str, Level]) -> str:
    return " ".join(named(name, level) for name, level in levels.items())
