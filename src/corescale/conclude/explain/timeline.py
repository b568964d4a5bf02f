# SPDX-License-Identifier: Apache-2.0
"""When: what each thread did at each time, and the stretches in which one CPU at most was in use, by place."""

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from corescale.conclude.explain.rows import ON_CPU, ROW_OF, LedgerRow
from corescale.conclude.explain.sites import Namer, own
from corescale.profile import Event, Profile

PARTS = 600
"""equal parts of the wall time of a timeline"""
MOST_LINES = 64
"""threads that have one: those with the most CPU time"""
SERIAL = 2
"""times of `busy_length` from which one CPU at most is a stretch"""


@dataclass(frozen=True, slots=True)
class Line:
    """One thread: the row that has most of each part of the time; None where it was off the CPU, or not there."""

    process: int
    thread: int
    rows: tuple[LedgerRow | None, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which one CPU at most was in use, and the place that computed for most of it."""

    start: float
    length: float
    place: str


def lines(profiles: Sequence[Profile], wall: float, parts: int = PARTS) -> tuple[Line, ...]:
    """A line for each thread, the first of each process first."""
    begun = min((profile.started for profile in profiles), default=0.0)
    found = []
    for profile in profiles:
        cpu = {thread.id: thread.cpu for thread in profile.threads}
        every: dict[int, list[Event]] = defaultdict(list)
        for event in profile.events:
            every[event.thread].append(event)
        for thread, events in every.items():
            line = Line(profile.process, thread, _rows(events, profile.started - begun, wall, parts))
            found.append((cpu.get(thread, 0.0), line))
    kept = sorted(found, key=lambda one: -one[0])[:MOST_LINES]
    return tuple(sorted((line for _, line in kept), key=lambda line: (line.process, line.thread)))


def stretches(profiles: Sequence[tuple[Profile, Namer]], busy: Sequence[float], length: float) -> tuple[Stretch, ...]:
    """Where one CPU at most was in use, in the order of time. `busy`: CPUs in use in each `length`."""
    begun = min((profile.started for profile, _ in profiles), default=0.0)
    working = [
        (profile.started - begun + event.ended, event, name)
        for profile, name in profiles
        for event in profile.events
        if event.frames and event.state in ("computing", "allocating")
    ]
    found = []
    at = 0
    for serial, group in itertools.groupby(busy, key=lambda cpus: round(cpus) <= 1):
        count = len(list(group))
        if serial and count >= SERIAL:
            start, end = at * length, (at + count) * length
            found.append(Stretch(start, end - start, _place(working, start, end)))
        at += count
    return tuple(found)


def _place(working: Sequence[tuple[float, Event, Namer]], start: float, end: float) -> str:
    times: dict[str, float] = defaultdict(float)
    for ended, event, name in working:
        shared = min(ended, end) - max(ended - event.length, start)
        if shared > 0:
            times[own(event.frames, name).in_words] += shared
    return max(times, key=lambda place: times[place], default="")


def _rows(events: Sequence[Event], late: float, wall: float, parts: int) -> tuple[LedgerRow | None, ...]:
    """Each event in the room before its end that no other has: waits first, which are whole, then what used the CPU."""
    each = wall / parts if wall else 1.0
    room = [each] * parts
    times: list[dict[LedgerRow, float]] = [defaultdict(float) for _ in range(parts)]
    for event in sorted(events, key=lambda one: (one.state in ON_CPU, one.ended)):
        left, part = event.length, min(parts, math.ceil((event.ended + late) / each - 1e-9)) - 1
        while left > 0 and part >= 0:
            taken = min(room[part], left)
            times[part][ROW_OF[event.state]] += taken
            room[part] -= taken
            left -= taken
            part -= 1
    return tuple(max(one, key=lambda row: one[row]) if sum(one.values()) >= each / 2 else None for one in times)
