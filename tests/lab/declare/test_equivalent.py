# SPDX-License-Identifier: Apache-2.0
"""Launches that differ in nothing that the program reads are one."""

from collections.abc import Sequence

from conftest import Make
from corescale.declare.equivalent import detected, distinguishable, to_set
from corescale.declare.experiment import Experiment, Factor, Hooks
from corescale.declare.factors import THREAD_VARIABLES
from corescale.declare.grid import baseline, configurations
from corescale.records import Level
from support.play import record as of_one
from support.stores import record

BOTH: dict[str, tuple[Level, ...]] = {"threads": (1, 2), "allocator": ("system", "mimalloc")}


def test_threads_that_no_variable_brings_to_the_program_are_baseline_alone(experiment: Make) -> None:
    made = experiment("clang", levels=BOTH)
    kept = distinguishable(made, frozenset())
    assert [(c["threads"], c["allocator"]) for c in kept] == [(2, "system"), (2, "mimalloc")]
    assert kept[0] == baseline(made)
    assert distinguishable(made, {"OMP_PROC_BIND"}) == kept, "where threads run matters to none"
    assert distinguishable(made, {"OMP_NUM_THREADS"}) == configurations(made)


def test_what_nothing_reads_leaves_the_baseline_alone_if_nothing_else_varies(experiment: Make) -> None:
    for name, kind, levels, read in (
        ("threads", "threads", (1, 2, 4), "GOMAXPROCS"),
        ("OMP_WAIT_POLICY", "variable", ("active", "passive"), "OMP_WAIT_POLICY"),
        ("bind", "bind", ("inherited", "close:cores"), "OMP_PROC_BIND"),
    ):
        one = Factor(name=name, kind=kind, levels=levels)
        made = experiment("p", levels={}).model_copy(update={"factors": (one,)})
        assert distinguishable(made, frozenset()) == (baseline(made),)
        assert distinguishable(made, {read}) == configurations(made)


def test_levels_without_the_baselines_number_of_threads_are_tried_with_another(experiment: Make) -> None:
    """As of `-t 1 -f MODE=a,b` in a shell of two CPUs: the baseline has two threads, and MODE none of these levels."""
    made = experiment("p", levels={"threads": (1,), "MODE": ("a", "b")})
    now = made.baseline.model_copy(update={"levels": (("threads", 2), ("MODE", "unset"))})
    kept = distinguishable(made.model_copy(update={"baseline": now}), frozenset())
    assert [(c["threads"], c["MODE"]) for c in kept] == [(2, "unset"), (1, "a"), (1, "b")]


def test_all_are_tried_where_nobody_knows_or_threads_come_by_another_way(experiment: Make) -> None:
    for made in (
        experiment("p", "{threads}", levels=BOTH),
        experiment("p", "{p}", levels=BOTH),
        experiment("p", levels=BOTH, hooks=Hooks(prepare="sed -i s/n/{threads}/ input")),
        experiment("p", levels={"ranks": (1, 2), "threads": (1, 2)}),
        experiment("p", levels={"MODE": ("a", "b")}),
    ):
        assert distinguishable(made, frozenset()) == configurations(made)
    assert distinguishable(experiment("p", levels=BOTH), None) == configurations(experiment("p", levels=BOTH))


def test_what_any_launch_was_detected_to_read_counts(experiment: Make) -> None:
    made = experiment("p")
    undetected, silent, go = (record(made, reads=reads) for reads in (None, (), ("GOMAXPROCS",)))
    assert detected([undetected]) is None
    assert detected([record(made, reads=(), status="timeout")]) is None, "it may not have come that far"
    assert detected([undetected, silent]) == frozenset()
    assert detected([undetected, silent, go]) == frozenset({"GOMAXPROCS"})


def test_lines_set_what_is_read(experiment: Make) -> None:
    by_variables = experiment("p", levels={"threads": (1, 2), "level": (1, 9)})
    ranks = experiment("p", levels={"threads": (1, 2), "ranks": (1, 2)})

    def lines_set(of: Experiment, reads: Sequence[str]) -> set[str]:
        return set(to_set(of, [of_one(each, 1.0, reads=reads) for each in configurations(of)]) or ())

    for reads in ((), ("OMP_PROC_BIND",), ("GOMAXPROCS",)):
        assert lines_set(by_variables, reads) == {*reads}
    assert lines_set(ranks, ("PMIX_RANK",)) == {"PMIX_RANK"}, "of an MPI program nothing more"
    assert lines_set(ranks, ("OMP_PROC_BIND",)) == {*THREAD_VARIABLES, "OMP_PROC_BIND"}, "ranks may be elsewhere"
    assert to_set(by_variables, [record(by_variables, reads=None)]) is None


def test_a_placeholder_behind_the_program_of_a_shell_command_chooses_no_program(experiment: Make) -> None:
    def ways(line: str) -> int:
        levels: dict[str, tuple[Level, ...]] = {"threads": (1, 2), "n": (1, 2)}
        made = experiment(line, levels=levels)
        shell = tuple(command.model_copy(update={"shell": True}) for command in made.commands)
        return len(distinguishable(made.model_copy(update={"commands": shell}), frozenset()))

    assert [ways(line) for line in ("sleep {n}; true", "cat x | sort -k {n}")] == [2, 2]
    assert [ways(line) for line in ("./{n} x", "true; ./{n}", "cat x | ./a{n}", "if true; then {n}; fi")] == [4] * 4
