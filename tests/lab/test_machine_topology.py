# SPDX-License-Identifier: Apache-2.0
"""CPUs and what they share, from the files of Linux."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corescale.errors import UsageError
from corescale.machine import Cpu
from corescale.topology import cpu_list, format_cpu_list, here
from support.trees import recorded, recorded_tree, sysfs, tree


def two_sockets(cpu: int) -> Cpu:
    """20 cores, siblings 20 apart, five cores to an L3, two L3 to a socket, a node each."""
    core = cpu % 20
    return Cpu(cpu, core=core, socket=core // 10, numa_node=core // 10, l3_domain=core // 5)


def test_two_sockets_with_smt_and_four_l3(tmp_path: Path) -> None:
    found = here(recorded_tree(tmp_path, "two_sockets_smt"))
    assert found.cpus == tuple(map(two_sockets, range(40)))
    assert (found.cache_line, found.l3_bytes) == (64, 32 << 20)


def test_arm_without_an_l3_is_one_group_per_node(tmp_path: Path) -> None:
    assert recorded(tmp_path, "arm_without_l3") == tuple(Cpu(c, c, 0, 0, 0) for c in range(4))
    assert here(tmp_path).l3_bytes == 0


def test_some_cores_without_the_l3_of_the_others(tmp_path: Path) -> None:
    single = [str(c) for c in range(6)]
    found = here(sysfs(tmp_path, cores=single, packages=["0-5"], nodes=["0-5"], l3=["0-3"]))
    assert [cpu.l3_domain for cpu in found.cpus] == [0, 0, 0, 0, 1, 1]


def test_offline_cpus_are_left_out(tmp_path: Path) -> None:
    root = sysfs(tmp_path, cores=["0", "2,6", "3"], packages=["0,2-3,6"], nodes=["0,2-3,6"], l3=["0,2-3,6"])
    tree(root, {"/sys/devices/system/cpu/cpu1/uevent": "", "/sys/devices/system/cpu/online": "0,2-3,6"})
    found = here(root)
    assert [(cpu.cpu, cpu.core) for cpu in found.cpus] == [(0, 0), (2, 1), (3, 2), (6, 1)]


def test_hidden_sysfs_leaves_the_processors_as_cores(tmp_path: Path) -> None:
    root = tree(tmp_path, {"/proc/cpuinfo": "processor : 0\nmodel name : X\n\nprocessor : 1\nmodel name : X"})
    assert here(root).cpus == (Cpu(0, 0, 0, 0, 0), Cpu(1, 1, 0, 0, 0))


def test_kernels_before_5_name_the_lists_otherwise(tmp_path: Path) -> None:
    cpu = "/sys/devices/system/cpu"
    files = {f"{cpu}/cpu{c}/topology/thread_siblings_list": "0-1" for c in range(2)}
    found = here(tree(tmp_path, {f"{cpu}/online": "0-1", **files}))
    assert [cpu.core for cpu in found.cpus] == [0, 0]


@given(st.sets(st.integers(0, 300)))
def test_cpu_lists_round_trip(cpus: set[int]) -> None:
    assert cpu_list(format_cpu_list(cpus)) == tuple(sorted(cpus))


@pytest.mark.parametrize("text", ["near", "1-", "-1", "1-2-3", "0x1", "1;2"])
def test_no_cpu_list(text: str) -> None:
    with pytest.raises(UsageError):
        cpu_list(text)
