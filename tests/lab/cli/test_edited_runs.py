# SPDX-License-Identifier: Apache-2.0
"""Whatever of a run somebody edits, it is shown, or refused in one line: never a defect of corescale."""

import os
import shutil
import tarfile
from pathlib import Path

import pytest

from corescale.declare import command_line
from corescale.declare.experiment import Experiment
from corescale.declare.request import ScanRequest
from corescale.errors import StoreError
from corescale.machine import Machine
from corescale.observe import store
from corescale.observe.launchers.fake import Fake
from corescale.observe.launchers.landscape import Landscape
from corescale.observe.run import run
from support import edits
from support.policies import blocks

EVERY = 1 if edits.STEP == 1 else len(edits.INSTEAD) + 1
"""edits to the next one that is also shown, so that each value has its turn"""

REQUEST = ScanRequest(threads="1,2", runs=6, metric=["bytes=peak-memory"], prepare="true")


@pytest.fixture
def scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Experiment, Machine]:
    """The folder of a run that was cut short, and what made it. Nothing is synced, as nothing crashes here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    machine = Machine.here()
    experiment = command_line.scan(REQUEST, ["x", "{threads}"], machine)
    landscape = Landscape.model_validate({"metrics": {"bytes": {"base": 1e6}}})
    with store.open_run(experiment, machine, tmp_path / "runs", "fake") as folder:
        launcher = Fake(experiment, landscape)
        launcher.subject = lambda: {}  # type: ignore[method-assign]
        run(experiment, folder, launcher, blocks(experiment, 6))
        (folder.path / "finished").unlink()
        return folder.path, experiment, machine


@pytest.mark.parametrize("name", ["plan.json", "environment.json", "records.jsonl"])
def test_a_pipe_in_a_run_and_a_link_in_an_archive_are_refused(
    scanned: tuple[Path, Experiment, Machine], name: str
) -> None:
    folder, _, _ = scanned
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(StoreError, match="not a regular file"):
        store.load(folder)
    (folder / name).unlink()
    (folder / name).symlink_to("/etc/passwd")
    with tarfile.open(folder / "run.tar.xz", "w:xz") as archive:
        for each in ("plan.json", "environment.json", "records.jsonl"):
            archive.add(folder / each, each)
    with pytest.raises(StoreError):
        store.load(folder / "run.tar.xz")


@pytest.mark.parametrize("name", ["plan.json", "environment.json", "records.jsonl"])
def test_an_edited_run_is_no_defect(scanned: tuple[Path, Experiment, Machine], name: str) -> None:
    folder, experiment, machine = scanned
    file, kept, faults = folder / name, folder.with_name("kept"), []
    shutil.copytree(folder, kept)
    resume = edits.resumed(experiment)
    resume(folder, machine)  # as it is, it goes on
    assert not edits.fault(edits.shown, folder, machine)
    for k, (what, text) in enumerate(edits.edited((kept / name).read_text())):
        for each in [edits.read] + [edits.shown, edits.foreseen] * (k % EVERY == 0) + [resume] * (k % 11 == 0):
            file.write_text(text)
            if said := edits.fault(each, folder, machine):
                faults.append(f"{name}: {what}: {each.__name__}: {said}")
        shutil.rmtree(folder.parent / "2", ignore_errors=True)
        shutil.copytree(kept, folder, dirs_exist_ok=True)
    assert not faults, "\n".join(faults)
