# SPDX-License-Identifier: Apache-2.0
"""Machines that are not here, as the files of Linux tell of them."""

from pathlib import Path

from corescale import topology
from corescale.topology import Cpu, cpu_list, format_cpu_list


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


RECORDED: dict[str, dict[str, list[str]]] = {
    "kvm_guest": {"cores": ["0", "1"], "packages": ["0-1"], "nodes": ["0-1"], "l3": ["0-1"]},
    "two_l3_domains": {
        "cores": [str(c) for c in range(16)],
        "packages": ["0-15"],
        "nodes": ["0-15"],
        "l3": ["0-7", "8-15"],
    },
    "two_sockets_smt": {
        "cores": [f"{c},{c + 20}" for c in range(20)],
        "packages": ["0-9,20-29", "10-19,30-39"],
        "nodes": ["0-9,20-29", "10-19,30-39"],
        "l3": [f"{c}-{c + 4},{c + 20}-{c + 24}" for c in (0, 5, 10, 15)],
    },
    "arm_without_l3": {"cores": [str(c) for c in range(4)], "packages": ["0-3"], "nodes": ["0-3"], "l3": []},
}
"""the machines of tests/lab/machines, by what their CPUs share"""


def recorded_tree(root: Path, name: str) -> Path:
    of = RECORDED[name]
    return sysfs(root, cores=of["cores"], packages=of["packages"], nodes=of["nodes"], l3=of["l3"])


def recorded(root: Path, name: str) -> tuple[Cpu, ...]:
    return topology.here(recorded_tree(root, name)).cpus


V2 = "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"


def groups(root: Path, lines: str, mounts: str, files: dict[str, str]) -> Path:
    return tree(root, {"/proc/self/cgroup": lines, "/proc/self/mountinfo": mounts, **files})
