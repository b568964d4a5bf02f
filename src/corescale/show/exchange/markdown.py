# SPDX-License-Identifier: Apache-2.0
"""hyperfine's Markdown table with the columns that it lacks: paired ratio with interval, cores used, doubt below."""

import math
from collections.abc import Iterator

from corescale.conclude.response import median
from corescale.conclude.stats import Interval
from corescale.show import headline, text
from corescale.show.exchange.hyperfine import Benchmark, benchmarks, summary
from corescale.show.result import Result


def export(result: Result) -> str:
    """The Markdown text: headline, table, doubts."""
    lines = [f"**{_escape(headline.headline(result))}**", "", *_table(result), ""]
    lines += [f"- {_escape(doubt)}" for doubt in (*_notes(result), *result.doubts, *result.experiment.left_out)]
    return "\n".join(lines).rstrip() + "\n"


def _notes(result: Result) -> Iterator[str]:
    yield headline.stop(result)
    if result.undisturbed is not None:
        yield headline.undisturbed(result)


def _table(result: Result) -> Iterator[str]:
    rows = benchmarks(result)
    unit, factor = ("s", 1.0) if all(min(row.times) >= 1 for row in rows) else ("ms", 1e3)
    head, ratio = result.ratios
    yield f"| Command | Mean [{unit}] | Min [{unit}] | Max [{unit}] | {head} | Cores used | |"
    yield "|:---|---:|---:|---:|---:|---:|:---|"
    for row in rows:
        yield "| " + " | ".join(_cells(result, row, factor, ratio.get(row.configuration))) + " |"


def _cells(result: Result, row: Benchmark, factor: float, ratio: Interval | None) -> list[str]:
    numbers = {name: (value or 0.0) * factor for name, value in summary(row).items()}
    cores = median([record.effective_cores for record in row.counted])
    failures = sum(not record.ok for record in row.launches)
    marks = [*result.labels(row.configuration), *([f"{failures} failed"] if failures else [])]
    if failures == len(row.launches):
        return [_code(row.command), *["-"] * 5, ", ".join(marks)]
    return [
        _code(row.command),
        f"{numbers['mean']:.3f} ± {numbers['stddev']:.3f}",
        f"{numbers['min']:.3f}",
        f"{numbers['max']:.3f}",
        text.join(text.times(ratio)) if ratio else text.UNKNOWN,
        f"{cores:.1f}" if math.isfinite(cores) else text.UNKNOWN,
        ", ".join(marks),
    ]


def _code(command: str) -> str:
    """In as many backticks as it takes; a pipe would end the cell."""
    inside = text.clean(command).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in _runs(inside)), default=0))
    pad = " " if inside.startswith("`") or inside.endswith("`") else ""
    return f"{fence}{pad}{inside}{pad}{fence}"


def _runs(inside: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in inside).split() if run]


def _escape(line: str) -> str:
    return "".join(f"\\{c}" if c in "\\`*_[]<>|" else c for c in text.clean(line))
