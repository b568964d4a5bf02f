# SPDX-License-Identifier: Apache-2.0
"""data/runs: the records of studies, from which every picture and every verdict of theirs follows."""

import json
import tarfile
from pathlib import Path

import pytest

from corescale.cli.claims import _verdicts
from corescale.declare import claims, programs, studies, study_file
from corescale.declare.outputs import Chart
from corescale.errors import ExitCode, StoreError
from corescale.machine import Machine
from corescale.observe import store
from support.commands import corescale
from support.runs import FIXTURES

RUNS = sorted((programs.data_folder() / "runs").glob("*.tar.xz"))
KEPT = [one for one in claims.verdicts() if one.records]


def study_of(archive: Path) -> str:
    """NAME.tar.xz, or NAME-MACHINE.tar.xz of another machine."""
    return archive.name.removesuffix(".tar.xz").partition("-")[0]


def test_every_verdict_that_names_records_has_them_and_no_run_is_without_verdicts() -> None:
    there = {store.load(archive).digest: study_of(archive) for archive in RUNS}
    assert there == {one.records: one.study for one in KEPT}


@pytest.mark.parametrize("archive", RUNS, ids=study_of)
def test_the_verdicts_follow_from_the_records(archive: Path) -> None:
    digest = store.load(archive).digest
    known = [one for one in KEPT if one.records == digest]
    assert list(_verdicts(archive, known[0].machine, study_of(archive))) == known


@pytest.mark.parametrize("archive", RUNS, ids=study_of)
def test_report_draws_the_pictures_of_the_study_from_the_archive(archive: Path, tmp_path: Path) -> None:
    name = study_of(archive)
    words = ("report", str(archive), "--study", name, "--json")
    done = corescale(*words, cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    declared = study_file.experiment(studies.find(name), Machine.here()).study.outputs
    wanted = [one.name for one in declared if isinstance(one, Chart)]
    drawn = {picture.stem for picture in (tmp_path / "outputs").glob("*.svg")}
    assert wanted and all(any(one.startswith(chart) for one in drawn) for chart in wanted), (wanted, drawn)
    assert json.loads(done.stdout)["conclusion"]["findings"]


def test_what_is_no_archive_is_refused_by_its_name(tmp_path: Path) -> None:
    broken = tmp_path / "broken.tar.xz"
    broken.write_bytes(b"no archive")
    with pytest.raises(StoreError, match=r"broken\.tar\.xz: is no archive of a run"):
        store.load(broken)


def test_a_fault_within_an_archive_is_told_by_the_archives_name(tmp_path: Path) -> None:
    whole = tmp_path / "run.tar.xz"
    with tarfile.open(whole, "w:xz") as file:
        file.add(FIXTURES["study"] / "plan.json", "plan.json")
    with pytest.raises(StoreError, match=rf"^{whole}/environment\.json: no run folder"):
        store.load(whole)
