# SPDX-License-Identifier: Apache-2.0
"""Counters of the kernel as metrics of every verb; one that is not here is said before anything is launched."""

import json
import os
import sys
from pathlib import Path

import pytest

from corescale.errors import CorescaleError, ExitCode
from corescale.observe.sources import counters
from support.commands import answered, corescale, refused

TOUCHES = "import mmap, sys; pages = int(sys.argv[1]); m = mmap.mmap(-1, pages * 4096); m[:] = bytes(pages * 4096)"


def _has(event: str) -> bool:
    try:
        os.close(counters.opened(event))
    except CorescaleError:
        return False
    return True


def _faults(pages: int, place: Path) -> float:
    place.mkdir()
    words = (
        "scan",
        "-t",
        "1",
        "--min-runs",
        "2",
        "--max-runs",
        "2",
        "--metric",
        "faults=counter:page-faults",
        "--json",
    )
    answered(corescale(*words, "--", sys.executable, "-c", TOUCHES, str(pages), cwd=place))
    (records,) = place.glob("corescale-runs/*/*/records.jsonl")
    found = [json.loads(line).get("metrics", {}) for line in records.read_text().splitlines()]
    return min(float(one["faults"]) for one in found if "faults" in one)


def test_page_faults_of_a_program_are_its_own(tmp_path: Path) -> None:
    """It touches each page of what it maps and of the bytes that fill it, or some of those by larger steps."""
    if not _has("page-faults"):
        pytest.skip("the kernel gives no counters here")
    more = _faults(4010, tmp_path / "more") - _faults(10, tmp_path / "few")
    assert 4000 <= more < 9000


@pytest.mark.parametrize("event", ["cycles", "instructions"])
def test_a_counter_that_is_not_here_is_said(event: str, tmp_path: Path) -> None:
    if _has(event):
        pytest.skip("this processor's counters may be read")
    done = corescale("scan", "-t", "1", "--metric", f"n=counter:{event}", "--", "true", cwd=tmp_path)
    refused(done, ExitCode.UNAVAILABLE, f"no counter '{event}' here")
    assert not list(tmp_path.glob("corescale-runs/*/*/records.jsonl"))


def test_an_event_that_nobody_knows_is_said(tmp_path: Path) -> None:
    done = corescale("scan", "-t", "1", "--metric", "n=counter:luck", "--", "true", cwd=tmp_path)
    refused(done, ExitCode.USAGE, "no counter 'luck'", "page-faults")
