# SPDX-License-Identifier: Apache-2.0
"""docs/python.md: its examples run in their order, in a fresh Python, and mypy accepts them."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import ROOT, SECONDS

TEXT = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page") / "page.py"
    made.with_name("data").write_bytes(random.Random(1).randbytes(200_000))
    made.write_text("\n".join(BLOCKS))
    return made


def test_the_examples_run(script: Path) -> None:
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=script.parent, env=own | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {"both.png", "line.png", "report.html", "why.html", "corescale-runs"} <= {
        path.name for path in script.parent.iterdir()
    }
    assert "did you mean threads?" in done.stdout


def test_the_examples_are_typed(script: Path) -> None:
    """But the misspelt keyword, which mypy refuses. With the options and the cache of scripts/check."""
    text = script.read_text().replace("thread=[1, 2]", "threads=[1, 2]")
    typed = script.with_name("typed.py")
    typed.write_text(text)
    command = [sys.executable, "-m", "mypy", str(typed)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout


def test_there_are_eight_examples() -> None:
    assert len(BLOCKS) == 8
