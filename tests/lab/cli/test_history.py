# SPDX-License-Identifier: Apache-2.0
"""`history`: a line for each commit, which git merges, and change points where there are some and nowhere else."""

import codecs
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from corescale import history
from corescale.cli.history import added
from corescale.conclude.two_samples import change_points
from corescale.errors import ExitCode
from support.commands import corescale
from support.runs import FIXTURES

AS = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def git(where: Path, *words: str, when: int = 1_800_000_000) -> str:
    environment = {**os.environ, **AS, "GIT_COMMITTER_DATE": f"{when} +0000", "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(["git", *words], cwd=where, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_change_points_are_found_and_not_invented() -> None:
    drawn = np.random.default_rng(8)
    steps = [change_points([*drawn.lognormal(0, 0.02, 20), *drawn.lognormal(0.1, 0.02, 20)]) for _ in range(50)]
    assert sum(len(one) == 1 and abs(one[0] - 20) <= 1 for one in steps) >= 45
    flat = [change_points(drawn.lognormal(0, 0.05, 30).tolist()) for _ in range(300)]
    assert sum(map(bool, flat)) <= 10
    assert change_points([1.0, 2.0]) == ()


def test_branches_that_add_lines_are_merged(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / ".gitattributes").write_text("p.jsonl merge=union\n")
    shutil.copytree(FIXTURES["direct"], tmp_path / "run")
    git(tmp_path, "add", ".gitattributes")
    git(tmp_path, "commit", "-qm", "first")
    for k, branch in enumerate(("one", "two")):
        git(tmp_path, "checkout", "-qb", branch, "main")
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", branch, when=1_800_000_100 + k)
        done = corescale("history", "p.jsonl", "run", cwd=tmp_path)
        assert done.returncode == ExitCode.OK, done.stderr
        git(tmp_path, "add", "p.jsonl")
        git(tmp_path, "commit", "-qm", f"{branch}: history")
    git(tmp_path, "merge", "-q", "-m", "both", "one")
    entries = history.parse((tmp_path / "p.jsonl").read_bytes(), "p.jsonl")
    assert [one.when for one in entries] == sorted(one.when for one in entries)
    assert len({one.commit for one in entries}) == 2
    before = (tmp_path / "p.jsonl").read_text()
    shutil.copytree(tmp_path / "run", tmp_path / "again")
    assert corescale("history", "p.jsonl", "run", "again", cwd=tmp_path).returncode == ExitCode.USAGE
    assert corescale("history", "p.jsonl", cwd=tmp_path).returncode == ExitCode.OK
    assert (tmp_path / "p.jsonl").read_text() == before


ENTRY = b'{"commit":"a","when":1,"name":"n","value":1,"low":null,"high":null,"machine":"m"}'
DAMAGE = [(b':1,"low', b':-1,"low'), (b'"n"', b"{}"), (b'"n"', b"3"), (b'"m"', b"[]"), (b'"m"', b'"\xff"')]
DAMAGED = [b"nothing", b"[]", b"[" * 100_000, b'{"commit": 1}', *(ENTRY.replace(*each) for each in DAMAGE)]


@pytest.mark.parametrize("line", DAMAGED, ids=[str(line[:90]) for line in DAMAGED])
def test_a_damaged_line_is_named(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(line + b"\n")
    done = corescale("history", "p.jsonl", cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("corescale: p.jsonl:1: ")


def test_what_editors_add_is_no_damage() -> None:
    assert history.parse(codecs.BOM_UTF8 + ENTRY + b"\n\n", "p.jsonl") == history.parse(ENTRY, "p.jsonl")


def test_whoever_adds_at_once_loses_no_line(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    each = [history.Entry(f"{k:03}", 1.0, "n", 1.0, None, None, "m") for k in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: added(file, [one]), each))
    assert history.parse(file.read_bytes(), "p.jsonl") == each


def test_each_program_has_its_own_series_and_what_was_made_up_has_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    for seconds in ("0.001", "0.002"):
        done = corescale("scan", "-q", "-t", "1", "-r", "6", "--out", seconds, "--", "sleep", seconds, cwd=tmp_path)
        assert done.returncode == ExitCode.OK, done.stderr
        assert corescale("history", "p.jsonl", str(next((tmp_path / seconds).iterdir())), cwd=tmp_path).returncode == 0
    before = (tmp_path / "p.jsonl").read_bytes()
    names = [one.name for one in history.parse(before, "p.jsonl")]
    assert len(names) == 2 and all(seconds in names[k] for k, seconds in enumerate(("0.001", "0.002")))
    done = corescale("history", "p.jsonl", str(FIXTURES["scan"]), cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE and "is fake" in done.stderr
    assert (tmp_path / "p.jsonl").read_bytes() == before


def test_a_run_is_of_one_commit_and_of_one_build(tmp_path: Path) -> None:
    """Two launches have no interval, but their run is known again. And a program that changed has no one time."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "b").write_text("#!/bin/sh\nsleep 0.01\n")
    (tmp_path / "b").chmod(0o755)
    assert corescale("scan", "-q", "-t", "1", "-r", "2", "--out", "out", "--", "./b", cwd=tmp_path).returncode == 0
    (run,) = (tmp_path / "out").glob("*/1")
    for message, expected in (("first", ExitCode.OK), ("second", ExitCode.USAGE)):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", message)
        done = corescale("history", "p.jsonl", str(run), cwd=tmp_path)
        assert done.returncode == expected, done.stderr
    assert "is in the history as another commit's" in done.stderr
    about = json.loads((run / "environment.json").read_text())
    (run / "environment.json").write_text(json.dumps({**about, "changed": [str(tmp_path / "b")]}))
    done = corescale("history", "q.jsonl", str(run), cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE and "is of no one build" in done.stderr and "--fresh" in done.stderr
    assert not (tmp_path / "q.jsonl").exists()


def test_a_small_change_is_not_written_as_none(tmp_path: Path) -> None:
    lines = [
        history.Entry(f"{k:03}", k, "n", 1.0 + 1e-4 * (k >= 10) + 1e-7 * (k % 3), None, None, "m") for k in range(20)
    ]
    (tmp_path / "p.jsonl").write_text(history.text(lines))
    done = corescale("history", "p.jsonl", cwd=tmp_path)
    assert "010: 1.0001x the time before" in done.stdout


def test_what_has_no_end_is_not_read(tmp_path: Path) -> None:
    done = corescale("history", "/dev/zero", cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE and "is not a regular file" in done.stderr


def test_outside_of_a_repository_there_is_no_commit(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES["direct"], tmp_path / "run")
    done = corescale("history", "p.jsonl", "run", cwd=tmp_path, also={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})
    assert done.returncode == ExitCode.USAGE and "is not a commit here" in done.stderr
    assert not (tmp_path / "p.jsonl").exists()


@pytest.mark.parametrize("length", [3, 4, 5, 10])
def test_a_change_that_is_reversed_stays_two_changes(length: int) -> None:
    drawn = np.random.default_rng(2)
    steps = [[*drawn.lognormal(0, 0.01, 8), *drawn.lognormal(0.26, 0.01, length), *drawn.lognormal(0, 0.01, after)]
             for _ in range(10) for after in (4, 8, 12, 20)]  # fmt: skip
    assert sum({8, 8 + length} <= set(change_points(values)) for values in steps) >= 38


def test_a_change_needs_three_commits_on_either_side() -> None:
    drawn = np.random.default_rng(3)
    halves = [*drawn.lognormal(0, 0.01, 3), *drawn.lognormal(0.37, 0.01, 3)]
    assert change_points(halves) == (3,) and change_points(halves[1:]) == ()


@pytest.mark.parametrize(
    "draw",
    [
        lambda drawn: np.exp(0.01 * drawn.standard_t(3, 40)),
        lambda drawn: drawn.lognormal(0, 0.01, 40) * np.where(drawn.random(40) < 0.1, 1.5, 1),
        lambda drawn: drawn.lognormal(0, 0.01, 40) * np.where(drawn.random(40) < 0.3, 1.05, 1),
        lambda drawn: np.round(drawn.lognormal(0, 0.01, 40), 2),
        lambda drawn: np.full(40, drawn.random()),
    ],
    ids=["heavy tails", "slow launches", "two modes", "few digits", "no noise"],
)
def test_noise_of_other_kinds_is_seldom_a_change(draw: Callable[[np.random.Generator], NDArray[np.float64]]) -> None:
    drawn = np.random.default_rng(4)
    assert sum(bool(change_points(draw(drawn).tolist())) for _ in range(100)) <= 14


def test_times_without_noise_change_where_they_do() -> None:
    assert change_points([0.1] * 7 + [0.2] * 5 + [0.1] * 3) == (7, 12)
