# SPDX-License-Identifier: Apache-2.0
"""Every launch as a line of CSV or a row of Parquet, for R, pandas and DuckDB: all phases, failures included."""

from corescale.records import Record
from corescale.show.exchange import csv
from corescale.show.result import Result

FIELDS = (
    "phase", "block", "order", "attempt", "started", "wall", "status", "exit_code", "user", "system",
    "effective_cores", "peak_memory", "peak_memory_kind", "tree_memory", "threads_asked", "oversubscribed", "origin",
)  # fmt: skip


def export(result: Result) -> str:
    """The CSV text: factor_NAME, then FIELDS (seconds, bytes), metric_NAME, noisy."""
    heads, rows = _table(result)
    return csv.written(heads, (map(_plain, row) for row in rows))


def parquet(result: Result) -> bytes:
    """The same columns with their types; levels of which some are words are all words. Needs pyarrow."""
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


def _plain(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
