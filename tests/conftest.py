# SPDX-License-Identifier: Apache-2.0
"""No test writes into the checkout: a person's report.html and corescale-runs lie there."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CACHES = {".git", ".venv", "build", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"}
BEFORE = pytest.StashKey[dict[str, int]]()


def untracked() -> dict[str, int]:
    """Every file that git does not track, by the time when it was last written; not those of tools."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    tracked = {*listed.stdout.splitlines()}
    found = {}
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in CACHES and not name.endswith(".egg-info")]
        for name in files:
            path = Path(folder) / name
            if (local := str(path.relative_to(ROOT))) not in tracked:
                found[local] = path.lstat().st_mtime_ns
    return found


def pytest_sessionstart(session: pytest.Session) -> None:
    """The state before the first test; workers leave it to the process that started them."""
    if not hasattr(session.config, "workerinput"):
        session.config.stash[BEFORE] = untracked()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the session if a test wrote into the checkout."""
    before = session.config.stash.get(BEFORE, None)
    if before is not None and (written := sorted({*untracked().items()} - {*before.items()})):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        names = ", ".join(name for name, _ in written[:5])
        print(f"\nERROR: {len(written)} files were written into the checkout by tests: {names}")
