# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: each rule by which a thread-second gets its row)
"""The ledger: wall time x threads, each thread-second in exactly one row."""

import bisect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scipy.stats import binomtest

from corescale.conclude.explain.rows import ROW_OF, LedgerRow
from corescale.profile import Profile, ThreadTimes

USEFUL = (LedgerRow.COMPUTING, LedgerRow.INFLATED, LedgerRow.ALLOCATING)
BARELY = 0.02
"""largest share of the useful time for threads beyond the launch's own, such as those of runtimes"""

MOST = 0.99
"""least share of the CPU time for the explained programs; the rest, such as a shell's, explains nothing"""

TICK = 0.01
"""seconds of a thread's own CPU time from one stack to the next; as `period` in probe/profiler/stacks.cpp"""

_WAITS = ("locking", "message", "barrier", "blocked", "joining", "pooled", "event")
"""Waits, in the order in which they get the slots that computing threads leave; as in probe/profiler/census.hpp."""


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The metrics of the POP project, as far as they follow from useful CPU time: none of them needs a counter."""

    load_balance: float
    """mean useful time of a thread over the longest"""
    communication: float
    """the longest useful time over the wall time: the share that communication and synchronisation leave"""
    computation_scaling: float | None
    """useful time at 1 thread over that at p; None without a launch with one thread"""

    @property
    def parallel(self) -> float:
        """Useful time over thread-seconds."""
        return self.load_balance * self.communication


@dataclass(frozen=True, slots=True)
class Ledger:
    """Thread-seconds of one launch; `rows` has every LedgerRow, and they sum to `total`."""

    threads: int
    wall: float
    rows: Mapping[LedgerRow, float]
    cpu: float
    """CPU seconds of all its processes"""
    burnt: float
    """CPU seconds in waits: runtimes that spin"""
    compared: bool
    """whether a launch with one thread shows what is inflated"""
    efficiency: Efficiency | None = None
    notes: tuple[str, ...] = ()
    work: float | None = None
    """what the program says that it has done"""
    ranks: int = 1
    """ranks to which the threads belong"""
    cores_available: int | None = None
    """cores that the launch could use, if they are fewer than its threads"""

    @property
    def total(self) -> float:
        """Thread-seconds of the launch."""
        return self.wall * self.threads

    @property
    def cores(self) -> float:
        """Cores' worth that was used."""
        return self.cpu / self.wall if self.wall else 0.0


def ledger(
    profiles: Sequence[Profile],
    wall: float,
    alone: Ledger | None = None,
    work: float | None = None,
    stolen: float = 0.0,
) -> Ledger:
    """The ledger of a launch that took `wall` seconds, by its ranks, or else by its programs with most of the CPU time.

    `alone` is the ledger with one thread: what computing costs beyond it is inflated. `work` is what the program says
    that it has done; without it, here or there, both have done the same. `stolen` is CPU seconds that the host took
    from the machine meanwhile: time of threads that no source explains counts as waiting for a core, up to that. Raises
    ValueError without a profile.
    """
    if not profiles:
        raise ValueError("a ledger needs a profile")
    mains = mains_of(profiles)
    cpu = sum(profile.cpu for profile in profiles)
    others = cpu - sum(main.cpu for main in mains)
    shared = len(mains) > 1 and not mains[0].is_rank
    wall = max(wall, *([_span(mains)] if shared else [main.wall for main in mains]))
    rows, unseen = _together(mains, wall) if shared else _apart(mains, wall)
    rows[LedgerRow.QUEUED] += min(stolen, unseen)
    rows[LedgerRow.BLOCKED] -= min(stolen, unseen)
    useful = sum(rows[name] for name in USEFUL)
    times = work / alone.work if alone is not None and work and alone.work else 1.0
    if alone is not None:
        usual = min(rows[LedgerRow.COMPUTING], times * alone.rows[LedgerRow.COMPUTING])
        rows[LedgerRow.INFLATED] = rows[LedgerRow.COMPUTING] - usual
        rows[LedgerRow.COMPUTING] = usual
    threads = mains[0].processors if shared else sum(main.processors for main in mains)
    scaling = times * sum(alone.rows[name] for name in USEFUL) / useful if alone is not None and useful else None
    return Ledger(
        threads=threads,
        wall=wall,
        rows=rows,
        cpu=cpu,
        burnt=sum(map(_burnt, mains)),
        compared=alone is not None,
        efficiency=_efficiency(mains, threads, wall, scaling),
        notes=tuple(_notes(mains, profiles, others)),
        work=work,
    )


def ranks_as_typed(profiles: Sequence[Profile]) -> tuple[Profile, ...]:
    """Profiles of a command that starts its ranks itself: the threads that compute count, because no number was
    given."""
    return tuple(_narrowed(profile) if profile.is_rank else profile for profile in profiles)


def _narrowed(profile: Profile) -> Profile:
    """The profile with one slot for each thread that computes; surplus time is taken from waits, in the order below."""
    useful = [_useful(thread) for thread in profile.threads]
    slots = min(profile.processors, max(1, sum(one > BARELY * max(useful) for one in useful)))
    surplus, shares = (profile.processors - slots) * profile.wall, dict(profile.shares)
    for name in ("absent", "join", "blocked", "barrier", "message", "lock"):
        taken = min(shares[name], surplus)
        shares[name] -= taken
        surplus -= taken
    return replace(profile, processors=slots, shares=shares)


def mains_of(profiles: Sequence[Profile]) -> tuple[Profile, ...]:
    """The ranks of a launch; if there are none, the smallest set of its programs with nearly all of the CPU time."""
    if ranks := tuple(profile for profile in profiles if profile.is_rank):
        return ranks
    most = sorted(profiles, key=lambda profile: -profile.cpu)
    sums = list(itertools.accumulate(profile.cpu for profile in most))
    return tuple(most[: bisect.bisect_left(sums, MOST * sums[-1]) + 1])


def _efficiency(mains: Sequence[Profile], threads: int, wall: float, scaling: float | None) -> Efficiency | None:
    """None if threads come and go, because then no thread lasts for the whole launch."""
    useful = [_useful(thread) for main in mains for thread in main.threads]
    lasting = sorted(useful)[-threads:]
    longest = max(lasting, default=0.0)
    if not longest or not wall or sum(lasting) < (1 - BARELY) * sum(useful):
        return None
    return Efficiency(sum(lasting) / threads / longest, min(1.0, longest / wall), scaling)


def _useful(thread: ThreadTimes) -> float:
    return max(0.0, thread.cpu - sum(thread.burnt.values()))


def _allocating(profile: Profile) -> float:
    """Seconds in the malloc family and in first touches of pages, from two sources: timed calls and ticks.

    Timed calls are many, but too long by the read of the clock, which a short call cannot hide. Ticks are few but
    unbiased. So the sum of the timed calls is limited to the ticks' 95% interval (Wilson 1927).
    """
    timed = sum(thread.allocating for thread in profile.threads)
    seen, others = (
        sum(stack.seconds.get(state, 0.0) for stack in profile.stacks) for state in ("allocating", "computing")
    )
    ticks = round((seen + others) / TICK)
    if not ticks:
        return timed
    share = binomtest(min(ticks, round(seen / TICK)), ticks).proportion_ci(method="wilson")
    useful = sum(map(_useful, profile.threads))
    return min(max(timed, share.low * useful), share.high * useful)


def outside(threads: int, wall: float, cpu: float, queued: float, why: str) -> Ledger:
    """The ledger of a launch that could not be profiled, from the kernel's accounts.

    CPU time is computing, although some of it may be allocating or spinning.
    """
    computed = min(cpu, wall * threads)
    queued = min(queued, wall * threads - computed)
    left = wall * threads - computed - queued
    rows = dict.fromkeys(LedgerRow, 0.0)
    rows |= {LedgerRow.COMPUTING: computed, LedgerRow.QUEUED: queued, LedgerRow.UNATTRIBUTED: left}
    return Ledger(threads, wall, rows, cpu, burnt=0.0, compared=False, notes=(why,))


def _burnt(profile: Profile) -> float:
    return sum(thread.burnt.get(state, 0.0) for thread in profile.threads for state in _WAITS)


def _apart(mains: Sequence[Profile], wall: float) -> tuple[dict[LedgerRow, float], float]:
    """Rows of programs that do not share the launch's threads, such as ranks; and what of `blocked` no source saw."""
    rows, unseen = dict.fromkeys(LedgerRow, 0.0), 0.0
    for main in mains:
        owned = _owned(main)
        for name, seconds in _rows(main, owned).items():
            rows[name] += seconds
        rows[LedgerRow.UNATTRIBUTED] += (wall - main.wall) * main.processors
        unseen += owned["unseen"]
    return rows, unseen


def _together(mains: Sequence[Profile], wall: float) -> tuple[dict[LedgerRow, float], float]:
    """Rows of programs that share the launch's threads, as a pool's processes do; and what of `blocked` no source saw.

    Each program knows only its own threads. A slot of the launch is absent while fewer threads exist than it has slots.
    Computing threads fill the other slots first, and waiting threads fill the rest.
    """
    slots = mains[0].processors
    threads = [thread for main in mains for thread in main.threads]
    rows = dict.fromkeys(LedgerRow, 0.0)
    rows[LedgerRow.ABSENT], present = _presence(mains)
    left = present * slots - rows[LedgerRow.ABSENT]
    rows[LedgerRow.UNATTRIBUTED] = (wall - present) * slots

    def take(row: LedgerRow, seconds: float) -> None:
        nonlocal left
        taken = max(0.0, min(left, seconds))
        rows[row] += taken
        left -= taken

    take(LedgerRow.ALLOCATING, sum(map(_allocating, mains)))
    take(LedgerRow.SPINNING, sum(thread.burnt.get("spinning", 0.0) for thread in threads))
    take(LedgerRow.COMPUTING, sum(map(_useful, threads)) - rows[LedgerRow.ALLOCATING])
    take(LedgerRow.QUEUED, sum(thread.queued for thread in threads))
    for state in _WAITS:
        take(ROW_OF[state], sum(thread.spent.get(state, 0.0) for thread in threads))
    rows[LedgerRow.BLOCKED] += left
    return rows, left


def _span(mains: Sequence[Profile]) -> float:
    return max(main.started + main.wall for main in mains) - min(main.started for main in mains)


def _presence(mains: Sequence[Profile]) -> tuple[float, float]:
    """Thread-seconds in which threads of the launch were absent while others were there; and seconds in which any was
    there."""
    changes = sorted(
        (main.started + thread.started + late, count)
        for main in mains
        for thread in main.threads
        for late, count in ((0.0, 1), (thread.wall, -1))
    )
    absent = present = 0.0
    there = 0
    for (at, count), (then, _) in itertools.pairwise(changes):
        there += count
        if there:
            absent += (then - at) * max(0, mains[0].processors - there)
            present += then - at
    return absent, present


def _owned(profile: Profile) -> dict[str, float]:
    """What computing threads own, the shares `active` and `excess`: CPU time, time in a run queue, and time off the CPU
    that no source saw. If these exceed the launch's threads, time that no source saw is cut first, then the queue."""
    share = profile.shares
    owned = share["active"] + share["excess"]
    used = min(owned, sum(thread.cpu for thread in profile.threads) - _burnt(profile))
    queued = min(owned - used, sum(thread.queued for thread in profile.threads))
    parts = {"unseen": owned - used - queued, "queued": queued, "used": used}
    surplus = share["excess"]
    for name, value in parts.items():
        parts[name] = max(0.0, value - surplus)
        surplus -= value - parts[name]
    return parts


def _rows(profile: Profile, parts: Mapping[str, float]) -> dict[LedgerRow, float]:
    """Rows of one process, whose computing threads own `parts`; they sum to its wall time x threads."""
    share = profile.shares
    allocating = min(parts["used"], _allocating(profile))
    spinning = min(parts["used"] - allocating, sum(thread.burnt.get("spinning", 0.0) for thread in profile.threads))
    return {
        LedgerRow.COMPUTING: parts["used"] - allocating - spinning,
        LedgerRow.ALLOCATING: allocating,
        LedgerRow.SPINNING: spinning,
        LedgerRow.LOCK: share["lock"],
        LedgerRow.BARRIER: share["barrier"] + share["join"],
        LedgerRow.ABSENT: share["absent"],
        LedgerRow.QUEUED: parts["queued"],
        LedgerRow.BLOCKED: share["blocked"] + parts["unseen"],
        LedgerRow.MPI: share["message"],
    }


def _notes(mains: Sequence[Profile], profiles: Sequence[Profile], others: float) -> list[str]:
    found = []
    if others > 0.01 * sum(main.cpu for main in mains):
        programs = len(profiles) - len(mains)
        found.append(f"{programs} other programs used {others:.2f} s of CPU time: unattributed")
    if len(mains) > 1 and not mains[0].is_rank:
        found.append(f"{len(mains)} processes are summed: a wait counts only while the others leave a thread free")
    if not all(main.finished for main in mains):
        found.append(
            "it was killed (at most 10 ms of each thread are missing), ended past the C library,"
            " or gave way to a program without the profiler"
        )
    if any(main.confined for main in mains):
        found.append("the program forbade itself system calls (seccomp): its time from then on is unattributed")
    if lost := sum(main.lost_threads for main in mains):
        found.append(f"{lost} threads were not profiled: there were more than the profiler keeps")
    return found
