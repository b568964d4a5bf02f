# SPDX-License-Identifier: Apache-2.0
"""Env reads: which variables a program asks for, of those that it was told of, and nothing else changed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from corescale import native

ASKS = "import ctypes as c; g = c.CDLL(None).{0}; g.restype = c.c_char_p; print(g(b'{1}'))"


def detected(folder: Path, *argv: str, known: str = "AB,A", **variables: str) -> tuple[list[str], str]:
    """The names in the log, sorted, and what the program said."""
    (folder / "asked.log").touch()
    environment = {"LD_PRELOAD": str(native.library("libcorescale_env_reads.so")), "CORESCALE_KNOWN": known}
    environment |= {"CORESCALE_ENV_READS": str(folder), **variables}
    done = subprocess.run(argv, env=os.environ | environment, capture_output=True, text=True, check=True, timeout=60)
    lines = (folder / "asked.log").read_text().splitlines()
    assert not done.stderr
    return sorted(line for line in lines if not line.startswith("/")), done.stdout.strip()


@pytest.mark.parametrize("function", ["getenv", "secure_getenv"])
def test_a_variable_that_is_asked_for_is_noted_and_answered(function: str, tmp_path: Path) -> None:
    asks = [sys.executable, "-c", ASKS.format(function, "A")]
    assert detected(tmp_path, *asks, A="3=4") == (["A"], "b'3=4'")


def test_one_that_is_not_set_is_noted_too_and_an_unknown_one_is_not(tmp_path: Path) -> None:
    assert detected(tmp_path, sys.executable, "-c", ASKS.format("getenv", "AB")) == (["AB"], "None")
    (tmp_path / "other").mkdir()
    assert detected(tmp_path / "other", sys.executable, "-c", ASKS.format("getenv", "ABC"), ABC="1") == ([], "b'1'")


def test_every_process_of_the_tree_is_detected_and_the_copy_of_python_is_not(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", ASKS.format("getenv", "A")]
    inner = f"import os, subprocess; os.environ.get('AB'); subprocess.run({argv!r})"
    assert detected(tmp_path, "sh", "-c", f'{sys.executable} -c "$SCRIPT"', SCRIPT=inner) == (["A"], "None")


def test_the_objects_that_the_loader_mapped_are_told(tmp_path: Path) -> None:
    detected(tmp_path, "true")
    assert any(Path(line).name.startswith("libc.") for line in (tmp_path / "asked.log").read_text().splitlines())
