# SPDX-License-Identifier: Apache-2.0
"""What comes with the wheel beside the command: its manual page, and words that shells complete."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from corescale.cli.app import app

SHARE = Path(__file__).parents[3] / "share"
PAGE = SHARE / "corescale.1"


def verbs() -> list[tuple[str, Any]]:
    """The verbs that measure or answer by their path, `study run` among them; each a command of click's kind."""
    found: list[tuple[str, Any]] = []
    open_: list[tuple[str, Any]] = [("", typer.main.get_command(app))]
    while open_:
        path, command = open_.pop()
        open_ += [(f"{path} {name}".strip(), verb) for name, verb in getattr(command, "commands", {}).items()]
        if path and not hasattr(command, "commands"):
            found.append((path, command))
    return found


def rendered() -> str:
    groff = shutil.which("groff") or pytest.skip("groff is not installed")
    made = subprocess.run(
        [groff, "-man", "-Tascii", "-P-cbou", "-rLL=500n", "-ww", str(PAGE)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert made.stderr == ""
    return made.stdout


@pytest.mark.parametrize(("path", "verb"), verbs(), ids=[path for path, _ in verbs()])
def test_the_manual_page_has_every_option_of_every_verb(path: str, verb: Any) -> None:
    """What is missing is written by scripts/manual."""
    section = PAGE.read_text().replace("\\-", "-").split(f"\n.SH CORESCALE {path.upper()}\n")[1].split("\n.SH ")[0]
    for parameter in verb.params:
        if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False):
            assert all(name in section for name in parameter.opts), f"{path}: {parameter.opts}: run scripts/manual"


def test_the_manual_page_is_read_by_groff_without_a_word() -> None:
    page = rendered()
    assert "CORESCALE SCAN" in page and "--allocators auto|A,B" in page


def test_the_wheel_installs_all_of_it() -> None:
    """Where man and shells look: a file of share/ that the build does not name is in nobody's installation."""
    built = (SHARE.parent / "CMakeLists.txt").read_text()
    files = [file for file in SHARE.rglob("*") if file.is_file()]
    assert len(files) >= 4
    assert all(f"install(FILES {file.relative_to(SHARE.parent)} " in built for file in files), files


def bash_completes(words: list[str]) -> list[str]:
    script = f"""
        source {SHARE / "completions" / "corescale.bash"}
        COMP_WORDS=({" ".join(words)} '') COMP_CWORD={len(words) - 1}
        _corescale_completion {Path(sys.executable).with_name("corescale")}
        printf '%s\\n' "${{COMPREPLY[@]}}" """
    made = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return made.stdout.split()


def test_bash_completes_verbs_and_options() -> None:
    assert bash_completes(["corescale", "sc"]) == ["scan"]
    assert bash_completes(["corescale", "scan", "--all"]) == ["--allocators"]


@pytest.mark.parametrize(("shell", "file"), [("zsh", "_corescale"), ("fish", "corescale.fish")])
def test_other_shells_read_their_file(shell: str, file: str) -> None:
    program = shutil.which(shell) or pytest.skip(f"{shell} is not installed")
    line = [program, "-n", str(SHARE / "completions" / file)]
    made = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (made.returncode, made.stderr) == (0, "")
