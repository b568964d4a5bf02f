# SPDX-License-Identifier: Apache-2.0
"""The ledger: wall time x threads, each thread-second in exactly one row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corescale.profile import Profile, ThreadTimes

INFLATED = "inflated computing"
ROWS = (
    "computing",
    INFLATED,
    "allocating",
    "lock wait",
    "barrier and join wait",
    "absent (serial)",
    "waiting for a core",
    "blocked",
    "spinning",
    "MPI",
    "unattributed",
)

USEFUL = ("computing", INFLATED, "allocating")
BARELY = 0.01
"""share of the useful time that threads beyond the launch's may have: those of runtimes"""

_WAITS = ("locking", "barrier", "joining", "blocked", "message", "pooled")


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The metrics of the POP project, as far as they follow from useful CPU time: none of them needs a counter."""

    load_balance: float
    """mean useful time of a thread over the longest"""
    communication: float
    """the longest useful time over the wall time: what communication and synchronisation leave of it"""
    computation_scaling: float | None
    """useful time at 1 thread over that at p; None without a launch with one thread"""

    @property
    def parallel(self) -> float:
        """Useful time over thread-seconds."""
        return self.load_balance * self.communication


@dataclass(frozen=True, slots=True)
class Ledger:
    """Thread-seconds of one launch; `rows` has every name of ROWS, and they sum to `total`."""

    threads: int
    wall: float
    rows: Mapping[str, float]
    cpu: float
    """CPU seconds of all its processes"""
    burnt: float
    """CPU seconds in waits: runtimes that spin"""
    compared: bool
    """whether a launch with one thread says what is inflated"""
    efficiency: Efficiency | None = None
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """Thread-seconds of the launch."""
        return self.wall * self.threads

    @property
    def cores(self) -> float:
        """Cores' worth that was used."""
        return self.cpu / self.wall if self.wall else 0.0


def ledger(profiles: Sequence[Profile], wall: float, alone: Ledger | None = None) -> Ledger:
    """The ledger of a launch that took `wall` seconds, by its ranks, or else by the profile with the most CPU time.

    `alone` is the ledger of the same work with one thread: what computing costs beyond it is inflated.
    Raises ValueError without a profile.
    """
    if not profiles:
        raise ValueError("a ledger needs a profile")
    mains = explained(profiles)
    cpu = sum(profile.cpu for profile in profiles)
    others = cpu - sum(main.cpu for main in mains)
    wall = max(wall, *(main.wall for main in mains))
    rows = dict.fromkeys(ROWS, 0.0)
    for main in mains:
        for name, seconds in _rows(main).items():
            rows[name] += seconds
        rows["unattributed"] += (wall - main.wall) * main.processors
    useful = sum(rows[name] for name in USEFUL)
    for name in ("blocked", "absent (serial)"):  # while other processes of the launch computed
        moved = min(rows[name], others - rows["unattributed"])
        if moved > 0:
            rows[name] -= moved
            rows["unattributed"] += moved
    if alone is not None:
        usual = min(rows["computing"], alone.rows["computing"])
        rows[INFLATED] = rows["computing"] - usual
        rows["computing"] = usual
    threads = sum(main.processors for main in mains)
    scaling = sum(alone.rows[name] for name in USEFUL) / useful if alone is not None and useful else None
    return Ledger(
        threads=threads,
        wall=wall,
        rows=rows,
        cpu=cpu,
        burnt=sum(map(_burnt, mains)),
        compared=alone is not None,
        efficiency=_efficiency(mains, threads, wall, scaling),
        notes=tuple(_notes(mains, profiles, others)),
    )


def explained(profiles: Sequence[Profile]) -> tuple[Profile, ...]:
    """The ranks of a launch; where there are none, its program with the most CPU time."""
    ranks = tuple(profile for profile in profiles if profile.is_rank)
    return ranks or (max(profiles, key=lambda profile: profile.cpu),)


def _efficiency(mains: Sequence[Profile], threads: int, wall: float, scaling: float | None) -> Efficiency | None:
    """None where threads come and go, so that none of them is one of the launch's."""
    useful = [_useful(thread) for main in mains for thread in main.threads]
    lasting = sorted(useful)[-threads:]
    longest = max(lasting, default=0.0)
    if not longest or not wall or sum(lasting) < (1 - BARELY) * sum(useful):
        return None
    return Efficiency(sum(lasting) / threads / longest, min(1.0, longest / wall), scaling)


def _useful(thread: ThreadTimes) -> float:
    return max(0.0, thread.cpu - sum(thread.burnt.values()))


def outside(threads: int, wall: float, cpu: float, queued: float, why: str) -> Ledger:
    """The ledger of a launch that could not be profiled: what the kernel accounts to it."""
    queued = min(queued, wall * threads)
    rows = dict.fromkeys(ROWS, 0.0) | {"waiting for a core": queued, "unattributed": wall * threads - queued}
    return Ledger(threads, wall, rows, cpu, burnt=0.0, compared=False, notes=(why,))


def _burnt(profile: Profile) -> float:
    return sum(thread.burnt.get(state, 0.0) for thread in profile.threads for state in _WAITS)


def _rows(profile: Profile) -> dict[str, float]:
    """Rows of one process, which sum to its wall time x threads.

    Computing threads own the shares `active` and `excess`: that time is CPU time, time in a run queue, or time off the
    CPU that no source saw. The excess beyond the launch's threads is taken from the last of these first.
    """
    share = profile.shares
    owned = share["active"] + share["excess"]
    used = min(owned, sum(thread.cpu for thread in profile.threads) - _burnt(profile))
    queued = min(owned - used, sum(thread.queued for thread in profile.threads))
    parts = {"unseen": owned - used - queued, "queued": queued, "used": used}
    surplus = share["excess"]
    for name, value in parts.items():
        parts[name] = max(0.0, value - surplus)
        surplus -= value - parts[name]
    allocating = min(parts["used"], sum(thread.allocating for thread in profile.threads))
    spinning = min(parts["used"] - allocating, sum(thread.burnt.get("spinning", 0.0) for thread in profile.threads))
    return {
        "computing": parts["used"] - allocating - spinning,
        "allocating": allocating,
        "spinning": spinning,
        "lock wait": share["lock"],
        "barrier and join wait": share["barrier"] + share["join"],
        "absent (serial)": share["absent"],
        "waiting for a core": parts["queued"],
        "blocked": share["blocked"] + parts["unseen"],
        "MPI": share["message"],
    }


def _notes(mains: Sequence[Profile], profiles: Sequence[Profile], others: float) -> list[str]:
    found = []
    if others > 0.01 * sum(main.cpu for main in mains):
        programs = len(profiles) - len(mains)
        found.append(f"{programs} other programs used {others:.2f} s of CPU time: unattributed")
    if not all(main.finished for main in mains):
        found.append("it was killed: at most 10 ms of each thread are missing")
    if any(main.confined for main in mains):
        found.append("it forbade itself calls of the system (seccomp): what it did from then on is unattributed")
    if lost := sum(main.lost_threads for main in mains):
        found.append(f"{lost} threads were not profiled: there were more than the profiler keeps")
    return found
