# SPDX-License-Identifier: Apache-2.0
"""The metrics of the POP project that need no hardware counter."""

from collections.abc import Sequence
from dataclasses import dataclass

from corescale.profile import Profile, ThreadTimes

BARELY = 0.02
"""largest share of the useful time that additional threads, such as those of runtimes, may have"""


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The factors of (useful time / thread-seconds). POP's useful time of a thread is its wall time outside runtimes.
    Here it is divided further, into CPU time and time in which the thread was ready but had no core."""

    load_balance: float
    """mean useful CPU time of a thread over the longest"""
    communication: float
    """the longest time for which a thread computed or was ready to, over the wall time; waits for other threads lower
    it"""
    had_a_core: float
    """the longest useful CPU time over that longest time; competition for cores lowers it"""
    computation_scaling: float | None = None
    """useful time at 1 thread over that at p; None without a launch with one thread"""

    @property
    def parallel(self) -> float:
        """Useful CPU time over thread-seconds."""
        return self.load_balance * self.communication * self.had_a_core


def efficiency(mains: Sequence[Profile], threads: int, wall: float, stolen: float) -> Efficiency | None:
    """The efficiency; None if threads come and go, because then no thread lasts for the whole launch.

    `stolen`: seconds that the host took. Up to that amount, time of threads that no call and no run queue explains
    counts as ready.
    """
    every = [thread for main in mains for thread in main.threads]
    lasting = sorted(map(useful, every))[-threads:]
    longest = max(lasting, default=0.0)
    if not longest or not wall or sum(lasting) < (1 - BARELY) * sum(map(useful, every)):
        return None
    unseen = sum(map(_unseen, every))
    taken = min(1.0, stolen / unseen) if unseen else 0.0
    ready = max(longest, *(_outside(thread) - (1 - taken) * _unseen(thread) for thread in every))
    return Efficiency(sum(lasting) / threads / longest, min(1.0, ready / wall), longest / ready)


def useful(thread: ThreadTimes) -> float:
    """CPU time outside waits."""
    return max(0.0, thread.cpu - sum(thread.burnt.values()))


def _outside(thread: ThreadTimes) -> float:
    """Wall time outside waits."""
    return max(useful(thread), thread.wall - sum(thread.spent.values()))


def _unseen(thread: ThreadTimes) -> float:
    """The wall time outside waits that is neither on a CPU nor in a run queue."""
    return max(0.0, _outside(thread) - useful(thread) - thread.queued)
