# SPDX-License-Identifier: Apache-2.0
"""The reason of a failure is what the program said, not the place where it happened: real output of fifty programs."""

import re
from pathlib import Path

import pytest

from corescale.declare.plan import Block, invocations
from corescale.endings import ending, telling
from corescale.records import Configuration

REASONS = Path(__file__).parent / "fixtures/reasons.txt"
REAL = re.findall(r"^\$ (.*)\n((?:(?:  .*)?\n)+)> (.*)$", REASONS.read_text(), re.MULTILINE)
RULER = f"{'-' * 74}\n"


def said(tail: str) -> str:
    (launch,) = invocations(Block("measure", (only := Configuration(),)), 0, 0, only, 1, None)
    return ending(launch.record("x", started=0.0, wall=1.0, status="failed", exit_code=1, tail=tail))


@pytest.mark.parametrize(("command", "printed", "reason"), REAL, ids=[command for command, _, _ in REAL])
def test_the_reason_is_what_was_said(command: str, printed: str, reason: str) -> None:
    tail = "".join(line.removeprefix("  ") for line in printed.splitlines(keepends=True))
    assert said(tail) == f"failed with exit code 1: {reason.rstrip('.')[:200]}{'...' * (len(reason) > 200)}", command


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        ("error = 1.2e-5 after 20 steps\nrelative error: 0.3\nthe mesh is broken\n", "the mesh is broken"),
        ("warning: cannot pin threads\nmesh.dat: no such file\nTotal time 3 s\n", "mesh.dat: no such file"),
        ("residual 3\ngrid: 5 cells too many\nbye\n", "grid: 5 cells too many"),
        ("step(3) of solve(mesh)\n", "step(3) of solve(mesh)"),
        ("\tat F.main(F.java:1)\n", "at F.main(F.java:1)"),
        (f"{RULER}There are no\nslots.\n\nAsk for fewer.\n{RULER}", "There are no slots"),
    ],
)
def test_figures_warnings_and_closing_words_are_no_reason(tail: str, reason: str) -> None:
    assert said(tail) == f"failed with exit code 1: {reason}"


def test_the_output_that_names_an_error_is_told_of() -> None:
    notice, reason = "Picked up JAVA_TOOL_OPTIONS: -Xmx1k\n", "Error occurred during initialization of VM\n"
    assert telling(notice, reason) == reason
    assert telling(notice, "step 1\n") == notice
    assert telling("", "step 1\n") == "step 1\n"
    assert telling("no such file\n", reason) == "no such file\n"
    assert telling("", "") == ""
