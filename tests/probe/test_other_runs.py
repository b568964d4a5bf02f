# SPDX-License-Identifier: Apache-2.0
"""Two labs on one machine notice each other."""

import os
import subprocess
import sys
from pathlib import Path

from corescale.observe import other_runs

ANNOUNCE = "from corescale.observe import other_runs; other_runs.announce(); print('here', flush=True); input()"


def test_another_lab_is_noticed_while_it_measures_and_no_longer() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    other = subprocess.Popen(
        [sys.executable, "-c", ANNOUNCE], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "here\n"
    other_runs.announce()
    assert any(f"process {other.pid}" in note for note in other_runs.notes())
    assert any("another corescale" in warning for warning in other_runs.warnings())
    other.kill()
    other.communicate()
    assert not any(f"process {other.pid}" in note for note in other_runs.notes())


def test_this_lab_is_none_of_the_others() -> None:
    other_runs.announce()
    assert os.getpid() not in other_runs.processes()


def test_another_lab_is_a_warning_of_the_run_beside_it(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-m", "corescale", "scan", "--threads", "1", "--runs", "1", "--out", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-c", ANNOUNCE], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        subprocess.run([*words, "--", "sleep", "0.1"], env=environment, check=True, capture_output=True)
        other.kill()
    (run,) = tmp_path.glob("*/1")
    again = [sys.executable, "-m", "corescale", "report", "-o", str(tmp_path / "page.html"), str(run)]
    said = subprocess.run(again, env=environment, check=True, capture_output=True, text=True).stdout
    assert "another corescale measured on this machine" in " ".join(said.split())
