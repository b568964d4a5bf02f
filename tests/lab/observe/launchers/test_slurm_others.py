# SPDX-License-Identifier: Apache-2.0
"""Real clusters of Slurm that differ: cores of two hardware threads, ranks that are bound, a clock that is ahead."""

import os
import re
from pathlib import Path

import pytest

import corescale
from corescale.errors import UnavailableError
from corescale.observe import launchers
from corescale.observe.doctor import cluster
from support import slurm

pytestmark = pytest.mark.skipif(slurm.reason() is not None, reason=str(slurm.reason()))
CPUS = "sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "shared"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


def test_hardware_threads_are_no_cores(tmp_path: Path, place: Path) -> None:
    """Each thread is given a core, which is two CPUs, whatever salloc is told. Nothing is bound to cores that are not
    here."""
    with slurm.cluster(tmp_path, node="CPUs=4 Sockets=1 CoresPerSocket=2 ThreadsPerCore=2"):
        assert slurm.said("sinfo", "-h", "-p", "debug", "-o", "%c") == "4"
        found = cluster.survey()
        assert found is not None and {each.cores for each in found.partitions} == {2}
        assert launchers.machine("slurm").default_max_threads == 2
        say = "scontrol -o show step $SLURM_JOB_ID.$SLURM_STEP_ID >>$SLURM_NTASKS-{threads}"
        layouts = {"layout": ["1x1x1", "2x1x1", "1x2x1", "2x2x1"]}
        hint = "--hint=multithread"
        made = corescale.scan(["sh", "-c", say], on="slurm", allocation=hint, factor=layouts, runs=1)
        over = {str(record.configuration.layout): record.oversubscribed for record in made.result.records}
        assert over == {"1x1x1": False, "2x1x1": False, "1x2x1": False, "2x2x1": True}
    given = {name: re.findall(r" CPUs=(\d+)", (place / name).read_text()) for name in ("1-1", "1-2", "2-1")}
    assert {name: {*each} for name, each in given.items()} == {"1-1": {"2"}, "1-2": {"4"}, "2-1": {"4"}}


def bound(node: str, layout: str, tmp_path: Path, place: Path) -> list[str]:
    with slurm.cluster(tmp_path, node=node, tasks="affinity"):
        corescale.scan(["sh", "-c", f"{CPUS} >>seen-$SLURM_PROCID"], on="slurm", factor={"layout": [layout]}, runs=1)
    return [path.read_text().split()[0] for path in sorted(place.glob("seen-*"))]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
def test_a_thread_has_one_hardware_thread_of_its_core(tmp_path: Path, place: Path) -> None:
    (cpus,) = bound("CPUs=2 Sockets=1 CoresPerSocket=1 ThreadsPerCore=2", "1x1x1", tmp_path, place)
    assert cpus.isdecimal()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
def test_ranks_share_no_core(tmp_path: Path, place: Path) -> None:
    first, second = bound("CPUs=2 Sockets=1 CoresPerSocket=2 ThreadsPerCore=1", "1x2x1", tmp_path, place)
    assert first.isdecimal() and second.isdecimal() and first != second


def test_a_node_whose_clock_is_ahead_is_named(tmp_path: Path, place: Path) -> None:
    del place
    ahead = "its clock may differ from the controller's"
    with slurm.cluster(tmp_path), slurm.ahead(tmp_path, "n2", 240), pytest.raises(UnavailableError) as raised:
        corescale.scan("true", on="slurm", nodes=[2], runs=1)
    assert str(raised.value) == f"n2 starts no rank: the job's credential has expired; {ahead}"
