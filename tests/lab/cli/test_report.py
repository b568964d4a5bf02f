# SPDX-License-Identifier: Apache-2.0
"""`report` of run folders that an earlier corescale wrote: they open, and say what they said."""

import json
import shutil
from pathlib import Path

import pytest

from corescale.cli import output
from corescale.errors import ExitCode
from support.commands import corescale
from support.runs import FIXTURES

SAID = {
    "compare": "new is 1.134x faster than old [1.112, 1.158] at 95% (fake)",
    "direct": "sleep 0.01 is 7.91x slower than true [3.07, 17.39] at 95%",
    "preloaded": "not decided, within 26.5% of the best at 95%: nothing tried so far looks faster than today's",
    "scan": "4 threads MODE=a: 3.08x faster [2.98, 3.18] at 95% than p=1 (fake)",
    "study": "1 statement: 1 holds (fake)",
    "tune": "1.27x faster than today's [1.24, 1.30], the best of all that was tried, each at 95% (fake)",
}
"""First lines as those who wrote them said them; but `preloaded` ended too early, by bounds that were too narrow."""


def test_every_kind_of_run_folder_is_kept() -> None:
    assert set(FIXTURES) == set(SAID)


@pytest.mark.parametrize("kind", FIXTURES)
def test_a_run_written_before_is_reported_as_it_was(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(FIXTURES[kind], folder)
    done = corescale("report", str(folder), "-o", str(tmp_path / "page.html"), "--json", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert SAID[kind] in json.loads(done.stdout)["headline"]
    assert "</html>" in (tmp_path / "page.html").read_text()


def test_a_machine_is_called_as_it_was_named(tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(FIXTURES["study"], tmp_path / name)
    environment = tmp_path / "two" / "environment.json"
    told = json.loads(environment.read_text())
    told["machine"]["cpu_model"] = "another"
    environment.write_text(json.dumps(told))
    done = corescale("report", "amd=one", "intel=two", "-o", "page.html", "--json", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    answers = json.loads(done.stdout)["conclusion"]["findings"]
    assert {answer["at"]["machine"] for answer in answers} == {"amd", "intel"}


def test_a_dash_is_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    output.written("-", "text\n")
    assert capsys.readouterr().out == "text\n"
