# SPDX-License-Identifier: Apache-2.0
"""Tries: a line that somebody types, its exit code, and how the first line of the answer begins (a regular expression).

Each line goes through a shell, in which `corescale` is this one. The first line is that of standard output; where
nothing is there, what corescale says on standard error. The lines of a table follow each other in one folder, behind
the line FIRST of its file, which makes what several of them read. The tables are several files, as the tests of a file
run in one process.
"""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.commands import ROOT, SECONDS

Try = tuple[str, int, str]


def each(table: Sequence[Try]) -> pytest.MarkDecorator:
    """A test for each try of a table; no two are the same."""
    lines = [line for line, _, _ in table]
    assert len(set(lines)) == len(lines)
    return pytest.mark.parametrize(("line", "code", "first"), table, ids=[line[:60] for line in lines])


def done(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The line in a shell, in that folder."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "COLUMNS": "100",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def must_be(line: str, code: int, first: str, folder: Path) -> None:
    """The try, in that folder; whatever came of it, no traceback and one line of complaint at most."""
    ended = done(line, folder)
    said = [each for each in ended.stderr.splitlines() if each.startswith("corescale: ")]
    begins = (ended.stdout.splitlines() or said or [""])[0]
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert re.match(first, begins), begins
    assert "Traceback" not in ended.stderr
    assert len(said) <= 1
