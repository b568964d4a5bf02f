# SPDX-License-Identifier: Apache-2.0
"""The run folder: what is acknowledged is kept, what is torn is recognised, what does not belong is refused."""

import dataclasses
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corescale.declare.experiment import Experiment
from corescale.declare.stop import Stop
from corescale.errors import StoreError
from corescale.machine import Machine
from corescale.observe import store
from support.stores import SUBJECT, make_block, record

Make = Callable[..., Experiment]


def test_a_finished_run_gives_back_what_was_appended(open_run: Any, experiment: Make) -> None:
    e = experiment()
    with open_run(e) as folder:
        folder.start(SUBJECT)
        make_block(folder, e)
        folder.finish()
        run = folder.finished()
    assert (run.finished, run.experiment, run.launcher) == (True, e, "direct")
    assert [(r.block, r.order) for r in run.records] == [(0, 0), (0, 1)]
    assert dataclasses.replace(store.load(run.folder), digest="") == run
    assert store.load(run.folder) == store.load(run.folder.parent)
    assert run.folder.name == "1"
    assert run.folder.parent.name == f"tune-{e.hash}"
    assert run.environment["subject"] == SUBJECT
    given = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    madvise = given.exists() and "[madvise]" in given.read_text()
    assert ("madvise" in run.environment["huge_pages"]) == madvise
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "environment.json",
        "finished",
        "plan.json",
        "records.jsonl",
    ]


def test_after_a_finished_run_comes_the_next_and_an_unfinished_one_is_gone_on_with(
    open_run: Any, experiment: Make
) -> None:
    e = experiment()
    for number, finish in (("1", True), ("2", False), ("2", True), ("3", False)):
        with open_run(e) as folder:
            folder.start(SUBJECT)
            make_block(folder, e)
            assert folder.path.name == number
            if finish:
                folder.finish()
    assert len(store.load(folder.path.parent / "2").records) == 4


def test_a_larger_budget_goes_on_with_a_finished_run(open_run: Any, experiment: Make) -> None:
    for budget, number in ((5.0, "1"), (9.0, "1"), (9.0, "2"), (4.0, "3"), (None, "3")):
        e = experiment(stop=Stop(rule="race", budget=budget), timeout=budget)
        with open_run(e) as folder:
            folder.start(SUBJECT)
            assert folder.path.name == number
            make_block(folder, e)
            folder.finish()
    assert len(store.load(folder.path.parent / "1").records) == 4
    assert store.load(folder.path.parent / "1").experiment.stop.budget == 9


def test_a_block_cut_short_is_made_again_and_its_records_stay_marked(open_run: Any, experiment: Make) -> None:
    e = experiment()
    with open_run(e) as folder:
        folder.start(SUBJECT)
        make_block(folder, e)
        block, attempt = folder.begin()
        folder.append(record(e, block, attempt))
    with open_run(e) as folder:
        folder.start(SUBJECT)
        assert len(folder.records) == 2
        assert folder.begin() == (1, 1)
        make_block(folder, e)
        assert folder.begin() == (2, 0)
        run = folder.finished()
    assert [(r.block, r.attempt) for r in run.records] == [(0, 0), (0, 0), (1, 1), (1, 1)]
    assert [(r.block, r.attempt) for r in run.all_records if r not in run.records] == [(1, 0)]
    events = [json.loads(line) for line in (run.folder / "records.jsonl").read_text().splitlines()]
    assert [(e["event"], e["block"], e["attempt"]) for e in events if "event" in e] == [
        ("block-complete", 0, 0),
        ("block-abandoned", 1, 0),
        ("block-complete", 1, 1),
    ]


def test_an_abandoned_block_is_not_marked_twice(open_run: Any, experiment: Make) -> None:
    e = experiment()
    for attempt in range(3):
        with open_run(e) as folder:
            folder.start(SUBJECT)
            assert folder.begin() == (0, attempt)
            folder.append(record(e, 0, attempt))
            folder.abandon()
    text = (folder.path / "records.jsonl").read_text()
    assert text.count("block-abandoned") == 3


def test_a_run_in_use_is_refused_with_its_process(open_run: Any, experiment: Make) -> None:
    e = experiment()
    with (
        open_run(e),
        pytest.raises(StoreError, match=f"in use by process {os.getpid()} on .*; wait for it, or choose --out DIR"),
        open_run(e),
    ):
        pass


def test_a_stale_lock_does_not_block(open_run: Any, experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    e = experiment()
    with open_run(e) as folder:
        folder.start(SUBJECT)
    (folder.path.parent / ".lock").write_text("1\n")
    with open_run(e) as again:
        again.start(SUBJECT)
    assert again.path == folder.path


def test_the_lock_is_not_inherited(open_run: Any, experiment: Make) -> None:
    """A child that outlives the run must not hold it."""
    e = experiment()
    with open_run(e) as folder:
        folder.start(SUBJECT)
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with open_run(e) as again:
            assert child.poll() is None
            assert again.path == folder.path
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"machine": {"quota_cores": 1.5}}, "machine quota_cores: was unset, is 1.5"),
        (
            {"subject": {"programs": {"./solver": {"path": "/solver", "size": 10, "sha256": "x"}}}},
            "another build of ./solver",
        ),
        ({"subject": {"sources": ["witness"]}}, "subject sources: was [], is ['witness']"),
        ({"variable": "passive"}, "variables OMP_WAIT_POLICY: was active, is passive"),
    ],
)
def test_other_circumstances_start_a_new_run_and_are_said(
    open_run: Any, experiment: Make, two_cores: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any], says: str,
) -> None:  # fmt: skip
    e = experiment()
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    with open_run(e) as folder:
        folder.start(SUBJECT)
        make_block(folder, e)
    monkeypatch.setenv("OMP_WAIT_POLICY", change.get("variable", "active"))
    machine = dataclasses.replace(two_cores, **change.get("machine", {}))
    with store.open_run(e, machine, tmp_path / "runs", continued=True) as again, pytest.raises(StoreError) as refused:
        again.start(SUBJECT | change.get("subject", {}))
    assert says in str(refused.value)
    assert "leave --continue out" in str(refused.value)
    with store.open_run(e, machine, tmp_path / "runs") as again:
        again.start(SUBJECT | change.get("subject", {}))
        assert again.path.name == "2"
        assert again.records == []
        make_block(again, e)
        run = again.finished()
    assert len(run.records) == len(store.load(folder.path).records)
    assert re.fullmatch(rf"run 2; run 1 of \d\d:\d\d is kept: {re.escape(says)}", run.origin)


def test_whether_a_run_is_new_continued_or_shown_again_is_told(open_run: Any, experiment: Make) -> None:
    e = experiment()
    told = []
    for blocks, options in [(1, {}), (1, {"fresh": True}), (1, {"continued": True}), (0, {"continued": True})]:
        with open_run(e, **options) as folder:
            folder.start(SUBJECT)
            for _ in range(blocks):
                make_block(folder, e)
            made = folder.finished()
            told.append((folder.path.name, made.origin))
    assert told[0] == ("1", "")
    assert told[1][0] == "2" and told[1][1].startswith("run 2; run 1 of ")
    assert told[2] == ("2", "continues run 2, which had 2 of these 4 launches")
    assert told[3] == ("2", "shown from run 2, nothing was measured") and made.shown_again


def test_a_run_that_is_not_there_cannot_be_continued(open_run: Any, experiment: Make) -> None:
    with pytest.raises(StoreError, match="no run to continue"), open_run(experiment(), continued=True):
        pass


def test_other_circumstances_without_a_complete_block_start_the_next_run(open_run: Any, experiment: Make) -> None:
    """Who mends a program that never worked has nothing to delete."""
    e = experiment()
    with open_run(e) as folder:
        folder.start(SUBJECT)
        folder.append(record(e))
    with open_run(e) as folder:
        folder.start(SUBJECT | {"sources": ["witness"]})
        assert folder.path.name == "2"
        assert folder.begin() == (0, 0)
        make_block(folder, e)
        assert len(folder.finished().all_records) == 2


def test_another_format_is_refused(open_run: Any, experiment: Make) -> None:
    e = experiment()
    with open_run(e) as folder:
        folder.start(SUBJECT)
    plan = folder.path / "plan.json"
    plan.write_text(plan.read_text().replace('"format": 2', '"format": 99'))
    with pytest.raises(StoreError, match="run format 99, but this version reads 2"), open_run(e):
        pass
    with pytest.raises(StoreError, match="run format 99"):
        store.load(folder.path)


def test_records_of_another_format_are_refused(open_run: Any, experiment: Make) -> None:
    e = experiment()
    with open_run(e) as folder:
        folder.start(SUBJECT)
        make_block(folder, e)
    file = folder.path / "records.jsonl"
    file.write_text(file.read_text().replace('"format":2', '"format":99'))
    with pytest.raises(StoreError, match=r"records\.jsonl:1: record format 99, but this version reads 2"):
        store.load(folder.path)


def test_what_is_no_run_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=f"^{tmp_path}: holds no run; give the folder of one run, such as "):
        store.load(tmp_path)


def test_a_run_that_launched_nothing_leaves_no_trace(open_run: Any, experiment: Make, tmp_path: Path) -> None:
    with open_run(experiment()):
        pass
    assert list((tmp_path / "runs").iterdir()) == []


def test_another_launcher_has_a_folder_of_its_own(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    e = experiment()
    with store.open_run(e, two_cores, tmp_path, "fake-1234") as folder:
        folder.start({})
    assert folder.path == tmp_path / f"tune-{e.hash}-fake-1234" / "1"


def test_half_made_folders_of_a_crash_are_swept_away(open_run: Any, experiment: Make, tmp_path: Path) -> None:
    e = experiment()
    home = tmp_path / "runs" / f"tune-{e.hash}"
    (home / ".1.new").mkdir(parents=True)
    with open_run(e) as folder:
        folder.start(SUBJECT)
    assert sorted(path.name for path in home.iterdir()) == [".lock", "1"]
