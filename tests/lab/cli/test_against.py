# SPDX-License-Identifier: Apache-2.0
"""`compare --against RUN`: a gate against a run of an older commit, with real launches."""

import json
import subprocess
from pathlib import Path

import pytest

from corescale.errors import ExitCode
from support.commands import corescale

PROGRAM = "#!/bin/sh\nhead -c {size}M /dev/zero | tail -c {size}M >/dev/null\nexit {code}\n"


def build(folder: Path, size: int, code: int = 0) -> None:
    program = folder / "program"
    program.write_text(PROGRAM.format(size=size, code=code))
    program.chmod(0o755)


def compare(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    return corescale("compare", "-q", "-r", "8", *options, "./program", cwd=folder)


@pytest.fixture
def stored(tmp_path: Path) -> str:
    """The run of an older commit."""
    build(tmp_path, 20)
    assert compare(tmp_path).returncode == ExitCode.OK
    (run,) = tmp_path.glob("corescale-runs/*/1")
    return str(run)


@pytest.mark.parametrize(
    ("size", "code", "exits", "says"),
    [
        (20, 0, ExitCode.OK, "gate passed: peak memory"),
        (60, 0, ExitCode.REGRESSION, "gate failed: peak memory"),
        (20, 3, ExitCode.PROGRAM, ""),
    ],
)
def test_a_newer_build_is_gated(tmp_path: Path, stored: str, size: int, code: int, exits: ExitCode, says: str) -> None:
    """On memory, which a busy machine leaves as it is."""
    build(tmp_path, size, code)
    done = compare(tmp_path, "--against", stored, "--gate", "memory=20%")
    assert done.returncode == exits, done.stderr + done.stdout
    assert says in done.stdout
    if says:
        assert "two independent samples" in done.stdout
        assert ("another build" in done.stdout) == (size != 20)


def test_json_has_both(tmp_path: Path, stored: str) -> None:
    done = compare(tmp_path, "--against", stored, "--gate", "memory=20%", "--json")
    assert done.returncode == ExitCode.OK, done.stderr
    told = json.loads(done.stdout)
    (one,) = told["against"]
    assert one["gates"][0]["verdict"] == "passed"
    assert one["time"]["low"] <= one["time"]["estimate"] <= one["time"]["high"]
    assert told["here"]["verb"] == "compare"


def test_what_can_be_no_reference_is_refused_before_anything_is_measured(tmp_path: Path, stored: str) -> None:
    other = corescale("compare", "-q", "--against", stored, "true", cwd=tmp_path)
    assert (other.returncode, "has no launch of these commands" in other.stderr) == (ExitCode.USAGE, True)
    mean = compare(tmp_path, "--against", stored, "--gate", "mean=5%")
    assert (mean.returncode, "drop --gate mean" in mean.stderr) == (ExitCode.USAGE, True)
    file = Path(stored) / "environment.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"fingerprint": "another"}))
    elsewhere = compare(tmp_path, "--against", stored, "--gate", "5%")
    assert (elsewhere.returncode, "measured on another machine" in elsewhere.stderr) == (ExitCode.USAGE, True)
    assert len([*tmp_path.glob("corescale-runs/*/*/plan.json")]) == 1
