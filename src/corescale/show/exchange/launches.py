# SPDX-License-Identifier: Apache-2.0
"""Exports every launch: as CSV or Parquet for R, pandas and DuckDB, or as JSON lines for Extra-P."""

import json
import math
from collections.abc import Iterator, Mapping

from corescale.records import Record
from corescale.show.exchange import csv
from corescale.show.result import Result

FIELDS = (
    "phase", "block", "order", "attempt", "started", "wall", "status", "exit_code", "user", "system", "cpu_kind",
    "effective_cores", "peak_memory", "peak_memory_kind", "tree_memory", "threads_asked", "oversubscribed", "origin",
)  # fmt: skip


def records(result: Result) -> str:
    """CSV of all phases, failures included: factor_NAME, then FIELDS (seconds, bytes), metric_NAME, noisy."""
    heads, rows = _table(result)
    return csv.written(heads, rows)


def parquet(result: Result) -> bytes:
    """Parquet with the columns of `records` and their types; a factor with a word is text. Needs pyarrow."""
    import pandas as pd  # noqa: PLC0415  takes a third of a second to load

    heads, rows = _table(result)
    table = pd.DataFrame(rows, columns=heads)
    for name in (head for head in heads if table[head].map(lambda value: isinstance(value, str)).any()):
        table[name] = table[name].map(str, na_action="ignore")
    return bytes(table.to_parquet(engine="pyarrow", index=False))


def _table(result: Result) -> tuple[list[str], list[list[object]]]:
    factors = list(dict.fromkeys(name for record in result.records for name, _ in record.configuration.levels))
    metrics = list(dict.fromkeys(name for record in result.records for name in record.metrics))
    heads = [*(f"factor_{name}" for name in factors), *FIELDS, *(f"metric_{m}" for m in metrics), "noisy"]
    return heads, [[*_values(record, factors, metrics), k in result.noisy] for k, record in enumerate(result.records)]


def _values(record: Record, factors: list[str], metrics: list[str]) -> list[object]:
    levels = [record.configuration.get(name) for name in factors]
    return [*levels, *(getattr(record, name) for name in FIELDS), *(record.metrics.get(m) for m in metrics)]


def extra_p(result: Result) -> str:
    """A JSON line for each successful launch, with p and every numeric factor; levels that are words form the call
    path.

    `time` is the response. Extra-P models growth, but the time of constant work shrinks with p, so there is also
    `core_seconds`, which is p T.
    """
    lines = (line for record in result.records for line in _lines(result, record))
    return "".join(f"{json.dumps(line, allow_nan=False)}\n" for line in lines)


def _lines(result: Result, record: Record) -> Iterator[Mapping[str, object]]:
    value = record.response(result.experiment.response)
    if record.phase != "measure" or not record.ok or not math.isfinite(value):
        return
    p, makes_p = record.configuration.layout.p, result.experiment.makes_p
    levels = {name: level for name, level in record.configuration.levels if name not in makes_p}
    numbers = {"p": p} | {name: level for name, level in levels.items() if not isinstance(level, str)}
    words = [f"{name}={level}" for name, level in levels.items() if isinstance(level, str)]
    path = result.named(" ".join(words) or "main", record.configuration)
    for metric, amount in (("time", value), ("core_seconds", p * value)):
        yield {"params": numbers, "callpath": path, "metric": metric, "value": amount}
