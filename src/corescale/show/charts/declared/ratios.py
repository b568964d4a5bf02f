# SPDX-License-Identifier: Apache-2.0
"""Charts of ratios: forests, launches in order of time, speedup, efficiency and overhead."""

import math
from collections import ChainMap
from dataclasses import replace

import numpy as np
import pandas as pd

from corescale.conclude import stats
from corescale.conclude.answers.findings import best
from corescale.conclude.frame import selected
from corescale.declare import outputs
from corescale.errors import UsageError
from corescale.show import text
from corescale.show.charts import curves, look
from corescale.show.charts.curves import Line, Lines, Step
from corescale.show.charts.declared.inputs import Asked, named
from corescale.show.charts.forest import forest as drawn
from corescale.show.charts.model import Axis, Chart, Mark, Panel, Series, doubling, finite_ends

FLAGGED = "flagged as noisy"
RESTLESS = "Time against the configuration's median. A trend or runs of slow launches mean a restless machine."


def forest(asked: Asked) -> Chart:
    """A row for each level of x and of the facets, grouped by colour."""
    chart, (shown, written) = asked.chart, asked.quantity()
    groups = []
    for level in asked.levels(chart.colour) if chart.colour else [""]:
        rows = []
        for row, column, of in asked.panels():
            for at in asked.levels(chart.x):
                cell = of[(of[chart.x] == at) & ((of[chart.colour] == level) if chart.colour else True)]
                if not cell.empty:
                    colour = named(chart.colour, level) if chart.colour not in ("", chart.x) else ""
                    label = text.clean(" ".join(filter(None, (row, column, colour, named(chart.x, at)))))
                    rows.append((label, asked.estimate(cell), bool(cell["oversubscribed"].any())))
        groups.append((named(chart.colour, level), rows))
    made = drawn(chart.name, chart.title, asked.caption(), asked.title(), groups, shown=shown, format=written,
                  reference=1.0 if chart.normalise else None)  # fmt: skip
    return replace(made, references=() if chart.reference is not None else made.references)


def in_steps(asked: Asked) -> Chart:
    """A ladder, with a rung for each step or level of x, which shows the speedup over the rung before and over the
    first.

    The first rung is on top, and each bar begins where the one before ends. The axis is logarithmic, so that equal
    lengths are equal factors. A rung without launches, as on a machine with one core, is left out, which the caption
    says.
    """
    chart, confidence = asked.chart, asked.experiment.stop.confidence
    changes: list[outputs.Selection] = list(chart.steps) or [{chart.x: level} for level in asked.levels(chart.x)]
    rows = [asked.rows[selected(asked.rows, dict(ChainMap(*map(dict, changes[k::-1]))))] for k in range(len(changes))]
    words = [_words(change, chart.best) for change in changes]
    labels = [text.clean(f"{'+ ' if k and chart.steps else ''}{of}") for k, of in enumerate(words)]
    made = [(label, of) for label, of in zip(labels, rows, strict=True) if not of.empty]
    if not made:
        raise UsageError(f"no launch is the rung {labels[0]}", where=f"chart {chart.name}")
    absent = [label for label, of in zip(labels, rows, strict=True) if of.empty]
    missing = f"Not measured: {', '.join(absent)}." if absent else ""
    how = f"Each step begins where the one before ended; whiskers: {text.percent(confidence)} intervals of all so far."
    logs = pd.concat([_in_blocks(of, chart) for _, of in made], axis=1).to_numpy()
    over = [bool(of["oversubscribed"].any()) for _, of in made]
    marks = [Mark(made[0][0], 1.0, f"{made[0][0]}: the first", begins=1.0, written="1x", hollow=over[0])]
    for k, (label, _) in enumerate(made[1:], 1):
        step, total = (
            stats.speedup(stats.hodges_lehmann(logs[:, before] - logs[:, k], confidence)) for before in (k - 1, 0)
        )
        said = f"{label}: {text.join(text.times(step))} of the one before, {text.join(text.times(total))} of the first"
        marks.append(Mark(
            label, total.estimate, said + (", oversubscribed" if over[k] else ""), *finite_ends(total),
            begins=float(marks[-1].y), hollow=over[k],
            written=f"{text.join(text.times(step))}, in all {text.times(total)[0]}",
        ))  # fmt: skip
    slower = [float(mark.y) < (mark.begins or 1.0) for mark in marks]
    series = (
        Series("steps", kind, tuple(mark for mark, slow in zip(marks, slower, strict=True) if slow == slot), slot)
        for slot, kind in enumerate(("faster", "slower"))
    )
    ends = [end for mark in marks for end in (float(mark.y), mark.low, mark.high) if end is not None]
    return Chart(
        name=chart.name,
        title=chart.title,
        caption=" ".join(filter(None, (chart.caption, missing, how))),
        alternative=f"Speedup by steps. {'; '.join(mark.says for mark in marks)}.",
        x=Axis("", categories=tuple(str(mark.x) for mark in marks)),
        y=Axis("times as fast as the first", "times", log=True, ticks=doubling(min(ends), max(ends))),
        panels=(Panel(tuple(one for one in series if one.marks)),),
        references=(1.0,),
        turned=True,
        wide=True,
        height=0.42 * len(marks) + 1.0,
    )


def _words(levels: outputs.Selection, best: str) -> str:
    """`openmp, fewest ranks, system`; of several levels of the column `best`, the best is used: `best ranks`."""
    extremes = {"min": "fewest", "max": "most"}
    said = {name: level for name, level in levels.items() if not isinstance(level, tuple)}
    return ", ".join(
        f"{extremes.get(str(of), 'best' if name == best else str(of))} {name}" if of in outputs.EXTREMES
        else named(name, of)
        for name, of in said.items()
    )  # fmt: skip


def _in_blocks(rows: pd.DataFrame, chart: outputs.Chart) -> "pd.Series[float]":
    logs = rows.assign(_log=np.log(rows[chart.y]))
    logs = best(logs, chart.best)[0] if chart.best else logs
    return logs.groupby(["machine", "replicate"])["_log"].mean()


def in_time(asked: Asked) -> Chart:
    """Launches in the order made, each divided by the median of its configuration; noisy ones are highlighted."""
    chart, rows = asked.chart, asked.rows
    keys = [
        name for name in dict.fromkeys((*(f.name for f in asked.experiment.factors), "p", "machine")) if name in rows
    ]
    varied = [name for name in keys if rows[name].nunique() > 1 and name != "p"]
    usual = rows.groupby(keys, dropna=False)[asked.value].transform("median")
    marks: dict[str, list[Mark]] = {}
    for row, median in zip(rows.to_dict("records"), usual, strict=True):
        if median > 0:
            group = named(chart.colour, row[chart.colour]) if chart.colour else "measuring"
            label = text.clean(" ".join(named(name, row[name]) for name in varied)) or "as given"
            place, change = int(row["order"]), row[asked.value] / median - 1
            said = f"launch {place}, {label}: {100 * change:+.1f}%"
            said += f", {FLAGGED}" * bool(row["noisy"]) + ", oversubscribed" * bool(row["oversubscribed"])
            mark = Mark(place, change, said, hollow=bool(row["oversubscribed"]))
            marks.setdefault(FLAGGED if row["noisy"] else group, []).append(mark)
    flagged = marks.pop(FLAGGED, [])
    series = [Series("points", group, tuple(of), 2 * k) for k, (group, of) in enumerate(marks.items())]
    every = [mark for one in (*marks.values(), flagged) for mark in one]
    worst = max(abs(float(mark.y)) for mark in every)
    return Chart(
        name=chart.name,
        title=chart.title,
        caption=chart.caption or RESTLESS,
        alternative=f"{len(every)} launches, {len(flagged)} {FLAGGED}; "
        f"the farthest is {100 * worst:.1f}% from its median.",
        x=Axis("launch, in the order made"),
        y=Axis("", "change"),
        panels=(Panel((*series, *([Series("points", FLAGGED, tuple(flagged), look.NOISY)] if flagged else []))),),
        references=(0.0,),
        wide=True,
        height=2.4,
    )


def scaling(asked: Asked) -> Chart:
    """Speedup, efficiency or overhead, from ratios within blocks to the smallest x of the same curve."""
    chart = asked.chart
    ps = [int(p) for p in asked.levels(chart.x)]
    lines: Lines = [(row, column, [_line(asked, label, of) for _, label, of in asked.coloured(rows)])
                    for row, column, rows in asked.panels()]  # fmt: skip
    caption = (
        f"{chart.caption} Against {chart.x} = {ps[0]} of the same curve, ratios within blocks; bands and whiskers: "
        f"{text.percent(asked.experiment.stop.confidence)} signed-rank intervals.{asked.beside()}"
    )
    return curves.over_p(chart.kind, chart.name, chart.title, caption.strip(), lines, ps[0])


def _line(asked: Asked, label: str, rows: pd.DataFrame) -> Line:
    chart, table = asked.chart, asked.logs(rows)
    levels = list(table.columns)
    first = levels[0]
    steps = []
    for level in levels:
        ratio = stats.hodges_lehmann(table[first] - table[level], asked.experiment.stop.confidence)
        over = bool(rows[rows[chart.x] == level]["oversubscribed"].any())
        steps.append(Step(int(level), stats.speedup(ratio), stats.efficiency(ratio, int(first), int(level)),
                          stats.overhead(ratio, int(first), int(level)), over))  # fmt: skip
    return Line(label, tuple(step for step in steps if math.isfinite(step.speedup.estimate)))
