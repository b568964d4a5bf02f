# SPDX-License-Identifier: Apache-2.0
"""The explanation of one launch: the ledger, and the other views."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from corescale.conclude.explain.blocks import Blocks, blocks
from corescale.conclude.explain.changes import Swap
from corescale.conclude.explain.inflated import Part
from corescale.conclude.explain.ledger import Ledger, mains_of
from corescale.conclude.explain.rows import ON_CPU, ROW_OF, LedgerRow
from corescale.conclude.explain.sites import Hotspot, Namer, Site, alone, by_function, hotspots, own, sites
from corescale.profile import Event, MessageTimes, Place, Profile, RegionTimes, Span

PARTS = 600
"""equal parts of the wall time of a timeline"""
COARSE = 60
"""parts of the wall time in which all threads are summed"""
MOST_LINES = 64
"""most threads in a timeline: those with the most CPU time"""
MOST_OWN = 4
"""the most regions of a thread, named by its program, that are shown: those with the most time"""
SERIAL = 2
"""a time with at most one CPU in use is a stretch if it lasts for this multiple of `busy_length`"""


@dataclass(frozen=True, slots=True)
class Line:
    """One thread. For each part of the time, the row with the largest share; None if the thread was off the CPU or
    absent."""

    process: int
    thread: int
    rows: tuple[LedgerRow | None, ...]


@dataclass(frozen=True, slots=True)
class OwnRegion:
    """A region that the program names, in one thread: when it began and ended, in seconds from the start of the
    launch."""

    region: str
    process: int
    thread: int
    spans: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which one CPU at most was in use, and the place that computed for most of it."""

    start: float
    length: float
    place: str


@dataclass(frozen=True, slots=True)
class Worked:
    """What one thread did. The wall time is cut into many equal parts; each has the seconds of the rows that occur in
    it."""

    process: int
    thread: int
    cpu: float
    parts: Mapping[int, Mapping[LedgerRow, float]]


def worked(profiles: Sequence[Profile], wall: float, parts: int = PARTS) -> tuple[Worked, ...]:
    """What every thread did when."""
    begun = min((profile.started for profile in profiles), default=0.0)
    found = []
    for profile in profiles:
        cpu = {thread.id: thread.cpu for thread in profile.threads}
        every: dict[int, list[Event]] = defaultdict(list)
        for event in profile.events:
            every[event.thread].append(event)
        for thread, events in every.items():
            times = _times(events, profile.started - begun, wall, parts)
            found.append(Worked(profile.process, thread, cpu.get(thread, 0.0), times))
    return tuple(found)


def lines(threads: Sequence[Worked], wall: float, parts: int = PARTS) -> tuple[Line, ...]:
    """A line for each thread, the first of each process first."""
    kept = sorted(threads, key=lambda one: -one.cpu)[:MOST_LINES]
    each = wall / parts
    found = (
        Line(one.process, one.thread, tuple(_most(one.parts.get(part, {}), each) for part in range(parts)))
        for one in kept
    )
    return tuple(sorted(found, key=lambda line: (line.process, line.thread)))


def own_regions(spans: Sequence[Span], threads: Sequence[Line], profiles: Sequence[Profile]) -> tuple[OwnRegion, ...]:
    """The regions of each thread that has a line, the one with the most time first."""
    begun = min((profile.started for profile in profiles), default=0.0)
    found: dict[tuple[int, int, str], list[tuple[float, float]]] = defaultdict(list)
    for one in sorted(spans, key=lambda span: span.began):
        found[one.process, one.thread, one.region].append((one.began - begun, one.ended - begun))
    every = [OwnRegion(region, process, thread, tuple(when)) for (process, thread, region), when in found.items()]
    every.sort(key=lambda one: -sum(end - begin for begin, end in one.spans))
    return tuple(one for line in threads for one in _own_of(line, every)[:MOST_OWN])


def _own_of(line: Line, every: Sequence[OwnRegion]) -> list[OwnRegion]:
    return [one for one in every if (one.process, one.thread) == (line.process, line.thread)]


def _most(times: Mapping[LedgerRow, float], length: float) -> LedgerRow | None:
    return max(times, key=lambda row: times[row]) if times and sum(times.values()) >= length / 2 else None


def rows_over_time(threads: Sequence[Worked], wall: float, parts: int = PARTS) -> Mapping[LedgerRow, Sequence[float]]:
    """How many threads were in each row, on average in each of `COARSE` equal parts of the wall time."""
    sums: dict[LedgerRow, list[float]] = {}
    for thread in threads:
        for part, times in thread.parts.items():
            for row, seconds in times.items():
                sums.setdefault(row, [0.0] * COARSE)[part * COARSE // parts] += seconds * COARSE / wall
    return {row: sums[row] for row in LedgerRow if row in sums}


def stretches(
    profiles: Sequence[tuple[Profile, Namer]], busy: Sequence[float], length: float, wall: float
) -> tuple[Stretch, ...]:
    """The stretches in which at most one CPU was in use, in the order of time. `busy`: CPUs in use in each `length`,
    of which the last may go beyond the `wall` time."""
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
        if serial and count >= SERIAL and at * length < wall:
            start, end = at * length, min((at + count) * length, wall)
            found.append(Stretch(start, end - start, _place(working, start, end)))
        at += count
    return tuple(found)


def _place(working: Sequence[tuple[float, Event, Namer]], start: float, end: float) -> str:
    ticks: dict[Place, float] = defaultdict(float)
    for ended, event, name in working:
        shared = min(ended, end) - max(ended - event.length, start)
        if shared > 0:
            ticks[own(event.frames, name)] += shared
    functions = {line.in_words: sum(lines.values()) for line, lines in by_function(ticks)}
    return max(functions, key=lambda line: functions[line], default="")


def _times(events: Sequence[Event], late: float, wall: float, parts: int) -> Mapping[int, Mapping[LedgerRow, float]]:
    """Gives each event the time before its end that no earlier event was given. Waits come first, because they are
    complete, and then events that used the CPU."""
    each = wall / parts if wall else 1.0
    room = [each] * parts
    times: dict[int, dict[LedgerRow, float]] = defaultdict(lambda: defaultdict(float))
    for event in sorted(events, key=lambda one: (one.state in ON_CPU, one.ended)):
        left, part = event.length, min(parts, math.ceil((event.ended + late) / each - 1e-9)) - 1
        while left > 0 and part >= 0:
            if taken := min(room[part], left):
                times[part][ROW_OF[event.state]] += taken
            room[part] -= taken
            left -= taken
            part -= 1
    return times


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that explain shows of one launch; without profiles it is only the ledger."""

    ledger: Ledger
    sites: Mapping[LedgerRow, tuple[Site, ...]]
    regions: tuple[tuple[str, RegionTimes], ...]
    """parallel regions of OpenMP and their places, with the most waiting first"""
    in_use: Mapping[int, float]
    """rounded number of CPUs in use -> share of the time; like all that is over the time, empty without ticks"""
    over_time: tuple[float, ...] = ()
    """mean CPUs in use in equal parts of the wall time, one after the other"""
    swaps: tuple[Swap, ...] = ()
    inflated: tuple[Part, ...] = ()
    """the parts of inflated computing; empty if no launches were made to find them"""
    hotspots: tuple[Hotspot, ...] = ()
    lines: tuple[Line, ...] = ()
    own_regions: tuple[OwnRegion, ...] = ()
    """of the threads of `lines`"""
    rows_over_time: Mapping[LedgerRow, Sequence[float]] = field(default_factory=dict)
    """mean number of threads in each row, in equal parts of the wall time"""
    alone: tuple[Site, ...] = ()
    """where the only computing thread was during the ledger's `serial`"""
    stretches: tuple[Stretch, ...] = ()
    """stretches in which at most one CPU was in use; none if the launch has one thread"""
    messages: tuple[tuple[int, MessageTimes], ...] = ()
    """the calls of MPI of each rank with each partner, the longest first"""
    blocks: tuple[Blocks, ...] = ()
    """the blocks allocated: all of them first, then those of each size"""
    most_threads: int | None = None
    """the most threads that one program of the launch had in all; None if not all programs are known"""
    is_cpp: bool | None = None
    """whether a program with most of the CPU time is in C++; None if it is not known"""


def explanation(ledger: Ledger, profiles: Sequence[tuple[Profile, Namer]], spans: Sequence[Span] = ()) -> Explanation:
    """What the `profiles` of one launch show besides its ledger; each comes with the object that names its
    addresses. `spans`: when threads were in regions that the program names."""
    mains = mains_of([profile for profile, _ in profiles]) if profiles else ()
    chosen = [(profile, name) for profile, name in profiles if profile in mains]
    regions = [(name(times.function).in_words, times) for profile, name in chosen for times in profile.regions]
    timed = mains if not any(main.lost_timers or main.unticked for main in mains) else ()
    threads, busy = worked(timed, ledger.wall), together([profile for profile, _ in profiles] if timed else (), timed)
    drawn = lines(threads, ledger.wall)
    return Explanation(
        ledger=ledger,
        sites=sites(chosen, ledger.unseen),
        regions=tuple(sorted(regions, key=lambda region: -region[1].waited)),
        in_use=in_use(busy),
        over_time=over_time(busy),
        hotspots=hotspots(chosen),
        lines=drawn,
        own_regions=own_regions(spans, drawn, mains),
        rows_over_time=rows_over_time(threads, ledger.wall),
        alone=alone(chosen) if ledger.serial is not None else (),
        stretches=stretches(chosen, busy, mains[0].busy_length, ledger.wall) if ledger.threads > 1 and mains else (),
        messages=messages(mains),
        blocks=blocks(mains),
        most_threads=max((len(one.threads) + one.lost_threads for one, _ in profiles), default=None),
    )


def messages(profiles: Sequence[Profile]) -> tuple[tuple[int, MessageTimes], ...]:
    """The calls of each rank, by its number, or by its place in the order of starts if it has none."""
    ranks = sorted(profiles, key=lambda profile: profile.started)
    found = (
        (place if profile.rank is None else profile.rank, one)
        for place, profile in enumerate(ranks)
        for one in profile.messages
    )
    return tuple(sorted(found, key=lambda each: -each[1].seconds))


def in_use(busy: Sequence[float]) -> Mapping[int, float]:
    """The share of the time for each number of CPUs in use, rounded."""
    counts = Counter(map(round, busy))
    return {cpus: counts[cpus] / counts.total() for cpus in sorted(counts)}


def over_time(busy: Sequence[float], most: int = COARSE) -> tuple[float, ...]:
    """Mean CPUs in use in at most `most` equal parts of the time; in fewer if the resolution of the counts is
    coarser."""
    parts = min(most, len(busy))
    bounds = [round(part * len(busy) / parts) for part in range(parts + 1)] if parts else []
    return tuple(sum(busy[first:last]) / (last - first) for first, last in itertools.pairwise(bounds))


def together(profiles: Sequence[Profile], mains: Sequence[Profile]) -> list[float]:
    """CPUs in use by all programs together, in each `busy_length` from the first start of `mains` to their last end."""
    first = min((profile.started for profile in mains), default=0.0)
    ends = [round((main.started - first) / main.busy_length) + len(main.busy) for main in mains]
    busy: dict[int, float] = defaultdict(float)
    for profile in profiles:
        late = round((profile.started - first) / profile.busy_length)
        for place, cpus in enumerate(profile.busy):
            busy[late + place] += cpus
    return [busy[place] for place in range(max(ends, default=0))]
