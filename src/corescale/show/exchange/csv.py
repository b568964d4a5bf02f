# SPDX-License-Identifier: Apache-2.0
"""hyperfine's CSV: one line a configuration, its columns and order, `parameter_NAME` behind them."""

import csv
import io

from corescale.show.exchange.hyperfine import benchmarks, summary
from corescale.show.result import Result


def export(result: Result) -> str:
    """The CSV text; a single launch has stddev 0, as hyperfine writes it."""
    rows = benchmarks(result)
    parameters = list(dict.fromkeys(name for row in rows for name in row.parameters))
    names = ["command", "mean", "stddev", "median", "user", "system", "min", "max"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, *(f"parameter_{name}" for name in parameters)])
    for row in rows:
        numbers = [value or 0.0 for value in summary(row).values()]
        writer.writerow([row.command, *numbers, *(row.parameters.get(name, "") for name in parameters)])
    return text.getvalue()
