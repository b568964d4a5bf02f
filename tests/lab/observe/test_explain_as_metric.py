# SPDX-License-Identifier: Apache-2.0
"""What the profiler sees, as a metric of every launch: in real programs that spend it, and in others that do not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from corescale import native
from corescale.declare.catalogue import allocators
from corescale.declare.experiment import Experiment
from corescale.errors import ExitCode
from corescale.machine import Machine
from corescale.observe import store
from corescale.observe.launchers.direct import Direct
from corescale.observe.run import run
from corescale.observe.sources.thread_seconds import KINDS, PREFIX
from corescale.records import Record
from support.commands import corescale, refused
from support.policies import blocks

KNOWN = str(native.find("known_truth"))
EVERY = {kind: PREFIX + kind for kind in KINDS}


def measured(experiment: Experiment, machine: Machine) -> tuple[Record, ...]:
    asked = experiment.model_copy(update={"metrics": EVERY})
    return run(asked, store.Memory(), Direct(asked, machine), blocks(asked, 1))


@pytest.mark.parametrize(("part", "system", "kind"), [
    ("malloc", "threads", "allocating"), ("lock", "threads", "lock-wait"), ("imbalance", "openmp", "barrier-wait"),
])  # fmt: skip
def test_what_a_program_spends_is_a_number_of_its_launch(
    part: str, system: str, kind: str, experiment: Callable[..., Experiment], two_cores: Machine
) -> None:
    (spends,) = measured(experiment(KNOWN, part, system, "2", "0.3", levels={}), two_cores)
    (sleeps,) = measured(experiment(KNOWN, "sleep", "threads", "1", "0.1", levels={}), two_cores)
    assert {*spends.metrics} >= {*KINDS} and spends.sources == ("profiler",)
    assert spends.metrics[kind] > 0.01 > sleeps.metrics[kind] >= 0


@pytest.mark.skipif(allocators.find("mimalloc") is None, reason="no mimalloc here")
def test_an_allocator_is_proved_behind_the_profiler(experiment: Callable[..., Experiment], two_cores: Machine) -> None:
    levels = {"allocator": ("system", "mimalloc")}
    records = measured(experiment(KNOWN, "malloc", "threads", "1", "0.1", levels=levels), two_cores)
    inside = {r.configuration["allocator"]: {p.preload for p in r.processes} for r in records}
    assert inside == {"system": {None}, "mimalloc": {(str(allocators.find("mimalloc")),)}}
    assert all(r.status == "ok" and r.metrics["allocating"] > 0 for r in records)
    assert not [line for r in records for line in r.warnings if "malloc" in line]


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    done = corescale("scan", "-t", "1", "--metric", "n=explain:luck", "--", "true", cwd=tmp_path)
    refused(done, ExitCode.USAGE, "allocating")


def test_what_no_profiler_can_be_loaded_into_has_no_such_number(tmp_path: Path) -> None:
    program = Path(native.find("spawner_fixture")).with_name("spawner_fixture_static")
    if not program.exists():
        pytest.skip("no static C library")
    words = ("scan", "-t", "1", "-r", "1", "--metric", "n=explain:allocating", "--", str(program), "nothing")
    done = corescale(*words, cwd=tmp_path)
    assert "no profiler could be loaded" in done.stdout + done.stderr


def test_it_is_a_column_of_scan_and_compare(tmp_path: Path) -> None:
    asked = ("-q", "-r", "2", "--metric", "held=explain:lock-wait", "--export-csv", "table.csv", "--")
    for words in (("scan", "-t", "1,2", *asked, KNOWN, "lock", "threads", "2", "0.05"),
                  ("compare", *asked, f"{KNOWN} lock threads 2 0.05", f"{KNOWN} sleep threads 1 0.05")):  # fmt: skip
        done = corescale(*words, cwd=tmp_path)
        head, *rows = (tmp_path / "table.csv").read_text().splitlines()
        held = [float(row.split(",")[head.split(",").index("metric_held")]) for row in rows]
        assert max(held) > 0, done.stderr
        assert "held" in done.stdout
