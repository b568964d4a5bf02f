# SPDX-License-Identifier: Apache-2.0
"""Waiting for a quiet machine: before each block, within a budget that was typed, and not for ever."""

import subprocess
import sys
import time
from collections.abc import Iterator
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


@pytest.fixture
def busy() -> Iterator[None]:
    """Programs that use a tenth of the CPUs and more."""
    many = 1 + len(Machine.here().usable) // 10
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(many)]
    yield
    for other in others:
        other.kill()
        other.wait()


@pytest.mark.usefixtures("busy")
def test_a_run_waits_before_its_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait_quiet, "LONGEST", 1.0)
    said: list[str] = []
    corescale.scan("true", threads=1, runs=1, wait_quiet=True, out=tmp_path, progress=lambda now: said.append(now.note))
    assert any(note.startswith("waiting until the machine is quiet") for note in said), said


LESS_BUDGET = (
    r"^--budget: the machine was not quiet in time; give it more time by a larger --budget, or leave --wait-quiet out$"
)


@pytest.mark.usefixtures("busy")
def test_a_typed_budget_pays_for_waiting(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(corescale.InconclusiveError, match=LESS_BUDGET):
        corescale.scan("true", threads=1, runs=1, wait_quiet=True, budget="3s", out=tmp_path)
    assert time.monotonic() - began < 6
