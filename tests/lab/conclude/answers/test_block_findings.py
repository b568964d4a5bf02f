# SPDX-License-Identifier: Apache-2.0
"""Findings about L3 domains and blocks on machines that are not here, whose truth is known: each can hold and fail."""

import dataclasses
import functools
import random
from collections.abc import Callable

import pytest

from corescale.conclude.answers.findings import Answer, answers
from corescale.conclude.frame import frame
from corescale.declare import studies, study_file
from corescale.declare.experiment import Experiment
from corescale.declare.factors import KINDS
from corescale.declare.grid import configurations, launch
from corescale.declare.outputs import Finding
from corescale.machine import Machine
from corescale.records import Configuration, Level
from corescale.show import statements
from corescale.topology import Cpu
from support.play import record

Truth = Callable[[Configuration, int], float]
"""seconds of a loop at a block; 0 is a policy"""


def machine(groups: int, cores: int, smt: int = 1) -> Machine:
    """Processors numbered as Linux does it: first one of each core, then the others."""
    every = groups * cores
    cpus = tuple(Cpu(k, k % every, 0, 0, k % every // cores) for k in range(every * smt))
    return dataclasses.replace(Machine.here(), cpus=cpus, affinity=tuple(range(len(cpus))), quota_cores=None)


@functools.cache
def declared(here: Machine, study: str = "block_size_groups") -> Experiment:
    return study_file.experiment(studies.find(study), here)


def verdicts(here: Machine, truth: Truth, name: str, study: str = "block_size_groups", blocks: int = 6) -> set[str]:
    made, draw = declared(here, study), random.Random(1)

    def metrics(c: Configuration) -> dict[str, float]:
        names = [one for one in made.metrics if one.startswith("least_")]
        blocks = {one: one.removeprefix("least_") for one in names}
        return {
            one: truth(c, int(block) if block.isdigit() else 0) * draw.uniform(0.995, 1.005)
            for one, block in blocks.items()
        }

    records = [record(c, 1.0, block=block, metrics=metrics(c)) for block in range(blocks) for c in configurations(made)]
    finding = next(one for one in made.study.outputs if isinstance(one, Finding) and one.name == name)
    return {answer.verdict for answer in answers(frame(records, made), made, finding)}


def chosen(best: Callable[[Configuration], float]) -> Truth:
    """A loop takes least at that block; policies choose 16."""

    def truth(c: Configuration, block: int) -> float:
        off = (block or 16) / best(c)
        return 1e-3 * (off + 1 / off)

    return truth


def groups_of(c: Configuration) -> int:
    return int(c["l3_domains"])


@pytest.mark.parametrize("name", ["two_groups_want_larger_blocks", "four_groups_want_larger_blocks"])
def test_more_groups_want_larger_blocks(name: str) -> None:
    here = machine(groups=4, cores=4)
    assert verdicts(here, chosen(lambda c: 8 * groups_of(c)), name) == {"holds"}
    assert verdicts(here, chosen(lambda c: 64 / groups_of(c)), name) == {"does not hold"}
    assert verdicts(here, chosen(lambda c: 16), name) == {"does not hold"}, "groups that make no difference"
    dear = verdicts(here, lambda c, block: 1e-3 * (1 + 30 * groups_of(c) / (block or 16)), name)
    assert dear == {"does not hold"}, "claims are dearer, and yet the largest block is the best on one group too"


def test_a_machine_of_one_group_answers_nothing() -> None:
    larger = chosen(lambda c: 8 * groups_of(c))
    assert verdicts(machine(groups=1, cores=4), larger, "two_groups_want_larger_blocks") == {"not on this machine"}
    assert verdicts(machine(groups=2, cores=4), larger, "four_groups_want_larger_blocks") == {"not on this machine"}


@pytest.mark.parametrize(
    ("groups", "cores", "smt", "levels"), [(8, 4, 2, [4, 2, 1]), (2, 24, 1, [2, 1]), (1, 8, 2, [1])]
)
def test_as_many_threads_lie_on_one_group_as_on_several(groups: int, cores: int, smt: int, levels: list[int]) -> None:
    here = machine(groups, cores, smt)
    made = declared(here)
    factor = made.factor("l3_domains")
    assert factor is not None and list(factor.levels) == levels
    assert {c.layout.p for c in configurations(made) if c["l3_domains"] != 1} <= {cores * smt}
    for chosen in (c for c in configurations(made) if c.layout.p == cores * smt):
        cpus = launch(made, chosen, here).affinity or ()
        assert len(cpus) == chosen.layout.p == cores * smt
        assert len({here.cpus[cpu].l3_domain for cpu in cpus}) == chosen["l3_domains"]


def test_what_cannot_be_is_said() -> None:
    here = machine(groups=4, cores=6)
    assert KINDS["l3_domains"].unavailable(8, here) == "l3_domains=8: this machine has 4"
    assert KINDS["l3_domains"].unavailable(4, here) == "l3_domains=4: 6 cores are not divided by it"
    assert KINDS["l3_domains"].unavailable(3, here) is None


def taskflow(
    name: str, truth: Callable[[Configuration], float], blocks: int = 10, cores: int = 8
) -> tuple[Answer, ...]:
    """What the comparison's study says of a finding, where Taskflow takes so many times as long as everybody else."""
    made, draw = declared(machine(groups=1, cores=cores), "block_size_taskflow"), random.Random(1)
    records = []
    for block in range(blocks):
        for c in configurations(made):
            time = 1e-3 * (truth(c) if c["who"] == "taskflow" else 1) * draw.uniform(0.995, 1.005)
            metrics = {"least_seconds": time, "seconds": 1.1 * time, "ticks_per_second": 1e9, "at_once": 10.0}
            records.append(record(c, 1.0, block=block, metrics=metrics))
    finding = next(one for one in made.study.outputs if isinstance(one, Finding) and one.name == name)
    return answers(frame(records, made), made, finding)


@pytest.mark.parametrize(("cases", "verdict"), [(("c_1", "c_2"), "holds"), (("c_1",), "does not hold")])
def test_several_cases_are_answered_once(cases: tuple[str, ...], verdict: str) -> None:
    (answer,) = taskflow("fifth_of_taskflow", lambda c: 6 if c["case"] in cases else 1.1)
    assert answer.verdict == verdict
    assert "where > 5 is claimed of 2 levels" in statements.answer(answer)
    (unsure,) = taskflow("fifth_of_taskflow", lambda c: 6 if c["case"] in cases else 5, blocks=6)
    assert unsure.verdict == "open", "at six blocks the confidence cannot be shared among 16 cases"


def test_a_general_gain_needs_no_gain_in_each_case() -> None:
    def truth(c: Configuration) -> float:
        return 0.9 if c["case"] in ("write_16384", "write_65536") else 1.5

    assert [one.verdict for one in taskflow("formula_beats_taskflow_in_general", truth)] == ["holds"]
    assert [one.verdict for one in taskflow("slower_by_little", truth)] == ["holds"], "a lag of 11%"
    assert [one.verdict for one in taskflow("slower_by_little", lambda c: 0.7)] == ["does not hold"]


def test_a_comparison_of_eight_threads_is_not_answered_with_two() -> None:
    for name in ("formula_beats_taskflow_in_general", "fifth_of_taskflow", "slower_by_little", "blocks_alone"):
        assert [one.verdict for one in taskflow(name, lambda c: 6, cores=2)] == ["not on this machine"]
    two = verdicts(machine(1, 2), lambda c, block: 1e-3, "formula_beats_taskflows_policy", "block_size")
    assert two == {"not on this machine"}


def test_waking_is_told_by_the_calls_behind_a_pause() -> None:
    def asleep(c: Configuration) -> float:
        return 1.4 if c["pause"] else 1

    assert [one.verdict for one in taskflow("waking_taskflow", asleep)] == ["holds"]
    assert [one.verdict for one in taskflow("waking_its_policy", asleep)] == ["equal"]
    assert [one.verdict for one in taskflow("formula_beats_taskflow_behind_a_pause", asleep)] == ["holds"]
    assert [one.verdict for one in taskflow("formula_beats_taskflow_in_general", asleep)] == ["does not hold"]


@pytest.mark.parametrize(("lost", "verdict"), [(1.0, "holds"), (1.15, "does not hold")])
def test_the_speedup_of_a_loop_is_asked_to_be_its_threads(lost: float, verdict: str) -> None:
    """`share` iterations for each thread: all threads take as long as one."""
    made, draw = declared(machine(groups=1, cores=8), "block_size"), random.Random(1)

    def metrics(c: Configuration) -> dict[str, float]:
        took = 1e-3 * (lost if c.layout.p > 1 else 1) * draw.uniform(0.995, 1.005)
        return dict.fromkeys(made.metrics, took)

    records = [record(c, 1.0, block=k, metrics=metrics(c)) for k in range(10) for c in configurations(made)]
    named = "speedup_is_the_number_of_threads"
    finding = next(one for one in made.study.outputs if isinstance(one, Finding) and one.name == named)
    found = answers(frame(records, made), made, finding)
    assert len(found) == 9 and {one.verdict for one in found} == {verdict}


def test_more_threads_of_a_group_want_smaller_blocks() -> None:
    def said(best: Callable[[int], float], cores: int = 8, groups: int = 1) -> set[str]:
        truth = chosen(lambda c: best(c.layout.p))
        return verdicts(machine(groups, cores), truth, "more_threads_want_smaller_blocks", blocks=12)

    assert said(lambda threads: 512 / threads) == {"holds"}
    assert said(lambda threads: 512 / threads, groups=4) == {"holds"}, "the other groups are left alone"
    assert said(lambda threads: 4096 / threads) == {"holds"}, "a share: beyond the largest block on two threads"
    assert said(lambda threads: 16) == {"does not hold"}
    assert said(lambda threads: 8 * threads) == {"does not hold"}
    assert said(lambda threads: 512 / threads, cores=2) == {"not on this machine"}, "two threads are all there are"


TRENDS = {
    "more_read_wants_smaller_blocks": "read_4096",
    "more_written_wants_smaller_blocks": "write_4096",
    "more_computation_wants_smaller_blocks": "real_2_14",
}


@pytest.mark.parametrize("name", TRENDS)
@pytest.mark.parametrize(("best", "verdict"), [(8, "holds"), (64, "does not hold"), (128, "does not hold")])
def test_larger_bodies_are_said_to_have_smaller_best_blocks(name: str, best: int, verdict: str) -> None:
    truth = chosen(lambda c: best if c["case"] == TRENDS[name] else 64)
    assert verdicts(machine(1, 8), truth, name, "block_size", 12) == {verdict}


@pytest.mark.parametrize("name", TRENDS)
def test_a_share_that_is_best_for_all_bodies_is_no_trend(name: str) -> None:
    """Even cores: small bodies lose more by small blocks, and no body wants a smaller one."""

    def even(c: Configuration, block: int) -> float:
        return 1e-3 * ((1 if c["case"] == TRENDS[name] else 0.2) + 30 / (block or 16) + (block == 1024))

    assert verdicts(machine(1, 8), even, name, "block_size", 12) == {"does not hold"}


def test_single_iterations_are_compared_with_blocks_of_which_each_thread_has_several() -> None:
    """Where 16 is a share of N, its time tells nothing of claims."""

    def truth(c: Configuration, block: int) -> float:
        return 1e-3 * (2 if block == 16 and c["case"] in ("real_2_18", "real_2_20") else 1.1 if block == 1 else 1)

    for name in ("single_iterations_cost", "single_iterations_cost_elsewhere"):
        assert verdicts(machine(1, 2), truth, name, "block_size", 12) == {"holds"}
        faster = verdicts(machine(1, 2), lambda c, block: 0.9e-3 if block == 1 else 1e-3, name, "block_size", 12)
        assert faster == {"does not hold"}


def simulated(name: str, metrics: Callable[[Configuration], dict[str, float]]) -> set[tuple[Level, ...]]:
    """What the simulated study says, by the level of `each`."""
    made = declared(machine(1, 2), "block_size_simulated")
    records = [record(c, 1.0, block=k, metrics=metrics(c)) for k in range(2) for c in configurations(made)]
    finding = next(one for one in made.study.outputs if isinstance(one, Finding) and one.name == name)
    return {(*one.at.values(), one.verdict) for one in answers(frame(records, made), made, finding)}


@pytest.mark.parametrize(("slower", "verdict"), [(1.5, "holds"), (1.1, "does not hold")])
def test_the_simulated_formula_is_compared_with_taskflows_policy(slower: float, verdict: str) -> None:
    def metrics(c: Configuration) -> dict[str, float]:
        return {"seconds": 1e-4 * (slower if c["policy"] == "taskflow_guided" else 1)}

    machines = ("w3225", "gold5220_24")
    assert simulated("formula_beats_taskflows_policy", metrics) == {(one, verdict) for one in machines}


SIMULATED = {
    "more_l3_domains_want_larger_blocks": ("groups_4", 32),
    "scattered_threads_want_larger_blocks": ("scattered_4", 32),
    "more_threads_want_smaller_blocks": ("threads_8", 8),
    "more_work_wants_smaller_blocks": ("body_2800", 8),
    "faster_clocks_want_larger_blocks": ("clock_double", 32),
    "longer_latencies_want_larger_blocks": ("latency_double", 32),
    "slower_caches_want_smaller_blocks": ("cache_double", 8),
}


@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_best_blocks_are_compared_for_each_unevenness(name: str) -> None:
    """In all loops on even cores, in every other one at 10%, in one at 20%. Repeated launches prove nothing."""
    case, best = SIMULATED[name]

    def metrics(c: Configuration) -> dict[str, float]:
        step = {"0": 1, "0.1": 2, "0.2": 40}.get(f"{c['uneven']:g}", 0)
        planted = c["case"] == case and step > 0 and (int(c["seed"]) - 1) % step == 0
        return {"at_once": float(best if planted else 16), "seconds": 1e-4}

    expected = {(0, "holds"), (0.1, "open"), (0.2, "does not hold"), (0.3, "does not hold")}
    assert simulated(name, metrics) == expected


def test_several_and_general_are_two_claims() -> None:
    with pytest.raises(ValueError, match="give one of them"):
        Finding(name="x", statement="y", a={"threads": 1}, claim="> 1", several=2, general=True)
