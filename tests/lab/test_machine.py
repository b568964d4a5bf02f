# SPDX-License-Identifier: Apache-2.0
"""The machine as a whole: what it is named by, its default of threads, and its fingerprint."""

import dataclasses
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corescale import cgroup
from corescale.machine import Machine
from support.trees import V2, groups, recorded_tree, tree


def two_socket_machine(root: Path) -> Machine:
    recorded_tree(root, "two_sockets_smt")
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
    kept = dataclasses.replace(machine, hostname="other", memory_bytes=1, topology_source="hwloc", nodes=3)
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
