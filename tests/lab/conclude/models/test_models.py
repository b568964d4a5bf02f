# SPDX-License-Identifier: Apache-2.0
"""Every model gives back the truth that generated its data, with noise, and says when the data do not determine it."""

import math
import re
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corescale.conclude.models import MODELS, choose, fit
from corescale.conclude.models.bootstrap import summarise
from corescale.conclude.models.least_squares import bounded_fit, gauss_newton
from corescale.conclude.stats import Floats

P = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])
ROOT = Path(__file__).parents[4]
SIMULATION = runpy.run_path(str(ROOT / "benchmarks" / "coverage.py"))
TERMS: dict[str, list[float]] = {model: list(terms) for model, terms in SIMULATION["TRUE_TERMS"].items()}
seconds = st.floats(0.01, 10)


def blocks_of(
    model: str, terms: list[float], p: Floats = P, blocks: int = 15, noise: float = 0.02, seed: int = 1
) -> Floats:
    rng = np.random.default_rng(seed)
    block_effect = rng.normal(0, noise, (blocks, 1))
    log_times: Floats = np.log(MODELS[model].basis(p) @ np.array(terms)) + block_effect
    return log_times + rng.normal(0, noise, (blocks, p.size))


@pytest.mark.parametrize("page", ["measuring.md", "measuring_appendix.md"])
def test_a_page_has_the_formula_of_every_model(page: str) -> None:
    rows = re.findall(r"^\| (\w+) \| (parallel[^|]*) \|", (ROOT / "docs" / page).read_text(), re.MULTILINE)
    told = {name.lower(): formula.replace(" (", " * (") for name, formula in rows}
    assert told.keys() == MODELS.keys()
    for name, model in MODELS.items():
        values = dict(zip(model.terms, TERMS[name], strict=True)) | {"p": 7.0}
        assert eval(told[name], {}, values) == pytest.approx(float(model.basis(np.array(7.0)) @ TERMS[name]))


def test_every_model_is_tried() -> None:
    assert TERMS.keys() == MODELS.keys()


@pytest.mark.parametrize("model", MODELS)
def test_noisy_data_give_back_every_parameter_and_the_forecast(model: str) -> None:
    fitted = fit(MODELS[model], P, blocks_of(model, TERMS[model]))
    assert fitted.identifiable and fitted.blocks == 15
    for parameter in MODELS[model].parameters:
        truth = parameter.shown(float(parameter.of(np.array(TERMS[model]))))
        interval = fitted.parameters[parameter.name]
        assert interval.low is not None and interval.high is not None
        assert interval.low <= truth <= interval.high, parameter.name
        assert interval.low < interval.estimate < interval.high
    forecast = fitted.forecast(32)
    assert forecast.seconds.covers(float(MODELS[model].basis(np.array(32.0)) @ TERMS[model]))


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=50)
@given(data=st.data())
def test_data_without_noise_give_back_the_terms(model: str, data: st.DataObject) -> None:
    truth = np.array(data.draw(st.tuples(*[seconds] * len(MODELS[model].terms))))
    log_times = np.log(MODELS[model].basis(P) @ truth)
    assert bounded_fit(MODELS[model].basis(P), log_times, np.ones(P.size)) == pytest.approx(truth, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_the_unit_of_time_does_not_matter(model: str) -> None:
    log_times = blocks_of(model, TERMS[model])
    one, other = fit(MODELS[model], P, log_times), fit(MODELS[model], P, log_times + math.log(1e-6))
    for name in list(one.parameters)[1:]:
        assert other.parameters[name].low == pytest.approx(one.parameters[name].low, rel=1e-6)
    assert other.time(4) == pytest.approx(one.time(4) * 1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_order_of_levels_does_not_matter(model: str) -> None:
    log_times, order = blocks_of(model, TERMS[model]), np.argsort(-P)
    one, other = fit(MODELS[model], P, log_times), fit(MODELS[model], P[order], log_times[:, order])
    for name in one.parameters:
        assert other.parameters[name].high == pytest.approx(one.parameters[name].high, rel=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_too_few_levels_are_no_fit(model: str) -> None:
    few = P[: len(MODELS[model].terms) - 1]
    fitted = fit(MODELS[model], few, blocks_of(model, TERMS[model], few))
    assert not fitted.identifiable and not fitted.parameters
    assert "too few levels" in fitted.warning
    with pytest.raises(ValueError, match="no forecast"):
        fitted.forecast(32)


@pytest.mark.parametrize("model", MODELS)
def test_as_many_levels_as_terms_are_a_fit_that_is_not_tested(model: str) -> None:
    just = P[[0, 3, 7]][: len(MODELS[model].terms)]
    assert "not tested" in fit(MODELS[model], just, blocks_of(model, TERMS[model], just)).warning


@pytest.mark.parametrize("model", MODELS)
def test_few_blocks_are_estimates_without_intervals(model: str) -> None:
    fitted = fit(MODELS[model], P, blocks_of(model, TERMS[model], blocks=5))
    assert fitted.identifiable and "no intervals" in fitted.warning
    assert {interval.low for interval in fitted.parameters.values()} == {None}
    assert fitted.forecast(32).seconds.low is None
    assert fit(MODELS[model], P, blocks_of(model, TERMS[model], blocks=1)).identifiable


def test_amdahl_in_the_words_of_the_field() -> None:
    fitted = fit(MODELS["amdahl"], P, blocks_of("amdahl", TERMS["amdahl"], noise=1e-4))
    assert fitted.parameters["T1"].estimate == pytest.approx(10, rel=1e-3)
    assert fitted.parameters["s"].estimate == pytest.approx(0.05, rel=1e-2)
    assert fitted.parameters["limit"].estimate == pytest.approx(20, rel=1e-2)


def test_usl_in_the_words_of_the_field() -> None:
    fitted = fit(MODELS["usl"], P, blocks_of("usl", TERMS["usl"], noise=1e-5))
    x = {name: interval.estimate for name, interval in fitted.parameters.items()}
    throughput = x["lambda"] * 6 / (1 + x["sigma"] * 5 + x["kappa"] * 6 * 5)
    assert 1 / throughput == pytest.approx(float(fitted.time(6)), rel=1e-9)
    assert x["peak"] == pytest.approx(math.sqrt((1 - x["sigma"]) / x["kappa"]))
    assert x["peak"] == pytest.approx(math.sqrt(950), rel=1e-2)


def test_no_crosstalk_is_an_unbounded_peak() -> None:
    peak = fit(MODELS["usl"], P, blocks_of("amdahl", TERMS["amdahl"])).parameters["peak"]
    assert peak.high == math.inf and peak.low > P.max()


def test_superlinear_data_contradict_the_model_and_stay_in_its_range() -> None:
    log_times = np.log(10 / P**1.15) + np.random.default_rng(1).normal(0, 0.01, (15, P.size))
    fitted = fit(MODELS["amdahl"], P, log_times)
    assert "contradict serial >= 0" in fitted.warning and "more than the noise" in fitted.warning
    assert fitted.parameters["s"].estimate == 0 and fitted.parameters["limit"].estimate == math.inf


def test_times_that_grow_have_no_forecast_by_a_model_that_cannot_grow() -> None:
    log_times = np.log(P) + np.random.default_rng(1).normal(0, 0.01, (15, P.size))
    fitted = fit(MODELS["amdahl"], P, log_times)
    assert not fitted.identifiable and "contradict parallel >= 0, and what is left is flat" in fitted.warning
    assert fit(MODELS["usl"], P, log_times).identifiable


def test_a_model_that_misses_a_level_says_which() -> None:
    log_times = blocks_of("amdahl", TERMS["amdahl"])
    log_times[:, 4] += 0.3
    assert "at p=6" in fit(MODELS["amdahl"], P, log_times).warning


@pytest.mark.parametrize("model", MODELS)
def test_failed_launches_and_levels_are_left_out(model: str) -> None:
    log_times = blocks_of(model, TERMS[model])
    log_times[::3, 0] = np.nan
    log_times[4, 5] = -np.inf
    with_dead = fit(MODELS[model], [*P, 99.0], np.column_stack([log_times, np.full(15, np.nan)]))
    assert with_dead.measured == (1, 16)
    assert with_dead.forecast(32).seconds.covers(float(MODELS[model].basis(np.array(32.0)) @ TERMS[model]))


def test_equal_records_give_equal_fits() -> None:
    log_times = blocks_of("usl", TERMS["usl"])
    assert fit(MODELS["usl"], P, log_times) == fit(MODELS["usl"], P, log_times)


def test_no_data_are_no_fit() -> None:
    assert not fit(MODELS["amdahl"], P, np.full((6, P.size), np.nan)).identifiable
    assert choose(MODELS, P, np.full((6, P.size), np.nan)).best is None


def test_identical_times_do_not_divide_by_zero() -> None:
    log_times = np.broadcast_to(np.log(MODELS["amdahl"].basis(P) @ TERMS["amdahl"]), (8, P.size))
    assert fit(MODELS["amdahl"], P, log_times).parameters["s"].estimate == pytest.approx(0.05)


class TestChoice:
    def test_crosstalk_that_shows_selects_the_usl(self) -> None:
        choice = choose(MODELS, P, blocks_of("usl", TERMS["usl"], blocks=40))
        assert choice.best == choice.fits["usl"]
        assert choice.statement.startswith("usl predicts held-out levels better than amdahl")

    def test_a_model_that_says_the_same_changes_nothing(self) -> None:
        times = blocks_of("usl", TERMS["usl"], blocks=40)
        twice = {**MODELS, "twin": replace(MODELS["usl"], name="twin")}
        choice = choose(twice, P, times)
        assert choice.best == choice.fits["usl"]
        assert choice.statement.startswith(
            "usl predicts held-out levels better than amdahl; usl is the simplest of the others"
        )

    def test_without_it_the_simpler_model_is_shown(self) -> None:
        choice = choose(MODELS, P, blocks_of("amdahl", TERMS["amdahl"]))
        assert choice.best is not None and choice.best.model == "amdahl"

    def test_a_parameter_is_as_unsure_as_all_models_that_are_tied_with(self) -> None:
        choice = choose(MODELS, P, blocks_of("amdahl", TERMS["amdahl"]))
        assert choice.best is not None
        shown, alone = choice.best.parameters, choice.fits["amdahl"].parameters
        s, sigma = alone["s"], choice.fits["usl"].parameters["sigma"]
        assert shown["s"].estimate == s.estimate and s.low is not None and sigma.low is not None
        assert (shown["s"].low, shown["s"].high) == (min(s.low, sigma.low), max(s.high or 0, sigma.high or 0))
        assert (shown["s"].low, shown["s"].high) != (s.low, s.high)
        assert shown["limit"].high == pytest.approx(1 / (shown["s"].low or 0))

    def test_a_model_with_other_terms_widens_no_parameter(self) -> None:
        choice = choose(MODELS, P, blocks_of("amdahl", TERMS["amdahl"]))
        usl = choice.fits["usl"]
        assert usl.beside((choice.fits["amdahl"],)).parameters == usl.parameters

    def test_a_forecast_is_as_unsure_as_all_models_that_are_tied_with(self) -> None:
        choice = choose(MODELS, P, blocks_of("amdahl", TERMS["amdahl"]))
        assert choice.best is not None and [rival.model for rival in choice.best.rivals] == ["usl"]
        shown, alone = choice.best.forecast(64).seconds, [fit.forecast(64).seconds for fit in choice.fits.values()]
        assert shown.estimate == alone[0].estimate
        assert shown.low == min(one.low or 0 for one in alone) and shown.high == max(one.high or 0 for one in alone)
        told = choose(MODELS, P, blocks_of("usl", TERMS["usl"], blocks=40)).best
        assert told is not None and told.rivals == ()

    def test_too_few_levels_to_tell_are_said(self) -> None:
        p = P[:3]
        choice = choose(MODELS, p, blocks_of("usl", TERMS["usl"], p))
        assert "too few levels" in choice.statement
        assert re.search(r"; kappa = \S+ \[\S+, \S+\]$", choice.statement)

    def test_two_levels_leave_one_model(self) -> None:
        assert "only model" in choose(MODELS, P[:2], blocks_of("amdahl", TERMS["amdahl"], P[:2])).statement


class TestCentres:
    def test_agrees_with_a_trimmed_mean_by_hand(self) -> None:
        values = np.array([5.0, 1, 2, 3, 4, 6, 7, 8, 9, 100])[:, None]
        assert summarise(values, np.ones(10)).centres == pytest.approx([np.mean([3, 4, 5, 6, 7, 8])])

    def test_counting_a_block_twice_is_having_it_twice(self) -> None:
        x = np.random.default_rng(1).normal(size=(7, 3))
        counts = np.array([2.0, 0, 1, 1, 3, 0, 1])
        counted, repeated = summarise(x, counts), summarise(np.repeat(x, counts.astype(int), axis=0), np.ones(8))
        assert np.allclose(counted.centres, repeated.centres)
        assert np.allclose(counted.covariance, repeated.covariance)

    def test_its_covariance_is_that_of_repeated_experiments(self) -> None:
        x = np.random.default_rng(2).normal(size=(1500, 40, 2)) @ np.array([[1.0, 0.5], [0, 1]])
        summaries = [summarise(experiment, np.ones(40)) for experiment in x]
        observed = np.cov(np.array([s.centres for s in summaries]).T)
        assert np.mean([s.covariance for s in summaries], axis=0) == pytest.approx(observed, rel=0.1)


def test_many_fits_at_once_are_the_fits_one_by_one() -> None:
    basis, log_times = MODELS["usl"].basis(P), blocks_of("usl", TERMS["usl"], blocks=4)
    together = gauss_newton(basis, log_times, np.ones(P.size))
    assert np.allclose(together, [gauss_newton(basis, row, np.ones(P.size)) for row in log_times])


def test_levels_that_cannot_tell_terms_apart_are_nan() -> None:
    p = np.array([4.0, 4, 4])
    assert np.isnan(gauss_newton(MODELS["usl"].basis(p), np.zeros(3), np.ones(3))).all()
