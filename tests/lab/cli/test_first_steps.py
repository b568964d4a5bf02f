# SPDX-License-Identifier: Apache-2.0
"""docs/first_steps.md: every command runs, ends well, and begins as it is shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

from support.commands import ROOT, SECONDS

TEXT = (ROOT / "docs" / "first_steps.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n\$ (.*?)\n(.*?)```", TEXT, re.DOTALL)
NUMBER = re.compile(r"[0-9][0-9.]*( (ms|us|s)\b)?")


def shape(line: str) -> str:
    """A line without its figures, up to `...`."""
    return NUMBER.sub("N", line.split("...", maxsplit=1)[0])


def test_every_command_gives_the_line_that_is_shown(tmp_path: Path) -> None:
    """In their order and in one folder, as a person types them."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "corescale").write_text(f'#!/bin/sh\nexec {sys.executable} -m corescale "$@"\n')
    (tmp_path / "bin" / "corescale").chmod(0o755)
    (program,) = re.findall(r"```c\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "series.c").write_text(program)
    own = {name: value for name, value in os.environ.items() if not name.endswith(("_NUM_THREADS", "MAXPROCS"))}
    environment = own | {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "120",
    }  # fmt: skip
    assert len(BLOCKS) == 11
    for command, shown in BLOCKS:
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        first = (done.stdout.splitlines() or [""])[0]
        code = 3 if re.search("tune|--gate", command) and unsure(first, done.stdout) else 0
        assert done.returncode == code, (command, done.stdout, done.stderr)
        told = shape(first).startswith(shape(shown.split("\n")[0]))
        assert told or (re.match(".*corescale ", command) and undecided(first)), (command, first)


def unsure(first: str, said: str) -> bool:
    """A machine that others use may decide nothing."""
    return bool(re.match("not decided|no answer", first)) or "gate inconclusive" in said


def undecided(first: str) -> bool:
    """It may not tell two and one threads apart either, nor two times to sleep."""
    return bool(
        re.match(
            r"no speedup over p=1 shown|2 threads: |never faster|asked for 2 threads|\d.* faster than today's|keep|"
            r"no answer|not decided|no difference shown: sleep|sleep .* is .* (faster|slower) than sleep",
            first,
        )
    )
