# SPDX-License-Identifier: Apache-2.0
"""The command line as a person calls it, and as it refuses."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from corescale.errors import ExitCode

ROOT = Path(__file__).parents[3]


def corescale(*words: str, cwd: Path, preexec_fn: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "corescale", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "110"},
        preexec_fn=preexec_fn,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def answered(done: subprocess.CompletedProcess[str]) -> None:
    """It ended well: with an answer, or saying that few launches decide nothing, as those of a test may not."""
    assert done.returncode in (ExitCode.OK, ExitCode.INCONCLUSIVE), done.stderr
    assert ("not decided" in done.stdout) == (done.returncode == ExitCode.INCONCLUSIVE), done.stdout


def refused(done: subprocess.CompletedProcess[str], code: ExitCode, *says: str) -> None:
    """One line on stderr (progress notes aside), the documented exit code, no traceback."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    complaint = [line for line in done.stderr.splitlines() if line.startswith("corescale: ")]
    assert len(complaint) == 1, done.stderr
    for text in says:
        assert text in complaint[0]
