# SPDX-License-Identifier: Apache-2.0
"""Findings of the Multi-Newton studies on machines that are not here, whose truth is known: each can hold and fail."""

import dataclasses
import functools
import math
import random
from collections.abc import Callable, Sequence

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
NEWTON, ALLOCATORS, CPPAD = "multi_newton", "multi_newton_allocators", "multi_newton_cppad"


def machine(cores: int) -> Machine:
    cpus = tuple(Cpu(k, k, 0, 0, 0) for k in range(cores))
    return dataclasses.replace(Machine.here(), cpus=cpus, affinity=tuple(range(cores)), quota_cores=None)


@functools.cache
def asked(study: str, cores: int, levels: tuple[str, ...]) -> Experiment:
    return study_file.experiment(studies.find(study), machine(cores), levels)


def said(study: str, name: str, truth: Truth, cores: int = 2, levels: Sequence[str] = ()) -> list[Answer]:
    """What a finding says of eight blocks with half a percent of noise. Whatever has no time is not launched."""
    made = asked(study, cores, tuple(levels))
    draw = random.Random(1)
    true = {c: truth(c, cores) for c in configurations(made)}
    records = [
        record(c, 1.0, block=block, oversubscribed=c.layout.p > cores,
               metrics={"seconds": seconds * draw.uniform(0.995, 1.005)})
        for block in range(8) for c, seconds in true.items() if not math.isnan(seconds)
    ]  # fmt: skip
    finding = next(one for one in made.study.outputs if isinstance(one, Finding) and one.name == name)
    return list(answers(frame(records, made), made, finding))


def verdicts(study: str, name: str, truth: Truth, cores: int = 2, levels: Sequence[str] = ()) -> set[str]:
    return {answer.verdict for answer in said(study, name, truth, cores, levels)}


def perfect(c: Configuration, cores: int) -> float:
    """A point costs 40 terms beside its N."""
    return (40 + float(c["terms"])) / min(c.layout.p, cores)


def but(factor: float, truth: Truth = perfect, /, **at: object) -> Truth:
    """The truth, and `factor` times as long at these levels."""
    return lambda c, cores: truth(c, cores) * (factor if all(c[name] == level for name, level in at.items()) else 1)


def proportional(c: Configuration, cores: int) -> float:
    return float(c["terms"]) / min(c.layout.p, cores)


def bent(c: Configuration, cores: int) -> float:
    """A power of N has no straight piece."""
    return math.pow(proportional(c, cores), 0.9)


def stuck(c: Configuration, cores: int) -> float:
    """Nothing is gained beyond 10 threads."""
    return perfect(c, min(cores, 10))


TWO, MANY = {"threads": 2}, {"threads": 48}
CACHELESS = {"MALLOC_ARENA_MAX": "inherited", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
HOLDS_AND_FAILS: dict[tuple[str, str], tuple[Truth, Truth]] = {
    (NEWTON, "contiguous_beats_system_here"): (but(1.2, memory="system", **TWO), but(0.8, memory="system", **TWO)),
    (NEWTON, "separate_beats_contiguous_here"): (
        but(1.2, memory="contiguous", **TWO), but(0.8, memory="contiguous", **TWO)),
    (NEWTON, "separate_beats_system_here"): (but(1.2, memory="system", **TWO), but(0.8, memory="system", **TWO)),
    (NEWTON, "no_difference_by_hand"): (perfect, but(1.1, memory="system")),
    (NEWTON, "contiguous_as_system_with_chunks"): (but(1.3, memory="system"), but(1.2, memory="system", **TWO)),
    (NEWTON, "separate_as_contiguous_with_chunks"): (perfect, but(1.2, memory="contiguous", **TWO)),
    (NEWTON, "openmp_beats_pthread"): (but(1.1, threading="pthread"), but(1.1, threading="openmp")),
    (NEWTON, "openmp_beats_boost"): (but(1.1, threading="boost"), but(1.1, threading="openmp")),
    (NEWTON, "one_thread_of_openmp"): (perfect, but(1.1, threading="openmp")),
    (NEWTON, "one_thread_of_pthread"): (perfect, but(1.1, threading="pthread_barrier")),
    (NEWTON, "one_thread_of_boost"): (perfect, but(1.1, threading="boost_barrier")),
    (NEWTON, "one_thread_of_spin"): (perfect, but(1.1, threading="spin")),
    (NEWTON, "openmp_as_pthread_on_one_thread"): (perfect, but(1.1, threading="pthread_barrier")),
    (NEWTON, "openmp_as_boost_on_one_thread"): (perfect, but(1.1, threading="boost_barrier")),
    (NEWTON, "versions_alike_on_one_thread"): (perfect, but(1.1, memory="system")),
    (NEWTON, "contiguous_alike_on_one_thread"): (perfect, but(1.1, memory="contiguous")),
    (NEWTON, "linear_by_hand"): (proportional, perfect),
    (NEWTON, "linear_by_hand_with_one_sine"): (proportional, perfect),
    (NEWTON, "linear_with_ad"): (perfect, bent),
    (NEWTON, "overhead_is_never_negligible"): (but(1.2, **TWO), perfect),
    (NEWTON, "knee_of_figure_2"): (perfect, proportional),
    (NEWTON, "knee_of_figure_6"): (perfect, proportional),
    (ALLOCATORS, "false_sharing_beside_its_control"): (
        but(4, memory="contiguous", **TWO), but(4, memory="separate", **TWO)),
    (ALLOCATORS, "no_false_sharing"): (but(1.5, **TWO), but(1.5, memory="separate", **TWO)),
    (ALLOCATORS, "cost_of_2011_0"): (but(1.2, memory="system"), but(1.2, memory="bare")),
    (ALLOCATORS, "one_at_a_time"): (but(1.3, MALLOC_ARENA_MAX="1", **TWO), but(0.8, MALLOC_ARENA_MAX="1", **TWO)),
    (ALLOCATORS, "arenas_without_caches"): (but(1.3, **CACHELESS, **TWO), but(0.8, **CACHELESS, **TWO)),
    (ALLOCATORS, "contiguous_beats_one_at_a_time"): (
        but(1.3, memory="system", MALLOC_ARENA_MAX="1", **TWO), but(0.8, memory="system", MALLOC_ARENA_MAX="1", **TWO)),
    (CPPAD, "holding_pays_here"): (but(1.2, tape="cppad_unheld", **TWO), but(0.8, tape="cppad_unheld", **TWO)),
    (CPPAD, "holding_makes_no_difference_on_one_thread"): (perfect, but(1.2, tape="cppad_unheld")),
    (CPPAD, "a_third_of_cppad"): (but(4, tape="cppad"), but(2, tape="cppad")),
    (CPPAD, "scales_as_cppad"): (perfect, but(1.2, tape="library", **TWO)),
}  # fmt: skip
"""a truth at which a finding holds, and one at which it does not"""
ON_48_CORES: dict[tuple[str, str], tuple[Truth, Truth]] = {
    (NEWTON, "contiguous_beats_system"): (but(1.2, memory="system", **MANY), but(0.8, memory="system", **MANY)),
    (NEWTON, "separate_beats_contiguous"): (
        but(1.2, memory="contiguous", **MANY), but(0.8, memory="contiguous", **MANY)),
    (NEWTON, "separate_beats_system"): (but(1.2, memory="system", **MANY), but(0.8, memory="system", **MANY)),
    (NEWTON, "openmp_beats_pthread_barrier"): (
        but(1.1, threading="pthread_barrier", **MANY), but(1.1, threading="openmp", **MANY)),
    (NEWTON, "openmp_beats_boost_barrier"): (
        but(1.1, threading="boost_barrier", **MANY), but(1.1, threading="openmp", **MANY)),
    (NEWTON, "implementation_is_why"): (
        but(1.1, threading="pthread_barrier", **MANY), but(1.1, threading="spin", **MANY)),
    (CPPAD, "holding_pays"): (but(1.2, tape="cppad_unheld", **MANY), but(0.8, tape="cppad_unheld", **MANY)),
}  # fmt: skip
"""the same of claims about the source's 48 threads"""


@pytest.mark.parametrize(("study", "name"), HOLDS_AND_FAILS)
def test_a_finding_holds_where_it_is_true_and_fails_where_it_is_not(study: str, name: str) -> None:
    true, false = HOLDS_AND_FAILS[study, name]
    assert verdicts(study, name, true) == {"holds"}
    assert verdicts(study, name, false) == {"does not hold"}


@pytest.mark.parametrize(("study", "name"), ON_48_CORES)
def test_claims_of_48_threads_are_asked_of_48_cores_alone(study: str, name: str) -> None:
    true, false = ON_48_CORES[study, name]
    assert verdicts(study, name, true, 48, ["threads=1,48"]) == {"holds"}
    assert verdicts(study, name, false, 48, ["threads=1,48"]) == {"does not hold"}
    assert verdicts(study, name, true, 24) == {"not on this machine"}


def test_both_forms_by_hand_are_answered() -> None:
    for name in ("no_difference_by_hand", "openmp_beats_boost", "knee_of_figure_2"):
        assert {answer.at["derivative"] for answer in said(NEWTON, name, perfect)} == {"hand", "hand-opaque"}


def test_one_line_of_figure_2_is_linear_from_100_on_and_not_below() -> None:
    """A point costs 5 terms beside its N: 5% more than N at 100, and half more at 10. A power of N bends everywhere."""

    def source(c: Configuration, cores: int) -> float:
        return (5 + float(c["terms"])) / min(c.layout.p, cores)

    assert [verdicts(NEWTON, name, source) for name in ("linear_by_hand", "knee_of_figure_2")] == [{"holds"}] * 2
    assert verdicts(NEWTON, "linear_by_hand", bent) == {"does not hold"}


def test_with_ad_a_line_is_linear_whatever_its_fixed_part_and_a_bend_at_one_n_is_seen() -> None:
    def line(c: Configuration, cores: int) -> float:
        return 4000 + float(c["terms"])

    for answer in said(NEWTON, "linear_with_ad", line):
        assert answer.verdict == "holds" and answer.ratio.estimate == pytest.approx(1, abs=0.01)
    for terms in (100, 1000):
        assert verdicts(NEWTON, "linear_with_ad", but(1.2, terms=terms)) == {"does not hold"}


PEERS = ["corescale", "tcmalloc", "hoard", "mimalloc", "jemalloc", "tbbmalloc", "snmalloc", "scudo"]


def test_every_allocator_that_is_launched_has_a_finding() -> None:
    made = asked(ALLOCATORS, 2, ())
    (launched,) = (factor.levels for factor in made.factors if factor.name == "allocator")
    compared = {one.a.get("allocator") for one in made.study.outputs if isinstance(one, Finding)}
    assert {*PEERS} == {*launched} - {"system"} <= compared


@pytest.mark.parametrize("peer", PEERS)
def test_an_allocator_that_is_slow_on_one_thread_too_makes_nobody_wait(peer: str) -> None:
    name, other = f"faster_than_{peer}", {"memory": "system", "allocator": peer}
    assert verdicts(ALLOCATORS, name, but(1.3, **other, **TWO)) == {"holds"}
    assert verdicts(ALLOCATORS, name, but(0.8, **other, **TWO)) == {"does not hold"}
    slow = said(ALLOCATORS, name, but(1.3, **other))
    assert [answer.ratio.estimate for answer in slow] == pytest.approx([1, 1], abs=0.01)


def test_other_derivatives_do_not_count_as_one_thread_of_this_one() -> None:
    """By hand system is as fast as contiguous; on a tape it is twice as slow at one thread and at two."""
    twice = but(2, memory="system", derivative="study-tape")
    for answer in said(NEWTON, "contiguous_beats_system_here", twice):
        assert answer.ratio.estimate == pytest.approx(1, abs=0.01)


KNEES = {"knee_of_figure_3": (10, 15, 24), "knee_of_figure_4": (10, 24)}
NO_WORSE = {"no_worse_up_to_the_knee_of_figure_3": (1, 10, 15), "no_worse_up_to_the_knee_of_figure_4": (1, 4, 10)}


@pytest.mark.parametrize("name", NO_WORSE)
def test_before_the_knees_more_threads_take_no_longer(name: str) -> None:
    few = ["threads=" + ",".join(map(str, NO_WORSE[name]))]
    assert verdicts(NEWTON, name, perfect, 48, few) == {"holds"}
    worse = but(4, perfect, threads=NO_WORSE[name][-1])
    assert verdicts(NEWTON, name, worse, 48, few) == {"does not hold"}


TEN_TIMES = {
    "knee_of_figure_3": ("no_knee_with_ten_times_the_terms_by_hand", 15, 4.5),
    "knee_of_figure_4": ("no_knee_with_ten_times_the_terms_with_ad", 10, 1.4),
}
"""the finding about ten times the terms, the threads at the knee, and the terms that a thread costs with such a knee"""


@pytest.mark.parametrize("knee", TEN_TIMES)
def test_a_knee_for_lack_of_terms_is_told_from_one_at_so_many_threads(knee: str) -> None:
    name, last, cost = TEN_TIMES[knee]
    few = ["threads=1,10,15,24,48"]

    def terms(c: Configuration, cores: int) -> float:
        return perfect(c, cores) + cost * c.layout.p

    def threads(c: Configuration, cores: int) -> float:
        return perfect(c, min(cores, last)) * (1.2 if c.layout.p > last else 1)

    assert [verdicts(NEWTON, one, terms, 48, few) for one in (knee, name)] == [{"holds"}, {"holds"}]
    assert [verdicts(NEWTON, one, threads, 48, few) for one in (knee, name)] == [{"holds"}, {"does not hold"}]


@pytest.mark.parametrize("name", KNEES)
def test_knees_are_asked_about_where_there_are_cores(name: str) -> None:
    few = ["threads=" + ",".join(map(str, (1, *KNEES[name])))]
    worse = but(1.2, stuck, threads=24)
    assert verdicts(NEWTON, name, worse, 48, few) == {"holds"}
    assert verdicts(NEWTON, name, stuck, 48, few) == {"equal"}
    assert verdicts(NEWTON, name, perfect, 48, few) == {"does not hold"}
    for answer in said(NEWTON, name, worse, 2, few):
        assert answer.verdict == "not on this machine" and answer.why.startswith("oversubscribed on this machine: ")
    for answer in said(NEWTON, name, worse):
        assert answer.why.startswith("left out of this run: threads=")


@pytest.mark.parametrize(("cores", "knees"), [(2, ()), (16, (10, 15)), (24, (10, 15, 24)), (64, (10, 15, 24, 48))])
def test_a_machine_that_has_the_cores_gets_the_levels_of_the_knees(cores: int, knees: tuple[int, ...]) -> None:
    made = study_file.experiment(studies.find(NEWTON), machine(cores))
    (threads,) = (factor.levels for factor in made.factors if factor.name == "threads")
    assert [level for level in threads if level in (10, 15, 24, 48)] == list(knees)
    assert {1, 2, cores} <= {*threads} and max(map(int, threads)) == cores
    left_out = [line for line in made.left_out if line.startswith("threads=")]
    assert len(left_out) == 4 - len(knees)


def test_the_sources_teams_are_launched_wherever_openmp_is() -> None:
    """But for what the source did not have: the library's allocator and its tape."""
    launched: dict[object, set[tuple[object, ...]]] = {}
    for c in configurations(study_file.experiment(studies.find(NEWTON), machine(2))):
        if c["memory"] != "per_thread" and c["derivative"] != "tape":
            levels = tuple(level for name, level in c.levels if name != "threading")
            launched.setdefault(c["threading"], set()).add(levels)
    assert launched["openmp"] == launched["pthread_barrier"] == launched["boost_barrier"]


def test_what_a_run_leaves_out_is_not_said_to_have_failed() -> None:
    (answer,) = said(NEWTON, "linear_by_hand", perfect, levels=("derivative=tape",))
    assert (answer.verdict, answer.why) == ("not on this machine", "left out of this run: derivative=hand-opaque")
    for one in said(NEWTON, "one_thread_of_spin", perfect, levels=("threading=openmp,none",)):
        assert one.why == "left out of this run: threading=spin"


@pytest.mark.parametrize("name", ["versions_alike_on_one_thread", "contiguous_alike_on_one_thread"])
def test_a_team_of_which_a_run_has_one_version_does_not_keep_the_others_from_an_answer(name: str) -> None:
    barriers = ["pthread_barrier", "boost_barrier"]

    def apart(c: Configuration, cores: int) -> float:
        return math.nan if c["threading"] in barriers and c["memory"] != "separate" else perfect(c, cores)

    assert verdicts(NEWTON, name, but(1.2, memory="system", threading="spin")) == {"holds"}
    found = {(one.at["threading"], one.verdict, one.why.partition(":")[0]) for one in said(NEWTON, name, apart)}
    assert found == {
        ("openmp", "holds", ""),
        *((team, "not on this machine", "left out of this run") for team in barriers),
    }
    one_apart = said(NEWTON, name, but(1.2, memory="separate", threading="boost_barrier"))
    assert {one.at["threading"] for one in one_apart if one.verdict != "holds"} == {"boost_barrier"}
