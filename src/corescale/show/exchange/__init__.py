# SPDX-License-Identifier: Apache-2.0
"""Exports for other programs. A new format needs a file and a line in EXPORTERS; the tests loop over that table."""

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
"""json, csv and markdown are hyperfine's formats. records has a line for each launch."""


def content(form: str, target: str, result: Result) -> str | bytes:
    """The content of the file: the exporter's text, or Parquet for records if the file name asks for it."""
    return launches.parquet(result) if form == "records" and target.endswith(PARQUET) else EXPORTERS[form](result)
