# SPDX-License-Identifier: Apache-2.0
"""Every launch as a line of CSV, for R, pandas and spreadsheets: all phases, failures included."""

import csv
import io

from corescale.records import Record
from corescale.show.result import Result

FIELDS = (
    "phase", "block", "order", "attempt", "started", "wall", "status", "exit_code", "user", "system",
    "effective_cores", "peak_memory", "peak_memory_kind", "tree_memory", "threads_asked", "oversubscribed", "origin",
)  # fmt: skip


def export(result: Result) -> str:
    """The CSV text: factor_NAME, then FIELDS (seconds, bytes), metric_NAME, noisy."""
    factors = list(dict.fromkeys(name for record in result.records for name, _ in record.configuration.levels))
    metrics = list(dict.fromkeys(name for record in result.records for name in record.metrics))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(f"factor_{name}" for name in factors), *FIELDS, *(f"metric_{m}" for m in metrics), "noisy"])
    for k, record in enumerate(result.records):
        writer.writerow([*_values(record, factors, metrics), _plain(k in result.noisy)])
    return text.getvalue()


def _values(record: Record, factors: list[str], metrics: list[str]) -> list[object]:
    levels = [record.configuration.get(name) for name in factors]
    return [*levels, *(_plain(getattr(record, name)) for name in FIELDS), *(record.metrics.get(m) for m in metrics)]


def _plain(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
