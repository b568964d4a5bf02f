# SPDX-License-Identifier: Apache-2.0
"""Reads measurements of other tools as one table: files of hyperfine, Google Benchmark, pyperf and Extra-P, and CSV.

Their launches were not interleaved, so nothing is concluded from them here: a difference may be drift of the machine
between two launches.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corescale import documents
from corescale.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd  # takes a third of a second to load

Row = dict[str, Any]
"""A row: `name`, `metric`, `value` (in seconds if it is a time), `repetition` from 1, and a key for each parameter."""

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
REMEDY = "give a file as its tool wrote it"

VALUES = ("value", "time", "wall")
"""columns of a CSV that may hold the value; the first one that is present is used"""


def read(path: Path) -> "pd.DataFrame":
    """A row for each measured value; raises UsageError for a file that none of these tools wrote."""
    import pandas as pd  # noqa: PLC0415

    try:
        text = documents.content(path).decode("utf-8-sig")
        rows = [*_rows(text, path)]
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path), remedy=REMEDY) from None
    except _RefusedError as error:
        raise UsageError(str(error), where=str(path), remedy=REMEDY) from None
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        what = "is damaged, or of none of the formats: hyperfine, Google Benchmark, pyperf, Extra-P, CSV"
        raise UsageError(what, where=str(path), remedy=REMEDY) from None
    if not rows:
        raise UsageError("holds no measured value", where=str(path), remedy=REMEDY)
    return pd.DataFrame(rows)


class _RefusedError(ValueError):
    """What is wrong with a file, in words for the user."""


def _rows(text: str, path: Path) -> Iterator[Row]:
    if not text.lstrip().startswith("{"):
        return _of_csv(path)
    lines = text.splitlines()
    if '"params":' in lines[0]:
        return _of_extra_p([documents.value(line, finite=False) for line in lines if line.strip()])
    whole = documents.value(text, finite=False)
    for key, reader in READERS.items():
        if key in whole and (key != "context" or "benchmarks" in whole):
            return reader(whole)
    raise ValueError


def _of_hyperfine(whole: Mapping[str, Any]) -> Iterator[Row]:
    for result in whole["results"]:
        codes = result.get("exit_codes") or [0] * len(result["times"])
        for k, (value, code) in enumerate(zip(result["times"], codes, strict=True), 1):
            yield _row(result["command"], "time", value, k) | dict(result.get("parameters", {})) | {"exit_code": code}


def _of_google(whole: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of Google Benchmark. Aggregates, and benchmarks that failed, are left out."""
    version = str(whole["context"].get("library_version", "0")).lstrip("v").split("-")[0]
    old = [int(part) for part in version.split(".")] < [1, 9]
    for one in whole["benchmarks"]:
        if one.get("run_type", "iteration") != "iteration" or one.get("error_occurred"):
            continue
        threads = int(one.get("threads", 1))
        if old and threads > 1:
            raise _RefusedError("Google Benchmark below 1.9 divides real_time by threads: measure with a newer one")
        if one["time_unit"] not in UNITS:
            raise _RefusedError(f"has times in {one['time_unit']!r}, which is none of {', '.join(UNITS)}")
        unit, k = UNITS[one["time_unit"]], int(one.get("repetition_index", 0)) + 1
        for metric, key in (("time", "real_time"), ("cpu_time", "cpu_time")):
            yield _row(one.get("run_name", one["name"]), metric, unit * one[key], k) | {"threads": threads}


def _of_pyperf(whole: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of pyperf. Its runs for calibration have no values."""
    common = whole.get("metadata", {})
    for benchmark in whole["benchmarks"]:
        said = common | benchmark.get("metadata", {})
        metric = {"second": "time", "byte": "bytes"}.get(said.get("unit", "second"), "value")
        values = [value for run in benchmark["runs"] for value in run.get("values", ())]
        yield from (_row(said["name"], metric, value, k) for k, value in enumerate(values, 1))


def _of_extra_p(lines: list[Mapping[str, Any]]) -> Iterator[Row]:
    seen: dict[str, int] = {}
    for line in lines:
        values = line["value"] if isinstance(line["value"], list) else [line["value"]]
        name, metric = line.get("callpath", "main"), line.get("metric", "time")
        key = json.dumps([name, metric, line["params"]])
        for value in values:
            seen[key] = seen.get(key, 0) + 1
            yield _row(name, metric, value, seen[key]) | dict(line["params"])


def _of_csv(path: Path) -> Iterator[Row]:
    import pandas as pd  # noqa: PLC0415

    table = pd.read_csv(path)
    column = next((name for name in VALUES if name in table), None)
    if column is None:
        raise _RefusedError(f"has none of the columns {', '.join(VALUES)}, one of which a CSV needs")
    for k, row in enumerate(table.to_dict("records"), 1):
        others = {str(name): value for name, value in row.items() if name not in (column, "name")}
        yield _row(str(row.get("name", path.stem)), "time", row[column], k) | others


def _row(name: str, metric: str, value: float, repetition: int) -> Row:
    if isinstance(value, bool) or not math.isfinite(value) or (value < 0 and metric.endswith("time")):
        raise _RefusedError(f"has {value!r}, which is no measured value")
    return {"name": name, "metric": metric, "value": float(value), "repetition": repetition}


READERS: dict[str, Callable[[Mapping[str, Any]], Iterator[Row]]] = {
    "results": _of_hyperfine,
    "context": _of_google,
    "benchmarks": _of_pyperf,
}
"""the reader of each tool's JSON, by a key that the tools before it in this table do not have"""
