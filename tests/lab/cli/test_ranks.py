# SPDX-License-Identifier: Apache-2.0
"""The verbs over ranks, from the command line to a line that can be pasted; with a real mpirun."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from corescale.errors import ExitCode
from corescale.machine import Machine
from support.commands import answered, corescale, refused
from support.mpi import compiled, needs_mpi

pytestmark = needs_mpi


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(tmp_path_factory.mktemp("mpi"))


def said(*words: str, cwd: Path) -> dict[str, Any]:
    done = corescale(words[0], "--json", *words[1:], cwd=cwd)
    answered(done)
    return dict(json.loads(done.stdout))


def test_tune_tries_every_mix_within_the_cores_and_says_a_line_that_runs(program: str, tmp_path: Path) -> None:
    words = (
        "--ranks",
        "auto",
        "--threads",
        "auto",
        "--baseline",
        "threads=1,ranks=1",
        "--budget",
        "16x",
        "--",
        program,
    )
    found = said("tune", *words, cwd=tmp_path)
    (folder,) = (tmp_path / "corescale-runs").glob("tune-*-mpi/1")
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    layouts = [record["configuration"]["layout"] for record in records if "configuration" in record]
    tried = {(layout["threads_per_rank"], layout["ranks_per_node"]) for layout in layouts}
    assert {(1, 1)} < tried
    assert all(t * m <= max(tried)[0] for t, m in tried), "auto has as many threads as there are cores"
    line = found["conclusion"]["line"]
    assert line.startswith("mpirun ")
    assert subprocess.run(["sh", "-c", line], check=False, capture_output=True).returncode == 0


def test_scan_counts_ranks_as_p_and_goes_on_with_its_run(program: str, tmp_path: Path) -> None:
    words = ("scan", "--ranks", "1,2,3", "--oversubscribe", "-r", "2", "--response", "region:reduce", "--", program)
    done = corescale(words[0], "--json", *words[1:], cwd=tmp_path)
    assert done.returncode == ExitCode.INCONCLUSIVE, "two blocks have no interval"
    rows = json.loads(done.stdout)["conclusion"]["curves"][0]["rows"]
    assert [row["p"] for row in rows] == [1, 2, 3]
    assert rows[2]["oversubscribed"]
    again = corescale("report", str(next((tmp_path / "corescale-runs").glob("scan-*"))), cwd=tmp_path)
    assert again.returncode == 0, again.stderr  # what was measured is shown
    assert "mpirun" in (tmp_path / "report.html").read_text()


def test_ranks_of_a_program_without_mpi_are_said_first(tmp_path: Path) -> None:
    """Each did the same work, so whatever looks faster is none of the same work."""
    done = corescale(
        "tune", "-q", "--ranks", "1,2", "--oversubscribe", "--budget", "9x", "--", "sleep", "0.01", cwd=tmp_path
    )
    assert done.stdout.startswith("no rank asked for its number: "), done.stdout + done.stderr
    assert done.stdout.count("no rank asked") == 1


def test_dry_run_shows_what_mpirun_is_given(program: str, tmp_path: Path) -> None:
    done = corescale("scan", "--dry-run", "--ranks", "2", "-t", "1", "--", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "mpirun" in done.stdout and "--bind-to core -n 2" in done.stdout


def test_explain_says_which_ranks_it_leaves_out_and_launches_them_if_asked(program: str, tmp_path: Path) -> None:
    many = str(Machine.here().default_max_threads + 1)
    words = ("explain", "--no-swap", "--ranks")
    done = corescale(*words, f"1,{many}", "--", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "left out: 1 of 2 combinations" in done.stderr
    refused(corescale(*words, many, "--", program, cwd=tmp_path), ExitCode.USAGE, "add --oversubscribe")
    done = corescale(*words, many, "--oversubscribe", "--", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{many} ranks (oversubscribed: ")
    assert "left out" not in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--ranks", "64000"), "--oversubscribe"),
        (("--ranks", "two"), "at least 1"),
        (("--ranks", "2", "--on", "direct"), "starts one rank on one node"),
        (("-f", "layout=1x2x2"), "the mpi launcher starts ranks on one node"),
    ],
)
def test_what_cannot_be_started_is_one_line(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = corescale("scan", *words, "--", "true", cwd=tmp_path)
    refused(done, ExitCode.USAGE, says)
    assert not (tmp_path / "corescale-runs").exists()
