# SPDX-License-Identifier: Apache-2.0
"""Blocks of the allocator: their sizes, and the share of them that a thread other than the allocating one frees."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corescale.conclude.stats import Interval, share
from corescale.profile import BlocksOfSize, Profile


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of one size class, or all blocks."""

    most: int | None
    """the largest size in bytes; smaller blocks of the class are larger than half of it. None for all sizes"""
    calls: int
    """calls that allocated such a block"""
    watched: int
    """blocks that the profiler followed until a thread freed them"""
    elsewhere: Interval | None
    """the share of the followed blocks that another thread freed (95%, Wilson 1927); None if no block was followed"""


def blocks(profiles: Sequence[Profile]) -> tuple[Blocks, ...]:
    """All blocks of these programs, and then the blocks of each size. The size with the most calls is first."""
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
    return Blocks(most, calls, watched, share(elsewhere, freed) if freed else None)
