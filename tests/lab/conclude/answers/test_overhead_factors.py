# SPDX-License-Identifier: Apache-2.0
"""The overhead model gives known coefficients back from generated times, and says when it cannot."""

import numpy as np
import pytest

from corescale.conclude.models import overhead_factors
from corescale.conclude.models.overhead_factors import Measured, fit, surely_better_elsewhere
from corescale.conclude.stats import Floats

PATTERNS = [
    (n_points, p, n)
    for n_points in (12_500, 25_000, 50_000)
    for p, n in ((1, 1), (4, 1), (8, 2), (24, 4), (48, 8), (96, 4))
]
POINTS = np.array([float(a) for a, _, _ in PATTERNS])
P = np.array([float(b) for _, b, _ in PATTERNS])
N = np.array([float(c) for _, _, c in PATTERNS])
REFERENCE = np.array([k - k % 6 for k in range(len(PATTERNS))])
FACTORS = {"grain": P / POINTS, "p": P, "n": N, "p2": P**2}


def generated(coefficients: dict[str, float], noise: float, blocks: int, seed: int) -> Measured:
    """T = p_ref T(p_ref) (1 + f) / p with relative noise, and slow blocks."""
    random = np.random.default_rng(seed)
    f = sum(value * FACTORS[name] for name, value in coefficients.items())
    f = np.where(np.arange(P.size) == REFERENCE, 0.0, f)
    times = 1e-9 * POINTS**2 * (1 + f) / P
    slow = np.exp(random.normal(0, 0.1, (blocks, 1)))
    return Measured(times * slow * np.exp(random.normal(0, noise, (blocks, P.size))), P, REFERENCE)


def fitted(measured: Measured, *names: str) -> overhead_factors.OverheadFit:
    return overhead_factors.fit(measured, {name: FACTORS[name] for name in names})


def test_without_noise_the_coefficients_are_exact() -> None:
    found = fitted(generated({"p": 2e-3, "n": 1e-2}, 0.0, 8, 1), "p", "n")
    assert found.coefficients["p"].estimate == pytest.approx(2e-3, rel=1e-9)
    assert found.coefficients["n"].estimate == pytest.approx(1e-2, rel=1e-9)
    assert found.residual == pytest.approx(0, abs=1e-12)


def test_intervals_cover_the_coefficients() -> None:
    covered = 0
    for seed in range(25):
        found = fitted(generated({"p": 2e-3, "n": 1e-2}, 0.02, 8, seed), "p", "n").coefficients["n"]
        assert found.low is not None and found.high is not None
        covered += found.low <= 1e-2 <= found.high
    assert covered >= 21


def test_forecasts_cover_the_time_at_many_more_cores() -> None:
    covered = 0
    for seed in range(25):
        found = fitted(generated({"grain": 40.0}, 0.02, 8, seed), "grain")
        forecast = found.time({"grain": 192 / 50_000}, p=192, p_ref=1, reference_seconds=2.5)
        truth = 2.5 * (1 + 40 * 192 / 50_000) / 192
        assert forecast.low is not None and forecast.high is not None
        covered += forecast.low <= truth <= forecast.high
    assert covered >= 21


def test_one_factor_describes_three_sizes_where_it_is_the_grain() -> None:
    measured = generated({"grain": 40.0}, 0.02, 12, 3)
    found = overhead_factors.choose(measured, FACTORS, [("grain",), ("grain", "n")])
    assert found.best is not None
    assert found.best.factors == ("grain",)
    assert found.best.held_out.estimate < fitted(measured, "p").held_out.estimate / 3


def test_two_factors_are_chosen_where_there_are_two() -> None:
    found = overhead_factors.choose(generated({"p": 2e-3, "n": 5e-2}, 0.02, 12, 3), FACTORS, [("p",), ("p", "n")])
    assert found.best is not None
    assert found.best.factors == ("p", "n")


def test_the_square_is_seen_where_the_line_fails() -> None:
    found = overhead_factors.choose(generated({"p": 1e-3, "p2": 2e-4}, 0.02, 12, 3), FACTORS, [("p",), ("p", "p2")])
    assert found.best is not None
    assert found.best.factors == ("p", "p2")


def test_a_reference_is_no_point_of_the_fit_and_each_size_has_its_own() -> None:
    measured = generated({"p": 1e-2}, 0.0, 6, 1)
    columns, overheads = measured.overheads()
    assert not set(columns) & set(REFERENCE)
    assert overheads == pytest.approx(np.tile(1e-2 * P[columns], (6, 1)))


def test_what_cannot_be_distinguishable_is_refused_with_its_reason() -> None:
    measured = Measured(np.ones((8, 2)), np.array([1.0, 2.0]), np.array([0, 0]))
    two = {"p": np.array([1.0, 2.0]), "n": np.array([1.0, 1.0])}
    with pytest.raises(ValueError, match="1 configurations cannot separate p and n"):
        overhead_factors.fit(measured, two)
    found = overhead_factors.choose(measured, two, [("p",), ("p", "n")])
    assert found.best is not None
    assert (
        found.best.warning == "as many factors as configurations: the fit passes through every point and is not tested"
    )


def test_below_six_blocks_there_is_no_interval() -> None:
    found = fitted(generated({"p": 1e-2}, 0.02, 3, 1), "p")
    assert found.coefficients["p"].low is None
    assert "fewer than 6 blocks" in found.warning


SIZES = np.array([1250.0, 2500.0, 5000.0])


def two_cores(seed: int, spread: float, bend: float = 0.0) -> tuple[Measured, dict[str, Floats]]:
    """f = 500 p / N of three sizes on two cores, `bend` more at the middle one; log T spreads by `spread` at p = 2."""
    p, n = np.repeat([1.0, 2.0], 3), np.tile(SIZES, 2)
    f = np.where(p > 1, 500 * p / n + bend * (n == SIZES[1]), 0.0)
    noise = np.random.default_rng(seed).normal(size=(8, p.size)) * np.where(p > 1, spread, 0.05)
    return Measured(n**2 * (1 + f) / p * np.exp(noise), p, np.tile(np.arange(3), 2)), {"grain": p / n}


def test_noise_is_no_lack_of_fit() -> None:
    """The held-out error of a model that is true is large where launches scatter; its excess over the scatter is
    none."""
    noisy = [fit(*two_cores(seed, 0.3)) for seed in range(10)]
    assert np.median([one.held_out.estimate for one in noisy]) > 0.1
    assert sum(one.excess > 0.05 for one in noisy) <= 1
    assert all(fit(*two_cores(seed, 0.05, bend=0.4)).excess > 0.05 for seed in range(5))


def test_the_noisier_side_is_not_the_worse_fit() -> None:
    quiet = [fit(*two_cores(seed, 0.05)) for seed in range(8)]
    noisy = [fit(*two_cores(100 + seed, 0.5)) for seed in range(8)]
    bent = [fit(*two_cores(200 + seed, 0.05, bend=0.5)) for seed in range(8)]
    assert sum(surely_better_elsewhere(a, b) for a, b in zip(quiet, noisy, strict=True)) <= 1
    assert sum(surely_better_elsewhere(a, b) for a, b in zip(quiet, bent, strict=True)) >= 7
