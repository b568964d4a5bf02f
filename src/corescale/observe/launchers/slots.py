# SPDX-License-Identifier: Apache-2.0
"""Several launches at once, each on its own CPUs of this machine, or on its own nodes."""

import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from corescale.declare.experiment import SHOWN, Experiment
from corescale.declare.factors import Launch
from corescale.declare.plan import Invocation
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.observe.spawn import Spawner
from corescale.records import Layout, Record
from corescale.topology import Cpu


@dataclass(frozen=True)
class Slot:
    """The CPUs or nodes of one of several launches that run at once."""

    cpus: tuple[int, ...] = ()
    """empty: all CPUs that may be used"""
    first: int = 0
    """index of its first node among the launcher's nodes"""
    spawner: Spawner = field(default_factory=Spawner)


def slots(experiment: Experiment, launches: Iterable[Launch], jobs: int, width: int) -> tuple[Slot, ...]:
    """`jobs` slots of `width` CPUs each. Raises UsageError if the launches cannot run next to each other."""
    machine = Machine.here()
    _must_bear(experiment)
    if any(each.affinity for each in launches):
        raise UsageError("the placement factor already chooses the CPUs", where="--jobs", remedy="leave --jobs out")
    if jobs * width > len(machine.usable):
        what = f"{jobs} launches of up to {width} threads do not fit on {len(machine.usable)} usable CPUs"
        raise UsageError(what, where="--jobs", remedy="ask for fewer")
    return tuple(Slot(cpus) for cpus in binding(machine, None, Layout(width, jobs)))


def binding(machine: Machine, mask: Sequence[int] | None, layout: Layout) -> list[tuple[int, ...]]:
    """The CPUs of each rank, or of each simultaneous launch: t whole cores, or t hardware threads if there are too few
    cores.

    If there are too few hardware threads too, each gets all CPUs of `mask`; without a mask, the result is empty.
    """
    allowed = [cpu for cpu in machine.usable if mask is None or cpu.cpu in mask]
    t, m = layout.threads_per_rank, layout.ranks_per_node
    for units in (cores(allowed), [(cpu,) for core in cores(allowed) for cpu in core]):
        if t * m <= len(units):
            return [tuple(sorted(c.cpu for unit in units[k * t : k * t + t] for c in unit)) for k in range(m)]
    return [tuple(mask or ())] * m


def cores(cpus: Sequence[Cpu]) -> list[tuple[Cpu, ...]]:
    """The CPUs of each core; cores of one socket and L3 domain follow each other."""
    cores: dict[tuple[int, int, int], list[Cpu]] = {}
    for cpu in cpus:
        cores.setdefault((cpu.socket, cpu.l3_domain, cpu.core), []).append(cpu)
    return [tuple(cores[key]) for key in sorted(cores)]


def on_nodes(experiment: Experiment, jobs: int, width: int, nodes: int) -> tuple[Slot, ...]:
    """`jobs` slots of `width` nodes each. Raises UsageError as `slots` does."""
    _must_bear(experiment)
    if experiment.output not in (None, "null", SHOWN):
        what = f"launches on several nodes at once would all write to {experiment.output}"
        raise UsageError(what, where="--jobs", remedy="leave --output or --jobs out")
    if jobs * width > nodes:
        what = f"{jobs} launches of up to {width} nodes do not fit on {nodes} nodes"
        raise UsageError(what, where="--jobs", remedy="ask for fewer")
    return tuple(Slot(first=k * width) for k in range(jobs))


def _must_bear(experiment: Experiment) -> None:
    """Raises UsageError if launches of this experiment must not run at the same time."""
    if experiment.hooks.prepare or experiment.hooks.conclude:
        what = "--prepare or --conclude would run next to other launches"
        raise UsageError(what, where="--jobs", remedy="leave --jobs out")


def at_once(
    places: Sequence[Slot], block: Sequence[Invocation], launch: Callable[[Invocation, Slot], Record]
) -> Iterator[Record]:
    """The records of a block in order, with a launch in every slot. If a launch cannot be made, all others are
    ended."""
    free: queue.SimpleQueue[Slot] = queue.SimpleQueue()
    for place in places:
        free.put(place)

    def launched(invocation: Invocation) -> Record:
        place = free.get()
        try:
            return launch(invocation, place)
        finally:
            free.put(place)

    with ThreadPoolExecutor(len(places)) as pool:
        try:
            yield from pool.map(launched, block)
        except BaseException:
            for place in places:
                place.spawner.cancel()
            raise
