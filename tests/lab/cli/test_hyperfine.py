# SPDX-License-Identifier: Apache-2.0
"""docs/hyperfine.md: what hyperfine takes is taken, or answered with our word for it."""

import os
import re
import shlex
from pathlib import Path

import pytest

from corescale.cli.usage_errors import HYPERFINE
from corescale.errors import ExitCode
from support.commands import ROOT, corescale, refused

TEXT = (ROOT / "docs" / "hyperfine.md").read_text(encoding="utf-8")

TAKEN = [
    ["-w", "1"],
    ["-r", "5"],
    ["-r=5"],
    ["-m", "5", "-M", "9"],
    ["-p", "true", "-C", "true", "-s", "true", "-c", "true"],
    ["-L", "n", "1,2"],
    ["-P", "n", "1", "3", "-D", "2"],
    ["-n", "one", "-N", "-i"],
    ["--input", "in", "--output", "out"],
    ["--show-output"],
    ["--export-json", "a.json", "--export-csv", "a.csv", "--export-markdown", "a.md"],
]


@pytest.mark.parametrize("words", TAKEN, ids=" ".join)
def test_what_is_taken(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "in").touch()
    done = corescale("compare", "--dry-run", *words, "sleep 0.0{n}" if "n" in words else "sleep 0.01", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr


SWITCHES = {"--shell": "--shell=bash", "--ignore-failure": "--ignore-failure=2", "-=": "-i=2"}
"""Options that are here too, and have no value."""


@pytest.mark.parametrize("option", HYPERFINE)
def test_what_is_not_taken_has_another_word(option: str, tmp_path: Path) -> None:
    typed = SWITCHES.get(option, option)
    refused(corescale("compare", typed, "x", "true", "true", cwd=tmp_path), ExitCode.USAGE, HYPERFINE[option])


EXAMPLES = re.findall(r"^\| `hyperfine (.+)` \| `corescale (.+)` \|$", TEXT, re.MULTILINE)


@pytest.mark.parametrize(("theirs", "ours"), EXAMPLES, ids=[theirs[:40] for theirs, _ in EXAMPLES])
def test_an_example_of_its_readme(theirs: str, ours: str, tmp_path: Path) -> None:
    """Ours can be launched; theirs, where it is another one, is refused with our word for it."""
    for program in ("gcc", "clang", "sudo", "hexdump", "xxd", "zsh", "make"):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    words, typed = (shlex.split(line.replace("\\|", "|")) for line in (ours, f"compare {theirs}"))
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = corescale(*words, "--dry-run", cwd=tmp_path, also={"PATH": path})
    assert done.returncode == ExitCode.OK, done.stderr
    if words != typed:
        refused(
            corescale(*typed, "--dry-run", cwd=tmp_path, also={"PATH": path}),
            ExitCode.USAGE,
            "-c" if "zsh" in ours else "runs once" if "--show-output" in theirs else "shell",
        )


def test_there_are_enough_examples() -> None:
    assert len([*EXAMPLES, *re.findall(r"^\| `", TEXT, re.MULTILINE)]) > 40 and len(EXAMPLES) == 19


def test_the_table_has_them() -> None:
    told = set(re.findall(r"^\| `(-+[\w-]+)", TEXT, re.MULTILINE))
    assert {"-S", "-u", "--style", "--reference"} <= told & set(HYPERFINE)
    for words in TAKEN:
        assert words[0][:2] in told or words[0].startswith("--"), words
