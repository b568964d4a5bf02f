# SPDX-License-Identifier: Apache-2.0
"""The inputs of a declared chart: the declaration, its launches, and the names of levels and numbers."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pandas as pd

from corescale.conclude.percentiles import bootstrapped, bootstrapped_ratio
from corescale.conclude.stats import Interval
from corescale.declare import outputs
from corescale.declare.experiment import Experiment
from corescale.errors import UsageError, nearest
from corescale.records import Level
from corescale.show import text
from corescale.show.charts.model import Axis, Chart, Format, Mark, Panel, binary, finite_ends

MANY = 20
"""With fewer launches than this, the caption says that a percentile bootstrap is too narrow."""

MOST_ON_AXIS = 2
"""most conditions on the reference launches (which count as 1) that an axis names; the caption names more"""

RELATIVE = ("_group", "_block", "_raw")
"""columns of a normalised chart: the number of the group that has a reference of its own, that of the block, and the
value as measured"""

Shown = Callable[[Interval], text.Shown]


@dataclass(frozen=True)
class Asked:
    """A declaration with its defaults filled in, the launches it is about, and their experiment."""

    chart: outputs.Chart
    rows: pd.DataFrame
    experiment: Experiment
    failed: int
    """launches without a value"""
    reference: pd.DataFrame | None = None
    """the launches by which the others are normalised"""

    @property
    def value(self) -> str:
        """The column whose numbers are shown."""
        return self.chart.colour if self.chart.kind == "heat" else self.chart.y

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns that split the launches into marks."""
        chart = self.chart
        given = (chart.x, chart.y) if chart.kind == "heat" else (chart.x, chart.colour, chart.style)
        return tuple(dict.fromkeys(name for name in (*given, *chart.facet) if name))

    @property
    def of_a_mark(self) -> list[str]:
        """The columns that a mark is made from. Selecting rows from only these is many times faster."""
        relative = () if self.reference is None else RELATIVE
        return [*dict.fromkeys((*self.groups, self.value, "oversubscribed", *relative))]

    def panels(self) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """Row, column and launches of each panel that has any."""
        facet = self.chart.facet
        rows_by, columns_by = (facet[0], facet[1]) if len(facet) == 2 else ("", facet[0] if facet else "")
        for down in self.levels(rows_by) if rows_by else [""]:
            for across in self.levels(columns_by) if columns_by else [""]:
                chosen = self.rows
                chosen = chosen[chosen[rows_by] == down] if rows_by else chosen
                chosen = chosen[chosen[columns_by] == across] if columns_by else chosen
                if not chosen.empty:
                    yield named(rows_by, down), named(columns_by, across), chosen

    def levels(self, name: str) -> list[Level]:
        """The levels of a column in the order declared, else by size, else alphabetically."""
        factor = self.experiment.factor(name)
        found: list[Level] = [getattr(level, "item", lambda level=level: level)() for level in self.rows[name].unique()]
        if factor is not None and not pd.api.types.is_numeric_dtype(self.rows[name]):
            rank = {level: k for k, level in enumerate(factor.levels)}
            return sorted(found, key=lambda level: (rank.get(level, len(rank)), str(level)))
        return sorted(found, key=natural)

    def coloured(self, rows: pd.DataFrame) -> Iterator[tuple[int, str, pd.DataFrame]]:
        """Slot, label and launches of each level of `colour` that has launches."""
        yield from self.by_level(self.chart.colour, rows)

    def by_level(self, name: str, rows: pd.DataFrame) -> Iterator[tuple[int, str, pd.DataFrame]]:
        """Position, label and launches of each level of a column that has any; one entry if there is no column."""
        if not name:
            yield 0, "", rows
            return
        parts = dict(iter(rows.groupby(name)))
        for place, level in enumerate(self.levels(name)):
            if level in parts:
                yield place, named(name, level), parts[level]

    def logs(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Mean logarithm of y, with a row for each block and a column for each level of x, in ascending order."""
        logs = rows.assign(_log=np.log(rows[self.chart.y].where(rows[self.chart.y] > 0)))
        return logs.pivot_table(index=["machine", "replicate"], columns=self.chart.x, values="_log", sort=True)

    def estimate(self, rows: pd.DataFrame) -> Interval:
        """The statistic of some launches, with its interval if one is wanted."""
        chart = self.chart
        found = bootstrapped(rows[self.value], chart.statistic) if self.reference is None else self._relative(rows)
        return found if chart.error == "bootstrap" else Interval(found.estimate, None, None, None, found.n)

    def _relative(self, rows: pd.DataFrame) -> Interval:
        """The ratio of statistics. It is inverted afterwards, because noise would raise a mean of inverse values."""
        wanted = self.chart.normalise
        assert wanted is not None and self.reference is not None
        ours, theirs = (dict(iter(of[[*RELATIVE]].groupby("_group"))) for of in (rows, self.reference))
        pairs = [[(of["_block"], of["_raw"]) for of in (ours[group], theirs[group])] for group in ours]
        return bootstrapped_ratio(pairs, self.chart.statistic).map(lambda ratio: relative(wanted, ratio))

    def mark(self, rows: pd.DataFrame, x: float | str, head: str, shown: Shown) -> Mark:
        """The mark of some launches at x."""
        found, over = self.estimate(rows), bool(rows["oversubscribed"].any())
        said = f"{head}: {text.join(shown(found))}, n = {found.n}" + (", oversubscribed" if over else "")
        at = x if isinstance(x, str) else float(x)
        return Mark(at, found.estimate, text.clean(said), *finite_ends(found), hollow=over)

    def quantity(self) -> tuple[Shown, Format]:
        """How the values are written, in words and on an axis."""
        if self.chart.normalise is not None:
            return (text.number, "number") if self.chart.normalise.less_one else (text.times, "times")
        if self.value == "time" and not self.experiment.response.startswith("metric:"):
            return text.time, "seconds"
        if self.value == "peak_memory":
            return lambda found: (text.memory(found.estimate), ""), "bytes"
        return text.number, "number"

    def title(self) -> str:
        """The title of the value axis."""
        if self.chart.label:
            return self.chart.label
        name = text.quantity_name(self.experiment.response) if self.value == "time" else self.value.replace("_", " ")
        wanted = self.chart.normalise
        if wanted is None:
            return name
        if wanted.inverse:
            name = "speed" if self.value == "time" else f"1 / {name}"
        less = ", less 1" if wanted.less_one else ""
        return f"{name}, relative to {_words(wanted.to)}{less}" if self.on_axis else f"{name}, relative{less}"

    @property
    def on_axis(self) -> bool:
        """Whether the axis names the launches that count as 1: without a label, and with room, which panels lack."""
        wanted, room = self.chart.normalise, 1 if self.chart.facet else MOST_ON_AXIS
        return wanted is None or (not self.chart.label and len(wanted.to) <= room)

    def caption(self) -> str:
        """The declared caption, followed by what the numbers are."""
        chart = self.chart
        fewest = int(self.rows.groupby(list(self.groups), dropna=False).size().min())
        what = f"{chart.statistic.capitalize()} of {fewest} launches or more" if fewest > 1 else "Single launches"
        spread = "whiskers"
        if chart.kind == "heat":
            what = f"Colour and number: {self.title()}, {what[:1].lower()}{what[1:]}"
            spread = "brackets, on pointing at a cell"
        error = ""
        if chart.error == "bootstrap" and fewest > 1:
            of = chart.statistic if self.reference is None else "ratio, whose blocks are drawn with their reference"
            error = f"; {spread}: bootstrapped 95% intervals of the {of}"
            error += ", too narrow at so few" if fewest < MANY else ""
        wanted = chart.normalise
        one = f" {1 - wanted.less_one} is {_words(wanted.to)}." if wanted and not self.on_axis else ""
        return f"{chart.caption} {what}{error}.{one}{self.beside()}".strip()

    def beside(self) -> str:
        """A sentence that says what is averaged over, and what is missing."""
        cells = self.rows.assign(_=0).groupby(["_", *self.groups], dropna=False)
        columns = [*(factor.name for factor in self.experiment.factors), "machine"]
        mixed = [name for name in columns if name not in self.groups and cells[name].nunique().max() > 1]
        over = f" Averaged over every {' and '.join(mixed)}." if mixed else ""
        over += f" At 0: {_words(self.chart.at_zero)}." if self.chart.at_zero else ""
        return over + (f" {self.failed} launches without a value are left out." if self.failed else "")

    def made(self, x: Axis, y: Axis, panels: Sequence[Panel]) -> Chart:
        """The chart of these panels."""
        chart = self.chart
        if y.format == "bytes":
            values = [float(mark.y) for panel in panels for series in panel.series for mark in series.marks]
            y = replace(y, ticks=binary(0.0 if chart.kind == "bars" else min(values), max(values)))
        said = "; ".join(mark.says for panel in panels for series in panel.series for mark in series.marks)
        wide = len(panels) > 1 or chart.kind == "bars" or len(x.categories) > 6 or bool(chart.style)
        return Chart(
            name=chart.name,
            title=chart.title,
            caption=self.caption(),
            alternative=text.clean(f"{self.title()} by {' and '.join(self.groups)}. {said}."),
            x=x,
            y=y,
            panels=tuple(panels),
            wide=wide,
            height=2.6 if len(panels) > 1 else 3.5,
        )


def _words(levels: outputs.Selection) -> str:
    """`threads 1`, `the fewest threads`, `the smallest load and allocator system`."""
    pairs = [(column, level) for column, among in levels.items() for level in outputs.listed(among)]
    extremes = {"min": "smallest", "max": "largest"}
    counts = {"min": "fewest", "max": "most"}
    return " and ".join(
        f"the {(counts if column == 'threads' else extremes)[str(level)]} {column}" if level in extremes
        else f"{column} {level}"
        for column, level in pairs
    )  # fmt: skip


Ratio = TypeVar("Ratio", float, "pd.Series[float]")


def relative(wanted: outputs.Normalise, ratio: Ratio) -> Ratio:
    """A ratio to the reference as the chart shows it: inverted (infinite for 0), or less 1."""
    with np.errstate(divide="ignore"):
        return (np.float64(1) / ratio if wanted.inverse else ratio) - wanted.less_one


def natural(level: Level) -> tuple[bool, Sequence[str | float]]:
    """A sort key: numbers first, layouts by p and then threads (1x24x32 next to 24x1x32), words by their numbers."""
    if not isinstance(level, str):
        return False, [float(level)]
    parts = [float(part) if part.isdigit() else part for part in re.split(r"(\d+)", level)]
    layout = re.fullmatch(r"\d+x\d+x\d+", level)
    return True, ["", math.prod(map(int, level.split("x"))), *parts] if layout else parts


def named(column: str, level: Level) -> str:
    """A level's name: `threads=4`, or `mimalloc`, because words need no column name. Empty without a column."""
    if not column:
        return ""
    return text.clean(level if isinstance(level, str) else f"{column}={level:g}")


def present(name: str, frame: pd.DataFrame, chart: str) -> None:
    """Raises UsageError for a column that the frame lacks."""
    if name not in frame.columns:
        known = [str(column) for column in frame.columns]
        remedy = nearest(name, known, f"columns here: {', '.join(known)}")
        raise UsageError(f"no column {name!r}", where=f"chart {chart}", remedy=remedy)
