# SPDX-License-Identifier: Apache-2.0
"""`corescale study publish`: a run as a folder from which everything follows again."""

import csv
import re
from pathlib import Path

from corescale.errors import ExitCode
from corescale.observe import store
from support.commands import corescale, refused
from support.runs import FIXTURES

RUN = str(FIXTURES["study"])


def test_a_published_folder_has_the_records_the_verdicts_and_a_page_that_names_them(tmp_path: Path) -> None:
    done = corescale("study", "publish", RUN, "out/mine", "--machine", "mine", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    place = tmp_path / "out" / "mine"
    (archive,) = place.glob("*.tar.xz")
    assert store.load(archive).digest == store.load(FIXTURES["study"]).digest
    page = (place / "README.md").read_text()
    linked = set(re.findall(r"\]\(([^)]+)\)", page))
    assert linked == {one.name for one in place.iterdir() if one.suffix != ".png"} - {"README.md"}
    with (place / "verdicts.csv").open(newline="") as file:
        verdicts = list(csv.DictReader(file))
    assert verdicts and {one["machine"] for one in verdicts} == {"mine"} and "On mine" in page
    for said in {one["verdict"] for one in verdicts}:
        assert f"{sum(one['verdict'] == said for one in verdicts)} {said}" in page


def test_publishing_what_was_published_gives_the_same_files(tmp_path: Path) -> None:
    first = corescale("study", "publish", RUN, "first", "--machine", "mine", cwd=tmp_path)
    (archive,) = (tmp_path / "first").glob("*.tar.xz")
    again = corescale("study", "publish", str(archive), "again", "--machine", "mine", cwd=tmp_path)
    assert first.returncode == again.returncode == ExitCode.OK, again.stderr
    for one in (tmp_path / "first").iterdir():
        if one.suffix not in {".png", ".svg", ".html"}:
            assert one.read_bytes() == (tmp_path / "again" / one.name).read_bytes(), one.name


def test_what_is_there_and_what_is_no_study_are_refused(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    refused(corescale("study", "publish", RUN, "full", cwd=tmp_path), ExitCode.USAGE, "full: is there already")
    scan = str(FIXTURES["scan"])
    refused(corescale("study", "publish", scan, "other", cwd=tmp_path), ExitCode.USAGE, "is not a run of a study")
    assert not (tmp_path / "other").exists()
