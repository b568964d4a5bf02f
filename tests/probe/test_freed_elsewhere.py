# SPDX-License-Identifier: Apache-2.0
"""Sizes of blocks, and which thread frees them, in programs that know it."""

import pytest

from corescale import native
from corescale.profile import BlocksOfSize
from support.profiles import Seen, see

FEWEST = 1000
"""calls of a size that are not the C++ library's own"""
TAKEN = 600_000
"""calls of most parts"""
ONE_IN = 1024
"""calls for which one block is watched, if none is; as `one_in` in probe/profiler/blocks.cpp"""
SHARES: dict[str, dict[int, float]] = {
    "pass_all": {128: 1.0},
    "keep_all": {32: 0.0},
    "pass_a_quarter": {32: 0.0, 128: 1.0},
    "align": {256: 1.0, 512: 1.0},
    "leave_behind": {128: 1.0},
}
"""Which share of the blocks of each size another thread frees."""


def launched(part: str) -> Seen:
    return see(str(native.find("known_blocks")), part, threads=2)


def by_size(seen: Seen) -> dict[int, BlocksOfSize]:
    return {one.most: one for one in seen.profile.blocks if one.calls > FEWEST}


def blocks(part: str) -> dict[int, BlocksOfSize]:
    return by_size(launched(part))


@pytest.mark.parametrize("part", SHARES)
def test_who_frees_a_block_is_known(part: str) -> None:
    found = {most: one for most, one in blocks(part).items() if most in SHARES[part] or one.watched > 5}
    assert found.keys() == SHARES[part].keys()
    for most, one in found.items():
        assert one.watched - 1 <= one.freed > 5
        assert one.elsewhere == SHARES[part][most] * one.freed


def test_a_block_that_is_resized_is_freed_if_it_moves() -> None:
    seen = launched("resize")
    found = by_size(seen)
    assert found[4096].elsewhere == found[4096].freed > 30
    assert found[65_536].elsewhere == 0 and found[65_536].freed > 30
    stayed = float(seen.launch.report.tail)
    assert found[128].elsewhere / found[128].freed == pytest.approx(stayed, abs=0.2)


@pytest.mark.parametrize("allocator", ["libmimalloc.so.2", "libjemalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_who_frees_a_block_is_known_with_another_allocator(allocator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which has its own `new` and `delete`."""
    monkeypatch.setenv("LD_PRELOAD", allocator)
    found = blocks("pass_a_quarter")
    for most, share in SHARES["pass_a_quarter"].items():
        assert found[most].freed > 100
        assert found[most].elsewhere == share * found[most].freed


def test_each_call_has_the_same_chance_to_be_watched() -> None:
    found = blocks("pass_a_quarter")
    watched = sum(one.watched for one in found.values())
    assert watched == pytest.approx(2 * TAKEN / ONE_IN, rel=0.3)
    assert found[32].watched / watched == pytest.approx(0.75, abs=0.06)


def test_a_block_that_nobody_frees_gives_way_to_others() -> None:
    """One in eleven is such a block. If the first of them were watched for ever, few others would be."""
    found = blocks("hold")
    assert (found[128].freed, found[32].elsewhere) == (0, 0)
    assert found[128].watched > 3 and found[32].freed > 30


def test_calls_for_much_memory_are_counted() -> None:
    """Each of them is timed."""
    found = blocks("mix_large")
    assert found[262_144].calls == 2000
    assert found[32].calls == pytest.approx(200_000, rel=0.1)
