# SPDX-License-Identifier: Apache-2.0
"""The memory of a process, in the shipped studies: found where it makes overhead, and not where something else does."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from corescale.conclude.answers.findings import answers
from corescale.conclude.answers.overheads import overheads
from corescale.conclude.frame import frame
from corescale.declare import studies, study_file
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.outputs import Finding, Overheads
from corescale.records import Configuration, Record
from support.play import MACHINE, record

Truth = Callable[[Configuration], float]


@functools.cache
def shipped(name: str, *levels: str) -> Experiment:
    return study_file.experiment(studies.find(name), MACHINE, levels)


def played(experiment: Experiment, truth: Truth) -> Sequence[Record]:
    rng, steps = np.random.default_rng(1), {"passes": 8.0, "power_steps": 8.0}
    return [
        record(c, 1.0, block=block, oversubscribed=c.layout.p > 2, metrics={"seconds": seconds, **steps})
        for block in range(10)
        for c in configurations(experiment)
        for seconds in [truth(c) * math.exp(0.004 * rng.standard_normal())]
    ]


def threads(c: Configuration) -> int:
    return c.layout.threads_per_rank


def ranks(c: Configuration) -> int:
    return c.layout.ranks_per_node


def gigabytes(c: Configuration) -> float:
    """Of a process."""
    return (4 if c["precision"] == "float32" else 2) * float(c["points"]) ** 2 / ranks(c) / 1e9


def work(c: Configuration, slower: float) -> float:
    """Seconds of one core; `slower`: of uint16, in times those of float32."""
    return 4e-9 * float(c["points"]) ** 2 * (1 if c["precision"] == "float32" else slower)


SLOWER = (0.8, 1.0, 1.25)


def verdicts(study: str, names: Sequence[str], truth: Truth, *levels: str) -> list[set[str]]:
    """Of each of these findings; answers that this machine cannot give are left out."""
    asked = shipped(study, *levels)
    rows = frame(played(asked, truth), asked)
    by_name = {one.name: one for one in asked.study.outputs if isinstance(one, Finding)}
    found = [{str(one.verdict) for one in answers(rows, asked, by_name[name])} for name in names]
    return [of - {"not on this machine"} for of in found]


AHEAD = "mpi_ahead_where_processes_are_large"
LEADS = ("lead_is_smaller_at_half_the_bytes", "lead_in_seconds_is_smaller_at_half_the_bytes")


def leads(
    extra: Callable[[Configuration, float], float], slower: float, names: Sequence[str] = LEADS
) -> list[set[str]]:
    """The verdicts where so many seconds are added to work that is shared evenly."""
    truth: Truth = lambda c: work(c, slower) / c.layout.p + extra(c, work(c, slower))  # noqa: E731
    return verdicts("threads_and_mpi_memory", names, truth)


@pytest.mark.parametrize("slower", SLOWER)
def test_memory_makes_the_lead_smaller_at_half_the_bytes(slower: float) -> None:
    assert leads(lambda c, seconds: 0.2 * gigabytes(c), slower, (AHEAD, *LEADS)) == [{"holds"}] * 3


def test_mpi_that_does_not_lead_is_seen_though_memory_matters() -> None:
    behind = leads(lambda c, seconds: 0.2 * gigabytes(c) + 0.1 * (ranks(c) - 1), 1, (AHEAD, *LEADS))
    assert behind[0] == {"does not hold"} and behind[2] == {"holds"}


def test_processes_that_are_small_say_nothing_of_large_ones() -> None:
    small = verdicts("threads_and_mpi_memory", (AHEAD,), lambda c: 1.0, "points=5000")
    assert small == [set()]


MEMORY = "threads_and_mpi_memory"
COMPARED = (
    "tpl_faster_with_threads", "tpl_faster_with_ranks", "tpl_and_ccr_alike", "tpl_ahead_of_ccr_with_threads",
    "tpl_ahead_of_ccr_with_ranks",
)  # fmt: skip


def coarse(c: Configuration) -> float:
    """Of 16 synchronisations, with 25 ms or more between two of them on two cores."""
    return 2 * work(c, 1) / c.layout.p


@pytest.mark.parametrize(("more", "verdict"), [(1.0, "holds"), (1.15, "holds"), (1.4, "does not hold")])
def test_threads_and_mpi_are_about_equal_within_a_quarter(more: float, verdict: str) -> None:
    """At a grain of the source's, 16 ms between two synchronisations or more; on a machine that is faster by so much
    that the same points take 4 ms, nothing is said of it."""

    def truth(c: Configuration) -> float:
        return coarse(c) * (more if threads(c) > 1 else 1)

    assert verdicts(MEMORY, ("alike_at_low_p",), truth) == [{verdict}]
    assert verdicts(MEMORY, (*COMPARED, "alike_at_low_p"), lambda c: truth(c) / 6) == [set()] * 6


@pytest.mark.parametrize("slower", SLOWER)
@pytest.mark.parametrize(
    "extra",
    [
        lambda c, seconds: 0.0,
        lambda c, seconds: 0.05 * (threads(c) - 1),
        lambda c, seconds: 0.05 * (ranks(c) - 1),
        lambda c, seconds: 0.3 * seconds * (threads(c) - 1),
        lambda c, seconds: 0.3 * seconds * (ranks(c) - 1),
    ],
    ids=["nothing", "loops of threads", "loops of ranks", "a share with threads", "a share with ranks"],
)
def test_without_memory_the_two_statements_never_hold_together(
    extra: Callable[[Configuration, float], float], slower: float
) -> None:
    assert leads(extra, slower) != [{"holds"}, {"holds"}]


@pytest.mark.parametrize(
    ("share", "fixed", "verdict"), [(0.3, 0.0, "holds"), (0.0, 0.1, "does not hold"), (0.0, 0.0125, "does not hold")]
)
def test_overhead_of_bytes_is_told_from_that_of_loops(share: float, fixed: float, verdict: str) -> None:
    """The first is in proportion to D, the second as many seconds at any size, also where f is only 0.1."""
    truth: Truth = lambda c: alone(c) / c.layout.p + (share * alone(c) + fixed) * (threads(c) - 1)  # noqa: E731
    assert verdicts("threads_and_mpi_bandwidth", ("overhead_stays_with_a_larger_d",), truth) == [{verdict}]


def alone(c: Configuration) -> float:
    return 1e-8 * float(c["points"]) ** 2


def factor(overhead: Callable[[Configuration], float], *levels: str) -> set[str]:
    """What the sums of factors say of memory, where this is the overhead beyond one core."""
    asked = shipped("threads_and_mpi", *(levels or ("points=10000,5000,2500,1250",)))
    made = played(asked, lambda c: work(c, 1) * (1 + (overhead(c) if c.layout.p > 1 else 0)) / c.layout.p)
    (declared,) = (
        one
        for one in asked.study.outputs
        if isinstance(one, Overheads) and one.name == "memory_of_a_process_is_a_factor"
    )
    return {answer.verdict for answer in overheads(frame(made, asked), asked, declared)}


def grains(c: Configuration) -> float:
    return (60 * (threads(c) - 1) + 300 * (ranks(c) - 1)) / float(c["points"])


def remembers(c: Configuration) -> float:
    return grains(c) + 5 * (gigabytes(c) - gigabytes(c) * ranks(c))


def test_memory_is_found_beside_two_kinds_of_grain() -> None:
    assert factor(remembers) == {"holds"}


def test_small_processes_say_nothing_of_large_ones() -> None:
    assert factor(remembers, "points=5000,2500,1250,312") == {"not on this machine"}


@pytest.mark.parametrize(
    "overhead",
    [
        grains,
        lambda c: (600 * (threads(c) - 1) + 100 * (ranks(c) - 1)) / float(c["points"]),
        lambda c: grains(c) - 0.1 * (ranks(c) - 1),
        lambda c: grains(c) + 2e5 * (ranks(c) - 1) / float(c["points"]) ** 2,
    ],
    ids=["grain", "threads pay for theirs", "ranks gain a share", "ranks pay for loops"],
)
def test_memory_is_not_found_where_ranks_differ_in_something_else(overhead: Callable[[Configuration], float]) -> None:
    assert "holds" not in factor(overhead)


@pytest.mark.parametrize("inside", ["threads", "ranks"])
@pytest.mark.parametrize(
    ("slower", "verdict"), [(1.1, "holds"), (1.0, "equal"), (0.9, "does not hold"), (6.0, "does not hold")]
)
def test_a_little_faster_is_neither_slower_nor_six_times(slower: float, inside: str, verdict: str) -> None:
    """At grains that the source has."""

    def truth(c: Configuration) -> float:
        return coarse(c) * (slower if c["threading"] == "ports" else 1)

    assert verdicts(MEMORY, (f"tpl_faster_with_{inside}",), truth) == [{verdict}]
    name = f"tpl_a_little_faster_with_{inside}"
    assert verdicts("threads_and_mpi_annealing", (name,), lambda c: truth_of_annealing(c, slower)) == [{verdict}]


def truth_of_annealing(c: Configuration, slower: float) -> float:
    """1,800 points take 18 ms between two synchronisations on two cores; CCR is six times slower at the finer grain."""
    more = slower if c["points"] == 1800 else 6.0
    return 1.8e-7 * float(c["points"]) ** 2 / c.layout.p * (more if c["threading"] == "ports" else 1)


@pytest.mark.parametrize(
    ("slower", "faster", "similar"),
    [(1.15, "holds", "holds"), (0.9, "does not hold", "holds"), (1.5, "does not hold", "does not hold")],
)
def test_a_little_faster_is_also_similar(slower: float, faster: str, similar: str) -> None:
    def truth(c: Configuration) -> float:
        return coarse(c) * (slower if c["threading"] == "ports" else 1)

    names = ("tpl_faster_with_threads", "tpl_and_ccr_alike")
    assert verdicts(MEMORY, names, truth) == [{faster}, {similar}]


def test_usually_is_the_mean_over_layouts() -> None:
    """Ahead by 10% on two threads, behind by 2% on four, which may run at once here."""

    def truth(c: Configuration) -> float:
        ports = {2: 1.2, 4: 0.98}.get(threads(c), 1.0) if c["threading"] == "ports" else 1
        return coarse(c) * ports

    asked = shipped(MEMORY, "threads=1,2,4")
    made = [replace(one, oversubscribed=one.configuration.layout.p > 4) for one in played(asked, truth)]
    (finding,) = (one for one in asked.study.outputs if one.name == "tpl_faster_with_threads")
    assert isinstance(finding, Finding)
    assert {one.verdict for one in answers(frame(made, asked), asked, finding)} == {"holds"}


@pytest.mark.parametrize("inside", ["threads", "ranks"])
@pytest.mark.parametrize(("more", "verdict"), [(0.15, "holds"), (-0.15, "does not hold"), (2.0, "does not hold")])
def test_a_little_less_overhead_is_neither_more_nor_two(more: float, inside: str, verdict: str) -> None:
    asked = shipped(MEMORY)

    def truth(c: Configuration) -> float:
        ports = c["threading"] == "ports" and c.layout.p > 1
        return coarse(c) * ((1.5 + (more if ports else 0)) if c.layout.p > 1 else 1)

    made = played(asked, truth)
    (finding,) = (one for one in asked.study.outputs if one.name == f"tpl_ahead_of_ccr_with_{inside}")
    assert isinstance(finding, Finding)
    within = [one for one in answers(frame(made, asked), asked, finding) if one.verdict != "not on this machine"]
    assert {one.verdict for one in within} == {verdict}


def overheads_of(f: Callable[[Configuration], float]) -> Truth:
    """Work that is shared evenly, with this overhead on more than one process."""
    return lambda c: work_of(c) * (1 + (f(c) if c.layout.p > 1 else 0)) / c.layout.p


def work_of(c: Configuration) -> float:
    return float(c.get("points") or 1000) ** 2 * 1e-8


def slower(times: float, **at: object) -> Callable[[Configuration], float]:
    return lambda c: times - 1 if all(c.get(name) == level for name, level in at.items()) else 0.0


HOLDS_AND_FAILS: dict[tuple[str, str], tuple[Truth, Truth]] = {
    ("threads_and_mpi", "overhead_grows_with_threads_as_the_grain_shrinks"): (
        lambda c: 9 * grains(c),
        lambda c: float(c["points"]) / 5000,
    ),
    ("threads_and_mpi", "overhead_grows_with_ranks_as_the_grain_shrinks"): (
        lambda c: 9 * grains(c),
        lambda c: float(c["points"]) / 5000,
    ),
    ("threads_and_mpi_bandwidth", "as_the_streaming_loop"): (lambda c: 0.4, slower(1.4, command="streaming")),
    ("threads_and_mpi_bandwidth", "ranks_as_threads"): (lambda c: 0.4, lambda c: 0.4 * (ranks(c) - 1)),
    ("threads_and_mpi_bandwidth", "more_overhead_than_none"): (lambda c: 0.3, lambda c: -0.1),
    ("threads_and_mpi_bandwidth", "less_overhead_with_fewer_bytes"): (
        lambda c: 0.5 / float(c["columns"]),
        lambda c: 0.1 * float(c["columns"]),
    ),
    ("threads_and_mpi_blocks", "more_blocks_help_tpl"): (slower(1.2, blocks=1), slower(1.2, blocks=4)),
    ("threads_and_mpi_blocks", "more_blocks_help_ccr"): (slower(1.2, blocks=1), slower(1.2, blocks=4)),
}
"""overheads with which a finding holds, and others with which it does not"""


@pytest.mark.parametrize(("study", "name"), HOLDS_AND_FAILS)
def test_a_finding_holds_where_it_is_true_and_fails_where_it_is_not(study: str, name: str) -> None:
    for overhead, verdict in zip(HOLDS_AND_FAILS[study, name], ("holds", "does not hold"), strict=True):
        assert verdicts(study, (name,), overheads_of(overhead)) == [{verdict}]
