# SPDX-License-Identifier: Apache-2.0
"""The ledger: wall time x threads, each thread-second in exactly one row."""

import bisect
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from corescale.conclude.explain.allocating import allocating, sampled
from corescale.conclude.explain.efficiency import BARELY, Efficiency, efficiency, useful
from corescale.conclude.explain.notes import notes
from corescale.conclude.explain.rows import ROW_OF, LedgerRow
from corescale.conclude.stats import Interval
from corescale.profile import Profile, ThreadTimes

USEFUL = (LedgerRow.COMPUTING, LedgerRow.INFLATED, LedgerRow.ALLOCATING)

MOST = 0.99
"""the explained programs have at least this share of the CPU time; small programs, such as a shell, are left out"""

_WAITS = ("locking", "message", "barrier", "blocked", "joining", "pooled", "event")
"""Waits, in the order in which they fill the slots that computing threads leave; as in probe/profiler/census.hpp."""


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
    beyond: Mapping[LedgerRow, Interval] = field(default_factory=dict)
    """seconds by which computing (as INFLATED) and ALLOCATING exceed the same work with one thread; empty if there was
    no launch with one thread"""
    allocating: Interval | None = None
    """the row's interval from `n` ticks; None if there were no ticks"""
    serial: float | None = None
    """elapsed seconds in which exactly one thread computed or waited for a core; None if there is only one thread, or
    if there are several programs"""
    unseen: float = 0.0
    """seconds of BLOCKED that no call explains, because the profiler does not watch it"""
    efficiency: Efficiency | None = None
    notes: tuple[str, ...] = ()
    work: float | None = None
    """the work that the program reported"""
    by_kernel: bool = False
    """whether all rows are from the kernel's accounts, because no program was profiled"""
    ranks: int = 1
    """ranks to which the threads belong"""
    cores_available: int | None = None
    """cores that the launch could use, if they are fewer than its threads"""

    @property
    def compared(self) -> bool:
        """Whether a launch with one thread shows what is inflated."""
        return bool(self.beyond)

    @property
    def total(self) -> float:
        """Thread-seconds of the launch."""
        return self.wall * self.threads

    @property
    def cores(self) -> float:
        """The mean number of cores in use."""
        return self.cpu / self.wall if self.wall else 0.0


def ledger(
    profiles: Sequence[Profile],
    wall: float,
    work: float | None = None,
    stolen: float = 0.0,
    unprofiled: float = 0.0,
) -> Ledger:
    """The ledger of a launch that took `wall` seconds: of its ranks, else of the programs with most of the CPU time.

    `work` is the work that the program reported. `stolen`: CPU seconds that the host took from the machine meanwhile.
    Up to that amount, time of threads that no source explains counts as waiting for a core. `unprofiled`: CPU seconds
    of programs without a profile. They are unattributed and no wait, as those of other programs are. Raises ValueError
    without a profile.
    """
    if not profiles:
        raise ValueError("a ledger needs a profile")
    mains = mains_of(profiles)
    cpu = sum(profile.cpu for profile in profiles)
    used = sum(main.cpu for main in mains)
    others = cpu - used if cpu * MOST > used else 0.0
    shared = len(mains) > 1 and not mains[0].is_rank
    wall = max(wall, *([_span(mains)] if shared else [main.wall for main in mains]))
    each = [allocating(main) for main in mains]
    rows, unseen, still = (_together if shared else _apart)(mains, [one.estimate for one in each], wall, stolen)
    blocked = rows[LedgerRow.BLOCKED]
    _attribute_less(rows, unprofiled + others)
    threads = mains[0].processors if shared else sum(main.processors for main in mains)
    known = unprofiled == 0 and not any(main.unqueued for main in mains)
    return Ledger(
        threads=threads,
        wall=wall,
        rows=rows,
        cpu=cpu + unprofiled,
        burnt=sum(map(_burnt, mains)),
        allocating=sampled(each, rows[LedgerRow.ALLOCATING]),
        serial=mains[0].alone - still if len(mains) == 1 and threads > 1 and known else None,
        unseen=max(0.0, unseen - (blocked - rows[LedgerRow.BLOCKED])),  # before what a call explains
        efficiency=efficiency(mains, threads, wall, stolen) if known else None,
        notes=tuple(notes(mains, profiles, others, known=unprofiled == 0)),
        work=work,
    )


def _attribute_less(rows: dict[LedgerRow, float], elsewhere: float) -> None:
    """Moves waits, at last those for a core, into the unattributed time, until that has room for this CPU time."""
    waits = (LedgerRow.BLOCKED, LedgerRow.BARRIER, LedgerRow.ABSENT, LedgerRow.LOCK, LedgerRow.MPI, LedgerRow.QUEUED)
    for row in waits:
        moved = min(rows[row], max(0.0, elsewhere - rows[LedgerRow.UNATTRIBUTED]))
        rows[row] -= moved
        rows[LedgerRow.UNATTRIBUTED] += moved


def ranks_as_typed(profiles: Sequence[Profile]) -> tuple[Profile, ...]:
    """Profiles of a command that starts its ranks itself: only computing threads count, because no number of threads
    was given."""
    return tuple(_narrowed(profile) if profile.is_rank else profile for profile in profiles)


def _narrowed(profile: Profile) -> Profile:
    """The profile with one slot for each thread that computes; surplus time is taken from waits, in the order below."""
    used = [useful(thread) for thread in profile.threads]
    slots = min(profile.processors, max(1, sum(one > BARELY * max(used) for one in used)))
    surplus, shares = (profile.processors - slots) * profile.wall, dict(profile.shares)
    for name in ("absent", "join", "blocked", "barrier", "message", "lock"):
        taken = min(shares[name], surplus)
        shares[name] -= taken
        surplus -= taken
    shares["active"] -= surplus  # from the threads that hardly compute
    shares["excess"] += surplus
    return replace(profile, processors=slots, shares=shares)


def mains_of(profiles: Sequence[Profile]) -> tuple[Profile, ...]:
    """The ranks of a launch; if there are none, the smallest set of its programs with nearly all of the CPU time."""
    if ranks := tuple(profile for profile in profiles if profile.is_rank):
        return ranks
    most = sorted(profiles, key=lambda profile: -profile.cpu)
    sums = list(itertools.accumulate(profile.cpu for profile in most))
    return tuple(most[: bisect.bisect_left(sums, MOST * sums[-1]) + 1])


def outside(threads: int, wall: float, cpu: float, queued: float, why: str) -> Ledger:
    """The ledger of a launch that could not be profiled, from the kernel's accounts.

    CPU time is computing, although some of it may be allocating or spinning.
    """
    computed = min(cpu, wall * threads)
    queued = min(queued, wall * threads - computed)
    left = wall * threads - computed - queued
    rows = dict.fromkeys(LedgerRow, 0.0)
    rows |= {LedgerRow.COMPUTING: computed, LedgerRow.QUEUED: queued, LedgerRow.UNATTRIBUTED: left}
    return Ledger(threads, wall, rows, cpu, burnt=0.0, notes=(why,), by_kernel=True)


def _burnt(profile: Profile) -> float:
    return sum(thread.burnt.get(state, 0.0) for thread in profile.threads for state in _WAITS)


Rows = tuple[dict[LedgerRow, float], float, float]
"""Seconds of each row, the part of `blocked` that no source explains, and how long that part was while nothing ran."""


def _apart(mains: Sequence[Profile], allocating: Sequence[float], wall: float, stolen: float) -> Rows:
    """The rows of programs that do not share the launch's threads, such as ranks."""
    rows, unseen, still = dict.fromkeys(LedgerRow, 0.0), 0.0, 0.0
    for main, seconds in zip(mains, allocating, strict=True):
        owned = _owned(main)
        rows[LedgerRow.UNATTRIBUTED] += (unread := min(owned["unseen"], _unread(main)))
        owned["unseen"] -= unread
        taken = min(stolen, owned["unseen"])
        stolen -= taken
        owned |= {"unseen": owned["unseen"] - taken, "queued": owned["queued"] + taken}
        alone = _still(main, owned["unseen"])
        for name, booked in _rows(main, owned, seconds, alone).items():
            rows[name] += booked
        rows[LedgerRow.UNATTRIBUTED] += (wall - main.wall) * main.processors
        unseen += owned["unseen"]
        still += alone
    return rows, unseen, still


def _unread(profile: Profile) -> float:
    """Seconds off the CPU that may be no wait: the profile has all of its queues, and ends with a reading, or not."""
    return math.inf if profile.unqueued else profile.unread


def _still(profile: Profile, unseen: float) -> float:
    """How long its only thread outside watched waits was neither on a CPU nor ready for one: nothing ran then."""
    return min(unseen, max(0.0, profile.alone - sum(stack.seconds.get("alone", 0.0) for stack in profile.stacks)))


def _together(mains: Sequence[Profile], allocating: Sequence[float], wall: float, stolen: float) -> Rows:
    """The rows of programs that share the launch's threads, such as the processes of a pool.

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

    take(LedgerRow.ALLOCATING, sum(allocating))
    take(LedgerRow.SPINNING, _spun(threads))
    take(LedgerRow.COMPUTING, sum(map(useful, threads)) - rows[LedgerRow.ALLOCATING])
    take(LedgerRow.QUEUED, sum(thread.queued for thread in threads))
    for state in _WAITS:
        take(ROW_OF[state], sum(thread.spent.get(state, 0.0) for thread in threads))
    take(LedgerRow.UNATTRIBUTED, sum(map(_unread, mains)))
    taken = min(stolen, left)
    rows[LedgerRow.QUEUED] += taken
    rows[LedgerRow.BLOCKED] += left - taken
    return rows, left - taken, 0.0


def _spun(threads: Sequence[ThreadTimes]) -> float:
    return sum(thread.burnt.get("spinning", 0.0) for thread in threads)


def _span(mains: Sequence[Profile]) -> float:
    return max(main.started + main.wall for main in mains) - min(main.started for main in mains)


def _presence(mains: Sequence[Profile]) -> tuple[float, float]:
    """Thread-seconds in which threads were absent while others of the launch existed, and seconds in which any thread
    existed."""
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
    """Splits the time of computing threads (the shares `active` and `excess`) into CPU time, time in a run queue, and
    time off the CPU that no source explains.

    `excess` is the time of computing threads beyond the launch's number of threads. It is subtracted first from the
    unexplained time, then from the queue, and last from CPU time.
    """
    share = profile.shares
    owned = share["active"] + share["excess"]
    used = min(owned, max(0.0, sum(thread.cpu for thread in profile.threads) - _burnt(profile)))
    queued = min(owned - used, sum(thread.queued for thread in profile.threads))
    parts = {"unseen": owned - used - queued, "queued": queued, "used": used}
    surplus = share["excess"]
    for name, value in parts.items():
        parts[name] = max(0.0, value - surplus)
        surplus -= value - parts[name]
    return parts


def _rows(profile: Profile, parts: Mapping[str, float], seconds: float, still: float) -> dict[LedgerRow, float]:
    """The rows of one process; they sum to its wall time x threads. Its computing threads own `parts`; it allocated for
    `seconds`. For `still`, a call that is not watched blocked it, as a watched one does: its absent threads, too."""
    share = profile.shares
    idle = min(share["absent"], (profile.processors - 1) * still)
    allocating = min(parts["used"], seconds)
    spinning = min(parts["used"] - allocating, _spun(profile.threads))
    return {
        LedgerRow.COMPUTING: parts["used"] - allocating - spinning,
        LedgerRow.ALLOCATING: allocating,
        LedgerRow.SPINNING: spinning,
        LedgerRow.LOCK: share["lock"],
        LedgerRow.BARRIER: share["barrier"] + share["join"],
        LedgerRow.ABSENT: share["absent"] - idle,
        LedgerRow.QUEUED: parts["queued"],
        LedgerRow.BLOCKED: share["blocked"] + parts["unseen"] + idle,
        LedgerRow.MPI: share["message"],
    }
