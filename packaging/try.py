# SPDX-License-Identifier: Apache-2.0
"""An installed corescale does its work: its Python, its programs, and what it preloads.

    python packaging/try.py [FOLDER]      in an empty folder, by default a temporary one

Every way of installing it ends with this file. It needs no shell, and no file of the repository.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

INCONCLUSIVE = 3
UNIT_TASK = ["unit_task", "--repeat-for", "60", "--threads", "{threads}"]


def corescale(*words: str) -> str:
    """What it prints; ends this program if it fails. Few launches may decide nothing."""
    beside = Path(sys.executable).with_name("corescale")
    command = [str(beside)] if beside.is_file() else [shutil.which("corescale") or "corescale"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, INCONCLUSIVE):
        sys.exit(f"corescale {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    print(corescale("--version"), end="")
    assert "ant_colony" in corescale("doctor"), "the bundled programs are missing"
    scan = json.loads(
        corescale("scan", "-q", "--json", "-t", "1,2", "-r", "2", "--report", "report.html", "--", *UNIT_TASK)
    )
    print(scan["headline"])
    levels = "--factor=allocator=system,corescale"
    preloaded = json.loads(corescale("tune", "-q", "--json", levels, "--budget", "16x", "--", *UNIT_TASK[:3]))
    print(preloaded["headline"])
    print(corescale("explain", "-q", "-t", "1,2", "--no-swap", "--budget", "10s", "--", *UNIT_TASK).splitlines()[0])
    assert "<svg" in Path("report.html").read_text(encoding="utf-8"), "the report has no chart"
    assert len(corescale("study", "list").splitlines()) > 10, "the studies are missing"


if __name__ == "__main__":
    main()
