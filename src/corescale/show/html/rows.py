# SPDX-License-Identifier: Apache-2.0
"""The page's table: every configuration with its columns and what must be marked beside its name."""

from collections.abc import Iterator
from typing import Any

from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Row
from corescale.records import Configuration
from corescale.show import columns
from corescale.show.naming import label, raw
from corescale.show.result import Result


def table(result: Result) -> dict[str, Any]:
    """Head of the first column, the columns, and a row for each configuration."""
    every = columns.of(result)
    return {
        "head": "command" if isinstance(result.conclusion, tuple) else "configuration",
        "columns": every.columns,
        "rows": [
            {
                "kind": _kind(result, configuration, row),
                "name": label(configuration).removeprefix("command="),
                "raw": raw(configuration),
                "roles": list(_roles(result, configuration)),
                "alarms": [*result.labels(configuration), *_alarms(row)],
                "cells": list(every.cells(configuration)),
            }
            for configuration, row in every.rows.items()
        ],
    }


def _kind(result: Result, configuration: Configuration, row: Any) -> str:
    found = result.conclusion
    if not isinstance(found, Recommendation):
        return ""
    return "chosen" if configuration == found.chosen else "excluded" if row.excluded else ""


def _roles(result: Result, configuration: Configuration) -> Iterator[str]:
    found = result.conclusion
    if isinstance(found, Recommendation):
        roles = {"use this": found.chosen, "today": found.today}
        yield from (role for role, chosen in roles.items() if chosen == configuration)
    if isinstance(found, tuple) and configuration == found[0].reference:
        yield "reference"


def _alarms(row: Any) -> Iterator[str]:
    if isinstance(row, Row) and row.idle:
        yield f"asked for {row.p}, used {row.effective_cores:.1f}"
    if isinstance(row, Row) and row.failures:
        yield f"{row.failures} of {row.launches} failed"
