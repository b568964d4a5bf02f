# SPDX-License-Identifier: Apache-2.0
"""The metrics of the POP project that need no hardware counter."""

from collections.abc import Sequence
from dataclasses import dataclass

from corescale.profile import Profile, ThreadTimes

BARELY = 0.02
"""largest share of the useful time for threads beyond the launch's own, such as those of runtimes"""


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Factors of the useful time over the thread-seconds. POP's useful time is what a thread spends outside runtimes by
    the wall clock. Here it is divided further: into CPU time, and time in which the thread was ready without a core."""

    load_balance: float
    """mean useful CPU time of a thread over the longest"""
    communication: float
    """the longest time in which a thread computed or was ready to, over the wall time: the share that waits for others
    leave"""
    had_a_core: float
    """the longest useful CPU time over that longest time: the share that other programs and threads leave"""
    computation_scaling: float | None = None
    """useful time at 1 thread over that at p; None without a launch with one thread"""

    @property
    def parallel(self) -> float:
        """Useful CPU time over thread-seconds."""
        return self.load_balance * self.communication * self.had_a_core


def efficiency(mains: Sequence[Profile], threads: int, wall: float, stolen: float) -> Efficiency | None:
    """None if threads come and go, because then no thread lasts for the whole launch.

    `stolen`: seconds that the host took. They count as ready, as far as no call and no queue explains a thread's time.
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
    """The part of it that is neither on a CPU nor in a run queue."""
    return max(0.0, _outside(thread) - useful(thread) - thread.queued)
