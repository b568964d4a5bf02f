# SPDX-License-Identifier: Apache-2.0
"""Tables on a terminal: the columns of show/columns.py in the first shape that is narrow enough."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from corescale.conclude.answers.candidates import Candidate
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Curve, Row
from corescale.records import Configuration
from corescale.show import columns, text
from corescale.show.columns import DERIVED, DOCUMENT, FULL, MAIN, WIDE
from corescale.show.naming import below, label, level
from corescale.show.result import Result


@dataclass(frozen=True, slots=True)
class Shape:
    """How much room a table takes."""

    beside: bool
    """intervals are next to their numbers, else beneath"""
    importance: int
    """largest importance of the columns that are shown"""

    @property
    def full(self) -> bool:
        """Whether a column for each factor is affordable."""
        return self.importance >= FULL


SHAPES = (
    *(Shape(beside, importance) for beside in (True, False) for importance in (WIDE, FULL)),
    *(Shape(False, importance) for importance in (DERIVED, MAIN)),
)
"""The forms of a table from wide to narrow; the first that fits is printed."""


@dataclass(frozen=True)
class FirstThatFits:
    """The table in the first shape of which no line has to be folded, else in the last; what it leaves out beneath."""

    made: Callable[[Shape], Table]
    columns: Sequence[columns.Column]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Called by rich."""
        free = options.update(max_width=10_000)
        tables = {shape: self.made(shape) for shape in SHAPES}
        fitting = [s for s, t in tables.items() if Measurement.get(console, free, t).maximum <= options.max_width]
        shape = [*fitting, SHAPES[-1]][0]
        yield tables[shape]
        if omitted := [c.title for c in self.columns if shape.importance < c.importance < DOCUMENT]:
            names = ", ".join(map(text.clean, omitted))
            yield Text(f"{names}: in a wider terminal, or by --json", style="dim")


def curve(result: Result, of: Curve) -> RenderableType:
    """A curve of a scan, a row for each p."""
    every = columns.of(result)

    def made(shape: Shape) -> Table:
        shown = every.upto(shape.importance)
        table = _table(["p"], shown)
        for row in of.rows:
            table.add_row(_p(result, row), *_cells(shown, row.configuration, shape, f"\nof {row.p}" * row.idle))
        return table

    return FirstThatFits(made, every.columns)


def _p(result: Result, row: Row) -> Text:
    marks = [
        *below(row.configuration),
        *result.labels(row.configuration),
        *([f"{row.failures} failed"] if row.failures else []),
    ]
    p = Text("\n".join([str(row.p), *marks]))
    p.stylize("yellow", len(str(row.p)))
    return p


def candidates(result: Result, found: Recommendation, of: Sequence[Candidate]) -> RenderableType:
    """Candidates of a tune: their levels before, and what part they play behind the numbers."""
    every = columns.of(result)
    factors = [factor.name for factor in result.experiment.factors]

    def made(shape: Shape) -> Table:
        shown = every.upto(shape.importance)
        table = _table(factors if shape.full else ["launch"], shown, [""] * shape.full)
        for one in of:
            table.add_row(*_candidate(result, found, one, shown, shape))
        return table

    return FirstThatFits(made, every.columns)


def _candidate(result: Result, found: Recommendation, one: Candidate, shown: columns.Table, shape: Shape) -> list[Text]:
    notes = Text("\n".join([*_roles(found, one), *result.labels(one.configuration)]))
    named = Text(label(one.configuration))
    levels = [Text(level(name, of)) for name, of in one.configuration.levels]
    before = levels if shape.full else [Text("\n").join(filter(None, [named, notes]))]
    cells = [*before, *_cells(shown, one.configuration, shape), *[notes] * shape.full]
    for cell in cells:
        cell.stylize("bold" if one.configuration == found.chosen else "dim" if one.excluded else "")
    return cells


def _roles(found: Recommendation, candidate: Candidate) -> list[str]:
    roles = {"use this": found.chosen, "baseline": found.baseline}
    named = [role for role, configuration in roles.items() if candidate.configuration == configuration]
    return [*([", ".join(named)] if named else []), *(["excluded"] if candidate.excluded else [])]


def comparisons(result: Result) -> RenderableType:
    """The commands of a comparison, the reference first."""
    every = columns.of(result)

    def made(shape: Shape) -> Table:
        shown = every.upto(shape.importance)
        table = _table(["command"], shown)
        for place, configuration in enumerate(every.rows):
            marks = ["reference"] * (place == 0) + [*result.labels(configuration)]
            name = label(configuration) + (f" ({', '.join(marks)})" if marks else "")
            table.add_row(Text(name), *_cells(shown, configuration, shape))
        return table

    return FirstThatFits(made, every.columns)


def _table(before: Sequence[str], shown: columns.Table, behind: Sequence[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, 1), collapse_padding=True)
    left = (*before, *behind) if before != ["p"] else behind
    for name in (*before, *(column.short or column.title for column in shown.columns), *behind):
        table.add_column(Text(name), justify="left" if name in left else "right", overflow="fold")
    return table


def _cells(shown: columns.Table, configuration: Configuration, shape: Shape, alarm: str = "") -> list[Text]:
    """Each number with its interval beside or beneath; the alarm beneath the cores that were used."""
    cells = []
    for column, (value, ends) in shown.cells(configuration):
        cell = Text.assemble(value, (" " if shape.beside else "\n", "") if ends else "", (ends, "dim"))
        if alarm and column.name == "effective_cores":
            cell = Text(f"{value}{alarm}", style="bold yellow")
        cells.append(cell)
    return cells
