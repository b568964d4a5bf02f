# SPDX-License-Identifier: Apache-2.0
"""Waiting for a quiet machine: before each block, outside of the budget, and not for ever."""

import subprocess
import sys
from pathlib import Path

import pytest

import corescale
from corescale.machine import Machine
from corescale.observe import wait_quiet


def test_it_waits_while_others_use_the_cpus_and_says_so_once() -> None:
    looks = iter([0.9, 0.5, 0.02, 0.01])
    said: list[str] = []
    waiting = wait_quiet.Quiet(Machine.here(), said.append, lambda: next(looks))
    waiting.wait()
    assert next(looks) == 0.01 and len(said) == 1 and "90% of the CPUs" in said[0]


def test_it_gives_up_on_a_machine_that_is_never_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait_quiet, "LONGEST", 3.0)
    said: list[str] = []
    waiting = wait_quiet.Quiet(Machine.here(), said.append, lambda: 1.0)
    waiting.wait()
    waiting.wait()
    assert len(said) == 2 and said[-1].endswith("measuring nevertheless")


def test_a_run_waits_before_its_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside programs that use a tenth of the CPUs and more, whatever else runs there."""
    monkeypatch.setattr(wait_quiet, "LONGEST", 1.0)
    said: list[str] = []
    many = 1 + len(Machine.here().usable) // 10
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(many)]
    try:
        corescale.scan(
            "true", threads=1, runs=1, wait_quiet=True, out=tmp_path, progress=lambda now: said.append(now.note)
        )
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert any(note.startswith("waiting until the machine is quiet") for note in said), said
