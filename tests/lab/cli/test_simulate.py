# SPDX-License-Identifier: Apache-2.0
"""`predict --simulate`, and the verbs on a simulated cluster: every number says simulated."""

import json
from pathlib import Path

import pytest

from corescale.errors import ExitCode
from support.commands import corescale
from support.simgrid import compiled, needs_simgrid, platform

pytestmark = needs_simgrid


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(tmp_path_factory.mktemp("simulate"))


def test_layouts_come_with_the_fastest_first_and_say_simulated(program: str, tmp_path: Path) -> None:
    """A message between nodes takes 2 s, and within one a quarter."""
    words = ("predict", "--simulate", str(platform(tmp_path)), "--layouts", "1x1x2,1x2x1")
    done = corescale(*words, "--response", "metric:seconds", "--", program, "pass", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    first, second, last = done.stdout.splitlines()
    assert first.split()[:2] == ["1x2x1", "0.5"] and second.split()[:2] == ["1x1x2", "4"]
    assert all("simulated" in line for line in (first, second, last))
    assert last.startswith("fastest of 2 layouts: 1x2x1 (simulated, not measured; records in ")


def test_all_layouts_that_fill_the_cluster_as_json(program: str, tmp_path: Path) -> None:
    cluster = platform(tmp_path, nodes=2, cores=4)
    done = corescale("predict", "--simulate", str(cluster), "--json", "--", program, "pass", cwd=tmp_path)
    found = json.loads(done.stdout)["layouts"]
    assert {each["layout"] for each in found} == {"4x1x2", "2x2x2", "1x4x2"}
    assert {each["origin"] for each in found} == {"simulated"}


def test_a_scan_over_nodes_is_labelled_and_names_the_cluster_in_its_next_line(program: str, tmp_path: Path) -> None:
    words = ("scan", "--on", "simgrid", "--platform", str(platform(tmp_path)), "--nodes", "1,2,4", "-r", "1")
    done = corescale(*words, "--", program, "pass", cwd=tmp_path)
    assert done.returncode == ExitCode.INCONCLUSIVE, done.stderr
    assert "(simulated)" in done.stdout.splitlines()[0] + done.stdout.splitlines()[1]
    assert "corescale tune --on simgrid --platform FILE -f nodes=1,2,4 --" in " ".join(done.stdout.split())
    assert "starting the process" not in done.stdout


def test_what_contradicts_it_is_one_line(program: str, tmp_path: Path) -> None:
    done = corescale("predict", "--simulate", str(platform(tmp_path)), "--cores", "8", "--", program, cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.strip().count("\n") == 0 and "--simulate: forecasts are from runs" in done.stderr
