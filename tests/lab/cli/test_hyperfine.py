# SPDX-License-Identifier: Apache-2.0
"""docs/hyperfine.md: what hyperfine takes is taken, or answered with our word for it."""

import re
from pathlib import Path

import pytest

from corescale.cli.mistakes import HYPERFINE
from corescale.errors import ExitCode
from support.commands import ROOT, corescale, refused

TAKEN = [
    ["-w", "1"],
    ["-r", "5"],
    ["-m", "5", "-M", "9"],
    ["-p", "true", "-C", "true", "-s", "true", "-c", "true"],
    ["-L", "n", "1,2"],
    ["-P", "n", "1", "3", "-D", "2"],
    ["-n", "one", "-N", "-i"],
    ["--input", "in", "--output", "out"],
    ["--export-json", "a.json", "--export-csv", "a.csv", "--export-markdown", "a.md"],
]


@pytest.mark.parametrize("words", TAKEN, ids=" ".join)
def test_what_is_taken(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "in").touch()
    done = corescale("compare", "--dry-run", *words, "sleep 0.0{n}" if "n" in words else "sleep 0.01", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr


@pytest.mark.parametrize("option", HYPERFINE)
def test_what_is_not_taken_has_another_word(option: str, tmp_path: Path) -> None:
    refused(corescale("compare", option, "x", "true", "true", cwd=tmp_path), ExitCode.USAGE, HYPERFINE[option])


def test_the_table_has_them() -> None:
    text = (ROOT / "docs" / "hyperfine.md").read_text()
    told = set(re.findall(r"^\| `(-+[\w-]+)", text, re.MULTILINE))
    assert {"-S", "-u", "--style", "--reference", "--show-output"} <= told & set(HYPERFINE)
    for words in TAKEN:
        assert words[0] in told or words[0] == "--export-json", words
