# SPDX-License-Identifier: Apache-2.0
"""The call sites of each row."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from corescale.conclude.explain.rows import ON_CPU, LedgerRow
from corescale.declare.catalogue.allocators import ALLOCATORS
from corescale.profile import Place, Profile

_ALLOCATORS = {re.split(r"\.so|\*", file)[0] for one in ALLOCATORS.values() for file in one.libraries}
_LIBRARIES = ("libc.", "libc-", "libm.", "libpthread", "libstdc++", "libc++", "libgcc", "libgomp", "libomp", "libiomp",
              "ld-linux", "ld-musl", "libcorescale_", "libtbb.", "libtbbmalloc", "libmpi", "libopen-pal", "libopen-rte",
              "libstd-", "libgo", "[vdso]", *sorted(_ALLOCATORS))  # fmt: skip
"""Libraries of which a place is shown as its caller, because that is the code that a person can change."""
_OWN = "libcorescale_"
"""functions of the profiler itself"""


@dataclass(frozen=True, slots=True)
class Site:
    """A place and its part of the row's sampled time."""

    place: str
    share: float


Namer = Callable[[int], Place]


def sites(profiles: Sequence[tuple[Profile, Namer]], most: int = 5) -> Mapping[LedgerRow, tuple[Site, ...]]:
    """For each row that has stacks, its places with the most time over all profiles, most first."""
    return {row: found for row in LedgerRow if (found := _sites(profiles, row.states, most))}


def alone(profiles: Sequence[tuple[Profile, Namer]], most: int = 5) -> tuple[Site, ...]:
    """The places at which exactly one thread of a program computed, the one with the most time first."""
    return _sites(profiles, ("alone",), most)


def _sites(profiles: Sequence[tuple[Profile, Namer]], states: tuple[str, ...], most: int) -> tuple[Site, ...]:
    times: dict[str, float] = defaultdict(float)
    for profile, name in profiles:
        for stack in profile.stacks:
            if seconds := sum(stack.seconds.get(state, 0.0) for state in states):
                call = _call(stack.frames, name) if "message" in states else ""
                times[call + own(stack.frames, name).in_words] += seconds
        for region in profile.regions if "barrier" in states else ():
            times[name(region.function).in_words] += region.waited
    whole = sum(times.values())
    if not whole:
        return ()
    ranked = sorted(times.items(), key=lambda one: -one[1])
    return tuple(Site(place, seconds / whole) for place, seconds in ranked[:most])


@dataclass(frozen=True, slots=True)
class Hotspot:
    """A place, its CPU seconds in all states, and the part of them that is allocating."""

    place: str
    seconds: float
    allocating: float


def hotspots(profiles: Sequence[tuple[Profile, Namer]], most: int = 10) -> tuple[Hotspot, ...]:
    """The places with the most CPU time over all profiles, most first."""
    times: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for profile, name in profiles:
        for stack in profile.stacks:
            used = sum(stack.seconds.get(state, 0.0) for state in ON_CPU)
            if used:
                place = times[own(stack.frames, name).in_words]
                place[0] += used
                place[1] += stack.seconds.get("allocating", 0.0)
    ranked = sorted(times.items(), key=lambda one: -one[1][0])
    return tuple(Hotspot(place, used, allocating) for place, (used, allocating) in ranked[:most])


def _call(frames: tuple[int, ...], name: Namer) -> str:
    """The MPI function that a stack is in, such as `MPI_Recv at `."""
    functions = (name(frame).function for frame in frames)
    found = next((one for one in functions if one.lower().startswith("mpi_")), None)
    return f"{found} at " if found else ""


def own(frames: tuple[int, ...], name: Namer) -> Place:
    """The innermost place in the program's own code, or else in a library's."""
    places = [name(frame) for frame in frames]
    named = [(one, PurePath(one.module).name) for one in places if one.module]
    own = (one for one, file in named if not file.startswith(_LIBRARIES))
    return next(own, next((one for one, file in named if not file.startswith(_OWN)), places[0]))
