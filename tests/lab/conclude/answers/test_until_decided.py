# SPDX-License-Identifier: Apache-2.0
"""A study that goes on until its findings are decided: looks, what is launched, and what an answer rests on."""

import itertools
from dataclasses import replace
from typing import NoReturn

import pytest

from corescale.conclude import policy
from corescale.conclude.answers import several_machines
from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.study import answers, foresee, study, together, useful
from corescale.conclude.conclusion import conclude
from corescale.conclude.frame import frame
from corescale.conclude.policy import Decided, decision
from corescale.declare.experiment import Baseline, Command, Experiment, Factor, Presentation
from corescale.declare.grid import configurations
from corescale.declare.outputs import Finding, Normalise
from corescale.declare.plan import shuffled
from corescale.declare.stop import Stop
from corescale.records import Configuration
from corescale.show import statements
from support.play import play


def finding(name: str, a: int, b: int, **more: object) -> Finding:
    values = {"name": name, "statement": "b is faster", "a": {"side": a}, "b": {"side": b}, "claim": "> 1"}
    return Finding.model_validate(values | more)


def asked(*findings: Finding, most: int = 90) -> Experiment:
    return Experiment(
        verb="study",
        baseline=Baseline(returns=False),
        commands=(Command(name="main", argv=("true", "{side}", "{size}")),),
        factors=(
            Factor(name="side", kind="parameter", levels=(0, 1, 2)),
            Factor(name="size", kind="parameter", levels=(1, 2)),
        ),
        stop=Stop(rule="decided", min_blocks=min(8, most), max_blocks=most),
        study=Presentation(outputs=findings),
    )


FASTER, CLOSE = finding("faster", 0, 1), finding("close", 1, 2)


def truth(c: Configuration) -> float:
    """Side 1 is twice as fast as side 0, and 2% faster than side 2."""
    return {0: 2.0, 1: 1.0, 2: 0.98}[int(c["side"])]


def test_the_looks_are_few_and_those_that_can_show_nothing_spend_nothing() -> None:
    looks = Stop(rule="decided", max_blocks=90).looks
    assert looks == (8, 12, 18, 27, 40, 60, 90)
    assert useful(looks, 0.95) == looks[1:] and useful(looks, 1 - 0.05 / 100) == looks[2:]
    assert Stop(rule="decided", max_blocks=20).looks == (8, 12, 18, 20)


def test_what_is_decided_is_launched_no_more_and_stays_decided() -> None:
    experiment = asked(FASTER, CLOSE)
    records = play(experiment, truth, Decided(experiment), 0.06)
    made = {side: sum(r.configuration["side"] == side for r in records) // 2 for side in (0, 1, 2)}
    assert made[0] == 12 < made[1] == made[2]
    said = {one.finding.name: one for one in study(records, experiment).answers if isinstance(one, Answer)}
    assert said["faster"].verdict == "holds" and said["faster"].ratio.n == 12, (
        "by the launches of the look that decided"
    )
    assert said["close"].verdict in ("equal", "holds") and made[1] in experiment.stop.looks
    assert decision(records, experiment).reason == "decided"


def test_a_run_beside_another_machines_has_the_answers_that_it_has_alone() -> None:
    experiment = asked(
        FASTER.model_copy(update={"each": ("machine",)}), CLOSE.model_copy(update={"each": ("machine",)})
    )
    records = play(experiment, truth, Decided(experiment), 0.06)
    alone = study(records, asked(FASTER, CLOSE)).answers
    part = several_machines.Part("here", experiment, records)
    joined, all_records = several_machines.together([part, replace(part, machine="there")])
    here = [one for one in study(all_records, joined).answers if one.at["machine"] == "here"]
    said = [[(one.verdict, one.ratio) for one in made if isinstance(one, Answer)] for made in (alone, here)]
    assert said[0] == said[1] and len(said[0]) == 2


def test_a_conclusion_works_its_answers_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def again(*_: object) -> NoReturn:
        raise AssertionError

    for experiment, noise, reason in ((asked(FASTER), 0.06, "decided"), (asked(CLOSE), 0.5, None)):
        records = [one for one in play(experiment, truth, Decided(experiment), noise) if one.block < 20]
        assert decision(records, experiment).reason == reason
        with monkeypatch.context() as forbidding:
            forbidding.setattr(policy, "every_answer", again)
            with pytest.raises(AssertionError):
                decision(records, experiment)
            found = conclude(records, experiment)
        assert found.stop == decision(records, experiment) and found.conclusion == study(records, experiment)


def test_what_cannot_be_decided_ends_with_the_blocks() -> None:
    experiment = asked(CLOSE, most=18)
    records = play(experiment, truth, Decided(experiment), 0.5)
    assert len({r.block for r in records}) == 18 and decision(records, experiment).reason == "blocks"
    assert [one.verdict for one in study(records, experiment).answers] == ["open"]
    assert {r.configuration["side"] for r in records if r.block >= 8} == {1, 2}


def test_the_confidence_is_shared_over_the_looks_and_the_answers_of_a_finding() -> None:
    alone, each = asked(FASTER), asked(finding("faster", 0, 1, each=("size",)))
    records = play(alone, truth, Decided(alone), 0.05)
    for experiment, error in ((alone, 0.05 / 6), (each, 0.05 / 12)):
        for one in study(records, experiment).answers:
            assert isinstance(one, Answer)
            assert one.ratio.confidence is not None and 1 - error <= one.ratio.confidence < 1 - error / 3
    fixed = each.model_copy(update={"stop": Stop(rule="replicates", min_blocks=12, max_blocks=12)})
    (first, second) = answers(frame(records, fixed), fixed, fixed.study.outputs[0])  # type: ignore[arg-type]
    assert first.at == {"size": 1} and second.ratio.confidence is not None and second.ratio.confidence >= 0.975  # type: ignore[union-attr]


def test_what_a_finding_compares_is_launched_next_to_each_other() -> None:
    divided = finding("scaled", 0, 1, where={"size": 2}, normalise=Normalise(to={"size": 1}, within=("side",)))
    for one, sizes in ((FASTER, {2}), (divided, {4})):
        experiment = asked(one)
        records = play(experiment, truth, Decided(experiment), 0.05)
        groups = together(records, experiment)
        assert {len(group) for group in groups} == sizes
        for block in {r.block for r in records if r.block > 0}:
            order = [r.configuration for r in records if r.block == block]
            for group in groups:
                places = sorted(order.index(c) for c in group)
                assert places[-1] - places[0] == len(group) - 1


def test_the_order_of_pairs_and_within_them_is_drawn() -> None:
    every = configurations(asked())
    pairs = [every[:2], every[2:4], every[1:3]]
    orders = {tuple(shuffled(every, seed, pairs)) for seed in range(400)}
    assert all(set(order) == set(every) for order in orders) and len(orders) > 100
    first = [order.index(every[0]) < order.index(every[1]) for order in orders]
    assert 0.35 < sum(first) / len(first) < 0.65
    for order in orders:
        next_to = {frozenset(pair) for pair in itertools.pairwise(order)}
        assert sum(frozenset(pair) in next_to for pair in pairs) >= 1


def test_power_says_which_blocks_show_the_margin() -> None:
    experiment = asked(FASTER, CLOSE)
    quiet, loud = (
        foresee(play(asked(FASTER, CLOSE, most=4), truth, Decided(asked(FASTER, CLOSE, most=4)), noise), experiment)
        for noise in (0.01, 0.5)
    )
    assert [one.blocks in (12, 18) for one in quiet] == [True, True] and [one.blocks for one in loud] == [None, None]
    assert quiet[0].seconds == pytest.approx(quiet[0].blocks * 2 * (2 + 1), rel=0.05)  # type: ignore[operator]
    said = list(statements.powers(quiet))
    assert said[0].startswith("faster: scatter ") and said[-1].startswith("2 of 2 answers can be ")
    assert next(statements.powers(loud)).endswith(", not the margin of 5%")


def test_a_scatter_of_0_is_known_and_the_fewest_blocks_show_the_margin() -> None:
    experiment = asked(FASTER)
    exact = foresee(play(asked(FASTER, most=4), truth, Decided(asked(FASTER, most=4)), 0), experiment)
    fewest = useful(experiment.stop.looks, 0.95)[0]
    assert [(one.scatter, one.blocks, one.shown) for one in exact] == [(0.0, fewest, 0.0)]
    assert list(statements.powers(exact))[-1].startswith("1 of 1 answer can be shown")
