# SPDX-License-Identifier: Apache-2.0
"""The machine, from hwloc's XML, from sysfs trees, and from control groups of every kind."""

import dataclasses
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corescale import cgroup, topology
from corescale.errors import UsageError
from corescale.machine import Cpu, Machine
from corescale.topology import cpu_list, format_cpu_list, from_hwloc, from_sysfs

MACHINES = Path(__file__).with_name("machines")


def xml(name: str) -> str:
    return (MACHINES / name).read_text()


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def sysfs(
    root: Path, *, cores: list[str], packages: list[str], nodes: list[str], l3: list[str], online: str = ""
) -> Path:
    """The files of Linux for these groups of CPUs, each given as a CPU list."""
    cpu = "/sys/devices/system/cpu"
    files = {f"{cpu}/online": online or format_cpu_list([c for core in cores for c in cpu_list(core)])}
    for names, groups in (("core_cpus_list", cores), ("package_cpus_list", packages)):
        files |= {f"{cpu}/cpu{c}/topology/{names}": group for group in groups for c in cpu_list(group)}
    for kind, level, size, groups in (("Instruction", 1, "32K", cores), ("Unified", 3, "32768K", l3)):
        for group in groups:
            for c in cpu_list(group):
                index = f"{cpu}/cpu{c}/cache/index{level}"
                values = {"type": kind, "level": level, "size": size, "shared_cpu_list": group}
                files |= {f"{index}/{name}": str(value) for name, value in values.items()}
                files[f"{index}/coherency_line_size"] = "64"
    files |= {f"/sys/devices/system/node/node{number}/cpulist": group for number, group in enumerate(nodes)}
    return tree(root, files)


def test_a_captured_guest() -> None:
    found = from_hwloc(xml("kvm_guest.xml"))
    assert found.cpus == (Cpu(0, 0, 0, 0, 0), Cpu(1, 1, 0, 0, 0))
    assert (found.cache_line, found.l3_bytes) == (64, 32 << 20)


def two_sockets(cpu: int) -> Cpu:
    """20 cores, siblings 20 apart, five cores to an L3, two L3 to a socket, a node each."""
    core = cpu % 20
    return Cpu(cpu, core=core, socket=core // 10, numa_node=core // 10, core_group=core // 5)


def test_two_sockets_with_smt_and_four_l3_from_hwloc() -> None:
    assert from_hwloc(xml("two_sockets_smt.xml")).cpus == tuple(map(two_sockets, range(40)))


def two_socket_tree(root: Path) -> Path:
    return sysfs(
        root,
        cores=[f"{c},{c + 20}" for c in range(20)],
        packages=["0-9,20-29", "10-19,30-39"],
        nodes=["0-9,20-29", "10-19,30-39"],
        l3=[f"{c}-{c + 4},{c + 20}-{c + 24}" for c in (0, 5, 10, 15)],
    )


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
    assert [cpu.core_group for cpu in found.cpus] == [0, 0, 0, 0, 1, 1]


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
    assert [(c.core, c.socket, c.numa_node, c.core_group) for c in from_hwloc(text).cpus] == [
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


V1 = "31 1 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct"
V2 = "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
HYBRID = "41 1 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"


def groups(root: Path, lines: str, mounts: str, files: dict[str, str]) -> Path:
    return tree(root, {"/proc/self/cgroup": lines, "/proc/self/mountinfo": mounts, **files})


def cfs(folder: str, quota: int, period: int = 100000) -> dict[str, str]:
    base = f"/sys/fs/cgroup/cpu{folder}"
    return {f"{base}/cpu.cfs_quota_us": str(quota), f"{base}/cpu.cfs_period_us": str(period)}


def test_v1_quota(tmp_path: Path) -> None:
    groups(tmp_path, "3:cpu,cpuacct:/job\n2:memory:/other", V1, cfs("/job", 150000) | cfs("", -1))
    assert cgroup.quota_cores(tmp_path) == 1.5


def test_v2_quota(tmp_path: Path) -> None:
    groups(tmp_path, "0::/user/job", V2, {"/sys/fs/cgroup/user/job/cpu.max": "250000 100000"})
    assert cgroup.quota_cores(tmp_path) == 2.5


def test_the_tightest_on_the_way_up_counts(tmp_path: Path) -> None:
    files = cfs("", -1) | cfs("/a", 300000) | cfs("/a/b", 50000, 25000) | cfs("/a/b/c", 800000)
    groups(tmp_path / "1", "1:cpu:/a/b/c", V1, files)
    maxima = {"a": "max 100000", "a/b": "120000 100000", "a/b/c": "max 100000"}
    groups(tmp_path / "2", "0::/a/b/c", V2, {f"/sys/fs/cgroup/{k}/cpu.max": v for k, v in maxima.items()})
    assert cgroup.quota_cores(tmp_path / "1") == 2.0
    assert cgroup.quota_cores(tmp_path / "2") == 1.2


@pytest.mark.parametrize(
    ("maxima", "cores"),
    [
        ({"user.slice": "max 100000", "user.slice/user-7.slice": "max 100000"}, None),
        (
            {"user.slice": "400000 100000", "user.slice/user-7.slice/job.scope": "1000 100000"},
            0.01,
        ),  # the shortest quota
        ({"user.slice": "25000 100000", "user.slice/user-7.slice/job.scope": "800000 100000"}, 0.25),
        ({"user.slice/user-7.slice": "50000 1000000"}, 0.05),  # the longest period
        ({"user.slice/user-7.slice/job.scope": "1500 1000"}, 1.5),  # the shortest period
    ],
)
def test_v2_groups_as_systemd_nests_them(tmp_path: Path, maxima: dict[str, str], cores: float | None) -> None:
    """The root group has no cpu.max, nor has one whose parent does not hand on the controller."""
    inside = "/sys/fs/cgroup/user.slice/user-7.slice/job.scope"
    files = {
        f"{inside}/cgroup.procs": "",
        **{f"/sys/fs/cgroup/{group}/cpu.max": line for group, line in maxima.items()},
    }
    groups(tmp_path, "0::/user.slice/user-7.slice/job.scope", V2, files)
    assert cgroup.quota_cores(tmp_path) == cores
    tree(tmp_path, {"/sys/devices/system/cpu/online": "0-7", "/sys/devices/system/cpu/cpu0/uevent": ""})
    place = cgroup.place("cpu", tmp_path)
    assert place is not None
    assert (place.version, place.folder) == (2, tmp_path / inside.lstrip("/"))


def test_a_v2_container_with_a_group_namespace_of_its_own(tmp_path: Path) -> None:
    """The mount shows the container's group as its root, quota and all; or it shows groups above the namespace."""
    own = groups(tmp_path / "own", "0::/", V2, {"/sys/fs/cgroup/cpu.max": "150000 100000"})
    above = "25 1 0:22 /../../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw"
    outer = groups(tmp_path / "outer", "0::/", above, {"/sys/fs/cgroup/cgroup.procs": ""})
    assert (cgroup.quota_cores(own), cgroup.quota_cores(outer)) == (1.5, None)


def test_no_quota(tmp_path: Path) -> None:
    groups(tmp_path / "1", "1:cpu:/", V1, cfs("", -1))
    groups(tmp_path / "2", "0::/a", V2, {"/sys/fs/cgroup/a/cpu.max": "max 100000"})
    assert cgroup.quota_cores(tmp_path / "1") is None
    assert cgroup.quota_cores(tmp_path / "2") is None
    assert cgroup.quota_cores(tmp_path / "nothing at all") is None


def test_hybrid_mounts_have_the_cpu_controller_in_v1(tmp_path: Path) -> None:
    files = cfs("/job", 400000) | {"/sys/fs/cgroup/unified/job/cpu.max": "100000 100000"}
    groups(tmp_path, "4:cpu,cpuacct:/job\n0::/job", f"{V1}\n{HYBRID}", files)
    place = cgroup.place("cpu", tmp_path)
    assert place is not None
    assert place.version == 1
    assert cgroup.quota_cores(tmp_path) == 4.0


def test_hybrid_mounts_with_the_controller_in_v2(tmp_path: Path) -> None:
    v1_memory = "30 1 0:9 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
    files = {"/sys/fs/cgroup/unified/job/cpu.max": "100000 100000"}
    groups(tmp_path, "4:memory:/job\n0::/job", f"{v1_memory}\n{HYBRID}", files)
    assert cgroup.quota_cores(tmp_path) == 1.0


def test_a_container_sees_its_own_group_as_the_mount(tmp_path: Path) -> None:
    """The path is the host's, which the mount shows from the container's group on, or not at all."""
    bound = "31 1 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu"
    groups(tmp_path / "root named", "3:cpu:/docker/abc", bound, cfs("", 50000))
    groups(tmp_path / "below it", "3:cpu:/docker/abc/in", bound, cfs("", 80000) | cfs("/in", 70000))
    groups(tmp_path / "hidden", "3:cpu:/docker/abc", V1, cfs("", 50000))
    groups(tmp_path / "outside", "0::/../other", V2, {"/sys/fs/cgroup/cpu.max": "50000 100000"})
    quotas = {path.name: cgroup.quota_cores(path) for path in tmp_path.iterdir()}
    assert quotas == {"root named": 0.5, "below it": 0.7, "hidden": 0.5, "outside": 0.5}


def test_a_mount_point_with_a_space(tmp_path: Path) -> None:
    mount = r"31 1 0:29 / /my\040groups rw - cgroup2 cgroup2 rw"
    assert cgroup.quota_cores(groups(tmp_path, "0::/", mount, {"/my groups/cpu.max": "300000 100000"})) == 3.0


@pytest.mark.parametrize("garbage", ["", "max", "100000", "100000 0", "x y", "0 100000"])
def test_an_unreadable_quota_is_none(tmp_path: Path, garbage: str) -> None:
    assert cgroup.quota_cores(groups(tmp_path, "0::/", V2, {"/sys/fs/cgroup/cpu.max": garbage})) is None


def two_socket_machine(root: Path) -> Machine:
    two_socket_tree(root)
    groups(root, "0::/", V2, {"/sys/fs/cgroup/cpu.max": "350000 100000"})
    cpu = "/sys/devices/system/cpu"
    files = {
        "/proc/self/status": "Name:\tx\nCpus_allowed_list:\t0-3,20-23,60",
        "/proc/cpuinfo": "processor\t: 0\nmodel name\t: Fast 9000\nflags\t: fpu vme hypervisor",
        "/proc/meminfo": "MemTotal:       16384000 kB",
        "/proc/sys/kernel/hostname": "node7",
        "/proc/sys/kernel/osrelease": "6.1.0",
        "/proc/sys/kernel/arch": "x86_64",
        "/etc/os-release": 'NAME="D"\nPRETTY_NAME="Debian 12"',
        "/sys/class/dmi/id/sys_vendor": "QEMU",
        f"{cpu}/intel_pstate/no_turbo": "0",
        f"{cpu}/cpu0/cpufreq/scaling_governor": "performance",
        f"{cpu}/cpu1/cpufreq/scaling_governor": "performance",
    }
    return Machine.here(tree(root, files))


def test_a_whole_machine(tmp_path: Path) -> None:
    machine = two_socket_machine(tmp_path)
    assert (machine.hostname, machine.cpu_model, machine.os) == ("node7", "Fast 9000", "Debian 12")
    assert (machine.kernel, machine.architecture, machine.virtualised) == ("6.1.0", "x86_64", "QEMU")
    assert (machine.governor, machine.turbo, machine.memory_bytes) == ("performance", True, 16384000 << 10)
    assert machine.affinity == (0, 1, 2, 3, 20, 21, 22, 23)  # CPU 60 does not exist
    assert len(machine.cpus) == 40
    assert (machine.quota_cores, machine.cgroup_version) == (3.5, 2)
    assert machine.default_max_threads == 3
    assert machine.smt_active
    assert not dataclasses.replace(machine, affinity=(0, 1, 2)).smt_active
    assert machine.in_words == "Fast 9000, 3 cores, QEMU, Debian 12"
    assert dataclasses.replace(machine, virtualised="yes").in_words == "Fast 9000, 3 cores, virtual machine, Debian 12"
    assert dataclasses.replace(machine, virtualised=None).in_words == "Fast 9000, 3 cores, bare metal, Debian 12"


def test_mixed_governors_and_no_turbo_file(tmp_path: Path) -> None:
    two_socket_machine(tmp_path)
    tree(tmp_path, {"/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave"})
    (tmp_path / "sys/devices/system/cpu/intel_pstate/no_turbo").unlink()
    machine = Machine.here(tmp_path)
    assert (machine.governor, machine.turbo) == ("mixed", None)


def test_an_empty_tree_is_a_machine_of_one_core(tmp_path: Path) -> None:
    machine = Machine.here(tmp_path)
    assert (machine.default_max_threads, machine.affinity, machine.cpu_model) == (1, (0,), "unknown")
    assert machine.virtualised is None


@given(st.sets(st.integers(0, 63), min_size=1), st.none() | st.floats(0.01, 200))
def test_default_max_threads(allowed: set[int], quota: float | None) -> None:
    base = dataclasses.replace(Machine.here(Path("/nonexistent")), affinity=tuple(allowed), quota_cores=quota)
    most = base.default_max_threads
    assert 1 <= most <= len(allowed)
    assert quota is None or most <= max(1, math.floor(quota + 1e-9))
    assert most == len(allowed) or (quota is not None and most + 1 > quota)


def test_the_fingerprint_changes_with_what_moves_times(tmp_path: Path) -> None:
    machine = two_socket_machine(tmp_path)
    assert machine.fingerprint() == Machine.here(tmp_path).fingerprint()
    moved = {
        "kernel": "6.2",
        "governor": "powersave",
        "turbo": False,
        "quota_cores": 2.0,
        "affinity": (0,),
        "cpus": machine.cpus[:-1],
        "cpu_model": "Slow",
    }
    prints = {dataclasses.replace(machine, **{name: value}).fingerprint() for name, value in moved.items()}  # type: ignore[arg-type]
    assert len(prints | {machine.fingerprint()}) == len(moved) + 1
    kept = dataclasses.replace(machine, hostname="other", memory_bytes=1, topology_source="hwloc")
    assert kept.fingerprint() == machine.fingerprint()


def test_this_machine() -> None:
    machine = Machine.here()
    assert machine.affinity == tuple(sorted(os.sched_getaffinity(0)))
    assert set(machine.affinity) <= {cpu.cpu for cpu in machine.cpus}
    assert machine.memory_bytes > 0


PRINT_QUOTA = "from corescale.machine import Machine; m = Machine.here(); print(m.quota_cores, m.default_max_threads)"


def test_a_real_group_with_half_a_core_is_seen_from_inside() -> None:
    place = cgroup.place("cpu")
    if place is None or os.geteuid() != 0 or not os.access(place.folder, os.W_OK):
        pytest.skip("needs root and a writable cpu control group")
    group = place.folder / f"corescale-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no group can be made here: {error}")
    try:
        assert "0.5 1" in _inside(group, place.version)
    finally:
        group.rmdir()


def _inside(group: Path, version: int) -> str:
    """What a Python says that runs within `group`, limited to half a core."""
    names = {1: ("cpu.cfs_quota_us", "50000"), 2: ("cpu.max", "50000 100000")}
    name, value = names[version]
    if not (group / name).exists():
        pytest.skip("the cpu controller is not given to groups here")
    (group / name).write_text(value)
    script = f'echo $$ > "{group}/cgroup.procs" && exec "$0" -c "$1"'
    done = subprocess.run(["sh", "-c", script, sys.executable, PRINT_QUOTA], capture_output=True, text=True, check=True)
    return done.stdout
