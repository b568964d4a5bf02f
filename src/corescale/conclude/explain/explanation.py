# SPDX-License-Identifier: Apache-2.0
"""What one launch showed: the ledger, and the views beside it."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corescale.conclude.explain.changes import Swap
from corescale.conclude.explain.ledger import Ledger, mains_of
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.explain.sites import Hotspot, Namer, Site, hotspots, sites
from corescale.conclude.explain.timeline import Line, Stretch, lines, stretches
from corescale.profile import MessageTimes, Profile, RegionTimes


@dataclass(frozen=True, slots=True)
class Region:
    """One parallel region of OpenMP, and its place."""

    place: str
    times: RegionTimes

    @property
    def waited(self) -> float:
        """Thread-seconds in which threads of it were not in its body."""
        return max(0.0, self.times.capacity - self.times.body)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that explain shows of one launch; without profiles it is the ledger alone."""

    ledger: Ledger
    sites: Mapping[LedgerRow, tuple[Site, ...]]
    regions: tuple[Region, ...]
    """the one in which most was waited first"""
    in_use: Mapping[int, float]
    """the share of the time in which so many CPUs were in use, to the nearest"""
    over_time: tuple[float, ...] = ()
    """mean CPUs in use in equal parts of the wall time, one after the other"""
    swaps: tuple[Swap, ...] = ()
    hotspots: tuple[Hotspot, ...] = ()
    lines: tuple[Line, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    """in which one CPU at most was in use; none where the launch has one thread"""
    messages: tuple[tuple[int, MessageTimes], ...] = ()
    """the calls of MPI of each rank with each partner, the longest first"""


def explanation(ledger: Ledger, profiles: Sequence[tuple[Profile, Namer]]) -> Explanation:
    """What `profiles` of one launch show beside its ledger, each with what names its addresses."""
    mains = mains_of([profile for profile, _ in profiles]) if profiles else ()
    chosen = [(profile, name) for profile, name in profiles if profile in mains]
    regions = [Region(name(times.function).in_words, times) for profile, name in chosen for times in profile.regions]
    return Explanation(
        ledger=ledger,
        sites=sites(chosen),
        regions=tuple(sorted(regions, key=lambda region: -region.waited)),
        in_use=in_use(mains),
        over_time=over_time(mains),
        hotspots=hotspots(chosen),
        lines=lines(mains, ledger.wall),
        stretches=stretches(chosen, _together(mains), mains[0].busy_length) if ledger.threads > 1 and mains else (),
        messages=messages(mains),
    )


def messages(profiles: Sequence[Profile]) -> tuple[tuple[int, MessageTimes], ...]:
    """By the number of each rank: its place in the order of starts, where nothing says one."""
    ranks = sorted(profiles, key=lambda profile: profile.started)
    found = (
        (place if profile.rank is None else profile.rank, one)
        for place, profile in enumerate(ranks)
        for one in profile.messages
    )
    return tuple(sorted(found, key=lambda each: -each[1].seconds))


def in_use(profiles: Sequence[Profile]) -> Mapping[int, float]:
    """The share of the time in which so many CPUs were in use by all of them together, to the nearest."""
    counts = Counter(round(cpus) for cpus in _together(profiles))
    return {cpus: counts[cpus] / counts.total() for cpus in sorted(counts)}


def over_time(profiles: Sequence[Profile], most: int = 60) -> tuple[float, ...]:
    """Mean CPUs in use in at most so many equal parts of the time, as near as what was counted together allows."""
    busy = _together(profiles)
    parts = min(most, len(busy))
    bounds = [round(part * len(busy) / parts) for part in range(parts + 1)] if parts else []
    return tuple(sum(busy[first:last]) / (last - first) for first, last in itertools.pairwise(bounds))


def _together(profiles: Sequence[Profile]) -> list[float]:
    """CPUs in use by all of them, each time from the start of the first."""
    first = min((profile.started for profile in profiles), default=0.0)
    busy: dict[int, float] = defaultdict(float)
    for profile in profiles:
        late = round((profile.started - first) / profile.busy_length)
        for place, cpus in enumerate(profile.busy):
            busy[late + place] += cpus
    return [busy[place] for place in range(max(busy, default=-1) + 1)]
