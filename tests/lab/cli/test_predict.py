# SPDX-License-Identifier: Apache-2.0
"""`predict` from the command line: a forecast with its law and its reach, and what is refused."""

import json
from pathlib import Path

from corescale.errors import ExitCode
from support.commands import corescale, refused
from support.runs import FIXTURES


def test_a_forecast_names_law_and_reach(tmp_path: Path) -> None:
    done = corescale("predict", str(FIXTURES["scan"]), "--cores", "8", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert done.stdout.startswith("MODE=a: 8 cores: 211 ms [177, 244], extrapolated 4 times beyond the 2 measured")
    listed = corescale("predict", str(FIXTURES["scan"]), "--cores", "2", "--json", cwd=tmp_path)
    assert [one["p"] for one in json.loads(listed.stdout)] == [2, 2]


def test_far_beyond_what_was_measured_it_wants_to_be_told(tmp_path: Path) -> None:
    far = corescale("predict", str(FIXTURES["scan"]), "--cores", "64", cwd=tmp_path)
    refused(far, ExitCode.USAGE, "64 cores are 32 times the 2 that were measured; measure more cores, or give --anyway")
    assert corescale("predict", str(FIXTURES["scan"]), "--cores", "64", "--anyway", cwd=tmp_path).returncode == 0


def test_a_track_record_without_forecasts_says_what_a_run_needs(tmp_path: Path) -> None:
    done = corescale("predict", str(FIXTURES["scan"]), "--track-record", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert done.stdout == "no forecast to score: a run needs p = 1, 2 and 4 at least, and 6 blocks\n"


def test_other_runs_and_empty_requests_are_refused(tmp_path: Path) -> None:
    refused(corescale("predict", str(FIXTURES["tune"]), "--cores", "4", cwd=tmp_path), ExitCode.STORE, "a run of tune")
    refused(
        corescale("predict", str(FIXTURES["scan"]), cwd=tmp_path), ExitCode.USAGE, "give --cores P or --track-record"
    )
    refused(corescale("predict", "nowhere", "--cores", "4", cwd=tmp_path), ExitCode.STORE, "nowhere")
