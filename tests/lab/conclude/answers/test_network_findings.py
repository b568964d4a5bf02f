# SPDX-License-Identifier: Apache-2.0
"""Findings of studies/ant_colony.toml on machines that are not here, whose truth is known: each can hold and fail."""

import dataclasses
import functools
import math
import random
from collections.abc import Callable, Mapping, Sequence

import pytest

from corescale.conclude.answers.findings import Answer, answers
from corescale.conclude.frame import frame
from corescale.declare import studies, study_file
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.outputs import Finding
from corescale.machine import Machine
from corescale.records import Configuration
from corescale.topology import Cpu
from support.play import record

pytestmark = pytest.mark.usefixtures("every_allocator")

Truth = Callable[[Configuration, int], float]
"""seconds of a configuration that has so many processors"""

NO_CACHE, TBB = "glibc.malloc.tcache_count=0", "tbbmalloc"
CASE = ("look=measures", f"GLIBC_TUNABLES={NO_CACHE}", "MALLOC_ARENA_MAX=unset", "heap=plain", "iterations=48")
"""levels of the source's case; the pools of malloc and OpenMP's way to wait vary in some findings"""
POOLS = ("look=measures", f"GLIBC_TUNABLES={NO_CACHE}", "heap=plain", "OMP_WAIT_POLICY=unset", "iterations=48")
OURS = ("look=key", "GLIBC_TUNABLES=unset", "MALLOC_ARENA_MAX=unset", "heap=plain")
HEAPS, LINKED = OURS[:3], ("look=key", "MALLOC_ARENA_MAX=unset", "heap=plain")


def machine(sockets: int, cores: int, smt: int) -> Machine:
    """Processors numbered as Linux does it: first one of each core, then the others."""
    every = sockets * cores
    cpus = tuple(Cpu(k, k % every, k % every // cores, 0, k % every // cores) for k in range(every * smt))
    return dataclasses.replace(Machine.here(), cpus=cpus, affinity=tuple(range(len(cpus))), quota_cores=None)


@functools.cache
def asked(here: Machine, levels: tuple[str, ...]) -> Experiment:
    return study_file.experiment(studies.find("ant_colony"), here, levels)


def said(
    here: Machine,
    truth: Truth,
    name: str,
    levels: Sequence[str] = CASE,
    noise: float = 0.005,
    seed: int = 1,
    busy: Truth = lambda c, p: 1.0,
    **also: Truth,
) -> list[Answer]:
    """What a finding says; `busy`: processors of a launch; `also`: other metrics than the seconds."""
    made, most = asked(here, tuple(levels)), here.default_max_threads
    others: dict[str, Truth] = {"serial_share": lambda c, p: 0.05, "imbalance": lambda c, p: 0.01}
    others |= {"malloc_share": lambda c, p: 0.2} | also

    def metrics(c: Configuration, block: int) -> Mapping[str, float]:
        draw = random.Random(f"{seed} {block} {c}")
        given = {metric: of(c, most) * draw.uniform(1 - noise, 1 + noise) for metric, of in others.items()}
        return given | {"seconds": truth(c, most) * draw.uniform(1 - noise, 1 + noise), "cost": 1.0}

    records = [
        record(c, 1.0, user=busy(c, most), block=block, oversubscribed=c.layout.p > most, metrics=metrics(c, block))
        for block in range(6) for c in configurations(made)
    ]  # fmt: skip
    finding = next(one for one in made.study.outputs if isinstance(one, Finding) and one.name == name)
    return list(answers(frame(records, made), made, finding))


def verdicts(here: Machine, truth: Truth, name: str, levels: Sequence[str] = CASE, **also: Truth) -> set[str]:
    return {answer.verdict for answer in said(here, truth, name, levels, 0.005, 1, **also)}


MANY, FEW = machine(1, 48, 1), machine(1, 8, 1)


def perfect(c: Configuration, p: int) -> float:
    return 100 / min(c.layout.p, p)


def but(factor: float, truth: Truth = perfect, **at: object) -> Truth:
    """The truth, and `factor` times as long at these levels."""
    return lambda c, p: truth(c, p) * (factor if all(c[name] == level for name, level in at.items()) else 1)


def where(one: float, other: float, **at: object) -> Truth:
    """A metric that has one value at these levels and another elsewhere."""
    return but(one / other, lambda c, p: other, **at)


HOLDS_AND_FAILS: dict[str, tuple[Truth, Truth, Sequence[str]]] = {
    "near_theoretical_scaling": (perfect, but(1.3, build="hybrid"), CASE),
    "hybrid_beats_baseline": (but(0.5, build="hybrid"), but(0.8, build="hybrid"), CASE),
    "hybrid_beats_baseline_with_one_pool": (
        but(2, build="openmp", MALLOC_ARENA_MAX="1"), but(1.1, build="openmp", MALLOC_ARENA_MAX="1"), POOLS),
    "allocator_adds": (but(0.9, allocator=TBB), but(1.1, allocator=TBB), CASE),
    "allocator_adds_6_percent": (but(1 / 1.06, allocator=TBB), but(1 / 1.2, allocator=TBB), CASE),
    "shared_pool_is_slow": (but(1.5, MALLOC_ARENA_MAX="1"), but(1.1, MALLOC_ARENA_MAX="1"), POOLS),
    "sleeping_is_faster": (but(1.2, OMP_WAIT_POLICY="active"), but(0.9, OMP_WAIT_POLICY="active"), CASE),
    "baseline_stops_scaling": (but(1.5, build="openmp", threads=8), perfect, OURS),
    "corescale_allocator_helps": (but(0.9, allocator="corescale"), but(1.1, allocator="corescale"), CASE),
    "linked_as_preloaded": (but(0.9, but(0.9, allocator=TBB), command="linked"), but(0.9, allocator=TBB), LINKED),
    "scalable_allocator_helps": (but(0.9, heap="scalable"), but(1.1, heap="scalable"), HEAPS),
    "cache_aligned_allocator_helps": (but(0.9, heap="cache-aligned"), but(1.6, heap="cache-aligned"), HEAPS),
    "ours_is_5_times_the_baseline": (but(1 / 6, build="corescale"), but(1 / 4, build="corescale"), OURS),
    "ours_scales": (perfect, but(1.2, build="corescale", threads=2), OURS),
}  # fmt: skip
"""a truth at which a finding holds, one at which it does not, and what is left out of the grid"""


@pytest.mark.parametrize("name", HOLDS_AND_FAILS)
def test_a_finding_holds_where_it_is_true_and_fails_where_it_is_not(name: str) -> None:
    true, false, levels = HOLDS_AND_FAILS[name]
    here = MANY if "look=measures" in levels else FEW
    assert verdicts(here, true, name, levels) == {"holds"}
    assert verdicts(here, false, name, levels) == {"does not hold"}


CLAIMED = [
    one.name
    for one in study_file.experiment(studies.find("ant_colony"), FEW).study.outputs
    if isinstance(one, Finding) and not one.statement.startswith("Ours: ") and one.name != "linked_as_preloaded"
]


@pytest.mark.parametrize("name", CLAIMED)
def test_no_claim_about_many_cores_is_answered_on_few(name: str) -> None:
    """On 32 processors of 4 sockets each finding has what it compares."""
    here = machine(4, 4, 2)
    even = ("look=measures", f"GLIBC_TUNABLES={NO_CACHE}", "heap=plain", "iterations=96")
    assert {answer.why for answer in said(here, perfect, name, even)} <= {
        f"the claim needs p >= {least}, and {most} is the most here that is not oversubscribed"
        for least in (48, 96)
        for most in (8, 16, 32)
    }


def test_cores_at_work_are_those_of_the_search_and_starting_twice_is_no_work() -> None:
    def says(name: str, **imbalance: float) -> set[str]:
        made = where(imbalance["hybrid"], imbalance["openmp"], build="hybrid")
        alone_or = but(1, lambda c, p: made(c, p) if c.layout.p > 1 else 0)
        return verdicts(MANY, perfect, name, imbalance=alone_or)

    assert says("hybrid_uses_more_cores", hybrid=0.02, openmp=0.3) == {"holds"}
    assert says("hybrid_uses_more_cores", hybrid=0.3, openmp=0.02) == {"does not hold"}
    assert says("hybrid_uses_the_cores", hybrid=0.02, openmp=0.3) == {"holds"}
    assert says("hybrid_uses_the_cores", hybrid=0.3, openmp=0.4) == {"does not hold"}


def test_cores_that_idle_are_no_cores_at_work_though_one_thread_has_as_large_a_serial_part() -> None:
    for serial, verdict in ((0.02, "holds"), (0.5, "does not hold")):
        share = where(serial, serial)
        assert verdicts(MANY, perfect, "hybrid_uses_the_cores", serial_share=share) == {verdict}


def test_the_share_within_malloc_is_compared_in_profiles() -> None:
    for hybrid, verdict in ((0.1, "holds"), (0.4, "does not hold")):
        share = where(hybrid, 0.2, build="hybrid")
        assert verdicts(MANY, perfect, "less_time_in_malloc", POOLS, malloc_share=share) == {verdict}


def test_the_source_s_case_is_asked_if_malloc_is_the_largest_part_of_it() -> None:
    case = {"look": "measures", "MALLOC_ARENA_MAX": "1"}
    for there, elsewhere, verdict in ((0.3, 0.1, "holds"), (0.15, 0.8, "does not hold")):
        share = where(there, elsewhere, **case)
        assert verdicts(MANY, perfect, "malloc_is_the_largest_part", POOLS, malloc_share=share) == {verdict}


@pytest.mark.parametrize(("more", "verdict"), [(1.15, "holds"), (1.0, "does not hold")])
def test_what_is_spun_is_seen_in_processors_that_are_busy(more: float, verdict: str) -> None:
    spun = but(more, but(2.0, OMP_WAIT_POLICY="active", build="openmp"), OMP_WAIT_POLICY="active", build="hybrid")
    found = said(MANY, perfect, "spinning_keeps_processors_busy", busy=spun)
    assert [answer.verdict for answer in found] == [verdict], "the baseline's threads are not asked"
    (alone,) = said(machine(1, 2, 1), perfect, "sleeping_is_faster")
    assert alone.at == {"build": "openmp"}, "two cores have no mix, and ranks of one thread wait for no other"


def split(c: Configuration, p: int) -> float:
    """Nothing costs time but that no thread takes a part of an iteration; ours has those of all months in one pool."""
    del p
    each, ranks, threads = int(c["iterations"]), c.layout.ranks_per_node, c.layout.threads_per_rank
    if c["build"] == "corescale":
        return math.ceil(12 * each / c.layout.p)
    return 12 * math.ceil(math.ceil(each / ranks) / threads)


@pytest.mark.parametrize(("name", "levels"), [("baseline_stops_scaling", OURS), ("near_theoretical_scaling", CASE[:4])])
def test_an_uneven_split_is_not_taken_for_the_effect(name: str, levels: Sequence[str]) -> None:
    here, expected = machine(1, 64, 1), "holds" if name == "near_theoretical_scaling" else "does not hold"
    assert verdicts(here, split, name, (*levels, "iterations=48")) == {"not on this machine"}
    assert verdicts(here, split, name, (*levels, "iterations=192")) == {expected}


def test_an_uneven_split_over_sockets_is_taken_neither_for_the_effect_nor_against_it() -> None:
    """On four sockets each thread has an iteration, or none: equal times, on a machine that scales perfectly."""
    here, even = machine(4, 24, 1), (*CASE[:4], "iterations=96")
    for name in ("scales_up_to_two_sockets", "stops_beyond_two_sockets", "hybrid_scales_over_sockets"):
        assert verdicts(here, split, name, (*CASE[:4], "iterations=100")) == {"not on this machine"}
        assert verdicts(here, split, name, even) == {"does not hold" if name.startswith("stops") else "holds"}


def mix(c: Configuration, p: int) -> float:
    """The source's story on 48 cores: with the allocator 16 x 3 is 5.3 times as fast; 24 x 2 and 12 x 4 are slower."""
    gain = 1.0
    if c["build"] == "hybrid":
        gain = 3.3 * (1.06 if c["allocator"] == "tbbmalloc" else 1)
        gain *= {2: 0.8, 3: 1.515, 4: 0.8}.get(c.layout.threads_per_rank, 1)
    return perfect(c, p) / gain


@pytest.mark.parametrize("name", ["mix_beats_all_ranks", "mix_beats_all_threads", "overall_5_times"])
def test_the_best_mix_is_compared_and_not_the_mean_of_all(name: str) -> None:
    (answer,) = said(MANY, mix, name)
    assert (answer.verdict, answer.chosen) == ("holds", "ranks=16")


def test_the_best_of_equals_is_no_better_than_they_are() -> None:
    for seed in range(8):
        (answer,) = said(MANY, perfect, "mix_beats_all_ranks", noise=0.1, seed=seed)
        assert answer.verdict != "holds", (seed, answer.ratio)


def mixes(factor: float) -> Truth:
    """Perfect on processors; a mix of ranks and threads takes `factor` of the time of as many ranks or threads."""
    return lambda c, p: (
        100 / min(c.layout.p, p) * (factor if min(c.layout.ranks_per_node, c.layout.threads_per_rank) > 1 else 1)
    )


@pytest.mark.parametrize("name", ["mix_beats_all_ranks", "mix_beats_all_threads"])
def test_a_mix_is_compared_with_what_fills_the_machine_too(name: str) -> None:
    assert verdicts(MANY, mixes(0.9), name) == {"holds"}
    assert verdicts(MANY, mixes(1.1), name) == {"does not hold"}


def speed(c: Configuration, smt: int, more: float = 0.25, cores_per_socket: int = 24) -> float:
    """Cores, of which the second hardware thread adds `more` of the first."""
    cores = cores_per_socket * int(c["sockets"])
    p = min(c.layout.p, cores * (smt if c["smt"] == "on" else 1))
    return p if p <= cores else cores * (1 + more * (p - cores) / cores)


def test_what_smt_cannot_give_is_not_taken_for_the_baselines_fault() -> None:
    here, even = machine(2, 24, 2), (*CASE[:4], "iterations=96")
    ours = (*OURS, "iterations=96")
    assert verdicts(here, lambda c, p: 100 / speed(c, 2), "baseline_stops_scaling", ours) == {"does not hold"}
    assert verdicts(here, lambda c, p: 100 / speed(c, 2), "near_theoretical_scaling", even) == {"holds"}
    assert verdicts(here, lambda c, p: 100 / speed(c, 2), "ours_scales", ours) == {"holds"}
    stuck: Truth = lambda c, p: 100 / (min(speed(c, 2), 24) if c["build"] == "openmp" else speed(c, 2))  # noqa: E731
    assert verdicts(here, stuck, "baseline_stops_scaling", ours) == {"holds"}
    assert verdicts(here, lambda c, p: 100 / speed(c, 2), "both_hardware_threads_help", even) == {"holds"}
    assert verdicts(here, lambda c, p: 100 / speed(c, 2, -0.1), "both_hardware_threads_help", even) == {"does not hold"}
    assert verdicts(MANY, stuck, "both_hardware_threads_help") == {"not on this machine"}


def test_sockets_are_compared_where_there_are_four() -> None:
    here, even = machine(4, 24, 1), (*CASE[:4], "iterations=96")
    stuck: Truth = lambda c, p: 100 / min(speed(c, 1), 48 if c["build"] == "openmp" else 99)  # noqa: E731
    at_most: Callable[[float], Truth] = lambda most: lambda c, p: 100 / min(speed(c, 1), most)  # noqa: E731
    assert verdicts(here, stuck, "stops_beyond_two_sockets", even) == {"holds"}
    assert verdicts(here, stuck, "hybrid_scales_over_sockets", even) == {"holds"}
    for truth, verdict in ((stuck, "holds"), (but(0.5, at_most(80), build="hybrid"), "does not hold")):
        assert verdicts(here, truth, "hybrid_scales_better_over_sockets", even) == {verdict}
    for most, name in ((80, "stops_beyond_two"), (80, "hybrid_scales_over"), (30, "scales_up_to_two")):
        assert verdicts(here, at_most(most), f"{name}_sockets", even) == {"does not hold"}
    assert verdicts(machine(2, 48, 1), stuck, "stops_beyond_two_sockets", even) == {"not on this machine"}


def test_sockets_are_compared_with_one_hardware_thread_of_a_core_and_with_both() -> None:
    here, even = machine(4, 24, 2), (*CASE[:4], "iterations=192")
    stuck: Truth = lambda c, p: 100 / min(speed(c, 2), 60 if c["smt"] == "on" else 99)  # noqa: E731
    for name, off, on in (("stops_beyond_two_sockets", False, True), ("hybrid_scales_over_sockets", True, False)):
        found = {answer.at["smt"]: answer.verdict == "holds" for answer in said(here, stuck, name, even)}
        assert found == {"off": off, "on": on}


def test_a_slower_program_does_not_lower_its_serial_time() -> None:
    slower: Truth = lambda c, p: 100 / min(c.layout.p, p) * (1.3 if c["build"] == "hybrid" else 1)  # noqa: E731

    def share(less: float) -> Truth:
        return lambda c, p: 0.05 / (less if c["build"] == "hybrid" else 1)

    for less, verdict in ((1.5, "does not hold"), (1.8, "holds")):
        assert verdicts(MANY, slower, "hybrid_lowers_serial_time", serial_share=share(less)) == {verdict}


def test_all_optimisations_are_ranks_of_few_threads_with_the_allocator() -> None:
    def best(most: float) -> Truth:
        gain = {"openmp": {"system": 1.0}, "hybrid": {"system": 3.3, TBB: most}}
        return lambda c, p: 100 / min(c.layout.p, p) / gain.get(str(c["build"]), {}).get(str(c["allocator"]), 9.0)

    for most, verdict in ((5.3, "holds"), (4.2, "does not hold"), (20.0, "does not hold")):
        assert verdicts(MANY, best(most), "overall_5_times") == {verdict}
    assert verdicts(MANY, mixes(0.9), "overall_5_times") == {"does not hold"}
