# SPDX-License-Identifier: Apache-2.0
"""`report` of run folders that an earlier corescale wrote: they open, and say what they said."""

import json
import re
import shutil
from pathlib import Path

import pytest

from corescale.cli import output
from corescale.errors import ExitCode
from corescale.show import exchange
from support.commands import corescale
from support.runs import FIXTURES

SAID = {
    "compare": r"new is 1\.134x faster than old \[1\.112, 1\.158\] \(fake\)",
    "direct": r"sleep 0\.01 is 7\.91x slower than true \[3\.07, 17\.39\]",
    "preloaded": "not decided: nothing tried so far looks faster than threads=2",
    "scan": r"at MODE=a .the largest speedup of 2 curves., "
    r"4 threads .oversubscribed. are 3\.08x faster than 1 \[2\.98, 3\.18\] \(fake\)",
    "study": r"1 statement: 1 holds \(fake\)",
    "tune": r"1\.2[67]\d?x faster than threads=2 MODE=a \[1\.2[34].*\(fake\)",
    "tune_format_2": r"1\.30x faster than threads=2 MODE=c \[1\.2[67], 1\.33\] by a t interval",
}
"""First lines as those who wrote them said them; those of a race as far as two versions agree.

The plans do not say which levels the shell gave, so the baseline is named by its levels.

All but the last are of format 1.

`preloaded` ended too early, by bounds that were too narrow."""


def test_every_kind_of_run_folder_is_kept() -> None:
    assert set(FIXTURES) == set(SAID)


@pytest.mark.parametrize("kind", FIXTURES)
def test_a_run_written_before_is_reported_as_it_was(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(FIXTURES[kind], folder)
    done = corescale("report", str(folder), "-o", str(tmp_path / "page.html"), "--json", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert re.search(SAID[kind], json.loads(done.stdout)["headline"])
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
    assert {answer["at"]["machine"] for answer in answers} == {"amd", "intel"} and "#2" not in done.stderr
    unnamed = corescale("report", "one", "two", "-o", "page.html", cwd=tmp_path)
    assert re.search(r"note: .+ #2: machine cpu_model: was .+, is another$", unnamed.stderr, re.MULTILINE)


def test_no_file_of_others_is_overwritten(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES["scan"], tmp_path / "run")
    mine = tmp_path / "report.html"
    mine.write_text("my own notes")
    by_itself = corescale("report", "run", cwd=tmp_path)
    assert by_itself.returncode == ExitCode.OK
    assert "note: report.html: exists, and is not a report" in by_itself.stderr
    named = corescale("report", "run", "-o", "report.html", cwd=tmp_path)
    assert named.returncode == ExitCode.USAGE
    assert mine.read_text() == "my own notes"
    records = (tmp_path / "run" / "records.jsonl").read_bytes()
    assert corescale("report", "run", "-o", "run/records.jsonl", cwd=tmp_path).returncode == ExitCode.USAGE
    assert (tmp_path / "run" / "records.jsonl").read_bytes() == records


def test_a_report_is_replaced_by_the_next_one(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES["scan"], tmp_path / "run")
    for _ in range(2):
        done = corescale("report", "run", cwd=tmp_path)
        assert (done.returncode, "note: report.html" in done.stderr) == (ExitCode.OK, False), done.stderr
    assert "</html>" in (tmp_path / "report.html").read_text()


def test_a_dash_is_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    output.written("-", "text\n")
    assert capsys.readouterr().out == "text\n"


def test_a_stored_run_is_written_in_every_format(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES["scan"], tmp_path / "run")
    files = {name: f"out.{name}" for name in exchange.EXPORTERS}
    options = [word for name, file in files.items() for word in (f"--export-{name}", file)]
    done = corescale("report", "run", *options, cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert all((tmp_path / file).stat().st_size for file in files.values())
    assert corescale("report", "run", "--json", "--export-csv", "-", cwd=tmp_path).returncode == ExitCode.USAGE
