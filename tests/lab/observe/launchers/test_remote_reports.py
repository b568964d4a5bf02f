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


def test_what_every_rank_reports_of_its_node_counts_once_a_node() -> None:
    each = {
        rank: SpawnReport("ok", wall=1.0, node=f"n{rank // 2}", steal=0.1, throttled=0.5, user=1.0) for rank in range(4)
    }
    found = ranks.folded(SpawnReport("ok", wall=2.0), each, 4)
    assert [found.steal, found.throttled, found.user] == pytest.approx([0.2, 1.0, 4.0])


def test_a_way_that_is_lost_after_every_rank_has_reported_is_no_failure_of_the_program(tmp_path: Path) -> None:
    lost = f"{'-' * 40}\nORTE has lost communication with a remote daemon.\n\n  Remote daemon: [[1,0],1] on node h2\n"
    with Scratch() as scratch:
        ranks.leaf(SpawnRequest(("true",)), scratch, [()], afar=True)
        (scratch.of("ranks") / "rank.0").write_bytes(report(tmp_path))
        (scratch.of("ranks") / "node.0").write_text("h2\n")
        with pytest.raises(InconclusiveError, match=r"^h2 cannot be reached any more; .*the same command goes on"):
            remote_failures.ended(SpawnReport("failed", exit_code=205, tail=lost), scratch, remote_failures.TRACE)


@pytest.mark.parametrize(
    "said",
    [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=9.0. Some of the step tasks have been OOM Killed.",
        "srun: error: n1: task 0: Out Of Memory",
    ],
)
def test_memory_that_runs_out_on_a_node_is_a_failure_of_the_program(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm ends all of a step, so that neither the leaf nor its spawner is left to report."""
    monkeypatch.setattr(ranks, "PATIENCE", 0.1)
    with Scratch() as scratch:
        ranks.leaf(SpawnRequest(("true",)), scratch, [()], afar=True)
        (scratch.of("ranks") / "node.0").write_text("n1\n")
        killed = SpawnReport("failed", exit_code=1, tail=f"srun: launch\n{said}\n")
        outcome, _ = remote_failures.ended(killed, scratch, remote_failures.TRACE)
        assert (outcome.status, outcome.tail) == ("failed", f"{said}\n")
