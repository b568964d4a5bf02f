# SPDX-License-Identifier: Apache-2.0
"""The normal form gives the exponents back that made the data."""

import numpy as np
import pytest

from corescale.conclude.models.normal_form import hypotheses, normal_form

P = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])


@pytest.mark.parametrize(
    ("time", "formula"),
    [
        (1 + 0.5 * P, "T(p) = c0 + c1 p^1"),
        (0.2 + 3 / P, "T(p) = c0 + c1 p^-1"),
        (2 + 0.3 * np.log2(P), "T(p) = c0 + c1 log2(p)^1"),
        (1 + 0.1 * P**1.5 * np.log2(P) ** 2, "T(p) = c0 + c1 p^3/2 log2(p)^2"),
    ],
)
def test_known_exponents_come_back(time: np.ndarray, formula: str) -> None:
    noise = np.exp(0.001 * np.random.default_rng(1).standard_normal((8, P.size)))
    model, fitted = normal_form(P, np.log(time * noise))
    assert model.formula == formula
    assert fitted.time(P) == pytest.approx(time, rel=0.01)


def test_the_set_is_that_of_extra_p_with_both_signs() -> None:
    assert len(hypotheses()) == len({model.formula for model in hypotheses()}) == 37 * 3 - 1


def test_too_few_levels_are_refused() -> None:
    with pytest.raises(ValueError, match="3 levels of p cannot choose a normal form; measure at least 4"):
        normal_form(P[:3], np.zeros((6, 3)))
