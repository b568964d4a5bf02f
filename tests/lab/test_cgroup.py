# SPDX-License-Identifier: Apache-2.0
"""CPU quotas, from control groups of every kind."""

import math
from pathlib import Path

import pytest

from corescale import cgroup
from corescale.machine import free_memory
from support.trees import V2, groups, tree

V1 = "31 1 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct"
HYBRID = "41 1 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"


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


def test_the_tightest_limit_of_memory_counts(tmp_path: Path) -> None:
    limits = {"a": "max", "a/b": "3000000"}
    groups(tmp_path, "0::/a/b", V2, {f"/sys/fs/cgroup/{k}/memory.max": v for k, v in limits.items()})
    assert cgroup.memory_limit(tmp_path) == 3e6
    for available, free in ((1024, 1024 << 10), (9999, 3e6)):
        tree(tmp_path, {"/proc/meminfo": f"MemTotal: 99999 kB\nMemAvailable: {available} kB"})
        assert free_memory(tmp_path) == free
    assert cgroup.memory_limit(tree(tmp_path / "none", {"/proc/self/cgroup": ""})) == math.inf


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
