# SPDX-License-Identifier: Apache-2.0
"""How noisy the machine is now: a fixed piece of work, repeated on single cores and then on two at once, for 2 s.

Limits: shares are counted in clock ticks of 10 ms, so the resolution is 0.5%; noise that changes over minutes is not
detected; nor is a contended memory bus, because the work computes in cache.
"""

import itertools
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from corescale.errors import UnavailableError
from corescale.machine import Cpu, Machine
from corescale.topology import read

Progress = Callable[[str, float], None]
"""Called with what runs now, and the share done, from 0 to 1."""

Level = Literal["quiet", "usable", "noisy"]

SECONDS_ALONE, SECONDS_TOGETHER = 1.2, 0.6
"""seconds for single cores, all together, and for two cores at once"""
MOST_CORES = 4
SHORT, LONG = 0.02, 0.1
"""seconds of work in a window: a short launch, and a tenth of a launch of 1 s"""


@dataclass(frozen=True, slots=True)
class Quietness:
    """The result of the test. Shares are of CPU time."""

    variation: float
    """coefficient of variation of 20 ms of fixed work, on the worst core"""
    launch_noise: float
    """expected variation of 1 s of work: the variation of 100 ms on all cores, divided by sqrt(10) as if independent"""
    longest_gap: float
    """seconds; the longest single interruption of a core"""
    steal: float
    """share that the hypervisor took"""
    others: float
    """cores that other programs used during the test"""
    switches: float
    """number of times per CPU-second that another task displaced the work"""
    load: float
    """the system's 1-minute load average before the test"""
    slowdown: float | None
    """time of the work on two busy cores over that on one; None if only one core may be used"""

    @property
    def level(self) -> Level:
        """The worst level of all rules."""
        return max((rule.level(self) for rule in RULES), key=_LEVELS.index)

    @property
    def verdict(self) -> str:
        """The verdict in plain words."""
        return f"{self.level}: expect about {self.launch_noise:.1%} per launch of 1 s, {self.variation:.1%} of 20 ms"


_LEVELS: tuple[Level, ...] = ("quiet", "usable", "noisy")


@dataclass(frozen=True, slots=True)
class Rule:
    """A number up to `quiet` is well, up to `usable` asks for more launches, above it makes results doubtful."""

    name: str
    """name of the number that it judges"""
    quiet: float
    usable: float
    says: Callable[[float], str]
    remedy: str

    def number(self, seen: Quietness) -> float:
        """The number to classify; 0 if there is none."""
        return float(getattr(seen, self.name) or 0.0)

    def level(self, seen: Quietness) -> Level:
        """The class of this number."""
        number = self.number(seen)
        return "quiet" if number <= self.quiet else "usable" if number <= self.usable else "noisy"


RULES = (
    Rule(
        "launch_noise",
        0.01,
        0.03,
        lambda x: f"equal launches of 1 s vary by about {x:.1%}",
        "stop other work; if there is none, the host shares its cores: more blocks, or dedicated cores",
    ),
    Rule(
        "longest_gap",
        0.005,
        0.02,
        lambda x: f"a core was taken away for {x * 1e3:.0f} ms at once",
        "measure launches of 1 s and more, in more blocks",
    ),
    Rule(
        "steal",
        0.005,
        0.02,
        lambda x: f"the hypervisor took {x:.1%} of the CPU time",
        "use an instance with dedicated cores, or measure at a quieter hour",
    ),
    Rule(
        "others",
        0.05,
        0.25,
        lambda x: f"other programs used {x:.2f} cores",
        "stop them (top shows which), or leave them cores by taskset",
    ),
    Rule(
        "switches",
        20,
        100,
        lambda x: f"another task displaced the work {x:.0f} times a second",
        "stop other work, or expect it of the kernel's own tasks on a small machine",
    ),
    Rule(
        "slowdown",
        1.05,
        1.25,
        lambda x: f"two busy cores give {2 / x:.2f} cores",
        "hardware threads or a shared host: read speedup against this, not against 2",
    ),
)
"""15 blocks show a difference of about 1% at a variation of 1%, and 3% at 3%. The limits of 2% steal and 100 switches a
second also flag a launch. Two busy cores lose up to 5% to a shared clock and heat; beyond 25% they share more."""


def measure(machine: Machine, progress: Progress = lambda what, done: None) -> Quietness:
    """Try up to four cores in turn and two at once; takes some 2 s. Raises UnavailableError if none can be tried."""
    cores = _chosen(machine)
    load, before, started = os.getloadavg()[0], account(machine), time.monotonic()
    alone: dict[int, _Run] = {}
    for index, cpu in enumerate(cores):
        progress(f"CPU {cpu} alone", 0.7 * index / len(cores))
        alone |= _work([cpu], SECONDS_ALONE / len(cores))
    pair = (cores[0], cores[-1]) if len(cores) > 1 else ()
    progress("two CPUs at once", 0.7)
    together = _work(pair, SECONDS_TOGETHER)
    after, elapsed = account(machine), time.monotonic() - started
    progress("done", 1.0)
    runs = [*alone.values(), *together.values()]
    return Quietness(
        variation=max(run.variation(SHORT) for run in alone.values()),
        launch_noise=launch_noise(alone.values()),
        longest_gap=max(run.longest_gap for run in alone.values()),
        steal=after.steal_share(before),
        others=max(0.0, after.others - before.others) / elapsed,
        switches=sum(run.switches for run in runs) / sum(run.cpu for run in runs),
        load=load,
        slowdown=slowdown(alone, together) if pair else None,
    )


def _chosen(machine: Machine) -> list[int]:
    """The CPUs to test: one of each core, spread evenly; a second hardware thread only if there is no second core."""
    by_core: dict[int, Cpu] = {cpu.core: cpu for cpu in reversed(machine.usable)}
    cpus = sorted(cpu.cpu for cpu in (by_core.values() if len(by_core) > 1 else machine.usable))
    step = max(1, math.ceil(len(cpus) / MOST_CORES))
    return cpus[::step]


@dataclass(frozen=True, slots=True)
class _Run:
    """The ends of equal pieces of work on one CPU, in seconds of the monotonic clock."""

    ends: tuple[float, ...]
    switches: int
    cpu: float

    @property
    def pieces(self) -> list[float]:
        return [b - a for a, b in itertools.pairwise(self.ends)]

    def variation(self, window: float) -> float:
        """Coefficient of variation of the work that takes about `window` seconds.

        If the run has only one such window, halves of it are used, as if they were independent. 0 for a single piece.
        """
        pieces = self.pieces
        many = max(1, round(window / statistics.median(pieces)))
        windows = [sum(pieces[i : i + many]) for i in range(0, len(pieces) - many + 1, many)]
        if len(windows) > 1:
            return statistics.stdev(windows) / statistics.fmean(windows)
        return self.variation(window / 2) / math.sqrt(2) if many > 1 else 0.0

    @property
    def longest_gap(self) -> float:
        return max(self.pieces) - statistics.median(self.pieces)


def launch_noise(runs: Iterable[_Run]) -> float:
    """Expected coefficient of variation of 1 s of work; too low if noise lasts longer than 100 ms."""
    squares = [run.variation(LONG) ** 2 for run in runs]
    return math.sqrt(statistics.fmean(squares) * LONG)


def slowdown(alone: dict[int, _Run], together: dict[int, _Run]) -> float:
    """The mean time of a piece while all CPUs are busy, divided by its mean time alone, averaged over the CPUs."""
    first, last = max(run.ends[0] for run in together.values()), min(run.ends[-1] for run in together.values())
    ratios = []
    for cpu, run in together.items():
        shared = [b - a for a, b in itertools.pairwise(run.ends) if first <= a and b <= last]
        if shared:
            ratios.append(statistics.fmean(shared) / statistics.fmean(alone[cpu].pieces))
    return statistics.fmean(ratios) if ratios else 1.0


_WORKER = """
import gc, json, os, resource, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
start, seconds = float(sys.argv[2]), float(sys.argv[3])
gc.disable()
clock, ends, numbers = time.monotonic, [], range(20000)
while clock() < start: pass
before = resource.getrusage(resource.RUSAGE_SELF)
ends.append(clock())
while ends[-1] < start + seconds:
    for _ in numbers: pass
    ends.append(clock())
after = resource.getrusage(resource.RUSAGE_SELF)
cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
sys.stdout.write(json.dumps({"ends": ends, "switches": after.ru_nivcsw - before.ru_nivcsw, "cpu": cpu}))
"""
_START_UP = 0.1
"""seconds within which all workers are expected to be ready"""


def _work(cpus: Sequence[int], seconds: float) -> dict[int, _Run]:
    """Runs the work in one pinned process on each CPU, all started at the same moment."""
    start = time.monotonic() + _START_UP
    command = [sys.executable, "-I", "-S", "-c", _WORKER]
    workers = {
        cpu: subprocess.Popen([*command, str(cpu), repr(start), repr(seconds)], stdout=subprocess.PIPE) for cpu in cpus
    }
    try:
        return {cpu: _result(cpu, worker) for cpu, worker in workers.items()}
    finally:
        for worker in workers.values():
            worker.kill()
            worker.wait()


def _result(cpu: int, worker: subprocess.Popen[bytes]) -> _Run:
    output, _ = worker.communicate(timeout=60)
    try:
        values = json.loads(output)
        run = _Run(tuple(values["ends"]), values["switches"], values["cpu"])
        statistics.median(run.pieces)
    except (ValueError, statistics.StatisticsError) as error:
        raise UnavailableError(f"no work was timed on CPU {cpu}", remedy="doctor without its noise test") from error
    return run


@dataclass(frozen=True, slots=True)
class Account:
    """Accounts of the allowed CPUs since boot, in CPU seconds."""

    busy: float
    steal: float
    own: float
    """CPU time of this process and its children"""

    @property
    def others(self) -> float:
        """CPU time of other programs."""
        return self.busy - self.own

    def steal_share(self, before: "Account") -> float:
        """The hypervisor's share of the time since then."""
        stolen, busy = self.steal - before.steal, self.busy - before.busy
        return max(0.0, stolen) / (stolen + busy) if stolen + busy > 0 else 0.0


def account(machine: Machine) -> Account:
    """The account now."""
    tick = os.sysconf("SC_CLK_TCK")
    names = {f"cpu{cpu}" for cpu in machine.affinity}
    lines = [line.split() for line in read(Path("/proc/stat")).splitlines()]
    rows = [[int(word) for word in words[1:9]] for words in lines if words and words[0] in names]
    busy = sum(row[0] + row[1] + row[2] + row[5] + row[6] for row in rows) / tick
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    return Account(busy, sum(row[7] for row in rows) / tick, own)
