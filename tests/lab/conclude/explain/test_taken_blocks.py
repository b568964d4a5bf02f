# SPDX-License-Identifier: Apache-2.0
"""Blocks of the allocator: summed over programs, with the interval of what other threads freed."""

from dataclasses import replace

import numpy as np
import pytest

from corescale.conclude.explain.blocks import blocks
from corescale.conclude.explain.explanation import explanation
from corescale.conclude.explain.ledger import ledger
from corescale.profile import SHARES, BlocksOfSize, Place, Profile, ThreadTimes
from corescale.show.explain import lines
from corescale.show.explain_json import as_json

TAKEN = (BlocksOfSize(64, 900, 9, 8, 8), BlocksOfSize(128, 100, 0, 0, 0))


def program(*taken: BlocksOfSize, allocating: float = 0.2) -> Profile:
    """One thread computes for a second, partly in the allocator."""
    thread = ThreadTimes(1, 1.0, 1.0, 0.0, {}, {}, {}, 1000, 1000, allocating, 0)
    shares = dict.fromkeys(SHARES, 0.0) | {"active": 1.0}
    return Profile(1, "/p", 1, 1.0, finished=True, shares=shares, threads=(thread,), lost_threads=0, stacks=(),
                   blocks=taken)  # fmt: skip


def test_blocks_of_several_programs_are_summed() -> None:
    whole, first, second = blocks([program(*TAKEN), program(BlocksOfSize(128, 2000, 30, 24, 0))])
    assert (whole.most, whole.calls, whole.watched) == (None, 3000, 39)
    assert whole.elsewhere is not None and (whole.elsewhere.estimate, whole.elsewhere.n) == (0.25, 32)
    assert [(one.most, one.calls) for one in (first, second)] == [(128, 2100), (64, 900)]


def test_a_program_that_takes_none_has_none() -> None:
    assert blocks([program()]) == ()


@pytest.mark.parametrize("truth", [0.02, 0.3, 1.0])
def test_the_interval_covers_the_truth(truth: float) -> None:
    rng, covered = np.random.default_rng(1), 0
    for freed in rng.binomial(100, truth, 1000):
        share = blocks([program(BlocksOfSize(64, 10**5, 100, 100, int(freed)))])[0].elsewhere
        assert share is not None and share.low is not None and share.high is not None
        covered += share.low <= truth <= share.high
    assert covered >= 930


def test_they_are_shown_if_allocating_is_worth_it() -> None:
    for allocating, there in ((0.2, True), (0.005, False)):
        seen = program(*TAKEN, allocating=allocating)
        shown = as_json(explanation(ledger([seen], 1.0), [(seen, lambda _: Place(""))]))
        assert [one["calls"] for one in shown["memory_blocks"]] == [1000, 900, 100]
        said = list(lines(shown))
        assert any(line.split()[:2] == ["90.0%", "8"] for line in said) == there
        assert any("freed 100.0%" in line and "of 8 watched memory blocks; 1 more" in line for line in said) == there
        assert list(lines({name: value for name, value in shown.items() if name != "memory_blocks"}))


def test_blocks_that_were_not_freed_have_no_share() -> None:
    seen = program(replace(TAKEN[0], freed=0, elsewhere=0))
    shown = as_json(explanation(ledger([seen], 1.0), [(seen, lambda _: Place(""))]))
    assert [one["elsewhere"] for one in shown["memory_blocks"]] == [None, None]
    assert any("up to 64 bytes" in line for line in lines(shown))
