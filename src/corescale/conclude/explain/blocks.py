# SPDX-License-Identifier: Apache-2.0
"""Blocks of the allocator: their sizes, and which share of them another thread frees than the one that took them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.stats import binomtest

from corescale.conclude.stats import Interval
from corescale.profile import BlocksOfSize, Profile


@dataclass(frozen=True, slots=True)
class Blocks:
    """Those of one size, or of all."""

    most: int | None
    """bytes: they have at most so many, and more than half of that; None for all sizes"""
    calls: int
    """calls that took one"""
    watched: int
    """blocks for which the profiler waited until a thread freed them"""
    elsewhere: Interval | None
    """the share that another thread freed, of the `n` that were freed by then (95%, Wilson 1927); None if n is 0"""


def blocks(profiles: Sequence[Profile]) -> tuple[Blocks, ...]:
    """All blocks of these programs, and then those of each size, the one with the most calls first."""
    by_size: dict[int, list[BlocksOfSize]] = defaultdict(list)
    for profile in profiles:
        for one in profile.blocks:
            by_size[one.most].append(one)
    every = [one for each in by_size.values() for one in each]
    sizes = [_summed(most, each) for most, each in by_size.items()]
    return (_summed(None, every), *sorted(sizes, key=lambda one: -one.calls)) if every else ()


def _summed(most: int | None, every: Iterable[BlocksOfSize]) -> Blocks:
    calls, watched, freed, elsewhere = (
        sum(numbers)
        for numbers in zip(*((one.calls, one.watched, one.freed, one.elsewhere) for one in every), strict=True)
    )
    return Blocks(most, calls, watched, _share(elsewhere, freed))


def _share(part: int, whole: int) -> Interval | None:
    if not whole:
        return None
    ends = binomtest(part, whole).proportion_ci(method="wilson")
    return Interval(part / whole, float(ends.low), float(ends.high), 0.95, whole)
