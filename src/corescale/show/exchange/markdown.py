# SPDX-License-Identifier: Apache-2.0
"""hyperfine's Markdown table, with additional columns at the right, and all warnings below."""

import re
from collections.abc import Iterator

from corescale.show import columns, headline, text
from corescale.show.columns import Table
from corescale.show.exchange.hyperfine import Benchmark, benchmarks, summary
from corescale.show.result import Result


def export(result: Result) -> str:
    """The Markdown text: headline, table, warnings."""
    lines = [f"**{_escape(headline.headline(result))}**", "", *_table(result), ""]
    lines += [f"- {_escape(warning)}" for warning in (*_notes(result), *result.warnings, *result.experiment.left_out)]
    return "\n".join(lines).rstrip() + "\n"


def _notes(result: Result) -> Iterator[str]:
    yield headline.stop(result)
    if result.undisturbed is not None:
        yield headline.undisturbed(result)


def _table(result: Result) -> Iterator[str]:
    rows = benchmarks(result)
    unit, factor = ("s", 1.0) if all(min(row.times) >= 1 for row in rows) else ("ms", 1e3)
    table = columns.of(result)
    heads = "".join(f" {_escape(column.title)} |" for column in table.columns)
    yield f"| Command | Mean [{unit}] | Min [{unit}] | Max [{unit}] |{heads} |"
    yield "|:---|---:|---:|---:|" + "".join(":---|" if c.format.words else "---:|" for c in table.columns) + ":---|"
    for row in rows:
        yield "| " + " | ".join(_cells(table, row, factor)) + " |"


def _cells(table: Table, row: Benchmark, factor: float) -> Iterator[str]:
    numbers = {name: (value or 0.0) * factor for name, value in summary(row).items()}
    failures = sum(not record.ok for record in row.launches)
    none = failures == len(row.launches)
    yield _code(row.command)
    yield "-" if none else f"{numbers['mean']:.3f} ± {numbers['stddev']:.3f}"
    yield from ("-" if none else f"{numbers[name]:.3f}" for name in ("min", "max"))
    for column, shown in table.cells(row.configuration):
        said = text.join(shown) or text.UNKNOWN
        yield _escape(said) if column.format.words else said
    yield ", ".join([*table.result.qualifiers(row.configuration), *([f"{failures} failed"] if failures else [])])


def _code(command: str) -> str:
    """The text as code, in enough backticks. Pipes are escaped, because they would end the cell."""
    inside = text.clean(command).replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", inside)), default=0))
    pad = " " if inside.startswith("`") or inside.endswith("`") else ""
    return f"{fence}{pad}{inside}{pad}{fence}"


def _escape(line: str) -> str:
    return "".join(f"\\{c}" if c in "\\`*_[]<>|" else c for c in text.clean(line))
