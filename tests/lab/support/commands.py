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
from support.ask import ask

ROOT = Path(__file__).parents[3]
SECONDS = 240
"""Time that a command may take."""


def corescale(
    *words: str, cwd: Path, also: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    """A process of its own, forked from one that has loaded the lab, which takes a second. `also`: variables."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err, Path(os.devnull).open() as nothing:
        files = {number: file.fileno() for number, file in enumerate((nothing, out, err))}
        code = ask(loaded(), words, str(cwd), {**_environment(), **also}, files)
        for stream in (out, err):
            stream.seek(0)
        return subprocess.CompletedProcess(words, code, out.read(), err.read())


def started(*words: str, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The same from the start, with what `subprocess.run` can do to a process."""
    command = [sys.executable, "-m", "corescale", *words]
    return subprocess.run(
        command, cwd=cwd, env=_environment(), capture_output=True, text=True, timeout=SECONDS, check=False, **options
    )


def typed(folder: Path, *, afresh: bool = False) -> Path:
    """A folder for PATH, in which `corescale` is this one: loaded once, or `afresh` each time, by its own process."""
    itself = f"{sys.executable} -m corescale"
    asking = f"{sys.executable} -IS {Path(__file__).with_name('ask.py')} {'' if afresh else loaded()}"
    (folder / "bin").mkdir()
    command = folder / "bin" / "corescale"
    command.write_text(f'#!/bin/sh\nexec {itself if afresh else asking} "$@"\n')
    command.chmod(0o755)
    return command.parent


@functools.cache
def loaded() -> str:
    """The socket of a loaded corescale, which ends with this process, however that ends."""
    at = f"{tempfile.mkdtemp(prefix='corescale-')}/socket"
    command = [sys.executable, str(Path(__file__).with_name("loaded.py")), at, str(SECONDS)]
    server = subprocess.Popen(command, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout is not None
    server.stdout.readline()
    _servers.append(server)
    return at


_servers: list["subprocess.Popen[bytes]"] = []
"""of this process: with the last reference their standard input would end"""


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
