# SPDX-License-Identifier: Apache-2.0
"""Findings about a straight line: each y = a + b x is one, whatever a is; no curve is; two levels show nothing."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from corescale.conclude.answers.claim_verdicts import judge
from corescale.conclude.answers.findings import Answer, answers
from corescale.conclude.frame import frame
from corescale.declare.experiment import Command, Experiment, Factor
from corescale.declare.outputs import Finding
from corescale.errors import UsageError
from corescale.records import Configuration
from corescale.show import statements
from support.samples import records

Curve = Callable[[float], float]
ASKED: dict[str, Any] = {
    "name": "linear", "statement": "The time is linear in the size.", "a": {"threads": 1}, "line": "size",
    "claim": "0.9 to 1.1",
}  # fmt: skip


def experiment(*sizes: int | str) -> Experiment:
    return Experiment(
        verb="study",
        commands=(Command(name="main", argv=("run", "{threads}", "{size}")),),
        factors=(
            Factor(name="threads", kind="threads", levels=(1, 2)),
            Factor(name="size", kind="parameter", levels=sizes),
        ),
    )


SIZES = experiment(10, 100, 1000, 10000)


def found(curve: Curve, blocks: int = 6, noise: float = 0.01, **changes: Any) -> Answer:
    def seconds(c: Configuration) -> float:
        return 1e-6 * curve(float(c["size"])) / c.layout.p

    rows = frame(records(SIZES, seconds, blocks, noise=noise), SIZES)
    (answer,) = answers(rows, SIZES, Finding.model_validate(ASKED | changes))
    return answer


@pytest.mark.parametrize("fixed", [0, 4, 40, 4000, 1e6])
def test_a_line_is_linear_whatever_its_fixed_part(fixed: float) -> None:
    exact = found(lambda size: fixed + 3 * size, noise=0)
    assert exact.ratio.estimate == pytest.approx(1) and exact.verdict == "holds"
    assert [value for _, value in exact.extremes] == pytest.approx([1, 1])
    assert found(lambda size: fixed + 3 * size).verdict == "holds"


@pytest.mark.parametrize("claim", ["0.9 to 1.1", "0.95 to 1.05"])
@pytest.mark.parametrize(
    "curve",
    [
        lambda size: size**1.1, lambda size: size * math.log(size), math.sqrt, lambda size: 40 + size + 1e-4 * size**2,
        lambda size: 40 + min(size, 2000),
    ],
)  # fmt: skip
def test_a_curve_is_not(curve: Curve, claim: str) -> None:
    assert found(curve, blocks=8, claim=claim).verdict == "does not hold"


def test_a_curve_that_bends_both_ways_is_not_linear_on_average() -> None:
    bent = {10.0: 10, 100.0: 130, 1000.0: 750, 10000.0: 10000}
    answer = found(lambda size: bent[size], blocks=8)
    assert judge(answer.ratio, answer.finding) == "holds" and answer.verdict == "does not hold"
    assert answer.against is not None and "size=" in answer.against[0]


def test_noise_and_few_blocks_leave_it_open() -> None:
    assert found(lambda size: size, noise=0.3).verdict == "open"
    assert found(lambda size: size, blocks=5).verdict == "open"


def test_the_ends_are_those_that_are_asked_about() -> None:
    """A knee at 100: linear from there, and from 10 it is not."""

    def knee(size: float) -> float:
        return max(size, 400)

    assert found(knee, blocks=8, where={"size": (1000, 10000, 100)}).verdict == "does not hold"
    assert found(lambda size: max(size, 100), where={"size": (1000, 10000, 100)}).verdict == "holds"


def test_what_is_said_names_the_line() -> None:
    said = statements.answer(found(lambda size: size))
    assert said.startswith("holds, time over a straight line of size ") and "where 0.9 to 1.1 is claimed" in said


def test_two_levels_show_no_line() -> None:
    answer = found(lambda size: size, where={"size": (10, 100)})
    assert (answer.verdict, answer.why) == (
        "not on this machine",
        "a straight line takes three levels of size in each block",
    )


def test_levels_that_are_no_numbers_are_one_line() -> None:
    words = experiment("small", "large", "huge")
    rows = frame(records(words, lambda c: 1.0, 6), words)
    with pytest.raises(UsageError, match="no numbers: "):
        answers(rows, words, Finding.model_validate(ASKED))


@pytest.mark.parametrize("other", [{"b": {"threads": 2}}, {"normalise": {"to": {"threads": 1}}}])
def test_a_line_is_of_one_side(other: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="one side"):
        Finding.model_validate(ASKED | other)
