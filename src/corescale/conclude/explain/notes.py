# SPDX-License-Identifier: Apache-2.0
"""Notes on what a ledger lacks."""

from collections.abc import Sequence

from corescale.profile import Profile


def seen_to_the_end(profiles: Sequence[Profile]) -> tuple[str, ...]:
    """Notes on why programs were not profiled to their end."""
    killed = (
        "it was killed (at most 10 ms of each thread are missing), ended without the C library,"
        " or gave way to a program without the profiler"
    )
    confined = "the program forbade itself system calls (seccomp), and was not profiled from then on, nor new children"
    ended = (not all(one.finished for one in profiles), killed), (any(one.confined for one in profiles), confined)
    return tuple(why for holds, why in ended if holds)


def notes(mains: Sequence[Profile], profiles: Sequence[Profile], others: float, *, known: bool) -> list[str]:
    """Notes on the ledger of `mains`. `others`: CPU seconds of the other profiled programs, 0 if they hardly used any.
    `known`: whether every program was profiled."""
    found = []
    slots, ran = sum(main.processors for main in mains), sum(len(main.threads) + main.lost_threads for main in mains)
    if known and len(mains) == ran == 1 < slots:
        found.append(
            f"it ran 1 thread, of {slots} that are counted: put {{threads}} where it reads their number, or -t 1"
        )
    if others:
        programs = len(profiles) - len(mains)
        found.append(f"{programs} other programs used {others:.2f} s of CPU time: unattributed")
    if len(mains) > 1 and not mains[0].is_rank:
        found.append(f"{len(mains)} processes are summed: a wait counts only if computing threads leave room for it")
    if any(main.unqueued for main in mains):
        found.append("its waits for a core could not be read (it had no descriptor left, or no /proc): unattributed")
    found += seen_to_the_end(mains)
    if lost := sum(main.lost_threads for main in mains if not main.full):
        found.append(f"{lost} threads were not profiled: there were more than the profiler keeps")
    if lost := sum(main.lost_timers for main in mains):
        found.append(f"places are missing for {lost} of its threads: the kernel gave no timer (raise ulimit -i)")
    if unticked := sum(main.unticked for main in mains):
        found.append(f"places are missing for {unticked} of its threads: no tick came (it may block all signals)")
    return found
