# SPDX-License-Identifier: Apache-2.0
"""Shows a diagnosis on one screen or as JSON, and, as text, which CPUs share which caches and memory.

The output of other programs is printed as plain text, and never interpreted as markup.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from corescale.machine import Machine, format_cpu_list
from corescale.observe.doctor import Diagnosis, Quietness
from corescale.show.text import clean, count, memory
from corescale.topology import Part

FORMAT = 1
Line = tuple[str, Text]
"""A heading, which may be empty, and the text next to it."""


def render(diagnosis: Diagnosis) -> RenderableType:
    """The diagnosis as a table. For missing components it says how to get them, and for warnings what to do."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for part in (_machine(diagnosis.machine), _present(diagnosis), _missing(diagnosis), _noise(diagnosis.quietness)):
        for heading, text in part:
            grid.add_row(heading, text)
        grid.add_row("", "")
    for heading, text in _warnings(diagnosis):
        grid.add_row(heading, text)
    return grid


def to_json(diagnosis: Diagnosis) -> str:
    """The whole diagnosis, with paths as text, and the values derived from it: threads, fingerprint, verdict."""
    machine, seen = diagnosis.machine, diagnosis.quietness
    values = {"format": FORMAT, **dataclasses.asdict(diagnosis)}
    values["machine"] |= {
        "default_max_threads": machine.default_max_threads,
        "smt_active": machine.smt_active,
        "fingerprint": machine.fingerprint(),
    }
    if seen is not None:
        values["quietness"] |= {"level": seen.level, "verdict": seen.verdict}
    return json.dumps(values, indent=2, default=str, allow_nan=False)


def _machine(machine: Machine) -> Iterator[Line]:
    kind = "a" if machine.virtualised == "yes" else machine.virtualised
    guest = "" if kind is None else f" ({kind} guest)"
    ram = f"{machine.memory_bytes / 2**30:.0f} GiB"
    yield "machine", _text(f"{machine.hostname}: {machine.cpu_model}{guest}, {ram}")
    yield "system", _text(f"{machine.os}, Linux {machine.kernel}, {machine.architecture}")
    yield "cores", _text(", ".join(_shape(machine)))
    quota = "no quota" if machine.quota_cores is None else f"a quota of {machine.quota_cores:g} cores"
    version = f" (cgroup v{machine.cgroup_version})" if machine.cgroup_version else ""
    allowed = (
        f"CPUs {format_cpu_list(machine.affinity)}, {quota}{version}: {count(machine.default_max_threads, 'thread')}"
    )
    yield "allowed", _text(f"{allowed} by default")
    turbo = {True: "turbo on", False: "turbo off", None: "turbo unknown"}[machine.turbo]
    yield "clock", _text(f"governor {machine.governor or 'unknown'}, {turbo}")


def _shape(machine: Machine) -> Iterator[str]:
    cores, cpus = len({cpu.core for cpu in machine.cpus}), len(machine.cpus)
    yield count(cores, "core") + (f" of {cpus} CPUs (SMT)" if cpus > cores else ", no SMT")
    l3 = f"L3 of {machine.l3_bytes / 2**20:g} MiB" if machine.l3_bytes else "no L3"
    yield f"{count(len({cpu.l3_domain for cpu in machine.cpus}), 'L3 domain')} ({l3})"
    yield count(len({cpu.socket for cpu in machine.cpus}), "socket")
    yield count(len({cpu.numa_node for cpu in machine.cpus}), "NUMA node")


def _present(diagnosis: Diagnosis) -> Iterator[Line]:
    for group in dict.fromkeys(item.group for item in diagnosis.installed):
        here = [item for item in diagnosis.installed if item.group == group and item.path is not None]
        yield group, _joined(f"{item.name} {item.version or ''}".rstrip() for item in here)
    yield from _cluster(diagnosis)
    if diagnosis.slurm:
        yield "", _joined(f"{name}={value}" for name, value in diagnosis.slurm.items())
    yield "launches", _joined(f"{name} ({', '.join(can) or 'nothing'})" for name, can in diagnosis.launchers.items())
    yield "allowed", _joined(f"{one.name} ({one.detail})" for one in diagnosis.permissions if one.allowed)


def _cluster(diagnosis: Diagnosis) -> Iterator[Line]:
    """A line for the cluster, and one for each partition with the options that --allocation may use."""
    if diagnosis.no_cluster:
        yield "cluster", _text(f"none answers: {diagnosis.no_cluster}")
    if (found := diagnosis.cluster) is None:
        return
    accounts = "accounting is on" if found.accounting else "no accounting"
    yield "cluster", _text(f"{found.name}: ranks by {found.mpi}, {accounts}")
    for each in found.partitions:
        nodes = f"{each.usable} of {each.nodes} nodes usable" if each.usable < each.nodes else count(each.nodes, "node")
        said = [] if each.state == "up" else [f"{each.state}, so no job starts"]
        said.append(f"{nodes} of {count(each.cores, 'core')}")
        if each.memory_megabytes > 1:  # 1 is Slurm's value if slurm.conf has none
            said.append(f"{each.memory_megabytes / 1024:.0f} GiB")
        said.append("no time limit" if each.time_limit == "infinite" else f"at most {each.time_limit}")
        said += [
            f"-C {feature}" + (f" ({having} of them)" if having < each.usable else "")
            for feature, having in each.constraints.items()
        ]
        said += [f"for accounts {' '.join(each.accounts)}"] if each.accounts else []
        yield "", _text(f"-p {each.name}{' (default)' if each.is_default else ''}: {', '.join(said)}")


def _missing(diagnosis: Diagnosis) -> Iterator[Line]:
    missing = [item for item in diagnosis.installed if item.path is None]
    width = max((len(item.name) for item in missing), default=0)
    for number, item in enumerate(missing):
        purpose = Text(f"  for {clean(item.purpose)}" if item.purpose else "", style="dim")
        yield "" if number else "not here", _text(f"{item.name:<{width}}  {item.remedy}") + purpose


COLOURS = {"quiet": "green", "usable": "yellow", "noisy": "red"}


def _noise(seen: Quietness | None) -> Iterator[Line]:
    if seen is None:
        yield "noise now", Text("not tried")
        return
    yield "noise now", Text(seen.verdict, style=f"bold {COLOURS[seen.level]}")
    pair = "" if seen.slowdown is None else f"; two busy cores give {2 / seen.slowdown:.2f} cores"
    yield "", Text(f"longest gap of a core {seen.longest_gap * 1e3:.1f} ms{pair}")
    others = f"steal {seen.steal:.1%}, other programs {seen.others:.2f} cores, load {seen.load:.2f}"
    yield "", Text(f"{others}, displaced {seen.switches:.0f} times per CPU-second")


def _warnings(diagnosis: Diagnosis) -> Iterator[Line]:
    if not diagnosis.warnings:
        yield "warnings", Text("none", style="green")
    for number, warning in enumerate(diagnosis.warnings):
        remedy = Text(f"\n  -> {clean(warning.remedy)}", style="dim")
        yield "" if number else "warnings", Text(clean(warning.what), style="yellow") + remedy


def _text(text: str) -> Text:
    return Text(clean(text))


def _joined(parts: Iterable[str]) -> Text:
    return _text(", ".join(parts) or "none")


def topology(parts: Sequence[Part], depth: int = 0) -> Iterator[str]:
    """From sockets down to cores; `2 x socket` means two equal ones."""
    for _, group in groupby(parts, key=_alike):
        alike = list(group)
        chain = _chain(alike[0])
        number = f"{len(alike)} x " if len(alike) > 1 else ""
        yield f"{'  ' * depth}{number}{', '.join(map(named, chain))}: {_cpus(alike)}"
        yield from topology(chain[-1].parts, depth + 1)


def named(part: Part) -> str:
    """`L2 2 MiB`, `core`."""
    return f"{part.kind} {memory(part.bytes)}" if part.bytes else part.kind


def _chain(part: Part) -> list[Part]:
    """The part, the only part inside it, and so on, down to the first that contains several parts or none."""
    return [part, *_chain(part.parts[0])] if len(part.parts) == 1 else [part]


def _alike(part: Part) -> object:
    """A key that is equal for parts that differ only in CPU numbers, or slightly in the memory of nodes."""
    size = 0 if part.kind == "NUMA node" else part.bytes
    return part.kind, len(part.cpus), size, tuple(map(_alike, part.parts))


def _cpus(alike: Sequence[Part]) -> str:
    lists = [format_cpu_list(part.cpus) for part in alike]
    shown = lists if len(lists) <= 4 else [*lists[:2], "...", lists[-1]]
    return f"CPU{'' if len(alike[0].cpus) == 1 and len(alike) == 1 else 's'} {' | '.join(shown)}"
