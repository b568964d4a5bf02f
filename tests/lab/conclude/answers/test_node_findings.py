# SPDX-License-Identifier: Apache-2.0
"""What the shipped studies say of many nodes and of four threads: planted truths come back, both ways, and a machine
without the nodes or the threads gets no answer."""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import pytest

from corescale.conclude.answers.findings import answers
from corescale.conclude.answers.overheads import overheads
from corescale.conclude.frame import frame
from corescale.declare import studies, study_file
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.outputs import Finding, Overheads
from corescale.records import Configuration
from support.play import MACHINE, record

Overhead = Callable[[Configuration], float]
NODES, GRAIN, MATRIX, EXCHANGE = (f"threads_and_mpi_{name}" for name in ("nodes", "grain", "matrix", "exchange"))


class Said(Mapping[str, set[str]]):
    """The verdicts of each statement, of those that are asked about."""

    def __init__(self, rows: pd.DataFrame, asked: Experiment) -> None:
        self.rows, self.asked = rows, asked
        self.outputs: Mapping[str, Finding | Overheads] = {
            one.name: one
            for one in asked.study.outputs
            if isinstance(one, Overheads) or (isinstance(one, Finding) and not one.along)
        }

    def __getitem__(self, name: str) -> set[str]:
        one = self.outputs[name]
        if isinstance(one, Finding):
            return {str(answer.verdict) for answer in answers(self.rows, self.asked, one)}
        return {str(answer.verdict) for answer in overheads(self.rows, self.asked, one)}

    def __iter__(self) -> Iterator[str]:
        return iter(self.outputs)

    def __len__(self) -> int:
        return len(self.outputs)


@functools.cache
def shipped(study: str, *levels: str) -> Experiment:
    return study_file.experiment(studies.find(study), MACHINE, levels)


def said(study: str, overhead: Overhead, levels: Sequence[str] = (), machine: str = "") -> Said:
    """Where work of N^2 on p cores has this overhead f and next to no noise."""
    asked = shipped(study, *levels)
    rng = np.random.default_rng(1)

    def seconds(c: Configuration) -> float:
        f = overhead(c) if c.layout.p > 1 else 0.0
        return float(c.get("points") or c.get("size") or 1) ** 2 / c.layout.p * (1 + f)

    made = [
        record(c, 1.0, block=block, metrics={"seconds": seconds(c) * math.exp(0.002 * rng.standard_normal())})
        for block in range(10)
        for c in configurations(asked)
    ]
    return Said(frame(made, asked, machine), asked)


def p(c: Configuration) -> int:
    return c.layout.p


def p_over_points(c: Configuration) -> float:
    return p(c) / float(c["points"])


def inside(c: Configuration) -> str:
    return "threads" if c.layout.ranks_per_node == 1 else "ranks"


PUBLISHED = ("points=35339",)
WANTED = ("threads_ahead_at_fine_grain", "overhead_grows_with_nodes", "one_factor_from_8_nodes_on", "figure_7")


@pytest.mark.parametrize("memory", [0.2, 1.5])
def test_nodes_that_obey_the_paper_hold(memory: float) -> None:
    """With the source's large overhead of threads on fewer than 8 nodes, and though it is more than that of 32."""

    def f(c: Configuration) -> float:
        return 0.00094 * p(c) * (3 if inside(c) == "ranks" else 1) + memory * (
            inside(c) == "threads" and c.layout.nodes < 8
        )

    found = said(NODES, f, PUBLISHED)
    assert {name: found[name] for name in WANTED} == {key: {"holds"} for key in WANTED}
    assert found["alike_at_low_parallelism"] == {"holds" if memory < 0.3 else "does not hold"}


def test_nodes_that_do_the_opposite_do_not() -> None:
    found = said(NODES, lambda c: 5 / c.layout.nodes + (0.5 if inside(c) == "threads" else 0), PUBLISHED)
    assert {name: found[name] for name in WANTED[:3]} == {key: {"does not hold"} for key in WANTED[:3]}
    found = said(NODES, lambda c: 0.05 * c.layout.nodes + 0.0002 * p(c), PUBLISHED)
    assert found["figure_7"] == {"does not hold"}
    found = said(NODES, lambda c: 0.001 * p(c))  # a finer grain than the paper's
    assert {name: found[name] for name in WANTED} == {key: {"not on this machine"} for key in WANTED}


@pytest.mark.parametrize(
    ("square", "cube", "line", "curve"),
    [
        (0.0, 0.0, "holds", "open"),
        (2e-7, 0.0, "holds", "holds"),
        (1e-5, 0.0, "does not hold", "holds"),
        (0.0, 1e-7, "does not hold", "does not hold"),
    ],
    ids=["line", "bent", "curve", "steeper"],
)
def test_both_sums_for_ranks_are_asked_at_the_papers_size(square: float, cube: float, line: str, curve: str) -> None:
    """The source calls both sums approximately correct, so p^2 may predict a little better than p alone."""

    def bent(c: Configuration) -> float:
        return 0.002 * p(c) + square * p(c) ** 2 + cube * p(c) ** 3

    found, finer = said(NODES, bent, PUBLISHED), said(NODES, bent)
    for name, verdict in (("figure_10", line), ("figure_10_with_the_square", curve)):
        assert (found[name], finer[name]) == ({verdict}, {"not on this machine"})


def test_the_processes_of_a_node_are_a_factor_if_they_cost_something() -> None:
    name = "p_and_processes_of_a_node"
    assert said(NODES, lambda c: 0.001 * p(c) + 0.02 * p(c) / c.layout.nodes)[name] == {"holds"}
    assert "holds" not in said(NODES, lambda c: 0.002 * p(c))[name]
    assert said(NODES, lambda c: 0.02 * c.layout.nodes)[name] == {"does not hold"}


@pytest.mark.parametrize(("f", "verdict"), [(0.72, "holds"), (1.6, "does not hold"), (0.2, "does not hold")])
def test_an_efficiency_on_768_cores_is_asked_at_the_papers_size(f: float, verdict: str) -> None:
    assert said(NODES, lambda c: f * p(c) / 768, ["points=35339"])["efficient_on_768_cores"] == {verdict}
    assert said(NODES, lambda c: f * p(c) / 768)["efficient_on_768_cores"] == {"not on this machine"}


@pytest.mark.parametrize(("longer", "verdict"), [(1.0, "holds"), (1.3, "does not hold"), (0.7, "does not hold")])
def test_a_ring_of_many_ranks_is_told_apart_from_an_allgather(longer: float, verdict: str) -> None:
    def ring(c: Configuration) -> float:
        return longer - 1 if c["exchange"] == "ring" else 0.0

    assert said(EXCHANGE, ring) == {"ring_as_allgather": {verdict}}
    assert said(EXCHANGE, ring, ["nodes=1,4"]) == {"ring_as_allgather": {"not on this machine"}}


@pytest.mark.parametrize("memory", [0.0, 1.5])
def test_a_line_for_threads_and_a_curve_for_ranks_are_told_apart(memory: float) -> None:
    """Though threads have the source's large overhead on fewer than 8 nodes."""

    def line_and_curve(c: Configuration) -> float:
        x = 20 * p_over_points(c)
        return x + memory * (c.layout.nodes < 8) if inside(c) == "threads" else x + x * x * x

    found = said(GRAIN, line_and_curve)
    assert found["one_curve_with_threads"] == {"holds"}
    assert found["figure_8"] == found["figure_8_two_factors"] == {"holds"}
    assert found["one_factor_describes_ranks_less_well"] == {"holds"}
    assert found["the_line_fails_at_large_overhead_with_threads"] == {"does not hold"}
    assert found["the_line_fails_at_large_overhead_with_ranks"] == {"holds"}
    assert found["figure_11"] == {"holds"}  # up to an overhead of 2 the curve is close to a line


def test_a_curve_for_threads_and_a_line_for_ranks_refute_the_paper() -> None:
    def curve_and_line(c: Configuration) -> float:
        x = 20 * p_over_points(c)
        return x + 500 * c.layout.nodes / float(c["points"]) if inside(c) == "threads" else x

    found = said(GRAIN, curve_and_line)
    assert found["figure_8_two_factors"] == found["one_factor_describes_ranks_less_well"] == {"does not hold"}
    assert found["figure_11"] == {"holds"}


@pytest.mark.parametrize("study", [NODES, GRAIN])
def test_one_node_answers_nothing_about_many(study: str) -> None:
    asked = shipped(study)
    needing = {
        one.name
        for one in asked.study.outputs
        if isinstance(one, Finding | Overheads) and {"nodes", "p"} & set(one.needs)
    }
    found = said(study, lambda c: 0.1, ["nodes=1"])
    assert needing and {name: found[name] for name in needing} == {key: {"not on this machine"} for key in needing}


def test_each_answer_about_nodes_names_its_points() -> None:
    asked = shipped(NODES)
    outputs = [one for one in asked.study.outputs if isinstance(one, Finding | Overheads)]
    assert outputs and [one.name for one in outputs if "points" not in {*one.each, *one.needs}] == []


CCR, TPL = "ccr_ahead_in_the_product", "tpl_ahead_on_amd_at_few_threads"


@pytest.mark.parametrize(
    ("few", "many", "ccr", "tpl"),
    [
        (0.95, 1.2, "holds", "holds"),
        (1.05, 0.8, "does not hold", "does not hold"),
        (0.95, 3.0, "does not hold", "holds"),
    ],
)
def test_an_amd_machine_may_have_tpl_ahead_at_few_threads_and_ccr_a_little_at_many(
    few: float, many: float, ccr: str, tpl: str
) -> None:
    """With a fixed part for each thread of CCR, and four blocks for each of TPL."""

    def product(c: Configuration) -> float:
        p, static = c.layout.threads_per_rank, c["threading"] == "ports"
        if c["blocks"] != (1 if static else 4):
            return 9.0
        return 1.0 if static else (few if p < 16 else many)

    found = said(MATRIX, product, ["threads=1,4,8,16,24"], "amd")
    assert (found[CCR], found[TPL]) == ({ccr}, {tpl})
    found = said(MATRIX, product, ["threads=1,4,8,16,24"], "intel")
    assert (found[CCR], found[TPL]) == ({ccr}, {"not on this machine"})
    found = said(MATRIX, product, ["threads=1,2,4,8"], "amd")
    assert (found[CCR], found[TPL]) == ({"not on this machine"}, {tpl})


@pytest.mark.parametrize(("shared", "verdict"), [(1.0, "holds"), (1.6, "does not hold")])
def test_that_dynamic_tasks_help_uneven_work_alone_is_seen_with_fixed_parts(shared: float, verdict: str) -> None:
    """A fixed part of a triangle leaves the last thread half more to do. Dynamic tasks share it, unless they do not."""

    def overhead(c: Configuration) -> float:
        uneven = {"ports": 1.5 if c["blocks"] == 1 else 1.0, "tbb": shared}
        return (uneven[str(c["threading"])] if c["shape"] == "triangle" else 1.0) - 1

    assert said(MATRIX, overhead, ["threads=1,2"])["balance_is_why"] == {verdict}
    assert said(MATRIX, overhead, ["threads=1"])["balance_is_why"] == {"not on this machine"}


@pytest.mark.parametrize(
    ("second", "others", "gains", "stops"),
    [(2.0, 1.0, "holds", "holds"), (1.2, 1.2, "does not hold", "holds"), (2.0, 2.0, "holds", "does not hold")],
)
def test_a_colony_that_scales_to_two_sockets_and_no_further_is_seen(
    second: float, others: float, gains: str, stops: str
) -> None:
    """Speedups that the second socket of 24 cores, and the third and fourth, multiply."""
    asked = shipped("one_server_simulated")
    speed = {1: 1.0, 24: 10.0, 48: 10 * second, 96: 10 * second * others}
    made = [
        record(c, 1.0, block=block, metrics={"seconds": 1 / speed[int(c["cores"])]})
        for block in range(9)
        for c in configurations(asked)
        if str(c["case"]).startswith("colony")
    ]
    rows, found = frame(made, asked), {one.name: one for one in asked.study.outputs if isinstance(one, Finding)}
    said = [
        {answer.verdict for answer in answers(rows, asked, found[name])}
        for name in ("colony_scales_up_to_two_sockets", "colony_scales_badly_beyond")
    ]
    assert said == [{gains}, {stops}]


@pytest.mark.parametrize(("more", "verdict"), [(0.1, "holds"), (-0.1, "does not hold"), (0.6, "does not hold")])
def test_a_little_more_overhead_of_ccr_is_asked_of_each_layout(more: float, verdict: str) -> None:
    found = said(NODES, lambda c: 0.001 * p(c) + (more if c["threading"] == "ports" else 0.0), PUBLISHED)
    assert found["figure_9"] == {verdict}


CURVES = ("one_curve_with_threads", "one_curve_with_ranks", "overhead_grows_as_the_grain_shrinks")


def test_one_curve_of_the_grain_is_told_apart_from_one_of_p() -> None:
    found = said(GRAIN, lambda c: 5 * p_over_points(c) ** 0.5)
    assert [found[name] for name in CURVES] == [{"holds"}] * 3
    assert found["figure_11"] == {"does not hold"}
    found = said(GRAIN, lambda c: 0.01 * p(c) * float(c["points"]) / 12500)
    assert [found[name] for name in CURVES] == [{"does not hold"}] * 3
