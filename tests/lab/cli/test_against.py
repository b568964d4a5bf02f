# SPDX-License-Identifier: Apache-2.0
"""`compare --against RUN`: a command now beside a run of it that was measured earlier, with real launches."""

import json
from pathlib import Path

import pytest

from corescale.errors import ExitCode
from support.commands import corescale, refused


def build(folder: Path, seconds: str) -> None:
    program = folder / "app"
    program.write_text(f"#!/bin/sh\nsleep {seconds}\n")
    program.chmod(0o755)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A run of ./app, which then sleeps for 20 ms."""
    build(tmp_path, "0.02")
    assert corescale("compare", "-q", "-r", "6", "./app", cwd=tmp_path).returncode == ExitCode.OK
    (run,) = tmp_path.glob("corescale-runs/compare-*/1")
    return run


def test_a_slower_build_fails_the_gate(tmp_path: Path, stored: Path) -> None:
    build(tmp_path, "0.5")
    done = corescale("compare", "-q", "--gate", "50%", "--against", str(stored), "./app", cwd=tmp_path)
    assert done.returncode == ExitCode.REGRESSION, done.stderr
    name = f"{stored.parent.name}/1"
    for text in (f"x slower than {name} [", "gate failed: ./app: time ", f"{name} was measured earlier: what the"):
        assert text in done.stdout
    assert done.stdout.startswith("gate failed: "), "what a person who looks at one line needs"
    assert "budget" not in done.stdout, "it has the blocks that were asked for"


def test_the_command_is_measured_again_though_nothing_changed(tmp_path: Path, stored: Path) -> None:
    done = corescale("compare", "-q", "--json", "--against", str(stored), "./app", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["blocks"] == 6
    assert (stored.parent / "2").is_dir()


def test_a_run_of_another_machine_is_refused(tmp_path: Path, stored: Path) -> None:
    file = stored / "environment.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"fingerprint": "another"}))
    done = corescale("compare", "-q", "--against", str(stored), "./app", cwd=tmp_path)
    refused(done, ExitCode.USAGE, "was measured on another machine; measure there")


def test_what_the_run_does_not_hold_is_refused(tmp_path: Path, stored: Path) -> None:
    done = corescale("compare", "-q", "--against", str(stored), "./app", "true", cwd=tmp_path)
    refused(done, ExitCode.USAGE, "2 commands ")
    for words, says in {
        ("-L", "n", "5,10", "./app {n}"): "--against: 2 configurations ",
        ("./app '1",): "no closing quotation; close the quotes",
        ("--gate", "auto", "./app"): "auto is for commands that are both measured now",
    }.items():
        refused(corescale("compare", "-q", "--against", str(stored), *words, cwd=tmp_path), ExitCode.USAGE, says)
    corescale("compare", "-q", "-r", "1", "--out", "both", "./app", "true", cwd=tmp_path)
    (both,) = tmp_path.glob("both/*/1")
    done = corescale("compare", "-q", "--against", str(both), "sleep 0.01", cwd=tmp_path)
    refused(done, ExitCode.USAGE, "holds 2 configurations, of which 0 launch this command")
