# SPDX-License-Identifier: Apache-2.0
"""Reports of ranks on other machines, as a shared folder may show them: whole, torn, late or not at all."""

import subprocess
import threading
from pathlib import Path

import pytest

from corescale import native
from corescale.errors import InconclusiveError
from corescale.observe import ranks
from corescale.observe.launchers import remote_failures
from corescale.observe.scratch import Scratch
from corescale.observe.spawn import SpawnReport, SpawnRequest


def report(tmp_path: Path) -> bytes:
    """A report as the spawner writes it."""
    file = tmp_path / "report"
    subprocess.run((native.find("corescale-spawn"), "--report", file, "--", "true"), check=True)
    return file.read_bytes()


def ended(scratch: Scratch) -> int:
    """The number of ranks whose reports a launch of two that succeeded has."""
    return len(remote_failures.ended(SpawnReport("ok", wall=9.0), scratch, remote_failures.TRACE)[1])


@pytest.mark.parametrize("second", [b"", b"torn"])
def test_a_launch_without_a_whole_report_of_each_rank_is_no_success(
    second: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranks, "PATIENCE", 0.1)
    whole = report(tmp_path)
    with Scratch() as scratch:
        ranks.leaf(SpawnRequest(("true",)), scratch, [(), ()], afar=True)
        folder = scratch.of("ranks")
        for rank, text in enumerate((whole, whole[: len(whole) // 2] if second else b"")):
            (folder / f"rank.{rank}").write_bytes(text)
            (folder / f"node.{rank}").write_text(f"n{rank}\n")
        with pytest.raises(InconclusiveError, match=r"^n1: 1 of 2 ranks left no whole report.*same command goes on"):
            ended(scratch)


def test_a_report_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    whole = report(tmp_path)
    with Scratch() as scratch:
        ranks.leaf(SpawnRequest(("true",)), scratch, [(), ()], afar=True)
        folder = scratch.of("ranks")
        (folder / "rank.0").write_bytes(whole)
        late = threading.Timer(0.2, lambda: (folder / "rank.1").write_bytes(whole))
        late.start()
        assert ended(scratch) == 2


def test_a_rank_afar_takes_temporary_folders_of_its_own_machine() -> None:
    request = SpawnRequest(("true",), scratch="/only/here")
    with Scratch() as scratch:
        assert "/only/here" in ranks.leaf(request, scratch, [()]).read_text()
        assert "/only/here" not in ranks.leaf(request, scratch, [()], afar=True).read_text()
