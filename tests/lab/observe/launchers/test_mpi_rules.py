# SPDX-License-Identifier: Apache-2.0
"""What the launcher of ranks decides and says without any: the cores of each rank, and mpirun's own words."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from corescale.declare.experiment import Experiment
from corescale.endings import boxed
from corescale.errors import UnavailableError, UsageError
from corescale.machine import Machine
from corescale.observe import launchers
from corescale.observe.launchers import slots
from corescale.records import Layout
from corescale.topology import Cpu
from support.mpi import needs_mpi

Make = Callable[..., Experiment]


def cpus(sockets: int, cores: int, threads: int) -> tuple[Cpu, ...]:
    """As Linux numbers them: the second hardware threads come last."""
    number = sockets * cores
    return tuple(Cpu(k, k % number, k % number // cores, 0, k % number // cores) for k in range(number * threads))


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (Layout(2, 2), [(0, 1, 4, 5), (2, 3, 6, 7)]),
        (Layout(1, 4), [(0, 4), (1, 5), (2, 6), (3, 7)]),
        (Layout(3, 1), [(0, 1, 2, 4, 5, 6)]),
        (Layout(2, 4), [(0, 4), (1, 5), (2, 6), (3, 7)]),
        (Layout(1, 5), [(0,), (4,), (1,), (5,), (2,)]),
        (Layout(4, 3), [(), (), ()]),
    ],
)
def test_whole_cores_first_then_hardware_threads_then_none(
    two_cores: Machine, layout: Layout, expected: list[tuple[int, ...]]
) -> None:
    """Two sockets of two cores with two hardware threads each."""
    machine = dataclasses.replace(two_cores, cpus=cpus(2, 2, 2), affinity=tuple(range(8)))
    assert slots.binding(machine, None, layout) == expected


def test_a_mask_of_the_configuration_is_shared_out(two_cores: Machine) -> None:
    machine = dataclasses.replace(two_cores, cpus=cpus(1, 4, 1), affinity=tuple(range(4)))
    assert slots.binding(machine, (1, 3), Layout(1, 2)) == [(1,), (3,)]
    assert slots.binding(machine, (1, 3), Layout(2, 2)) == [(1, 3), (1, 3)]


def test_mpiruns_reason_is_the_first_paragraph_between_its_rules() -> None:
    rule = "-" * 74
    assert boxed(f"noise\n{rule}\nThere are\nno slots:\n\n  x\n{rule}\n") == "There are no slots: x"
    assert boxed(f"{rule}\none only\n{rule}\nmore\n") == "one only"
    assert boxed("killed") == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "the mpi launcher needs Open MPI, and mpirun is not here (apt-get install openmpi-bin)"),
        ("HYDRA build details: Version: 4.0.2", "mpirun is not Open MPI's (apt-get install openmpi-bin)"),
    ],
)
def test_without_open_mpi_there_is_one_sentence_with_the_remedy(
    experiment: Make, two_cores: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, says: str
) -> None:
    if text is not None:
        (tmp_path / "mpirun").write_text(f"#!/bin/sh\necho '{text}'\n")
        (tmp_path / "mpirun").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("mpi", ""):
        with pytest.raises(UnavailableError) as refused:
            launchers.create(name, experiment("x", levels={"ranks": (2,)}), two_cores)
        assert says in str(refused.value)
        assert "\n" not in str(refused.value)


@needs_mpi
def test_a_factor_of_ranks_wants_a_launcher_of_ranks(experiment: Make, two_cores: Machine) -> None:
    assert launchers.create("", experiment("true", levels={"ranks": (1,)}), two_cores).name == "mpi"
    assert launchers.create("", experiment("true"), two_cores).name == "direct"
    with pytest.raises(UsageError, match="the direct launcher starts one rank on one node"):
        launchers.create("direct", experiment("true", levels={"ranks": (1, 2)}), two_cores)
    with pytest.raises(UsageError, match="the mpi launcher starts ranks on one node"):
        launchers.create("", experiment("true", levels={"layout": ("1x1x2",)}), two_cores)
