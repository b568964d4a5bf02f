# SPDX-License-Identifier: Apache-2.0
"""What scripts/generate writes for man and shells."""

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import typer

from corescale.cli.app import app

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "generate"


def verbs() -> list[tuple[str, Any]]:
    """The verbs that measure or answer by their path, `study run` among them; each a command of click's kind."""
    found: list[tuple[str, Any]] = []
    open_: list[tuple[str, Any]] = [("", typer.main.get_command(app))]
    while open_:
        path, command = open_.pop()
        command = getattr(command, "loaded", command)
        open_ += [(f"{path} {name}".strip(), verb) for name, verb in getattr(command, "commands", {}).items()]
        if path and not hasattr(command, "commands"):
            found.append((path, command))
    return found


@functools.cache
def share() -> Path:
    """What scripts/generate writes."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    subprocess.run([sys.executable, SCRIPT, folder], env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, check=True)
    return folder / "share"


def rendered() -> str:
    groff = shutil.which("groff") or pytest.skip("groff is not installed")
    made = subprocess.run(
        [groff, "-man", "-Tascii", "-P-cbou", "-rLL=500n", "-ww", str(share() / "man/man1/corescale.1")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert made.stderr == ""
    return made.stdout


@pytest.mark.parametrize(("path", "verb"), verbs(), ids=[path for path, _ in verbs()])
def test_the_manual_page_has_every_option_of_every_verb(path: str, verb: Any) -> None:
    text = (share() / "man/man1/corescale.1").read_text()
    section = text.replace("\\-", "-").split(f"\n.SH CORESCALE {path.upper()}\n")[1].split("\n.SH ")[0]
    for parameter in verb.params:
        if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False):
            assert all(name in section for name in parameter.opts), f"{path}: {parameter.opts}"


def test_the_verbs_of_the_page_have_options() -> None:
    assert len([path for path, verb in verbs() if len(verb.params) > 5]) >= 6


def test_the_manual_page_is_read_by_groff_without_a_word() -> None:
    page = rendered()
    assert "CORESCALE SCAN" in page and "--allocators auto|A,B" in page


def bash_completes(words: list[str]) -> list[str]:
    script = f"""
        source {share() / "bash-completion/completions/corescale"}
        COMP_WORDS=({" ".join(words)} '') COMP_CWORD={len(words) - 1}
        _corescale_completion {Path(sys.executable).with_name("corescale")}
        printf '%s\\n' "${{COMPREPLY[@]}}" """
    made = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return made.stdout.split()


def test_bash_completes_verbs_and_options() -> None:
    assert bash_completes(["corescale", "sc"]) == ["scan"]
    assert bash_completes(["corescale", "scan", "--allocator"]) == ["--allocators"]


@pytest.mark.parametrize(
    ("shell", "file"), [("zsh", "zsh/site-functions/_corescale"), ("fish", "fish/vendor_completions.d/corescale.fish")]
)
def test_other_shells_read_their_file(shell: str, file: str) -> None:
    program = shutil.which(shell) or pytest.skip(f"{shell} is not installed")
    line = [program, "-n", str(share() / file)]
    made = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (made.returncode, made.stderr) == (0, "")
