# SPDX-License-Identifier: Apache-2.0
"""CSV with one line for each configuration: hyperfine's columns in its order, then `parameter_NAME`, then our own."""

import csv
import io
import math
from collections.abc import Iterable, Iterator

from corescale.conclude.stats import Interval
from corescale.show import columns
from corescale.show.columns import Column, Table
from corescale.show.exchange.hyperfine import Benchmark, benchmarks, summary
from corescale.show.result import Result
from corescale.show.text import clean


def export(result: Result) -> str:
    """The CSV text; a single launch has stddev 0, as hyperfine writes it. An interval is NAME, NAME_low, NAME_high."""
    rows, table = benchmarks(result), columns.of(result)
    parameters = list(dict.fromkeys(name for row in rows for name in row.parameters))
    names = ["command", "mean", "stddev", "median", "user", "system", "min", "max"]
    own = [head for column in table.columns for head in _heads(column)]

    def cells(row: Benchmark) -> Iterator[object]:
        yield result.named(row.command, row.configuration)
        yield from (summary(row) | ({"stddev": 0.0} if len(row.times) == 1 else {})).values()
        yield from (row.parameters.get(name, "") for name in parameters)
        yield from _own(table, table.rows.get(row.configuration))

    return written([*names, *(f"parameter_{name}" for name in parameters), *own], map(cells, rows))


def written(heads: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """The text of a table."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([heads, *(map(plain, row) for row in rows)])
    return text.getvalue()


def plain(value: object) -> object:
    """The value as a cell: empty if it is missing, `true` or `false` for a bool."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def _heads(column: Column) -> list[str]:
    ends = ("", "_low", "_high") if column.format.interval else ("",)
    return [f"{column.name}{end}" for end in ends]


def _own(table: Table, row: object) -> Iterator[object]:
    for column in table.columns:
        value = None if row is None else column.value(row, table.result)
        value = clean(value) if isinstance(value, str) else value
        ends = (value.estimate, value.low, value.high) if isinstance(value, Interval) else (value,)
        yield from (*ends, *[None] * (len(_heads(column)) - len(ends)))
