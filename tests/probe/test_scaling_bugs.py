# SPDX-License-Identifier: Apache-2.0
"""Published scaling bugs, diagnosed by the command alone: the row and the call site that their fixes name."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from corescale import native
from corescale.errors import ExitCode
from support.commands import corescale
from support.profiles import undisturbed

PROGRAM = str(native.find("scaling_bugs"))
NO_LOSS = ("computing", "waiting for a core", "unattributed")
"""rows that are no cause in the program"""
BUGS = [
    ("arenas", "allocating", "run_test_case"),
    ("statistics", "inflated computing", "count_queries"),
    ("small-sorts", "barrier and join wait", "sort_in_parallel"),
    ("logging", "lock wait", "log_message"),
    ("chunks", "absent (serial)", "merge_chunks"),
]
TRIES = 4


def explained(folder: Path, bug: str) -> dict[str, Any]:
    """On cores of its own, where that is allowed."""
    with undisturbed() as first:
        line = (*first, PROGRAM, bug, "{threads}")
        done = corescale("explain", "--json", "--no-swap", "-t", "1,2", "--budget", "20s", "--", *line, cwd=folder)
    assert done.returncode == ExitCode.OK, done.stderr
    return dict(json.loads(done.stdout))


def diagnosed(shown: dict[str, Any]) -> tuple[str, str]:
    """The row in which most is lost, and its first place: where it computes, for a row that has no places."""
    lost = {name: row for name, row in shown["rows"].items() if name not in NO_LOSS}
    name = max(lost, key=lambda one: float(lost[one]["seconds"]))
    sites = lost[name]["sites"] or shown["rows"]["computing"]["sites"]
    return name, sites[0]["place"] if sites else ""


@pytest.mark.parametrize(("bug", "row", "place"), BUGS)
def test_the_row_and_the_place_are_those_of_the_fix(bug: str, row: str, place: str, tmp_path: Path) -> None:
    """In one of some launches, since other programs disturb them."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")
    for _ in range(TRIES):
        found = diagnosed(explained(tmp_path, bug))
        if found[0] == row and place in found[1]:
            return
    assert found == (row, place)
