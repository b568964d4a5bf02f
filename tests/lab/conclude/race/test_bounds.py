# SPDX-License-Identifier: Apache-2.0
"""Bounds of a race: when they move, what they are of, and what error they have."""

import math

import numpy as np
import pytest

from corescale.conclude.race import elimination
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.standing import Field


def test_a_bound_stays_that_of_its_look_until_the_next() -> None:
    """Looks are at 5 and 7 common blocks, and what comes between moves nothing."""
    rows = 0.02 * np.random.default_rng(4).standard_normal((7, 4))
    bounds = [elimination.upper_bounds(rows[:n], 0, 0.001) for n in (5, 6, 7)]
    assert (bounds[0] == bounds[1]).all() and (bounds[1] != bounds[2])[1:].all()


def test_bounds_are_of_signed_ranks_from_twice_as_many_blocks_as_those_need() -> None:
    """With the fewest blocks such a bound is the largest difference, which one burst is enough for."""
    tail = 0.05
    assert elimination.ranked_from(tail) == math.ceil(2 * math.log2(1 / tail)) == 9
    rows = np.column_stack([[0.02, -0.02, 0.01, -0.01, 0.0] * 3, np.zeros(15)])
    assert elimination.upper_bounds(rows[:5], 0, tail)[1] < rows[:5].max()
    rows[4, 0] = 1.0
    assert elimination.upper_bounds(rows, 0, tail)[1] < 0.1
    assert elimination.upper_bounds(rows[:7], 0, tail)[1] > 0.1


def test_the_error_is_shared_among_all_that_the_race_began_with() -> None:
    codes = np.zeros((7, 1), dtype=np.int64)
    assert Field(codes, 0, entered=8).tail == Field(np.zeros((8, 1), dtype=np.int64), 0).tail < Field(codes, 0).tail
    assert elimination.tail(0.95, 8) == pytest.approx(0.05 / 7 / len(OPTIONS.looks))
