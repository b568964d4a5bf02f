# SPDX-License-Identifier: Apache-2.0
"""`predict --simulate`, and the verbs on a simulated cluster: every number says simulated."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from corescale import native
from corescale.cli.simulate import beside, grade
from corescale.errors import ExitCode, UnavailableError
from support.commands import corescale
from support.simgrid import compiled, needs_simgrid, platform

pytestmark = needs_simgrid


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(tmp_path_factory.mktemp("simulate"))


@pytest.fixture(scope="session")
def exact(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(tmp_path_factory.mktemp("exact"), "-DNOTHING_MEASURED")


def test_layouts_come_with_the_fastest_first_and_say_simulated(exact: str, tmp_path: Path) -> None:
    """A message between nodes takes 2 s, and within one a quarter."""
    words = ("predict", "--simulate", str(platform(tmp_path)), "--layouts", "1x1x2,1x2x1")
    done = corescale(*words, "--response", "metric:seconds", "--", exact, "pass", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    first, second, last = done.stdout.splitlines()
    found = {line.split()[0]: float(line.split()[1]) for line in (first, second)}
    assert list(found) == ["1x2x1", "1x1x2"] and found == pytest.approx({"1x2x1": 0.5, "1x1x2": 4}, rel=0.02)
    assert all("simulated" in line for line in (first, second, last))
    assert last.startswith("fastest of 2 layouts: 1x2x1 (simulated, not measured; records in ")


def test_layouts_near_the_fastest_are_simulated_again_and_ties_are_named(exact: str, tmp_path: Path) -> None:
    """Two more ranks change nothing that the first two do."""
    words = ("predict", "--simulate", str(platform(tmp_path)), "--layouts", "1x2x1,1x4x1,1x1x2", "--json")
    done = corescale(*words, "--response", "metric:seconds", "--", exact, "pass", cwd=tmp_path)
    rows = {row["layout"]: row for row in json.loads(done.stdout)["layouts"]}
    assert {name: len(row["launches"]) for name, row in rows.items()} == {"1x2x1": 4, "1x4x1": 4, "1x1x2": 1}
    assert len({*rows["1x2x1"]["launches"], *rows["1x4x1"]["launches"]}) == 1
    said = corescale(*words[:-1], "--response", "metric:seconds", "--", exact, "pass", cwd=tmp_path).stdout
    first, second = (
        said.splitlines()[-1].removeprefix("fastest of 3 layouts: ").split(" (simulated, ")[0].split(", tied with ")
    )
    assert {first, second} == {"1x2x1", "1x4x1"}


def test_all_layouts_that_fill_the_cluster_as_json(program: str, tmp_path: Path) -> None:
    cluster = platform(tmp_path, nodes=2, cores=4)
    done = corescale("predict", "--simulate", str(cluster), "--json", "--", program, "pass", cwd=tmp_path)
    found = json.loads(done.stdout)["layouts"]
    each_node = {"4x1x1", "2x2x1", "1x4x1"}
    assert {each["layout"] for each in found} == each_node | {"4x1x2", "2x2x2", "1x4x2"}
    assert {each["origin"] for each in found} == {"simulated"}


def test_more_ranks_than_cores_are_labelled_and_a_layout_is_named_once(program: str, tmp_path: Path) -> None:
    cluster = platform(tmp_path, nodes=1, cores=2)
    words = ("predict", "--simulate", str(cluster), "--layouts", " 1x2x1,1x4x1, 1x2x1", "--", program, "charge")
    done = corescale(*words, cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    *lines, last = done.stdout.splitlines()
    assert {line.split()[0]: "oversubscribed" in line for line in lines} == {"1x2x1": False, "1x4x1": True}
    assert last.startswith("fastest of 2 layouts: 1x2x1")


def test_a_layout_that_fails_is_named_and_the_others_are_ranked(program: str, tmp_path: Path) -> None:
    """One rank has no other to wait for; if all fail, that is the program's failure."""
    words = ("predict", "--simulate", str(platform(tmp_path)), "--out", "kept", "--layouts")
    done = corescale(*words, "1x1x1,1x2x1", "--", program, "alone", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "note: 1x2x1 failed with exit code 3: " in done.stderr and "1x2x1" not in done.stdout
    assert "(simulated, not measured; records in kept/" in done.stdout
    done = corescale(*words, "1x2x1", "--json", "--", program, "alone", cwd=tmp_path)
    assert done.returncode == ExitCode.PROGRAM and "no configuration succeeded; the last one failed" in done.stderr
    assert not (tmp_path / "corescale-runs").exists()


def test_a_layout_whose_launches_give_no_time_is_named_and_the_others_are_ranked(exact: str, tmp_path: Path) -> None:
    """One rank has no partners. Its launch takes no microsecond, as no real one could."""
    words = ("predict", "--simulate", str(platform(tmp_path)), "--response", "metric:partners", "--layouts")
    done = corescale(*words, "1x1x1,1x2x1", "--", exact, "pass", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "note: 1x1x1 gave no metric:partners above 0" in done.stderr and "1x1x1" not in done.stdout
    done = corescale(*words, "1x1x1", "--json", "--", exact, "pass", cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE and done.stdout == ""
    assert "corescale: metric:partners: no launch gave it above 0; " in done.stderr


def test_a_scan_over_nodes_is_labelled_and_names_the_cluster_in_its_next_line(program: str, tmp_path: Path) -> None:
    words = ("scan", "--on", "simgrid", "--platform", str(platform(tmp_path)), "--nodes", "1,2,4", "-r", "1")
    done = corescale(*words, "--", program, "pass", cwd=tmp_path)
    assert done.returncode == ExitCode.INCONCLUSIVE, done.stderr
    assert "(simulated)" in done.stdout.splitlines()[0] + done.stdout.splitlines()[1]
    said = "".join(done.stdout.split())  # a terminal may break the line anywhere
    assert f"corescaletune--onsimgrid--platform{tmp_path}/cluster.toml-fnodes=" in said
    assert "no MPI program" not in done.stdout
    assert re.match("[24] nodes look", done.stdout) and " 1.0 " not in done.stdout, "the cores used are unknown"
    (run,) = (tmp_path / "corescale-runs").glob("scan-*/1")
    assert "smpirun -np 4 " in corescale("report", str(run), "--json", cwd=tmp_path).stdout
    assert "starting the process" not in done.stdout


def test_more_ranks_than_cores_need_the_same_option_in_the_next_line(exact: str, tmp_path: Path) -> None:
    words = ("scan", "--on", "simgrid", "--platform", str(platform(tmp_path, cores=2)), "--ranks", "1,4", "-r", "1")
    done = corescale(*words, "--oversubscribe", "--", exact, "pass", cwd=tmp_path, also={"COLUMNS": "500"})
    assert " --oversubscribe -f ranks=1,4 -- " in done.stdout.splitlines()[-1]
    done = corescale(*words, "--", exact, "pass", cwd=tmp_path, also={"COLUMNS": "500"})
    assert "--oversubscribe" not in done.stdout.splitlines()[-1]


def test_the_study_of_many_nodes_draws_its_figures_from_simulated_records(tmp_path: Path) -> None:
    try:
        native.find("pairwise_clustering.smpi")
    except UnavailableError as error:
        pytest.skip(error.what)
    cluster = Path(__file__).parents[3] / "data" / "clusters" / "nodes_24x32.toml"
    levels = ("--levels", "nodes=1,2", "--levels", "points=600")
    words = ("study", "run", "threads_and_mpi_nodes", "--on", "simgrid", "--platform", str(cluster), "-r", "1")
    done = corescale(*words, *levels, "--outputs", "out", cwd=tmp_path)
    assert done.returncode in (ExitCode.OK, ExitCode.INCONCLUSIVE), done.stderr
    drawn = {path.stem for path in (tmp_path / "out").glob("*.svg")}
    assert {"figure_4", "figure_5", "crossing", "figure_7", "figure_9", "figure_10"} <= drawn
    rows = (tmp_path / "out" / "launches.csv").read_text().splitlines()
    assert len(rows) == 1 + 7 * 2 and all(row.endswith(",simulated") for row in rows[1:])


def test_forecasts_are_graded_by_real_launches_of_what_this_machine_can_launch(tmp_path: Path) -> None:
    """1x1x2 needs a second node; 1x1x1 was not asked for, and is simulated and launched too."""
    try:
        program = str(native.find("pairwise_clustering.smpi")).removesuffix(".smpi")
    except UnavailableError as error:
        pytest.skip(error.what)
    words = ("predict", "--simulate", str(platform(tmp_path, latency=1e-5)), "--layouts", "1x1x2", "--grade", "mpi")
    rest = ("--", program, "--points", "300", "--temperatures", "1", "--clusters", "3")
    done = corescale(*words, "--response", "metric:seconds", "--json", *rest, cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    rows = {row["layout"]: row for row in json.loads(done.stdout)["layouts"]}
    assert "measured" not in rows["1x1x2"] and rows["1x1x1"]["measured"] > 0
    for row in rows.values():
        if "measured" in row:
            assert row["error"] == pytest.approx(row["seconds"] / row["measured"] - 1)


def test_a_build_that_is_older_than_its_program_is_noted(exact: str, tmp_path: Path) -> None:
    (tmp_path / "own").touch()
    shutil.copy(f"{exact}.smpi", tmp_path / "own.smpi")
    words = ("predict", "--simulate", str(platform(tmp_path)), "--layouts", "1x2x1", "--", "./own", "pass")
    assert "older than" not in corescale(*words, cwd=tmp_path).stderr
    os.utime(tmp_path / "own.smpi", (1, 1))
    assert "own.smpi is older than " in corescale(*words, cwd=tmp_path).stderr


def test_an_error_of_orders_of_magnitude_is_a_factor() -> None:
    assert beside("1x1x1", 2.0, {"1x1x1": 4.0}) == "; measured 4 s, error -50%"
    assert beside("1x1x1", 1e-3, {"1x1x1": 4.0}) == "; measured 4 s, 4,000 times too short"
    assert grade({"1x1x1": 1e-3}, {"1x1x1": 4.0}, "mpi").startswith("typical error: a factor of 4,000, of 1 layout, ")


def test_forecasts_are_shown_though_the_real_launches_fail(tmp_path: Path) -> None:
    try:
        simulated = native.find("pairwise_clustering.smpi")
    except UnavailableError as error:
        pytest.skip(error.what)
    (tmp_path / "own.smpi").symlink_to(simulated)
    (tmp_path / "own").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "own").chmod(0o755)
    words = ("predict", "--simulate", str(platform(tmp_path)), "--layouts", "1x2x1", "--grade", "mpi")
    rest = ("--", str(tmp_path / "own"), "--points", "300", "--temperatures", "1", "--clusters", "3")
    done = corescale(*words, *rest, cwd=tmp_path)
    assert done.returncode == ExitCode.PROGRAM and "exit code 9" in done.stderr
    assert "note: a real launch also starts its ranks, which is not simulated" in done.stderr
    assert "fastest of" in done.stdout


def test_why_the_simulator_gave_up_is_said(program: str, tmp_path: Path) -> None:
    """Its stacks need more than the address space that is left; a backtrace follows what it says."""
    words = ("predict", "--simulate", str(platform(tmp_path)), "--layouts", "1x200x4", "--", program, "pass")
    limited = ("sh", "-c", 'ulimit -v 700000; exec "$@"', "sh", sys.executable, "-m", "corescale")
    done = subprocess.run([*limited, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.PROGRAM and "SimGrid: Failed to allocate stack" in done.stderr


def test_what_contradicts_it_is_one_line(program: str, tmp_path: Path) -> None:
    done = corescale("predict", "--simulate", str(platform(tmp_path)), "--cores", "8", "--", program, cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.strip().count("\n") == 0 and "--simulate: forecasts are from runs" in done.stderr
    nowhere = ("predict", "--simulate", str(platform(tmp_path)), "--grade")
    for by, said in {
        "direct": "--grade: 'direct' cannot grade a forecast",
        "ssh": "the ssh launcher needs hosts",
    }.items():
        done = corescale(*nowhere, by, "--", program, "pass", cwd=tmp_path)
        assert done.returncode == ExitCode.USAGE and done.stderr.count("\n") == 1 and said in done.stderr
    for words, said in {
        ("--grade", "mpi", "--hosts", "x"): "--hosts: only the ssh launcher takes it; add --grade ssh",
        ("--hosts", "x"): "--hosts: no effect without --grade",
        ("--layouts", "1x1"): "--layouts: not a level of layout: '1x1'; write TxMxN",
        ("--layouts", "1x1000000000x1"): "--layouts: 1x1000000000x1 has more than 65,536 threads",
        ("--layouts", ","): "--layouts: not a level of layout: ''",
    }.items():
        done = corescale(*nowhere[:-1], *words, "--", program, "pass", cwd=tmp_path)
        assert done.returncode == ExitCode.USAGE and done.stderr.count("\n") == 1 and said in done.stderr
    assert not (tmp_path / "corescale-runs").exists(), "nothing was simulated before"
    platform(tmp_path, nodes=65_536)
    done = corescale(*nowhere[:-1], "--", program, "pass", cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE and "--simulate: all its cores are more than 65,536; name" in done.stderr
    done = corescale(*nowhere[:-1], cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE and "no program to simulate" in done.stderr
