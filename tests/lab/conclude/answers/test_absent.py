# SPDX-License-Identifier: Apache-2.0
"""Why a finding has no answer: launches that failed, that a run left out, or that were oversubscribed."""

from collections.abc import Mapping

import pytest

from corescale.conclude.answers.claim_verdicts import absent, lacking
from corescale.conclude.answers.findings import answers
from corescale.conclude.frame import frame
from corescale.declare.experiment import Command, Experiment, Factor
from corescale.declare.outputs import Finding, Selection
from corescale.records import Configuration
from corescale.show import statements
from support.samples import records

EXPERIMENT = Experiment(
    verb="study",
    commands=(Command(name="main", argv=("run", "{threads}", "{mode}")),),
    factors=(
        Factor(name="threads", kind="threads", levels=(1, 4)),
        Factor(name="mode", kind="parameter", levels=("quick", "slow")),
    ),
)


def failing(c: Configuration, block: int) -> Mapping[str, object]:
    """Four threads are more than there are cores, and slow fails."""
    del block
    failed = {"status": "failed", "exit_code": 1} if c["mode"] == "slow" else {}
    return {"oversubscribed": c.layout.p == 4, **failed}


ROWS = frame(records(EXPERIMENT, lambda c: 1.0, 6, change=lambda c, block: dict(failing(c, block))), EXPERIMENT)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"mode": "slow"}, "no launch succeeded at mode=slow"),
        ({}, "no launch succeeded at any level"),
        ({"mode": "other", "threads": 4}, "left out of this run: mode=other"),
        ({"threads": 24, "oversubscribed": 0}, "left out of this run: threads=24"),
        ({"threads": 4, "oversubscribed": 0}, "oversubscribed on this machine: threads=4"),
    ],
)
def test_what_is_missing_is_named(wanted: Selection, why: str) -> None:
    assert absent(ROWS, wanted) == why


def test_a_run_without_a_launch_says_so() -> None:
    assert absent(ROWS[:0], {"mode": "slow"}) == "no launch was made"


def test_a_claim_about_several_levels_needs_so_many() -> None:
    rows = frame(records(EXPERIMENT, lambda c: 4.0 / c.layout.p, 8), EXPERIMENT)
    claimed = Finding(name="x", statement="y", a={"threads": 1}, b={"threads": 4}, claim="> 1", several=3)
    (answer,) = answers(rows, EXPERIMENT, claimed)
    assert (answer.verdict, answer.why) == ("not on this machine", "the claim needs 3 levels, and 2 of them are here")
    (answer,) = answers(rows, EXPERIMENT, claimed.model_copy(update={"several": 2}))
    assert answer.verdict == "holds"


def test_an_answer_has_it() -> None:
    asked = Finding(name="x", statement="y", a={"mode": "slow"}, b={"mode": "quick"}, claim="> 1")
    (answer,) = answers(ROWS, EXPERIMENT, asked)
    assert (answer.verdict, answer.why) == ("not on this machine", "no launch succeeded at mode=slow")
    assert statements.answer(answer) == "not measured: no launch succeeded at mode=slow"
    assert statements.findings([answer]) == "1 statement: 1 has no answer here"


@pytest.mark.parametrize(
    ("needs", "why"),
    [
        ({"bandwidth": 2}, "the claim needs bandwidth >= 2, and no launch has a value of bandwidth"),
        ({"threads": 2}, "the claim needs threads >= 2, and 1 is the most here that is not oversubscribed"),
        ({"threads": 1, "mode": 2}, ""),
    ],
)
def test_what_a_claim_needs_is_named(needs: Mapping[str, int], why: str) -> None:
    assert lacking(ROWS, needs) == why


def test_the_most_that_a_run_has_is_of_all_its_launches() -> None:
    """One side has 1 thread and the other 4, too many for the cores; 2 threads are of neither side."""
    threads = Factor(name="threads", kind="threads", levels=(1, 2, 4))
    experiment = Experiment(verb="study", commands=EXPERIMENT.commands, factors=(threads, EXPERIMENT.factors[1]))
    made = frame(
        records(experiment, lambda c: 1.0, 6, change=lambda c, block: {"oversubscribed": c.layout.p == 4}), experiment
    )
    asked = Finding(name="x", statement="y", a={"threads": 1}, b={"threads": "max"}, claim="> 1", needs={"threads": 16})
    (answer,) = answers(made, experiment, asked)
    why = "the claim needs threads >= 16, and 2 is the most here that is not oversubscribed"
    assert (answer.verdict, answer.why) == ("not on this machine", why)
