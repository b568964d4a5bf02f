# SPDX-License-Identifier: Apache-2.0
"""`--version` says which commit and which build this is."""

import re
import subprocess
import sys
from pathlib import Path

from corescale import build
from support.commands import ROOT, corescale


def git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout.strip()


def test_it_names_commit_build_and_compiler(tmp_path: Path) -> None:
    said = {corescale(word, cwd=tmp_path).stdout for word in ("--version", "-V", "version")}
    (line,) = said
    found = re.fullmatch(r"corescale \S+ \(commit ([0-9a-f]{12})(-dirty)?; \S*build/\w+, GCC \d+\.\d+\.\d+\)\n", line)
    assert found, line
    assert git("rev-parse", "HEAD").startswith(found[1])
    assert (found[2] is None) == (not git("status", "--porcelain", "--untracked-files=no"))


def test_an_archive_of_git_has_its_commit() -> None:
    text = git("archive", "--format=tar", "HEAD", "packaging/commit.cmake")
    assert f'set(commit "{git("rev-parse", "HEAD")}")' in text


def test_other_compilers_are_named_or_unknown(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text("int main(void) { return 0; }\n")
    for compiler, named in (("gcc", "GCC"), ("clang", "clang")):
        subprocess.run([compiler, "-o", str(tmp_path / compiler), str(source)], check=True)
        assert build.compiler(tmp_path / compiler).startswith(f"{named} ")
    assert build.compiler(Path(sys.executable).resolve()).split()[0] in ("GCC", "clang", "unknown")
