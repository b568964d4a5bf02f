# SPDX-License-Identifier: Apache-2.0
"""Findings about L3 domains and blocks on machines that are not here, whose truth is known: each can hold and fail."""

import dataclasses
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
from corescale.records import Configuration
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


def claims(line: float) -> Truth:
    """A claim costs `line` for each group beyond the first, in iterations of 50; policies choose 32."""
    return lambda c, block: 1e-6 * (50 + (10 + line * (int(c["l3_domains"]) - 1)) / (block or 32))


@pytest.mark.parametrize("name", ["two_groups_want_larger_blocks", "four_groups_want_larger_blocks"])
def test_dear_lines_between_groups_want_larger_blocks(name: str) -> None:
    here = machine(groups=4, cores=4)
    assert verdicts(here, claims(40), name) == {"holds"}
    assert verdicts(here, claims(-3), name) == {"does not hold"}, "groups that make claims cheaper"
    assert "holds" not in verdicts(here, claims(0), name), "groups that make no difference"


def test_a_machine_of_one_group_answers_nothing() -> None:
    assert verdicts(machine(groups=1, cores=4), claims(40), "two_groups_want_larger_blocks") == {"not on this machine"}
    assert verdicts(machine(groups=2, cores=4), claims(40), "four_groups_want_larger_blocks") == {"not on this machine"}


@pytest.mark.parametrize(
    ("groups", "cores", "smt", "levels"), [(8, 4, 2, [4, 2, 1]), (2, 24, 1, [2, 1]), (1, 8, 2, [1])]
)
def test_as_many_threads_lie_on_one_group_as_on_several(groups: int, cores: int, smt: int, levels: list[int]) -> None:
    here = machine(groups, cores, smt)
    made = declared(here)
    factor = made.factor("l3_domains")
    assert factor is not None and list(factor.levels) == levels
    for chosen in configurations(made):
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


@pytest.mark.parametrize(("cases", "verdict"), [(("c_1", "c_2", "c_3"), "holds"), (("c_1", "c_2"), "does not hold")])
def test_several_cases_are_answered_once(cases: tuple[str, ...], verdict: str) -> None:
    (answer,) = taskflow("fifth_of_taskflow", lambda c: 6 if c["case"] in cases else 1.1)
    assert answer.verdict == verdict
    assert "where > 5 is claimed of 3 levels" in statements.answer(answer)
    (unsure,) = taskflow("fifth_of_taskflow", lambda c: 6 if c["case"] in cases else 5, blocks=6)
    assert unsure.verdict == "open", "at six blocks the confidence cannot be shared among 16 cases"


def test_a_general_gain_needs_no_gain_in_each_case() -> None:
    def truth(c: Configuration) -> float:
        return 0.9 if c["case"] in ("write_16384", "write_65536") else 1.5

    assert [one.verdict for one in taskflow("formula_beats_taskflow_in_general", truth)] == ["holds"]
    assert [one.verdict for one in taskflow("formula_beats_taskflow", truth)] == ["does not hold"]
    assert [one.verdict for one in taskflow("slower_by_little", truth)] == ["does not hold"]
    assert [one.verdict for one in taskflow("slower_by_little", lambda c: 1)] == ["holds"]


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


def best_blocks(best: Callable[[int], float], cores: int, blocks: int = 12) -> set[str]:
    """What is said of a machine on which a loop of 4096 takes least at that block, by its threads."""
    made, draw = declared(machine(groups=1, cores=cores), "block_size"), random.Random(1)

    def metrics(c: Configuration) -> dict[str, float]:
        found = dict.fromkeys(made.metrics, 1e-3)
        for name in made.metrics:
            block = name.removeprefix("least_")
            if block.isdigit() and name.startswith("least_"):
                off = int(block) / best(c.layout.p)
                found[name] = 1e-3 * (off + 1 / off) * draw.uniform(0.99, 1.01)
        return found

    records = [record(c, 1.0, block=k, metrics=metrics(c)) for k in range(blocks) for c in configurations(made)]
    named = "more_threads_want_smaller_blocks"
    finding = next(one for one in made.study.outputs if isinstance(one, Finding) and one.name == named)
    return {one.verdict for one in answers(frame(records, made), made, finding)}


def test_more_threads_want_smaller_blocks_of_one_n() -> None:
    assert best_blocks(lambda threads: 512 / threads, 8) == {"holds"}
    assert best_blocks(lambda threads: 16, 8) == {"does not hold"}
    assert best_blocks(lambda threads: 8 * threads, 8) == {"does not hold"}
    assert best_blocks(lambda threads: 4096 / threads, 8) == {"holds"}, (
        "a share: beyond the largest block on two threads"
    )
    assert best_blocks(lambda threads: 512 / threads, 2) == {"not on this machine"}, "two threads are all there are"


def test_single_iterations_are_compared_with_blocks_of_which_each_thread_has_several() -> None:
    """Where 16 is a share of N, its time tells nothing of claims."""

    def truth(c: Configuration, block: int) -> float:
        return 1e-3 * (2 if block == 16 and c["case"] in ("real_2_18", "real_2_20") else 1.1 if block == 1 else 1)

    name = "single_iterations_cost"
    assert verdicts(machine(1, 2), truth, name, "block_size", 12) == {"holds"}
    assert verdicts(machine(1, 2), lambda c, block: 0.9e-3 if block == 1 else 1e-3, name, "block_size", 12) == {
        "does not hold"
    }


def test_the_printed_computation_is_asked_at_its_own_levels() -> None:
    """On a machine whose compiler keeps the loop, and on those where it costs nothing or the opposite."""

    def loses(more: float) -> Truth:
        return lambda c, block: 1e-3 * (more if block == 128 and c["case"] == "c_6" else 1)

    name = "more_printed_computation_wants_smaller_blocks"
    said = [verdicts(machine(1, 2), loses(more), name, "block_size", 12) for more in (1.2, 1, 0.8)]
    assert said == [{"holds"}, {"equal"}, {"does not hold"}]


@pytest.mark.parametrize(("slower", "verdict"), [(1.5, "holds"), (1.1, "does not hold")])
def test_the_simulated_formula_is_compared_with_taskflows_policy(slower: float, verdict: str) -> None:
    made = declared(machine(1, 2), "block_size_simulated")

    def time(c: Configuration) -> float:
        return 1e-4 * (slower if c["policy"] == "taskflow_guided" else 1)

    records = [
        record(c, time(c), block=k, metrics={"seconds": time(c)}) for k in range(8) for c in configurations(made)
    ]
    named = "formula_beats_taskflows_policy"
    finding = next(one for one in made.study.outputs if isinstance(one, Finding) and one.name == named)
    found = answers(frame(records, made), made, finding)
    assert {one.at["case"]: one.verdict for one in found} == dict.fromkeys(("w3225", "gold5220_24", "tr3970x"), verdict)


def test_several_and_general_are_two_claims() -> None:
    with pytest.raises(ValueError, match="give one of them"):
        Finding(name="x", statement="y", a={"threads": 1}, claim="> 1", several=2, general=True)
