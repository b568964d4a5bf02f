# SPDX-License-Identifier: Apache-2.0
"""Results for other programs. A new format is one file and one line in EXPORTERS; the tests loop over the table."""

from collections.abc import Callable

from corescale.show.exchange import ci, csv, hyperfine, launches, markdown
from corescale.show.exchange.result_json import schema, to_dict, to_json
from corescale.show.files import PARQUET
from corescale.show.result import Result

__all__ = [
    "EXPORTERS",
    "content",
    "schema",
    "to_dict",
    "to_json",
]

EXPORTERS: dict[str, Callable[[Result], str]] = {
    "json": hyperfine.export,
    "csv": csv.export,
    "markdown": markdown.export,
    "records": launches.records,
    "bencher": ci.bencher,
    "github": ci.github,
    "junit": ci.junit,
    "extrap": launches.extra_p,
}
"""json, csv, markdown: what hyperfine's users expect from --export-NAME. records: every launch, a line each."""


def content(form: str, target: str, result: Result) -> str | bytes:
    """What goes into the file: an exporter's text, or Parquet for records in a file of that name."""
    return launches.parquet(result) if form == "records" and target.endswith(PARQUET) else EXPORTERS[form](result)
