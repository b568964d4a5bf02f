# SPDX-License-Identifier: Apache-2.0
"""Tables on a terminal: the columns of show/columns.py, in the widest shape that fits."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
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
    """The shape of a table, which determines its width."""

    beside: bool
    """whether intervals are next to their numbers, and not below them"""
    importance: int
    """largest importance of the columns that are shown"""

    @property
    def full(self) -> bool:
        """Whether there is room for a column for each factor."""
        return self.importance >= FULL


SHAPES = (
    *(Shape(beside, importance) for beside in (True, False) for importance in (WIDE, FULL)),
    *(Shape(False, importance) for importance in (DERIVED, MAIN)),
)
"""The shapes of a table, from wide to narrow; the first that fits is printed."""


@dataclass(frozen=True)
class FirstThatFits:
    """The table in the first shape in which no line is folded, or else in the last, or a list of its numbers if words
    would be folded there; below it, a note on what was left out. Names longer than a third of a line are folded."""

    table: columns.Table
    heads: Callable[[Shape], tuple[Sequence[str], Sequence[str]]]
    """headings of the columns before and after the numbers"""
    rows: Callable[[columns.Table, Shape], Iterable[Sequence[Text]]]
    """cells of the shown columns, and of the columns before and after them"""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Called by rich."""
        free = options.update(max_width=10_000)
        tables = {shape: self._made(shape, options.max_width // 3) for shape in SHAPES}
        fitting = [s for s, t in tables.items() if Measurement.get(console, free, t).maximum <= options.max_width]
        shape = [*fitting, SHAPES[-1]][0]
        whole = Measurement.get(console, free, tables[shape]).minimum <= options.max_width
        yield tables[shape] if whole else Text("\n").join(self._listed(shape))
        if omitted := [c.title for c in self.table.columns if shape.importance < c.importance < DOCUMENT]:
            names = ", ".join(map(text.clean, omitted))
            yield Text(f"{names}: in a wider terminal, or by --json", style="dim")

    def _listed(self, shape: Shape) -> Iterable[Text]:
        """A line for each row's name, and below it one for each number."""
        shown, (before, behind) = self.table.upto(shape.importance), self.heads(shape)
        heads = (*before, *(column.title for column in shown.columns), *behind)
        for cells in self.rows(shown, shape):
            for k, (head, cell) in enumerate(zip(heads, cells, strict=True)):
                said = Text(" ").join(cell.split("\n"))
                if said:
                    yield Text.assemble("  " if k else "", head, ": " if k else " ", said)

    def _made(self, shape: Shape, most: int) -> Table:
        shown, (before, behind) = self.table.upto(shape.importance), self.heads(shape)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, 1), collapse_padding=True)
        left = (*before, *behind) if before != ["p"] else behind
        for name in (*before, *(column.short or column.title for column in shown.columns), *behind):
            named = name in left
            table.add_column(
                Text(name), justify="left" if named else "right", overflow="fold", max_width=most if named else None
            )
        for cells in self.rows(shown, shape):
            table.add_row(*cells)
        for column in table.columns:  # else rich would fold long words of some columns to keep blanks of others
            words = " ".join(map(str, (column.header, *column.cells))).split()
            longest = max(map(cell_len, words), default=0)
            column.min_width = min(longest, column.max_width or longest)
        return table


def curve(result: Result, of: Curve) -> RenderableType:
    """A curve of a scan, a row for each p; the first column has only notes if p is not known."""

    def rows(shown: columns.Table, shape: Shape) -> Iterable[Sequence[Text]]:
        for row in of.rows:
            yield [_p(result, row), *_cells(shown, row.configuration, shape, f"\nof {row.p}" * row.idle)]

    return FirstThatFits(columns.of(result), lambda _: (["p" if result.experiment.makes_p else ""], []), rows)


def _p(result: Result, row: Row) -> Text:
    failed = [f"{row.failures} failed"] if row.failures else []
    known = [str(row.p)] if row.counted else []
    p = Text("\n".join([*known, *below(row.configuration), *result.qualifiers(row.configuration), *failed]))
    p.stylize("yellow", len("".join(known)))
    return p


def candidates(result: Result, found: Recommendation, of: Sequence[Candidate]) -> RenderableType:
    """Candidates of a tune, with their levels before the numbers and their roles in the answer after them."""
    factors = [factor.name for factor in result.experiment.factors if factor.name not in found.ineffective]
    return FirstThatFits(
        columns.of(result),
        lambda shape: (factors, [""]) if shape.full else (["launch"], []),
        lambda shown, shape: (_candidate(found, one, shown, shape) for one in of),
    )


def _candidate(found: Recommendation, one: Candidate, shown: columns.Table, shape: Shape) -> list[Text]:
    roles, excluded = ", ".join(shown.roles(one.configuration)), "excluded" if one.excluded else ""
    notes = Text("\n".join(filter(None, [roles, excluded, *shown.result.qualifiers(one.configuration)])))
    named = Text(label(one.configuration, found.ineffective))
    levels = [Text(level(name, of)) for name, of in one.configuration.levels if name not in found.ineffective]
    before = levels if shape.full else [Text("\n").join(filter(None, [named, notes]))]
    cells = [*before, *_cells(shown, one.configuration, shape), *[notes] * shape.full]
    for cell in cells:
        cell.stylize("bold" if one.configuration == found.chosen else "dim" if one.excluded else "")
    return cells


def comparisons(result: Result) -> RenderableType:
    """The commands of a comparison, the reference first."""

    def rows(shown: columns.Table, shape: Shape) -> Iterable[Sequence[Text]]:
        for configuration in shown.rows:
            marks = ", ".join([*shown.roles(configuration), *result.qualifiers(configuration)])
            name = label(configuration) + (f" ({marks})" if marks else "")
            yield [Text(name), *_cells(shown, configuration, shape)]

    return FirstThatFits(columns.of(result), lambda _: (["command"], []), rows)


def _cells(shown: columns.Table, configuration: Configuration, shape: Shape, alarm: str = "") -> list[Text]:
    """Each number with its interval next to it or below it; the alarm is below the cores used."""
    cells = []
    for column, (value, ends) in shown.cells(configuration):
        cell = Text.assemble(value, (" " if shape.beside else "\n", "") if ends else "", (ends, "dim"))
        if alarm and column.name == "effective_cores":
            cell = Text(f"{value}{alarm}", style="bold yellow")
        cells.append(cell)
    return cells
