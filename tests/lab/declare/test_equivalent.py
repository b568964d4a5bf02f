# SPDX-License-Identifier: Apache-2.0
"""Launches that differ in nothing that the program reads are one."""

from collections.abc import Sequence

from conftest import Make
from corescale.declare.equivalent import detected, distinguishable, to_set
from corescale.declare.factors import THREAD_VARIABLES
from corescale.declare.grid import baseline, configurations
from corescale.records import Configuration
from support.play import record as of_one
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


def test_lines_set_numbers_of_threads_that_nothing_reads_only_if_several_were_compared(experiment: Make) -> None:
    made = experiment("p", levels={"threads": (1, 2), "level": (1, 9)})
    one, two = (next(c for c in configurations(made) if c["threads"] == n) for n in (1, 2))

    def lines_set(*reads: str, of: Sequence[Configuration] = (one, two)) -> set[str]:
        return set(to_set([of_one(configuration, 1.0, reads=reads) for configuration in of]) or ())

    assert lines_set("OMP_PROC_BIND", of=[one]) == {"OMP_PROC_BIND"}
    assert lines_set("OMP_PROC_BIND") == {*THREAD_VARIABLES, "OMP_PROC_BIND"}
    assert lines_set("GOMAXPROCS") == {"GOMAXPROCS"}
    assert lines_set("PMIX_RANK") == {"PMIX_RANK"}, "of an MPI program nothing more"
    assert to_set([record(made, reads=None)]) is None
