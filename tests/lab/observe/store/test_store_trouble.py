# SPDX-License-Identifier: Apache-2.0
"""What a full disk, a damaged file or a missing right does to a run folder: one clear error, and nothing is lost."""

import errno
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corescale.declare.experiment import Experiment
from corescale.errors import StoreError
from corescale.machine import Machine
from corescale.observe import store
from corescale.observe.store import durable
from support.stores import SUBJECT, make_block, record

Make = Callable[..., Experiment]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 32 KiB; needs the right to mount."""
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(root: Path, experiment: Experiment, machine: Machine) -> int:
    """Appends until it fails; the number of records that were acknowledged."""
    kept = 0
    with store.open_run(experiment, machine, root) as folder, pytest.raises(StoreError) as full:
        folder.start(SUBJECT)
        folder.append(record(experiment, order=kept, tail="x" * 700))
        folder.complete()
        while True:
            kept += 1
            folder.append(record(experiment, block=1, order=kept, tail="x" * 700))
    assert str(full.value).endswith(f"; what was measured is kept (corescale report {folder.path})")
    assert "records.jsonl: cannot be written: " in str(full.value)
    assert "or choose --out DIR" in str(full.value)
    assert str(full.value).count("\n") == 0
    return kept


def test_a_full_disk_is_one_clear_error_and_loses_nothing(
    small_disk: Path, experiment: Make, two_cores: Machine
) -> None:
    e = experiment()
    kept = fill(small_disk, e, two_cores)
    (run,) = small_disk.glob("*/1")
    assert (run / "records.jsonl").read_bytes().endswith(b"\n")
    assert [r.order for r in store.load(run).all_records] == list(range(kept))
    assert kept > 3


def test_a_file_that_may_not_grow_is_one_clear_error_and_loses_nothing(
    tmp_path: Path, experiment: Make, two_cores: Machine
) -> None:
    e = experiment()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        kept = fill(tmp_path, e, two_cores)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    (run,) = tmp_path.glob("*/1")
    assert (run / "records.jsonl").read_bytes().endswith(b"\n")
    assert [r.order for r in store.load(run).all_records] == list(range(kept))
    assert kept > 3


def test_a_failing_sync_is_one_clear_error_and_the_line_does_not_count(
    open_run: Any, experiment: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    e = experiment()
    with open_run(e) as folder:
        folder.start(SUBJECT)
        folder.append(record(e))

        def fail(_: int) -> None:
            raise OSError(errno.EIO, "Input/output error")

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fail)
            with pytest.raises(StoreError, match="Input/output error"):
                folder.append(record(e, order=1))
    assert len(store.load(folder.path).all_records) == 1


def test_a_folder_without_room_for_its_first_files_is_not_there_at_all(
    open_run: Any, experiment: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with open_run(experiment()) as folder, monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(StoreError, match="No space left on device"):
            folder.start(SUBJECT)
    assert list((tmp_path / "runs").iterdir()) == []


def test_no_permission_to_write_is_one_clear_error(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(StoreError) as refused, store.open_run(experiment(), two_cores, tmp_path / "runs"):
            pass
    finally:
        os.seteuid(user)
    assert "cannot be written: Permission denied; choose --out DIR" in str(refused.value)


def test_a_root_that_is_a_file_is_one_clear_error(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with (
        pytest.raises(StoreError, match="cannot be written"),
        store.open_run(experiment(), two_cores, tmp_path / "runs"),
    ):
        pass


def three_records(open_run: Any, e: Experiment) -> Path:
    """The file of a run's only block."""
    with open_run(e) as folder:
        folder.start(SUBJECT)
        make_block(folder, e, 3)
    return Path(folder.path) / "records.jsonl"


def test_wherever_the_last_line_is_torn_every_whole_line_is_kept(open_run: Any, experiment: Make) -> None:
    e = experiment()
    file = three_records(open_run, e)
    whole = file.read_bytes()
    last = whole[: whole.rstrip(b"\n").rfind(b"\n") + 1]
    for length in range(len(last), len(whole)):
        file.write_bytes(whole[:length])
        assert len(store.load(file.parent).all_records) == 3
        with open_run(e) as again:
            again.start(SUBJECT)
            assert again.begin() == (0, 1), "the block is not complete"
        lines, torn = durable.read_lines(file)
        assert torn == 0
        assert lines[-1]["event"] == "block-abandoned"


def test_a_torn_line_in_the_middle_is_refused_with_its_number(open_run: Any, experiment: Make) -> None:
    e = experiment()
    file = three_records(open_run, e)
    lines = file.read_bytes().split(b"\n")
    lines[1] = lines[1][:100]
    file.write_bytes(b"\n".join(lines))
    with pytest.raises(StoreError, match=r"records\.jsonl:2: not a whole record"), open_run(e):
        pass
    with pytest.raises(StoreError, match=r"records\.jsonl:2"):
        store.load(file.parent)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail_otherwise(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.mktemp("lines") / "records.jsonl"
    file.write_bytes(b'{"event":"x"}\n' + data)
    try:
        lines, torn = durable.read_lines(file)
    except StoreError:
        return
    assert lines[0] == {"event": "x"}
    assert 0 <= torn <= len(data)
