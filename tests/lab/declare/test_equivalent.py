# SPDX-License-Identifier: Apache-2.0
"""Launches that differ in nothing that the program reads are one."""

from conftest import Make
from corescale.declare.equivalent import detected, distinguishable
from corescale.declare.grid import baseline, configurations
from support.stores import record


def test_threads_that_no_variable_brings_to_the_program_are_baseline_alone(experiment: Make) -> None:
    made = experiment("clang", levels={"threads": (1, 2), "allocator": ("system", "mimalloc")})
    kept = distinguishable(made, frozenset())
    assert [(c["threads"], c["allocator"]) for c in kept] == [(2, "system"), (2, "mimalloc")]
    assert kept[0] == baseline(made)
    assert distinguishable(made, {"OMP_PROC_BIND"}) == kept, "where threads run matters to none"
    assert distinguishable(made, {"OMP_NUM_THREADS"}) == configurations(made)


def test_all_are_tried_where_nobody_knows_or_nothing_else_is_there(experiment: Make) -> None:
    both = {"threads": (1, 2), "allocator": ("system", "mimalloc")}
    for made in (
        experiment("p", "{threads}", levels=both),
        experiment("p", "{p}", levels=both),
        experiment("p", levels={"ranks": (1, 2), "threads": (1, 2)}),
        experiment("p", levels={"threads": (1, 2, 4)}),
    ):
        assert distinguishable(made, frozenset()) == configurations(made)
    assert distinguishable(experiment("p", levels=both), None) == configurations(experiment("p", levels=both))


def test_what_any_launch_was_detected_to_read_counts(experiment: Make) -> None:
    made = experiment("p")
    undetected, silent, go = (record(made, reads=reads) for reads in (None, (), ("GOMAXPROCS",)))
    assert detected([undetected]) is None
    assert detected([undetected, silent]) == frozenset()
    assert detected([undetected, silent, go]) == frozenset({"GOMAXPROCS"})
