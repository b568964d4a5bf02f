# SPDX-License-Identifier: Apache-2.0
"""Statements about overhead: the sum of factors that made the data is found, and nothing is claimed without data."""

from collections.abc import Callable

import pytest

from corescale.conclude import overhead_forecast
from corescale.conclude.answers.overheads import Modelled, overheads
from corescale.conclude.answers.study import study
from corescale.conclude.frame import frame
from corescale.declare.experiment import Command, Experiment, Factor
from corescale.declare.outputs import Overheads
from corescale.errors import UsageError
from corescale.records import Configuration
from corescale.show import statements
from support.samples import records

Overhead = Callable[[float, float], float]
EXPERIMENT = Experiment(
    verb="study",
    commands=(Command(name="main", argv=("cluster", "{threads}", "{points}")),),
    factors=(
        Factor(name="threads", kind="threads", levels=(1, 2, 4, 8)),
        Factor(name="points", kind="parameter", levels=(1000, 2000, 4000)),
    ),
)
ASKED = {
    "name": "grain",
    "statement": "One factor, the inverse grain size, describes three sizes at once.",
    "factors": {"grain": "p / points", "p": "p"},
    "models": ("grain", "p", "grain + p"),
    "claim": "grain",
}


def truth(overhead: Overhead) -> Callable[[Configuration], float]:
    def seconds(c: Configuration) -> float:
        p, points = c.layout.p, float(c["points"])
        return 1e-6 * points**2 * (1 + (overhead(p, points) if p > 1 else 0)) / p

    return seconds


def by_grain(p: float, points: float) -> float:
    return 60 * p / points


def found(overhead: Overhead, blocks: int = 8, **changes: object) -> Modelled:
    asked = Overheads.model_validate(ASKED | changes)
    rows = frame(records(EXPERIMENT, truth(overhead), blocks, noise=0.01), EXPERIMENT)
    (answer,) = overheads(rows, EXPERIMENT, asked)
    return answer


def test_the_grain_is_found_to_describe_three_sizes_at_once() -> None:
    answer = found(by_grain)
    assert answer.verdict == "holds" and answer.claimed is not None
    assert answer.claimed.coefficients["grain"].estimate == pytest.approx(60, rel=0.1)
    said = statements.answer(answer)
    assert said.startswith("holds: f = ") and "x grain, off by" in said and "no better than grain" in said


def test_another_factor_refutes_it() -> None:
    answer = found(lambda p, points: 0.05 * p)
    assert (answer.verdict, answer.why) == ("does not hold", "p surely predicts better")


def test_a_model_that_is_too_far_off_does_not_hold() -> None:
    answer = found(lambda p, points: 1000 * p / points * (1 if points == 1000 else 0.2), models=("grain",))
    assert (answer.verdict, answer.why) == ("does not hold", "it is off by more than 0.05")


def test_two_factors_hold_only_where_one_is_surely_worse() -> None:
    models = ("grain", "grain + p")
    both = found(lambda p, points: by_grain(p, points) + 0.05 * p, claim="grain + p", models=models)
    assert both.verdict == "holds"
    one = found(by_grain, claim="grain + p", models=models)
    assert one.verdict in ("open", "does not hold") and one.why


@pytest.mark.parametrize(
    ("blocks", "overhead", "why"),
    [
        (4, by_grain, "fewer than 6 blocks"),
        (8, lambda p, points: 0.0, "no overhead is shown that grain would describe"),
    ],
)
def test_without_data_or_overhead_it_is_open(blocks: int, overhead: Overhead, why: str) -> None:
    answer = found(overhead, blocks, models=("grain",))
    assert answer.verdict == "open" and why in answer.why


def test_it_is_an_answer_of_the_study() -> None:
    asked = EXPERIMENT.model_copy(update={"outputs": (Overheads.model_validate(ASKED),)})
    said = study(records(asked, truth(by_grain), 8, noise=0.01), asked)
    assert [one.verdict for one in said.answers] == ["holds"]
    assert statements.findings(said.answers) == "1 statement: 1 holds"
    assert [one.verdict for one in study([], asked).answers] == ["not measured"]


def test_a_model_of_unknown_factors_is_refused() -> None:
    with pytest.raises(ValueError, match="no factor 'n'; factors here: grain, p"):
        Overheads.model_validate(ASKED | {"models": ("grain", "n")})
    with pytest.raises(ValueError, match="none of the models; models here: grain, p"):
        Overheads.model_validate(ASKED | {"models": ("grain", "p"), "claim": "grain + p"})


def test_one_fit_forecasts_every_size() -> None:
    made = records(EXPERIMENT, truth(by_grain), 10, noise=0.01)
    said = overhead_forecast.predict(made, EXPERIMENT, 16, ["p / points", "p", "p / points + p"])
    assert [one.label for one in said] == ["points=1000", "points=2000", "points=4000"]
    for one, points in zip(said, (1000, 2000, 4000), strict=True):
        assert one.law == "f = p / points" and one.beyond == 2
        expected = 1e-6 * points**2 * (1 + by_grain(16, points)) / 16
        assert one.seconds.estimate == pytest.approx(expected, rel=0.05) and one.seconds.low is not None


def test_a_forecast_of_p_alone_refuses_what_p_does_not_tell() -> None:
    made = records(EXPERIMENT, truth(by_grain), 8)
    for text, why in (("threads", "has threads, which p does not tell; write it with p, points"),
                      ("p /", "not a formula: 'p /'"), ("open(p)", "is more than arithmetic")):  # fmt: skip
        with pytest.raises(UsageError) as refused:
            overhead_forecast.predict(made, EXPERIMENT, 16, [text])
        assert why in str(refused.value)
    assert overhead_forecast.split("p / (points + 1) + p + p * p") == ("p / (points + 1)", "p", "p * p")
