# SPDX-License-Identifier: Apache-2.0
"""Findings of studies/ant_colony.toml on machines that are not here, whose truth is known: each can hold and fail."""

import dataclasses
import random
from collections.abc import Callable

import pytest

from corescale.conclude.answers.findings import Answer, answers
from corescale.conclude.frame import frame
from corescale.declare import studies, study_file
from corescale.declare.catalogue import allocators
from corescale.declare.grid import configurations
from corescale.declare.outputs import Finding
from corescale.machine import Machine
from corescale.records import Configuration
from corescale.topology import Cpu
from support.play import record

Truth = Callable[[Configuration, int], float]
"""seconds of a configuration that has so many processors"""


FEWER = ("look=key", "GLIBC_TUNABLES=unset", "MALLOC_ARENA_MAX=unset", "heap=plain")


def machine(sockets: int, cores: int, smt: int) -> Machine:
    """Processors numbered as Linux does it: first one of each core, then the others."""
    every = sockets * cores
    cpus = tuple(Cpu(k, k % every, k % every // cores, 0, k % every // cores) for k in range(every * smt))
    return dataclasses.replace(Machine.here(), cpus=cpus, affinity=tuple(range(len(cpus))), quota_cores=None)


def said(here: Machine, truth: Truth, name: str, serial: Truth = lambda c, p: 0.05) -> list[Answer]:
    made = study_file.experiment(studies.find("ant_colony"), here, FEWER)
    draw, most = random.Random(1), here.default_max_threads
    records = [
        record(c, 1.0, block=block, oversubscribed=c.layout.p > most, metrics={
            "seconds": truth(c, most) * draw.uniform(0.995, 1.005), "serial_share": serial(c, most), "cost": 1.0})
        for block in range(6) for c in configurations(made)
    ]  # fmt: skip
    finding = next(one for one in made.outputs if isinstance(one, Finding) and one.name == name)
    return list(answers(frame(records, made), made, finding))


def verdicts(here: Machine, truth: Truth, name: str, serial: Truth = lambda c, p: 0.05) -> set[str]:
    return {answer.verdict for answer in said(here, truth, name, serial)}


def mixes(factor: float) -> Truth:
    """Perfect on processors; a mix of ranks and threads takes `factor` of the time of as many ranks or threads."""
    return lambda c, p: (
        100 / min(c.layout.p, p) * (factor if min(c.layout.ranks_per_node, c.layout.threads_per_rank) > 1 else 1)
    )


@pytest.mark.parametrize("cores", [4, 8, 16])
@pytest.mark.parametrize("name", ["mix_beats_all_ranks", "mix_beats_all_threads"])
def test_a_mix_is_compared_with_what_fills_the_machine_too(cores: int, name: str) -> None:
    assert verdicts(machine(1, cores, 1), mixes(0.9), name) == {"holds"}
    assert verdicts(machine(1, cores, 1), mixes(1.1), name) == {"does not hold"}


def test_two_cores_have_no_mix() -> None:
    assert verdicts(machine(1, 2, 1), mixes(0.9), "mix_beats_all_ranks") == {"not measured"}


def speed(c: Configuration, cores_per_socket: int = 4, smt: int = 2) -> float:
    """Cores, of which the second hardware thread adds a quarter of the first."""
    cores = cores_per_socket * int(c["sockets"])
    p = min(c.layout.p, cores * (smt if c["smt"] == "on" else 1))
    return p if p <= cores else cores * (1 + 0.25 * (p - cores) / cores)


def test_what_smt_cannot_give_is_not_taken_for_the_baselines_fault() -> None:
    here = machine(2, 4, 2)
    assert verdicts(here, lambda c, p: 100 / speed(c), "baseline_stops_scaling") == {"does not hold"}
    stuck: Truth = lambda c, p: 100 / (min(speed(c), 4) if c["build"] == "openmp" else speed(c))  # noqa: E731
    assert verdicts(here, stuck, "baseline_stops_scaling") == {"holds"}
    assert verdicts(here, lambda c, p: 100 / speed(c), "both_hardware_threads_help") == {"holds"}
    assert verdicts(machine(1, 4, 1), stuck, "both_hardware_threads_help") == {"not measured"}


def test_sockets_are_compared_where_there_are_four() -> None:
    here = machine(4, 4, 1)
    stuck: Truth = lambda c, p: 100 / min(speed(c, smt=1), 8 if c["build"] == "openmp" else 99)  # noqa: E731
    assert verdicts(here, stuck, "no_gain_beyond_two_sockets") == {"holds"}
    assert verdicts(here, stuck, "hybrid_scales_over_sockets") == {"holds"}
    assert verdicts(here, lambda c, p: 100 / speed(c, smt=1), "no_gain_beyond_two_sockets") == {"does not hold"}
    assert verdicts(machine(2, 4, 1), stuck, "no_gain_beyond_two_sockets") == {"not measured"}


def test_a_slower_program_does_not_lower_its_serial_time() -> None:
    slower: Truth = lambda c, p: 100 / min(c.layout.p, p) * (1.3 if c["build"] == "hybrid" else 1)  # noqa: E731

    def share(less: float) -> Truth:
        return lambda c, p: 0.05 / (less if c["build"] == "hybrid" else 1)

    for less, verdict in ((1.2, "does not hold"), (1.6, "holds")):
        assert verdicts(machine(1, 8, 1), slower, "hybrid_lowers_serial_time", share(less)) == {verdict}


@pytest.mark.skipif(allocators.find("tbbmalloc") is None, reason="oneTBB's allocator is not installed")
def test_all_optimisations_are_ranks_of_few_threads_with_the_allocator() -> None:
    def best(c: Configuration, p: int) -> float:
        gain = 1.0 if c["build"] == "openmp" else 3.3 if c["allocator"] == "system" else 5.3
        return 100 / min(c.layout.p, p) / gain

    assert verdicts(machine(1, 16, 1), best, "overall_5_times") == {"holds"}
    assert verdicts(machine(1, 16, 1), mixes(0.9), "overall_5_times") == {"does not hold"}
