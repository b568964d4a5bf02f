# SPDX-License-Identifier: Apache-2.0
"""The library and `corescale doctor` say the same of a machine: of this one, and of recorded ones."""

import subprocess
from pathlib import Path

import pytest

from corescale import native, topology
from corescale.machine import Machine
from corescale.topology import Cpu
from support.trees import RECORDED, recorded

MACHINES = Path(__file__).parents[1] / "lab" / "machines"


def ask(*argv: object) -> tuple[tuple[Cpu, ...], tuple[int, ...], int]:
    program = native.find("print_topology")
    done = subprocess.run([str(program), *map(str, argv)], check=True, capture_output=True, text=True, timeout=60)
    *rows, most = [list(map(int, line.split())) for line in done.stdout.splitlines()]
    return tuple(Cpu(*row[:5]) for row in rows), tuple(row[0] for row in rows if row[5]), most[0]


def test_of_this_machine() -> None:
    machine = Machine.here()
    assert ask("here") == (machine.cpus, machine.affinity, machine.default_max_threads)


def test_of_this_machine_by_sysfs() -> None:
    cpus, _, _ = ask("sysfs")
    assert cpus == topology.here().cpus


@pytest.mark.parametrize("name", RECORDED)
def test_of_recorded_machines(name: str, tmp_path: Path) -> None:
    cpus, _, _ = ask("xml", MACHINES / f"{name}.xml")
    assert cpus == recorded(tmp_path, name)


def test_of_a_tree_with_offline_cpus_and_some_without_an_l3(tmp_path: Path) -> None:
    cpu = "sys/devices/system/cpu"
    node = "sys/devices/system/node"
    files = {f"{cpu}/online": "0,2-3,6", f"{node}/online": "1", f"{node}/node1/cpulist": "0,2-3,6"}
    files |= {f"{cpu}/cpu{c}/topology/thread_siblings_list": "2,6" if c in (2, 6) else str(c) for c in (0, 2, 3, 6)}
    for c in (0, 2, 6):
        files |= {
            f"{cpu}/cpu{c}/cache/index3/{name}": text
            for name, text in {"level": "3", "type": "Unified", "shared_cpu_list": "0,2,6"}.items()
        }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    cpus, _, _ = ask("sysfs", tmp_path)
    assert cpus == topology.here(tmp_path).cpus
    assert [c.l3_domain for c in cpus] == [0, 0, 1, 0]
