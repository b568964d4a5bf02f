# SPDX-License-Identifier: Apache-2.0
"""The machine: the resources that a program can use, and the properties that must not change during a run."""

import dataclasses
import hashlib
import json
import math
import platform
from dataclasses import dataclass
from pathlib import Path

from corescale import cgroup, topology
from corescale.topology import Cpu, cpu_list, format_cpu_list, read

__all__ = ["Cpu", "Machine", "cpu_list", "format_cpu_list"]


NOT_IDENTITY = frozenset({"hostname", "memory_bytes", "topology_source", "nodes"})


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine as this process sees it. What is unknown is None, or 0 for a size."""

    hostname: str
    cpu_model: str
    virtualised: str | None
    """the hypervisor, `yes` if it hides its name, None on bare metal"""
    kernel: str
    os: str
    architecture: str
    memory_bytes: int
    cpus: tuple[Cpu, ...]
    """all online CPUs, including those that this process may not use"""
    affinity: tuple[int, ...]
    """CPUs that this process may run on"""
    quota_cores: float | None
    """the tightest CPU quota of the control groups"""
    cgroup_version: int | None
    """the version that controls CPUs here"""
    cache_line: int
    """bytes"""
    l3_bytes: int
    """size of one L3 domain's L3"""
    governor: str | None
    turbo: bool | None
    topology_source: str
    nodes: int = 1
    """number of machines like this one that a launch may use"""

    @classmethod
    def here(cls, root: Path = Path("/")) -> "Machine":
        """This machine, or the one whose /proc, /sys and /etc lie below `root`. Takes some 20 ms, so keep it."""
        found = topology.here(root)
        place = cgroup.place("cpu", root)
        return cls(
            hostname=read(root / "proc/sys/kernel/hostname"),
            cpu_model=_cpu_model(root),
            virtualised=_hypervisor(root),
            kernel=read(root / "proc/sys/kernel/osrelease"),
            os=_os(root),
            architecture=read(root / "proc/sys/kernel/arch") or platform.machine(),
            memory_bytes=_memory(root),
            cpus=found.cpus,
            affinity=_affinity(root, found.cpus),
            quota_cores=cgroup.quota_cores(root),
            cgroup_version=place.version if place else None,
            cache_line=found.cache_line,
            l3_bytes=found.l3_bytes,
            governor=_governor(root),
            turbo=_turbo(root),
            topology_source="sysfs",
        )

    def elsewhere(self, hostname: str, cpu_model: str, *, cores: int, nodes: int, source: str) -> "Machine":
        """Nodes of which only the number of cores is known, which share nothing; else a copy of this machine."""
        return dataclasses.replace(
            self, hostname=hostname, cpu_model=cpu_model, cpus=tuple(Cpu(k, k, 0, 0, 0) for k in range(cores)),
            affinity=tuple(range(cores)), quota_cores=None, cgroup_version=None, governor=None, turbo=None,
            topology_source=source, nodes=nodes,
        )  # fmt: skip

    @property
    def default_max_threads(self) -> int:
        """min(allowed CPUs, quota rounded down), at least 1; more threads than this is oversubscription."""
        quota = math.inf if self.quota_cores is None else math.floor(self.quota_cores + 1e-9)
        return int(max(1, min(len(self.affinity), quota)))

    @property
    def in_words(self) -> str:
        """The description printed with measured numbers: `AMD EPYC, 2 cores, KVM, Debian 12`."""
        where = {None: "bare metal", "yes": "virtual machine"}.get(self.virtualised, self.virtualised)
        return f"{self.cpu_model}, {self.default_max_threads} cores, {where}, {self.os}"

    @property
    def cpus_in_words(self) -> str:
        """The number of online CPUs and their model, exactly as the C++ library writes them: `2 x AMD EPYC`."""
        return f"{len(self.cpus)} x {self.cpu_model}"

    @property
    def usable(self) -> tuple[Cpu, ...]:
        """The CPUs that this process may run on."""
        allowed = frozenset(self.affinity)
        return tuple(cpu for cpu in self.cpus if cpu.cpu in allowed)

    @property
    def smt_active(self) -> bool:
        """Whether two allowed CPUs share a core."""
        return len({cpu.core for cpu in self.usable}) < len(self.usable)

    def identity(self) -> dict[str, object]:
        """What must not change within a run folder, as JSON values.

        Kernel, governor, turbo, affinity and quota are included, because each changes times by more than the
        differences of interest. The size of memory is left out: it may change while a virtual machine runs, and it
        affects times only if there is too little. The host name is left out: containers get a new one at each start,
        and another node of the same kind slows all configurations of a block equally. The number of usable nodes is
        left out, because the layouts say how many are needed.
        """
        values = dataclasses.asdict(self)
        return {name: value for name, value in values.items() if name not in NOT_IDENTITY}

    def fingerprint(self) -> str:
        """A hash of `identity()`, equal from run to run, as long as none of it changes."""
        text = json.dumps(self.identity(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _fields(text: str, separator: str) -> dict[str, str]:
    """Lines of `name<separator>value`; if a name is repeated, the first counts."""
    lines = (line.partition(separator) for line in reversed(text.splitlines()))
    return {name.strip(): value.strip().strip('"') for name, _, value in lines}


def _cpu_model(root: Path) -> str:
    """The name of the CPU model; on Arm, where kernels give no name, its part numbers."""
    cpu = _fields(read(root / "proc/cpuinfo"), ":")
    named = cpu.get("model name") or cpu.get("cpu") or cpu.get("uarch")
    part = f"implementer {cpu['CPU implementer']} part {cpu.get('CPU part', '?')}" if "CPU implementer" in cpu else ""
    return named or part or "unknown"


HYPERVISOR_CLOCKS = {"kvm-clock": "KVM", "hyperv": "Hyper-V", "xen": "Xen", "vmware": "VMware"}
HYPERVISOR_VENDORS = ("QEMU", "VMware", "Xen")


def _hypervisor(root: Path) -> str | None:
    """The hypervisor, recognised by its clock or the firmware's vendor. On x86, a flag says whether there is one."""
    clocks = read(root / "sys/devices/system/clocksource/clocksource0/available_clocksource")
    firmware = read(root / "sys/class/dmi/id/sys_vendor")
    flags = _fields(read(root / "proc/cpuinfo"), ":").get("flags")
    names = [name for clock, name in HYPERVISOR_CLOCKS.items() if clock in clocks]
    names += [name for name in HYPERVISOR_VENDORS if name in firmware]
    if flags is not None:
        return (names or ["yes"])[0] if "hypervisor" in flags.split() else None
    return names[0] if names else None


def _os(root: Path) -> str:
    text = read(root / "etc/os-release") or read(root / "usr/lib/os-release")
    return _fields(text, "=").get("PRETTY_NAME", "Linux")


def _memory(root: Path, name: str = "MemTotal") -> int:
    kilobytes = _fields(read(root / "proc/meminfo"), ":").get(name, "0 kB").split()[0]
    return int(kilobytes) * 1024


def free_memory(root: Path = Path("/")) -> float:
    """Bytes that programs may still use: the kernel's estimate, or a smaller limit of the control groups."""
    return min(_memory(root, "MemAvailable"), cgroup.memory_limit(root))


def _affinity(root: Path, cpus: tuple[Cpu, ...]) -> tuple[int, ...]:
    """The online CPUs that this process may use (the kernel also lists offline ones), or else all."""
    online = {cpu.cpu for cpu in cpus}
    listed = online & set(cpu_list(_fields(read(root / "proc/self/status"), ":").get("Cpus_allowed_list", "")))
    return tuple(sorted(listed or online))


def _governor(root: Path) -> str | None:
    """The frequency governor; `mixed` if cores have different ones."""
    files = (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    found = {read(file) for file in files} - {""}
    return None if not found else found.pop() if len(found) == 1 else "mixed"


def _turbo(root: Path) -> bool | None:
    system = root / "sys/devices/system/cpu"
    off, boost = read(system / "intel_pstate/no_turbo"), read(system / "cpufreq/boost")
    return off == "0" if off else boost == "1" if boost else None
