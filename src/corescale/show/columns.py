# SPDX-License-Identifier: Apache-2.0
"""The columns of all tables of configurations, over which terminal, page, JSON with its schema, CSV and Markdown loop.

A new column needs a line in SCAN, TUNE or COMPARE. ARCHITECTURE.md lists what else it needs.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args

from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Row, Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.answers.verdict import ITSELF, Comparison, Decision, Gate
from corescale.conclude.response import median
from corescale.conclude.stats import Interval
from corescale.records import Configuration, Record
from corescale.show import text
from corescale.show.result import Result

Value = Interval | float | str | None
"""None: the column does not apply to this row, and the cell is empty."""

MAIN, DERIVED, FULL, WIDE, DOCUMENT = range(1, 6)
"""Importance of a column: MAIN is the answer; DERIVED follows from it; FULL is shown if a terminal has room, and WIDE
if it has plenty; DOCUMENT is only in documents."""

INTERVAL: Mapping[str, object] = {"$ref": "#/$defs/Interval"}
NUMBER: Mapping[str, object] = {"type": ["number", "null"]}
COUNT: Mapping[str, object] = {"type": "integer", "minimum": 0}


@dataclass(frozen=True, slots=True)
class Format:
    """How a value is written for people, and its type in JSON."""

    shown: Callable[[Any], text.Shown]
    schema: Mapping[str, object]
    words: bool = False
    """text, not a number"""

    @property
    def interval(self) -> bool:
        """Whether the value is an estimate with the ends of its interval."""
        return self.schema is INTERVAL


@dataclass(frozen=True, slots=True)
class Column:
    """One number, or word, of every configuration."""

    name: str
    """key in JSON and CSV"""
    unit: str
    """unit of the value in JSON and CSV; 1 for ratios, empty for counts and words"""
    format: Format
    importance: int
    description: str
    heading: str = ""
    """heading in documents; empty: the name"""
    short: str = ""
    """heading on a terminal; empty: the heading in documents"""
    of: Callable[[Any, Result], Value] | None = None
    """function from the conclusion's row of a configuration to the value; None: the row's attribute of that name"""

    @property
    def title(self) -> str:
        """The heading in documents."""
        return self.heading or self.name.replace("_", " ")

    @property
    def explained(self) -> str:
        """What the value is, and its unit."""
        return f"{self.description}; {self.unit}" if self.unit not in ("", "1") else self.description

    def value(self, row: Any, result: Result) -> Value:
        """The value itself."""
        found: Value = self.of(row, result) if self.of else getattr(row, self.name)
        return found

    def shown(self, row: Any, result: Result) -> text.Shown:
        """The value and its interval, as people read them."""
        value = self.value(row, result)
        return ("", "") if value is None else self.format.shown(value)


def _number(written: Callable[[float], str]) -> Format:
    return Format(lambda value: (written(value) if math.isfinite(value) else text.UNKNOWN, ""), NUMBER)


def _words(schema: Mapping[str, object]) -> Format:
    return Format(lambda value: (text.clean(value), ""), schema, words=True)


RESPONSE = Format(text.time, INTERVAL)
"""format of the response: a time; of a metric, a number without unit"""
TIMES, SHARE, AMOUNT = (Format(shown, INTERVAL) for shown in (text.times, text.share, text.amount))
TENTHS, HUNDREDTHS, TWO_DIGITS = (_number(form.format) for form in ("{:.1f}", "{:.2f}", "{:.2g}"))
SIX_DIGITS = _number(partial(text.plain, digits=6))
MEMORY = Format(lambda value: (text.memory(value), ""), COUNT)
WHOLE = Format(lambda value: (str(value), ""), COUNT)
REASON = _words({"type": ["string", "null"]})
DECISION, GATE = _words({"enum": [*get_args(Decision)]}), _words({"enum": [*get_args(Gate), None]})
OF_P = ("speedup", "efficiency", "overhead", "efficiency_loss")
"""columns that are left out if no factor makes p, or if the program does not read it"""
RATIO = "T(reference) / T"
"""the heading of a speedup, if the response is no time"""
AMOUNTS = replace(DECISION, shown=lambda said: ({"faster": "lower", "slower": "higher"}.get(said, said), ""))
"""the decision as people read it, if the response is no time"""


def of_p(result: Result) -> bool:
    """Whether figures per p mean anything: a factor makes p, and the program reads it."""
    return bool(result.experiment.makes_p) and getattr(result.conclusion, "unread", "") != "threads"


def _lost(row: Row, result: Result) -> Interval:
    """Core time that brought no speedup. Its interval follows from the efficiency's, with T taken as known."""
    if result.experiment.response.startswith("metric:"):
        return Interval(math.nan, None, None, None, 0)
    return row.efficiency.map(lambda efficiency: row.p * row.time.estimate * (1 - efficiency))


def _of_launches(one: Any, result: Result, value: Callable[[Record], float]) -> float:
    """The median over the launches of a row that succeeded; NaN if none did."""
    chosen = one.other if isinstance(one, Comparison) else one.configuration
    return median([value(record) for record in result.timed if record.ok and record.configuration == chosen])


def _cores(one: Comparison, result: Result) -> float:
    return _of_launches(one, result, lambda record: record.effective_cores)


def _of_other(name: str) -> Callable[[Comparison, Result], Value]:
    """A function that gives the value of a comparison, empty in the reference's own row."""
    return lambda one, result: None if one.other == one.reference else getattr(one, name)


# fmt: off
TIME = Column("time", "s", RESPONSE, MAIN, "median of the response")
CORES = Column("effective_cores", "cores", TENTHS, MAIN, "CPU time / wall time", "cores used", "cores")

SCAN: tuple[Column, ...] = (
    TIME,
    Column("speedup", "1", TIMES, MAIN, "T(reference) / T, within blocks"),
    Column("efficiency", "1", SHARE, DERIVED, "speedup for each unit of parallelism"),
    Column("overhead", "1", SHARE, WIDE, "1 / efficiency - 1"),
    Column("efficiency_loss", "core-s", AMOUNT, FULL, "p T (1 - efficiency)", "lost core-s", of=_lost),
    CORES,
    Column("peak_memory", "bytes", MEMORY, FULL, "largest of all launches", short="memory"),
)
TUNE: tuple[Column, ...] = (
    TIME,
    Column("ratio", "1", TIMES, MAIN, "exploratory; of the winner by confirmation pairs", "T(baseline) / T"),
    CORES,
    Column("core_seconds", "s", HUNDREDTHS, FULL, "median CPU time", short="core-s"),
    Column("launches", "", WHOLE, DOCUMENT, "launches made"),
    Column("excluded", "", REASON, DOCUMENT, "why it may not win", "why not"),
)
COMPARE: tuple[Column, ...] = (
    TIME,
    Column("ratio", "1", TIMES, MAIN, "T(other) / T(reference)", "T / T(reference)"),
    Column("mean_ratio", "1", TIMES, DERIVED, "mean T(other) / mean T(reference)", "mean ratio"),
    Column("p_value", "1", TWO_DIGITS, MAIN, "of no difference", "p-value", of=_of_other("p_value")),
    Column("effective_cores", "cores", TENTHS, DOCUMENT, "CPU time / wall time", "cores used", of=_cores),
    Column("decision", "", DECISION, DOCUMENT, "what is certain", "verdict", of=_of_other("decision")),
    Column("gate", "", GATE, DOCUMENT, "whether --gate lets it pass", of=_of_other("gate")),
)
# fmt: on

TABLES: dict[str, tuple[Column, ...]] = {"Row": SCAN, "Candidate": TUNE, "Compared": COMPARE}
"""The columns by the name of their rows in exchange/result_json.py."""


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of a result, and its rows by configuration in the order to be shown."""

    result: Result
    columns: tuple[Column, ...]
    rows: Mapping[Configuration, Any]

    def cells(self, configuration: Configuration) -> Iterator[tuple[Column, text.Shown]]:
        """Every column with its value for one configuration; values are empty if there is no conclusion about it."""
        row = self.rows.get(configuration)
        return ((column, ("", "") if row is None else column.shown(row, self.result)) for column in self.columns)

    def roles(self, configuration: Configuration) -> list[str]:
        """The roles of a configuration in the answer, such as baseline."""
        found = self.result.conclusion
        if isinstance(found, Recommendation):
            allowed = getattr(self.rows.get(found.chosen), "excluded", None) is None and not found.not_shown
            usable = found.answered and allowed
            use = {"use this": found.chosen} if usable else {}
            parts = use | {"baseline": found.baseline}
        else:
            parts = {"reference": found[0].reference} if isinstance(found, tuple) and found else {}
        return [role for role, of in parts.items() if of == configuration]

    def upto(self, importance: int) -> "Table":
        """Without the columns of less importance."""
        return replace(self, columns=tuple(c for c in self.columns if c.importance <= importance))


def of(result: Result) -> Table:
    """The table of a result."""
    found = result.conclusion.found if isinstance(result.conclusion, Study) else result.conclusion
    if isinstance(found, Scan):
        return Table(result, _named("Row", result), {row.configuration: row for row in found.rows})
    if isinstance(found, Recommendation):
        return Table(result, _named("Candidate", result), {one.configuration: one for one in found.candidates})
    return Table(result, _named("Compared", result), {one.other: one for one in (*_reference(found), *found)})


def _named(name: str, result: Result) -> tuple[Column, ...]:
    """The columns, with the response under its name, one for each other metric, and the gate if there is one."""
    response = result.experiment.response
    heading, form = text.quantity_name(response), Format(text.quantity(response), INTERVAL)
    given = [replace(c, heading=heading, format=form) if c.format is RESPONSE else c for c in TABLES[name]]
    if not of_p(result):
        given = [c for c in given if c.name not in OF_P]
    if not text.is_time(response):
        given = [replace(c, format=AMOUNTS) if c.format is DECISION else c for c in given]
        given = [replace(c, heading=RATIO) if c.name == "speedup" else c for c in given]
        given = [replace(c, heading=text.of_response(c.heading, response)) for c in given]
    others = ((name, source) for name, source in result.experiment.metrics.items() if f"metric:{name}" != response)
    given += itertools.starmap(_metric, others)
    gated = isinstance(result.conclusion, tuple) and any(one.gate for one in result.conclusion)
    return tuple(sorted((c for c in given if gated or c.format is not GATE), key=lambda c: c.importance == DOCUMENT))


METRICS = {
    "peak-memory": ("bytes", Format(lambda value: (text.memory(value), ""), NUMBER)),
    "cpu-time": ("s", Format(lambda value: (text.seconds(value), ""), NUMBER)),
}
"""unit and format of the metrics of these sources; others are numbers without unit"""


def _metric(name: str, source: str) -> Column:
    def of(one: Any, result: Result) -> Value:
        return _of_launches(one, result, lambda record: record.metrics.get(name, math.nan))

    unit, form = METRICS.get(source, ("", SIX_DIGITS))
    return Column(f"metric_{name}", unit, form, FULL, "median of the metric", text.clean(name), of=of)


def _reference(found: Sequence[Comparison]) -> Sequence[Comparison]:
    """The reference compared with itself: the first row of a comparison's table."""
    return [
        replace(first, other=first.reference, time=first.reference_time, ratio=ITSELF, mean_ratio=ITSELF)
        for first in found[:1]
    ]
