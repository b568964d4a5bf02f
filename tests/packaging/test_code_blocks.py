# SPDX-License-Identifier: Apache-2.0
"""Every block of code in the pages is checked: by running it, where a test of its own does, and at least by reading it.

Recorded results (docs/results) are what was printed once, and runtime/README.md is compared with its compiled examples.
"""

import ast
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from markdown_it import MarkdownIt

from corescale.cli.app import app
from corescale.declare.programs import WORKLOADS
from support.commands import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    (page.relative_to(ROOT), token.map[0] + 1, token.info, token.content)
    for page in PAGES
    for token in MarkdownIt("commonmark").parse(page.read_text())
    if token.type == "fence" and token.map
]
EXAMPLES = "\n".join(path.read_text() for path in (ROOT / "runtime" / "examples").rglob("*.*"))
RUN_WHOLE = {Path("docs/first_steps.md"): "tests/lab/cli/test_first_steps.py"}
"""Pages of which a test compiles and runs each block."""


def commands(text: str) -> list[str]:
    """What a console shows behind its prompts, or every line of a script; lines that end with a backslash go on."""
    text = text.replace("\\\n", " ")
    prompts = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
    return prompts or text.splitlines()


def words(line: str) -> list[list[str]]:
    """Each simple command of a line, without the variables before it and what is left out as `...`."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= {*"&|;"}:
            found.append([])
        elif word != "..." and (found[-1] or "=" not in word or word.startswith("-")):
            found[-1].append(word)
    return [one for one in found if one]


def shell(text: str, page: Path) -> None:
    """bash can read it, corescale knows each verb and option, and bundled programs and scripts theirs."""
    for line in commands(text):
        done = subprocess.run(
            ["bash", "-n"], input=re.sub(r"<([\w ]+)>", r"\1", line), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (page, done.stderr)
        for program, *given in words(line):
            name = Path(program).name
            if name == "corescale" and given:
                parsed(given)
            elif name in WORKLOADS:
                known = subprocess.run(
                    [ROOT / "build" / "release" / "workloads" / name / name, "--help"],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                asked = {word.partition("=")[0] for word in given if word.startswith("--")}
                assert not [word for word in asked if not re.search(rf"{word}\b", known.stdout)], line
            elif program.startswith(("scripts/", "benchmarks/")):
                assert (ROOT / program).is_file(), line


def parsed(given: list[str]) -> None:
    """Raises UsageError, as corescale itself does, for a verb or an option that is not there."""
    group: Any = typer.main.get_command(app)
    with group.make_context("corescale", [*given], resilient_parsing=True) as context:
        name, verb, rest = group.resolve_command(context, [*given])
        assert verb is not None
        verb.make_context(name, rest, parent=context, resilient_parsing=False).close()


def python(text: str, page: Path) -> None:
    """It can be read; tests/lab/api/test_python_page.py and tests/runtime/test_region.py run these."""
    ast.parse(text)
    assert page.name in ("python.md", "region.md")


def compiled(text: str, page: Path) -> None:
    """It is in an example that the tests build, but for indentation."""
    assert page in RUN_WHOLE or squeezed(text) in squeezed(EXAMPLES)


def squeezed(text: str) -> str:
    return " ".join(text.split())


CHECKS: dict[str, Callable[[str, Path], object]] = {
    "sh": shell,
    "console": shell,
    "toml": lambda text, _: tomllib.loads(text),
    "yaml": lambda text, _: yaml.safe_load(text),
    "python": python,
    "c": compiled,
    "cpp": compiled,
    "fortran": compiled,
    "text": lambda text, _: None,
}
"""What is asked of a block, by its language. A text is what a program printed, or the layout of a folder."""


@pytest.mark.parametrize(("page", "line", "language", "text"), BLOCKS, ids=[f"{b[0]}:{b[1]}" for b in BLOCKS])
def test_a_block_is_what_it_says(page: Path, line: int, language: str, text: str) -> None:
    assert language in CHECKS, f"{page}:{line}: name the language of this block"
    CHECKS[language](text, page)


def test_there_are_many_and_few_are_plain_text() -> None:
    assert len(BLOCKS) > 60
    assert sum(language == "text" for _, _, language, _ in BLOCKS) <= 6


def test_what_is_wrong_is_seen() -> None:
    for line in ("corescale scan --thread 2 -- x", "corescale scam -- x", "ant_colony --ant 3", "scripts/gone", "if"):
        try:
            shell(line, Path("x"))
        except Exception as refused:
            assert isinstance(refused, AssertionError) or "no such" in str(refused).lower(), refused
        else:
            pytest.fail(line)
