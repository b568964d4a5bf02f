# SPDX-License-Identifier: Apache-2.0
"""The model of a loop's time: shares counted one by one, constants given back to the data that they made."""

import itertools
import math

import numpy as np
import pytest

from corescale.conclude.block_size.columns import Case, Column
from corescale.conclude.block_size.loop_time import START, LoopTime, best, share, times

TRUTH = {**START, "iteration_read": 0.6, "claim_own": 4.0, "line_near": 40.0, "fork_hot": 300.0, "uneven": 0.1}
BLOCKS = (1, 4, 16, 64, 256)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_a_share_is_that_of_threads_which_take_blocks_in_turn(threads: int) -> None:
    for n, block in itertools.product((1, 64, 100, 1000), (1, 3, 16, 64, 1024)):
        run = [0] * threads
        for k, begin in enumerate(range(0, n, block)):
            run[k % threads] += min(block, n - begin)
        got = share(Case(threads, 1, 1, 1, 1, n), np.array([block], dtype=float))
        assert got[0] == max(run), (n, block)


def made(noise: float) -> tuple[Column, ...]:
    draw, found = np.random.default_rng(3), []
    for threads, read, p, n in itertools.product((1, 2), (64, 1024, 4096), (0.8, 1.2), (64, 256, 1024)):
        case = Case(threads, 1, read, 1024, p, n)
        seen = times(TRUTH, case, np.array(BLOCKS, dtype=float)) * 1e-9
        noisy = tuple(float(t) * math.exp(noise * draw.normal()) for t in seen)
        found.append(Column("made", case, BLOCKS, noisy))
    return tuple(found)


@pytest.mark.parametrize(("noise", "within"), [(0.0, 0.1), (0.01, 0.3)])
def test_a_fit_gives_back_the_constants_that_made_the_times(noise: float, within: float) -> None:
    found = LoopTime(computes=True, unit=1e9).constants(made(noise))
    for name in ("iteration_read", "iteration_operation", "line_near", "fork_hot"):
        assert found[name] == pytest.approx(TRUTH[name], rel=within), name
    assert found["line_far"] == pytest.approx(START["line_far"], rel=0.01), "what no column tells stays"


def test_its_choice_loses_nothing_to_speak_of_on_what_it_made() -> None:
    columns = made(0.0)
    choose = LoopTime(computes=True, unit=1e9).fit(columns)
    for column in columns:
        chosen = np.array([choose(column.case)])
        dense = times(TRUTH, column.case, np.arange(1, column.case.iterations + 1, dtype=float))
        assert times(TRUTH, column.case, chosen)[0] <= 1.03 * dense.min(), column.case


def test_a_choice_keeps_away_from_both_ends_of_what_is_alike() -> None:
    assert 4 < best(TRUTH, Case(1, 1, 64, 64, 1, 4096)) < 1024


def test_a_choice_is_a_share_at_most() -> None:
    for threads, groups, n in itertools.product((2, 8, 64), (1, 2), (1, 100, 4096)):
        assert 1 <= best(TRUTH, Case(threads, groups, 64, 64, 1, n)) <= max(1, math.ceil(n / threads))
