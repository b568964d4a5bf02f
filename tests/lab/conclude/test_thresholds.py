# SPDX-License-Identifier: Apache-2.0
"""Findings along a factor: the size from which on an efficiency is reached comes back; what is not shown is unknown."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.several_machines import Part, together
from corescale.conclude.answers.thresholds import answers, crossing
from corescale.conclude.frame import frame
from corescale.declare.experiment import Command, Experiment, Factor, Presentation
from corescale.declare.outputs import Finding
from corescale.records import Configuration
from corescale.show import statements
from support.samples import records

EXPERIMENT = Experiment(
    verb="study",
    commands=(Command(name="main", argv=("product", "{threads}", "{size}", "{threading}")),),
    factors=(
        Factor(name="threads", kind="threads", levels=(1, 2)),
        Factor(name="size", kind="parameter", levels=(100, 200, 400, 800)),
        Factor(name="threading", kind="parameter", levels=("tbb", "ports")),
    ),
    study=Presentation(columns={"processor_seconds": "time * p"}),
)
ASKED: dict[str, Any] = {
    "name": "size",
    "statement": "ports is efficient at smaller sizes",
    "y": "processor_seconds",
    "along": "size",
    "at_most": 1 / 0.9,
    "a": {"threading": "tbb"},
    "b": {"threading": "ports"},
    "where": {"threads": "above min"},
    "normalise": {"to": {"threads": 1}, "within": ("threading", "size")},
    "claim": "> 1",
}
Reaches = Callable[[Configuration], float]


def truth(size_of_nine_tenths: Reaches) -> Callable[[Configuration], float]:
    """1 + f = 1 + (s / size)^2 / 9, so that e = 0.9 at s."""

    def seconds(c: Configuration) -> float:
        p, size = c.layout.p, float(c["size"])
        return 1e-9 * size**3 * (1 + ((size_of_nine_tenths(c) / size) ** 2 / 9 if p > 1 else 0)) / p

    return seconds


def found(reaches: Reaches, blocks: int = 10, noise: float = 0.002, **changes: Any) -> Answer:
    rows = frame(records(EXPERIMENT, truth(reaches), blocks, noise=noise), EXPERIMENT)
    (answer,) = answers(rows, EXPERIMENT, Finding.model_validate(ASKED | changes))
    return answer


def by_system(c: Configuration) -> float:
    return 400.0 if c["threading"] == "tbb" else 200.0


def test_the_size_comes_back_on_both_sides_and_their_ratio() -> None:
    answer = found(by_system)
    assert answer.verdict == "holds" and answer.ratio.covers(2)
    for (at, level), (said, size) in zip(answer.reached, (("tbb", 400), ("ports", 200)), strict=True):
        assert said in at and level.covers(size) and level.estimate == pytest.approx(size, rel=0.05)
    assert "ratio 2" in statements.answer(answer) and "of size: " in statements.answer(answer)


def test_the_opposite_is_noticed_and_noise_leaves_it_open() -> None:
    assert found(lambda c: 600.0 - by_system(c)).verdict == "does not hold"
    assert found(lambda c: 300.0, noise=0.02).verdict == "open"
    assert found(by_system, blocks=4).verdict == "open"


def test_what_no_size_shows_is_unknown_and_decides_only_what_it_can() -> None:
    never = found(lambda c: 5000.0 if c["threading"] == "tbb" else 200.0)
    assert never.reached[0][1].low == 800 and never.reached[0][1].high == math.inf
    assert never.verdict == "holds" and "unknown]" in statements.answer(never)
    assert found(lambda c: 5000.0 if c["threading"] == "tbb" else 200.0, claim="3 to 5").verdict == "open"
    assert found(lambda c: 5000.0).verdict == "open"
    assert found(lambda c: 10.0).verdict == "open"


def test_the_intervals_cover_the_size() -> None:
    rows = [frame(records(EXPERIMENT, truth(by_system), 8, noise=0.01, seed=seed), EXPERIMENT) for seed in range(20)]
    made = [answers(one, EXPERIMENT, Finding.model_validate(ASKED))[0] for one in rows]
    assert sum(one.ratio.covers(2) for one in made) >= 18
    assert (
        sum(level.covers(size) for one in made for (_, level), size in zip(one.reached, (400, 200), strict=True)) >= 37
    )


def test_machines_are_sides_though_they_share_no_block() -> None:
    slow = records(EXPERIMENT, truth(lambda c: 600.0), 8, noise=0.002)
    fast = records(EXPERIMENT, truth(lambda c: 150.0), 9, noise=0.002)
    experiment, made = together([Part("amd", EXPERIMENT, slow), Part("intel", EXPERIMENT, fast)])
    by_machine = ASKED | {"a": {"machine": "amd"}, "b": {"machine": "intel"}, "each": ("threading",), "claim": "2 to 8"}
    said = answers(frame(made, experiment), experiment, Finding.model_validate(by_machine))
    assert [one.verdict for one in said] == ["holds", "holds"] and all(one.ratio.covers(4) for one in said)
    alone = answers(frame(slow, EXPERIMENT, "amd"), EXPERIMENT, Finding.model_validate(by_machine))
    assert {(one.verdict, one.why) for one in alone} == {
        ("not on this machine", "no launch of the run has machine=intel")
    }


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        ([2.0, 1.0, 0.0], (20, 20)), ([2.0, 1.0, 0.5], (20, 20)), ([0.5, 0.5, 0.5], (0, 10)),
        ([2.0, 2.0, 2.0], (40, math.inf)),
        ([0.5, 2.0, 0.0], (20 * math.sqrt(2), 20 * math.sqrt(2))),
    ],
)  # fmt: skip
def test_it_is_the_last_time_that_the_bound_is_crossed(logs: list[float], expected: tuple[float, float]) -> None:
    assert crossing([10, 20, 40], logs, 1.0) == pytest.approx(expected)


def test_along_and_its_bound_go_together() -> None:
    for change in ({"at_most": None}, {"along": ""}, {"b": None}):
        with pytest.raises(ValueError, match="go together"):
            Finding.model_validate(ASKED | change)
