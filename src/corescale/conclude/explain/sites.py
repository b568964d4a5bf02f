# SPDX-License-Identifier: Apache-2.0
"""The call sites of each row."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from corescale.conclude.explain.rows import ON_CPU, LedgerRow
from corescale.declare.catalogue.allocators import ALLOCATORS
from corescale.profile import Place, Profile

_ALLOCATORS = {re.split(r"\.so|\*", file)[0] for one in ALLOCATORS.values() for file in one.libraries}
_MPI = ("libmpi", "libopen-pal", "libopen-rte", "libpmix", "libprrte")
"""Libraries of MPI. A thread that one of them starts helps it and runs no code of the program's."""
_C = ("libc.", "libc-", "libpthread", "ld-linux", "ld-musl")
_LIBRARIES = (*_C, "libm.", "libstdc++", "libc++", "libgcc", "libgomp", "libomp", "libiomp", "libcorescale_", "libtbb.",
              "libtbbmalloc", *_MPI, "libstd-", "libgo", "[vdso]", *sorted(_ALLOCATORS))  # fmt: skip
"""Libraries of which a place is shown as its caller, because that is the code that a person can change."""
_OWN = "libcorescale_"
"""functions of the profiler itself"""


@dataclass(frozen=True, slots=True)
class Site:
    """A place and its part of the row's sampled time."""

    place: str
    share: float


Namer = Callable[[int], Place]


UNSEEN = "calls not watched"
_TICKS = ("computing", "serial", "alone")
"""States of stacks that are taken at ticks, which fall on all lines of a function."""


def sites(
    profiles: Sequence[tuple[Profile, Namer]], unseen: float = 0.0, most: int = 5
) -> Mapping[LedgerRow, tuple[Site, ...]]:
    """For each row that has stacks, its places with the most time over all profiles, most first. `unseen`: seconds of
    BLOCKED that have no stacks."""
    known = {LedgerRow.BLOCKED: {UNSEEN: unseen} if unseen > 0 else {}}
    return {row: found for row in LedgerRow if (found := _sites(profiles, row.states, most, known.get(row, {})))}


def alone(profiles: Sequence[tuple[Profile, Namer]], most: int = 5) -> tuple[Site, ...]:
    """The places at which exactly one thread of a program computed, the one with the most time first."""
    return _sites(profiles, ("alone",), most, {})


def _sites(
    profiles: Sequence[tuple[Profile, Namer]], states: tuple[str, ...], most: int, known: Mapping[str, float]
) -> tuple[Site, ...]:
    times: dict[str, float] = defaultdict(float, known)
    ticks: dict[Place, float] = defaultdict(float)
    for profile, name in profiles:
        for stack in profile.stacks:
            seconds = sum(stack.seconds.get(state, 0.0) for state in states)
            if seconds and not _helps(stack.frames, name):
                place = own(stack.frames, name)
                if set(states) <= set(_TICKS):
                    ticks[place] += seconds
                else:
                    times[(_call(stack.frames, name) if "message" in states else "") + place.in_words] += seconds
        for region in profile.regions if "barrier" in states else ():
            times[name(region.function).in_words] += max(0.0, region.waited - region.inside)  # that has its own places
    times |= {line.in_words: sum(lines.values()) for line, lines in by_function(ticks)}
    whole = sum(times.values())
    if not whole:
        return ()
    ranked = sorted(times.items(), key=lambda one: -one[1])
    return tuple(Site(place, seconds / whole) for place, seconds in ranked[:most])


def by_function(ticks: Mapping[Place, float]) -> Iterator[tuple[Place, Mapping[Place, float]]]:
    """The lines of each function in each file, and before them the one with the most time. Inlined lines have files of
    their own."""
    found: dict[tuple[str, str], dict[Place, float]] = defaultdict(dict)
    for place, seconds in ticks.items():
        found[place.function, place.file][place] = seconds
    return ((max(lines, key=lambda line: lines[line]), lines) for lines in found.values())


@dataclass(frozen=True, slots=True)
class Hotspot:
    """A place, its CPU seconds in all states, and the part of them that is allocating."""

    place: str
    seconds: float
    allocating: float


def hotspots(profiles: Sequence[tuple[Profile, Namer]], most: int = 10) -> tuple[Hotspot, ...]:
    """The places with the most CPU time over all profiles, most first."""
    ticks: dict[Place, float] = defaultdict(float)
    allocating: dict[Place, float] = defaultdict(float)
    for profile, name in profiles:
        for stack in profile.stacks:
            if used := sum(stack.seconds.get(state, 0.0) for state in ON_CPU):
                place = own(stack.frames, name)
                ticks[place] += used
                allocating[place] += stack.seconds.get("allocating", 0.0)
    found = (
        Hotspot(line.in_words, sum(lines.values()), sum(map(allocating.__getitem__, lines)))
        for line, lines in by_function(ticks)
    )
    return tuple(sorted(found, key=lambda one: -one.seconds)[:most])


def _call(frames: tuple[int, ...], name: Namer) -> str:
    """The MPI function that a stack is in, such as `MPI_Recv at `."""
    functions = (name(frame).function for frame in frames)
    found = next((one for one in functions if one.lower().startswith("mpi_")), None)
    return f"{found} at " if found else ""


def _helps(frames: tuple[int, ...], name: Namer) -> bool:
    """Whether a library of MPI started the stack's thread."""
    files = (PurePath(name(frame).module).name for frame in reversed(frames))
    return next((file for file in files if not file.startswith(_C)), "").startswith(_MPI)


def own(frames: tuple[int, ...], name: Namer) -> Place:
    """The innermost place in the program's own code, or else in a library's."""
    places = [name(frame) for frame in frames]
    named = [(one, PurePath(one.module).name) for one in places if one.module]
    own = (one for one, file in named if not file.startswith(_LIBRARIES))
    return next(own, next((one for one, file in named if not file.startswith(_OWN)), places[0]))
