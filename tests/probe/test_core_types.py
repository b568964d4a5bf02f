# SPDX-License-Identifier: Apache-2.0
"""Recorded processors whose cores are of several kinds."""

import dataclasses
from pathlib import Path

import pytest

from corescale.declare.factors import placement
from corescale.machine import Machine
from corescale.observe.doctor import warnings
from corescale.topology import core_types


def recorded(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


INTEL = {"sys/devices/cpu_core/cpus": "0-3", "sys/devices/cpu_atom/cpus": "4-7"}
ARM = {f"sys/devices/system/cpu/cpu{cpu}/cpu_capacity": "1024" if cpu > 1 else "446" for cpu in range(4)}


def test_intel_names_its_kinds(tmp_path: Path) -> None:
    assert core_types(recorded(tmp_path, INTEL)) == {"cpu_core": (0, 1, 2, 3), "cpu_atom": (4, 5, 6, 7)}


def test_arm_tells_capacities(tmp_path: Path) -> None:
    assert core_types(recorded(tmp_path, ARM)) == {"capacity 1024": (2, 3), "capacity 446": (0, 1)}


@pytest.mark.parametrize("files", [{}, {"sys/devices/cpu_core/cpus": "0-3"}, dict(list(ARM.items())[:2])])
def test_cores_that_are_alike_have_no_kinds(tmp_path: Path, files: dict[str, str]) -> None:
    assert core_types(recorded(tmp_path, files)) == {}


def test_doctor_and_the_factor_tell_them_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = core_types(recorded(tmp_path, INTEL))
    monkeypatch.setattr(warnings, "core_types", lambda: kinds)
    monkeypatch.setattr(placement, "core_types", lambda: kinds)
    machine = dataclasses.replace(Machine.here(), affinity=tuple(range(6)))
    assert any("cpu_core 0-3, cpu_atom 4-7" in warning.what for warning in warnings.collect(machine, (), None, {}))
    assert placement.Affinity().auto("affinity", machine) == (["0-5", "0-3", "4-5"], ())
    monkeypatch.setattr(placement, "core_types", dict)
    assert placement.Affinity().auto("affinity", machine)[0] == ["0-5"]
