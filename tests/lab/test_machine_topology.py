# SPDX-License-Identifier: Apache-2.0
"""CPUs and what they share, from hwloc's XML and from sysfs trees."""

import dataclasses
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corescale import topology
from corescale.errors import UsageError
from corescale.machine import Cpu
from corescale.topology import cpu_list, format_cpu_list, from_hwloc, from_sysfs
from support.trees import sysfs, tree, two_socket_tree, xml


def test_a_captured_guest() -> None:
    found = from_hwloc(xml("kvm_guest.xml"))
    assert found.cpus == (Cpu(0, 0, 0, 0, 0), Cpu(1, 1, 0, 0, 0))
    assert (found.cache_line, found.l3_bytes) == (64, 32 << 20)


def two_sockets(cpu: int) -> Cpu:
    """20 cores, siblings 20 apart, five cores to an L3, two L3 to a socket, a node each."""
    core = cpu % 20
    return Cpu(cpu, core=core, socket=core // 10, numa_node=core // 10, l3_domain=core // 5)


def test_two_sockets_with_smt_and_four_l3_from_hwloc() -> None:
    assert from_hwloc(xml("two_sockets_smt.xml")).cpus == tuple(map(two_sockets, range(40)))


def test_sysfs_numbers_as_hwloc_does(tmp_path: Path) -> None:
    found = from_sysfs(two_socket_tree(tmp_path))
    assert found.cpus == tuple(map(two_sockets, range(40)))
    assert (found.cache_line, found.l3_bytes) == (64, 32 << 20)


def test_arm_without_an_l3_is_one_group_per_node(tmp_path: Path) -> None:
    single = [str(c) for c in range(4)]
    by_files = from_sysfs(sysfs(tmp_path, cores=single, packages=["0-3"], nodes=["0-3"], l3=[]))
    by_hwloc = from_hwloc(xml("arm_without_l3.xml"))
    assert by_files.cpus == by_hwloc.cpus == tuple(Cpu(c, c, 0, 0, 0) for c in range(4))
    assert by_files.l3_bytes == by_hwloc.l3_bytes == 0


def test_some_cores_without_the_l3_of_the_others(tmp_path: Path) -> None:
    single = [str(c) for c in range(6)]
    found = from_sysfs(sysfs(tmp_path, cores=single, packages=["0-5"], nodes=["0-5"], l3=["0-3"]))
    assert [cpu.l3_domain for cpu in found.cpus] == [0, 0, 0, 0, 1, 1]


def test_offline_cpus_are_left_out(tmp_path: Path) -> None:
    root = sysfs(tmp_path, cores=["0", "2,6", "3"], packages=["0,2-3,6"], nodes=["0,2-3,6"], l3=["0,2-3,6"])
    tree(root, {"/sys/devices/system/cpu/cpu1/uevent": "", "/sys/devices/system/cpu/online": "0,2-3,6"})
    found = from_sysfs(root)
    assert [(cpu.cpu, cpu.core) for cpu in found.cpus] == [(0, 0), (2, 1), (3, 2), (6, 1)]


def test_hidden_sysfs_leaves_the_processors_as_cores(tmp_path: Path) -> None:
    root = tree(tmp_path, {"/proc/cpuinfo": "processor : 0\nmodel name : X\n\nprocessor : 1\nmodel name : X"})
    assert from_sysfs(root).cpus == (Cpu(0, 0, 0, 0, 0), Cpu(1, 1, 0, 0, 0))


def test_kernels_before_5_name_the_lists_otherwise(tmp_path: Path) -> None:
    cpu = "/sys/devices/system/cpu"
    files = {f"{cpu}/cpu{c}/topology/thread_siblings_list": "0-1" for c in range(2)}
    found = from_sysfs(tree(tmp_path, {f"{cpu}/online": "0-1", **files}))
    assert [cpu.core for cpu in found.cpus] == [0, 0]


def test_hwloc_1_names_caches_and_sockets_otherwise() -> None:
    pairs = {"0x00000003": (0, 1), "0x0000000c": (2, 3)}
    caches = "".join(
        f'<object type="Cache" depth="3" cache_size="4096" cpuset="{cpus}">'
        + "".join(f'<object type="PU" os_index="{cpu}"/>' for cpu in pair)
        + "</object>"
        for cpus, pair in pairs.items()
    )
    socket = f'<object type="Socket" cpuset="0x0000000f">{caches}</object>'
    text = f'<topology><object type="NUMANode" os_index="1" cpuset="0x0000000f">{socket}</object></topology>'
    assert [(c.core, c.socket, c.numa_node, c.l3_domain) for c in from_hwloc(text).cpus] == [
        (0, 0, 1, 0),
        (1, 0, 1, 0),
        (2, 0, 1, 1),
        (3, 0, 1, 1),
    ]


@pytest.mark.parametrize("text", ["", "<topology/>", "lstopo: error", '<t><object type="PU" os_index="x"/></t>'])
def test_what_is_not_hwlocs_xml_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"hwloc|invalid literal"):
        from_hwloc(text)


@pytest.mark.skipif(shutil.which("lstopo-no-graphics") is None, reason="hwloc-nox is not installed")
def test_hwloc_and_sysfs_agree_on_this_machine() -> None:
    here = topology.here()
    assert here.source == "hwloc"
    assert dataclasses.replace(from_sysfs(), source="hwloc") == here


@given(st.sets(st.integers(0, 300)))
def test_cpu_lists_round_trip(cpus: set[int]) -> None:
    assert cpu_list(format_cpu_list(cpus)) == tuple(sorted(cpus))


@pytest.mark.parametrize("text", ["near", "1-", "-1", "1-2-3", "0x1", "1;2"])
def test_no_cpu_list(text: str) -> None:
    with pytest.raises(UsageError):
        cpu_list(text)
