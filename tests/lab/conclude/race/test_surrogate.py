# SPDX-License-Identifier: Apache-2.0
"""What a race believes where a few launches are outliers: medians say where it is, and bounds know nothing of it."""

import numpy as np
import pytest

from corescale.conclude.race import elimination
from corescale.conclude.race.standing import Field, standing
from corescale.conclude.race.surrogate import believe, tamed

FIELD = Field(np.arange(3)[:, None], 1)


@pytest.mark.parametrize("shift", [0.0, 0.3], ids=["blocks alike", "blocks that differ"])
def test_one_slow_launch_of_four_does_not_hide_the_fastest(shift: float) -> None:
    rng = np.random.default_rng(7)
    rows = np.array([0.0, 0.1, 0.15]) + 0.01 * rng.standard_normal((4, 3)) + shift * rng.standard_normal((4, 1))
    slow = rows.copy()
    slow[2, 0] += 0.8
    assert int(np.argmin(believe(FIELD.codes, slow, np.full(3, 0.01)).mean)) != 0
    assert standing(FIELD, slow).favourite == 0
    assert np.abs(tamed(slow) - rows).max() < 0.1


def test_bounds_are_those_of_the_times_as_they_are() -> None:
    rows = np.array([0.0, 0.1, 0.15]) + 0.01 * np.random.default_rng(7).standard_normal((4, 3))
    rows[2, 0] += 0.8
    found = standing(FIELD, rows)
    np.testing.assert_array_equal(found.upper, elimination.upper_bounds(rows, found.best, FIELD.tail))


def test_normal_launches_keep_their_times() -> None:
    rows = np.linspace(0, 0.2, 8) + 0.05 * np.random.default_rng(3).standard_normal((12, 8))
    assert (np.abs(tamed(rows) - rows) > 1e-9).sum() <= 2  # of 96, where 7 in 10,000 are beyond the fence


def test_one_that_scatters_more_than_the_others_has_a_fence_of_its_own() -> None:
    rng = np.random.default_rng(5)
    rows = 0.01 * rng.standard_normal((12, 8))
    rows[:, 0] = 0.3 * rng.standard_normal(12)
    assert (np.abs(tamed(rows) - rows)[:, 0] > 1e-9).sum() <= 1


def test_what_was_never_launched_stays_so() -> None:
    rows = np.array([[0.0, 0.1, np.nan]] * 3 + [[0.9, np.nan, np.nan]])
    rows[:3] += 0.01 * np.random.default_rng(1).standard_normal((3, 3))
    np.testing.assert_array_equal(np.isnan(tamed(rows)), np.isnan(rows))


def test_of_two_launches_neither_is_an_outlier() -> None:
    rows = np.array([[0.0, 0.1], [0.5, 0.1]])
    np.testing.assert_array_equal(tamed(rows), rows)


@pytest.mark.parametrize("shape", [(3, 2), (3, 3), (3, 6), (4, 3)])
def test_of_few_configurations_outliers_are_moved_and_hardly_anything_else(shape: tuple[int, int]) -> None:
    """A fit by medians goes through many of so few launches: its residuals of 0 say nothing of the scatter."""
    rng, left, moved = np.random.default_rng(4), 0, 0
    for _ in range(200):
        rows = 0.02 * rng.standard_normal(shape)
        moved += int((np.abs(tamed(rows) - rows) > 1e-9).sum())
        slow = rows.copy()
        slow[0, 0] += 1
        left += int(tamed(slow)[0, 0] > 0.5)
    assert left <= 4 and moved <= 0.025 * 200 * shape[0] * shape[1]
