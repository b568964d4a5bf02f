# SPDX-License-Identifier: Apache-2.0
"""The command line as a person calls it, and as it refuses."""

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from corescale.errors import ExitCode

ROOT = Path(__file__).parents[3]
SECONDS = 240
"""Time that a command may take."""


def corescale(
    *words: str, cwd: Path, also: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    """A process of its own, forked from one that has loaded the lab, which takes a second. `also`: variables."""
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
        asked = {
            "words": words,
            "cwd": str(cwd),
            "environment": {**_environment(), **also},
            "out": out.name,
            "err": err.name,
        }
        server = _server()
        assert server.stdin and server.stdout
        server.stdin.write(f"{json.dumps(asked)}\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        return subprocess.CompletedProcess(words, code, out.read(), err.read())


def started(*words: str, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The same from the start, with what `subprocess.run` can do to a process."""
    command = [sys.executable, "-m", "corescale", *words]
    return subprocess.run(
        command, cwd=cwd, env=_environment(), capture_output=True, text=True, timeout=SECONDS, check=False, **options
    )


@functools.cache
def _server() -> "subprocess.Popen[str]":
    command = [sys.executable, str(Path(__file__).with_name("loaded.py")), str(SECONDS)]
    return subprocess.Popen(command, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "110"}


def answered(done: subprocess.CompletedProcess[str]) -> None:
    """It ended well: with an answer, or saying that few launches decide nothing, as those of a test may not."""
    assert done.returncode in (ExitCode.OK, ExitCode.INCONCLUSIVE), done.stderr
    found = json.loads(done.stdout)["headline"] if done.stdout.startswith("{") else done.stdout.splitlines()[0]
    assert ("not decided" in found) == (done.returncode == ExitCode.INCONCLUSIVE), done.stdout


def refused(done: subprocess.CompletedProcess[str], code: ExitCode, *says: str) -> None:
    """One line on stderr (progress notes aside), the documented exit code, no traceback."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    complaint = [line for line in done.stderr.splitlines() if line.startswith("corescale: ")]
    assert len(complaint) == 1, done.stderr
    for text in says:
        assert text in complaint[0]
