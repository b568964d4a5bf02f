# SPDX-License-Identifier: Apache-2.0
"""Topology from the files of Linux: the core, socket, NUMA node and L3 domain of each CPU, and the kinds of cores.

Cores, sockets and L3 domains are numbered from 0 in the order of their lowest CPU, as in hwloc and the C++ library.
CPUs and NUMA nodes keep the kernel's numbers.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from corescale.errors import UsageError


@dataclass(frozen=True, slots=True)
class Cpu:
    """One hardware thread, as the kernel numbers it."""

    cpu: int
    core: int
    socket: int
    numa_node: int
    l3_domain: int
    """number of the L3 domain: CPUs that share one L3, or, without an L3, those of one NUMA node"""


@dataclass(frozen=True, slots=True)
class Topology:
    """All online CPUs in order, including those that this process may not use. An unknown size is 0."""

    cpus: tuple[Cpu, ...]
    cache_line: int
    """bytes"""
    l3_bytes: int
    """size of the largest L3 domain's L3; 0 without one"""


def here(root: Path = Path("/")) -> Topology:
    """Topology of this machine, or of the tree below `root`. If /sys/devices/system is hidden, every CPU of
    /proc/cpuinfo counts as a core of one socket."""
    system = root / "sys/devices/system"
    cpus = cpu_list(read(system / "cpu/online")) or tuple(sorted(_processors(root))) or (0,)
    folder = {cpu: system / f"cpu/cpu{cpu}" for cpu in cpus}
    caches = {cpu: [one for one in _caches(folder[cpu]) if one.kind != "Instruction"] for cpu in cpus}
    l3 = {cpu: cache for cpu in cpus for cache in caches[cpu] if cache.level == 3}
    nodes = _sysfs_nodes(system)
    core = _numbered(cpus, lambda cpu: _siblings(folder[cpu], "core_cpus_list", "thread_siblings_list") or cpu)
    socket = _numbered(cpus, lambda cpu: _siblings(folder[cpu], "package_cpus_list", "core_siblings_list"))
    group = _numbered(cpus, lambda cpu: ("L3", l3[cpu].shared) if cpu in l3 else ("node", nodes.get(cpu, 0)))
    return Topology(
        tuple(Cpu(cpu, core[cpu], socket[cpu], nodes.get(cpu, 0), group[cpu]) for cpu in cpus),
        cache_line=max((cache.line for of_one in caches.values() for cache in of_one), default=0),
        l3_bytes=max((cache.size for cache in l3.values()), default=0),
    )


def cpu_list(text: str) -> tuple[int, ...]:
    """`0-3,8` as numbers, sorted; empty for an empty text. Raises UsageError for anything else."""
    chosen: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        ends = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        if ends is None:
            raise UsageError(f"not a list of CPUs: {text!r}", remedy="write numbers and ranges, as 0-3,8")
        chosen.update(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    return tuple(sorted(chosen))


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Numbers as `0-3,8`."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], cpu]
        else:
            runs.append([cpu])
    return ",".join("-".join(map(str, run)) for run in runs)


def read(path: Path) -> str:
    """The file's text without surrounding white space; empty if it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _numbered(cpus: Iterable[int], name: Callable[[int], object]) -> dict[int, int]:
    """Numbers groups of CPUs from 0, in the order of their lowest CPU."""
    numbers: dict[object, int] = {}
    return {cpu: numbers.setdefault(name(cpu), len(numbers)) for cpu in cpus}


@dataclass(frozen=True, slots=True)
class Part:
    """A socket, a NUMA node, a cache or a core, with the parts inside it."""

    kind: str
    """"socket", "NUMA node", "L3", "L1d", "core" and so on"""
    cpus: tuple[int, ...]
    bytes: int
    """size of the memory or cache; 0 if it has none, or if the kernel does not say"""
    parts: tuple["Part", ...] = ()


def parts(root: Path = Path("/")) -> tuple[Part, ...]:
    """The online CPUs as a tree of what they share: sockets, NUMA nodes, every cache, and cores as leaves."""
    system = root / "sys/devices/system"
    cpus = here(root).cpus
    found = {_group("core", cpus, lambda cpu: cpu.core, of): None for of in cpus}
    for of in cpus:
        for cache in _caches(system / f"cpu/cpu{of.cpu}"):
            kind = f"L{cache.level}{'' if cache.kind == 'Unified' else cache.kind[:1].lower()}"
            found[Part(kind, cache.shared, cache.size)] = None
        memory = _memory(read(system / f"node/node{of.numa_node}/meminfo"))
        found[_group("NUMA node", cpus, lambda cpu: cpu.numa_node, of, memory)] = None
        found[_group("socket", cpus, lambda cpu: cpu.socket, of)] = None
    order = ("core", "L1i", "L1d", "L2", "L3", "L4", "NUMA node", "socket")
    made: list[Part] = []
    for part in sorted(found, key=lambda one: (len(one.cpus), order.index(one.kind))):
        inside = [one for one in made if set(one.cpus) <= set(part.cpus)]
        made = [one for one in made if one not in inside]
        made.append(Part(part.kind, part.cpus, part.bytes, tuple(sorted(inside, key=lambda one: one.cpus))))
    return tuple(sorted(made, key=lambda one: one.cpus))


def _memory(meminfo: str) -> int:
    """Bytes by a line such as `Node 0 MemTotal: 24689228 kB`; 0 without one."""
    kilobytes = meminfo.partition("MemTotal:")[2].split()[:1]
    return 1024 * _number("".join(kilobytes))


def _group(kind: str, cpus: Iterable[Cpu], name: Callable[[Cpu], int], of: Cpu, size: int = 0) -> Part:
    return Part(kind, tuple(cpu.cpu for cpu in cpus if name(cpu) == name(of)), size)


@dataclass(frozen=True, slots=True)
class _Cache:
    level: int
    kind: str
    """Data, Instruction or Unified"""
    shared: tuple[int, ...]
    size: int
    line: int


def _caches(folder: Path) -> Iterator[_Cache]:
    for index in sorted((folder / "cache").glob("index[0-9]*")):
        shared = cpu_list(read(index / "shared_cpu_list"))
        level, line = _number(read(index / "level")), _number(read(index / "coherency_line_size"))
        yield _Cache(level, read(index / "type"), shared, _size(read(index / "size")), line)


def _siblings(folder: Path, *names: str) -> tuple[int, ...]:
    """The first of these CPU lists that exists in the folder; empty if none does."""
    return next((cpus for name in names if (cpus := cpu_list(read(folder / "topology" / name)))), ())


def _sysfs_nodes(system: Path) -> dict[int, int]:
    folders = sorted(system.glob("node/node[0-9]*"), key=lambda path: -int(path.name[4:]))
    return {cpu: int(path.name[4:]) for path in folders for cpu in cpu_list(read(path / "cpulist"))}


def _processors(root: Path) -> tuple[int, ...]:
    lines = (line.partition(":") for line in read(root / "proc/cpuinfo").splitlines())
    return tuple(int(value) for name, _, value in lines if name.strip() == "processor" and value.strip().isdecimal())


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _size(text: str) -> int:
    """`32768K` in bytes."""
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
    return _number(text.rstrip("KMG")) * unit


def core_types(root: Path = Path("/")) -> dict[str, tuple[int, ...]]:
    """The CPUs of each kind of core, by name, fastest first; empty if all cores are equal or the kernel does not say.

    Intel's kinds have separate performance counter units (cpu_core, cpu_atom); Arm's have a relative capacity.
    """
    return _of_units(root) or _of_capacities(root)


def _of_units(root: Path) -> dict[str, tuple[int, ...]]:
    texts = {name: read(root / f"sys/devices/{name}/cpus") for name in ("cpu_core", "cpu_atom", "cpu_lowpower")}
    found = {name: cpu_list(text) for name, text in texts.items() if text}
    return found if len(found) > 1 else {}


def _of_capacities(root: Path) -> dict[str, tuple[int, ...]]:
    by_capacity: dict[int, list[int]] = defaultdict(list)
    for path in (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpu_capacity"):
        if (text := read(path)).isdecimal():
            by_capacity[int(text)].append(int(path.parent.name[3:]))
    if len(by_capacity) < 2:
        return {}
    return {f"capacity {of}": tuple(sorted(by_capacity[of])) for of in sorted(by_capacity, reverse=True)}
