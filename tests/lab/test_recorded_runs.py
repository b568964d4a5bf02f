# SPDX-License-Identifier: Apache-2.0
"""data/runs: the records of studies, from which every picture and every verdict of theirs follows."""

import functools
import json
import tarfile
from pathlib import Path

import pytest

from corescale.api.results import machine_name, result
from corescale.cli.claims import verdicts
from corescale.cli.report import shown_as
from corescale.conclude.frame import frame, selected
from corescale.declare import claims, programs
from corescale.declare.outputs import Chart
from corescale.errors import ExitCode, StoreError
from corescale.machine import Machine
from corescale.observe import store
from corescale.show import charts
from corescale.show.charts import drawing
from corescale.show.result import Result
from support.commands import corescale
from support.runs import FIXTURES

RUNS = sorted((programs.data_folder() / "runs").glob("*.tar.xz"))
KEPT = [one for one in claims.verdicts() if one.records]


def study_of(archive: Path) -> str:
    """NAME.tar.xz, or NAME-MACHINE.tar.xz of another machine."""
    return archive.name.removesuffix(".tar.xz").partition("-")[0]


@functools.cache
def loaded(archive: Path) -> store.Run:
    return store.load(archive)


def test_every_verdict_that_names_records_has_them_and_no_run_is_without_verdicts() -> None:
    there = {loaded(archive).digest: study_of(archive) for archive in RUNS}
    assert there == {one.records: one.study for one in KEPT}


@pytest.fixture(scope="module", params=RUNS, ids=study_of)
def concluded(request: pytest.FixtureRequest) -> tuple[store.Run, Result]:
    """A run, and what follows from it as its study declares now."""
    run, here = loaded(request.param), Machine.here()
    return run, result(shown_as(run, study_of(request.param), here), here)


def test_the_verdicts_follow_from_the_records(concluded: tuple[store.Run, Result]) -> None:
    run, found = concluded
    known = [one for one in KEPT if one.records == run.digest]
    assert known and list(verdicts(run, found, known[0].machine)) == known


def test_the_pictures_of_the_study_are_drawn_from_the_archive(concluded: tuple[store.Run, Result]) -> None:
    _, found = concluded
    rows = frame(found.records, found.experiment, machine_name(found.environment))
    made, declared = charts.of_study(found, rows), found.experiment.study.outputs
    wanted = [one.name for one in declared if isinstance(one, Chart) and selected(rows, one.where).any()]
    assert wanted and all(any(one.name.startswith(chart) for one in made) for chart in wanted), wanted
    assert all(drawing.svg(one).startswith("<svg") for one in made)


def test_report_shows_an_archive_as_a_study_declares_it(tmp_path: Path) -> None:
    name = "threads_and_mpi_nodes"
    archive = next(one for one in RUNS if study_of(one) == name)
    done = corescale("report", str(archive), "--study", name, "--json", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert json.loads(done.stdout)["conclusion"]["findings"] and (tmp_path / "report.html").is_file()


def test_what_is_no_archive_is_refused_by_its_name(tmp_path: Path) -> None:
    broken = tmp_path / "broken.tar.xz"
    broken.write_bytes(b"no archive")
    with pytest.raises(StoreError, match=r"broken\.tar\.xz: is not an archive of a run"):
        store.load(broken)


def test_a_fault_within_an_archive_is_told_by_the_archives_name(tmp_path: Path) -> None:
    whole = tmp_path / "run.tar.xz"
    with tarfile.open(whole, "w:xz") as file:
        file.add(FIXTURES["study"] / "plan.json", "plan.json")
    with pytest.raises(StoreError, match=rf"^{whole}/environment\.json: cannot be read: No such file"):
        store.load(whole)
