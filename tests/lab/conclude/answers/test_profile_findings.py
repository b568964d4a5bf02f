# SPDX-License-Identifier: Apache-2.0
"""Findings of studies/allocator_profile.toml on machines that are not here, whose truth is known: each can hold and
fail, and none is answered by threads or loads that the source does not name.
"""

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

Truth = Callable[[Configuration], float]
THEIRS = ("allocator=system,mimalloc,hoard",)
"""the three allocators of the source"""


@functools.cache
def declared(cores: int, *levels: str) -> Experiment:
    cpus = tuple(Cpu(k, k, 0, 0, 0) for k in range(cores))
    here = dataclasses.replace(Machine.here(), cpus=cpus, affinity=tuple(range(cores)), quota_cores=None)
    return study_file.experiment(studies.find("allocator_profile"), here, levels)


def said(
    name: str,
    truth: Truth,
    cores: int = 16,
    levels: Sequence[str] = THEIRS,
    noise: Truth | None = None,
    blocks: int = 9,
    outside: Truth = lambda c: 0.01,
) -> list[Answer]:
    """What a finding says of so many blocks with half a percent of noise, or with so much; `outside`: seconds of the
    program's start and end."""
    made, draw = declared(cores, *levels), random.Random(1)
    records = [
        record(c, seconds, block=block, oversubscribed=c.layout.p > cores,
               metrics={"state": 1.0, "seconds": seconds - outside(c)})
        for block in range(blocks) for c in configurations(made)
        for seconds in [truth(c) * math.exp((noise(c) if noise else 0.005) * draw.gauss(0, 1))]
    ]  # fmt: skip
    finding = next(one for one in made.study.outputs if isinstance(one, Finding) and one.name == name)
    return list(answers(frame(records, made), made, finding))


def weak(c: Configuration) -> float:
    """Each unit of load takes a second, on any number of threads."""
    return float(c["load"])


def but(factor: float, truth: Truth = weak, /, **at: object) -> Truth:
    """The truth, and `factor` times as long at these levels."""
    return lambda c: truth(c) * (factor if all(c[name] == level for name, level in at.items()) else 1)


def flat(c: Configuration) -> float:
    """A fifth of a second that is not of the load."""
    return 0.2 + float(c["load"])


def waiting(factor: float) -> Truth:
    """Several threads take so many times as long as one with the same load."""
    return lambda c: weak(c) * (factor if c["threads"] != 1 else 1)


SLOW, LAYOUT = {"allocator": "system"}, {"cells": "owner"}
HOLDS_AND_FAILS: Mapping[str, tuple[Truth, Truth]] = {
    "faster": (but(1.1, **SLOW), but(0.9, **SLOW)),
    "by_10_to_20_percent": (but(1.15, **SLOW), but(1.3, **SLOW)),
    "faster_than_hoard": (but(1.1, allocator="hoard"), but(0.9, allocator="hoard")),
    "scales_better": (but(1.2, **SLOW, threads=16), but(1.2, allocator="mimalloc", threads=16)),
    "several_threads_take_longer": (waiting(1.1), waiting(0.9)),
    "loads_alike": (but(0.8, load=1, threads=16), but(0.8, load=1, threads=4)),
    "larger_loads_alike": (but(0.8, load=4, threads=16), but(0.8, load=4, threads=4)),
    "small_load_scales_better": (but(0.8, load=1, threads=16), but(1.2, load=1, threads=16)),
    "small_load_scales_better_than_4": (but(1.2, load=4, threads=16), but(0.8, load=4, threads=16)),
    "threads_add_as_much_to_small_loads": (
        lambda c: flat(c) + (0.2 + 0.4 * float(c["load"]) if c["threads"] == 16 else 0),
        lambda c: flat(c) + (0.4 * (float(c["load"]) - 1) if c["threads"] == 16 else 0)),
    "lines_of_their_own": (but(1.5, **LAYOUT, threads=16), but(0.8, **LAYOUT, threads=16)),
    "made_by_their_threads": (but(1.5, cells="master"), but(0.8, cells="master")),
    "beside_mimalloc": (but(1.5, but(1.05, **LAYOUT), **SLOW), but(1.05, but(1.5, **LAYOUT), **SLOW)),
}  # fmt: skip
"""a truth at which a finding holds, and one at which it does not"""


@pytest.mark.parametrize("name", HOLDS_AND_FAILS)
def test_a_finding_holds_where_it_is_true_and_fails_where_it_is_not(name: str) -> None:
    true, false = HOLDS_AND_FAILS[name]
    assert {one.verdict for one in said(name, true)} == {"holds"}
    assert {one.verdict for one in said(name, false)} == {"does not hold"}


@pytest.mark.parametrize(
    ("name", "peer"), [("corescale_is_faster", "system"), ("corescale_is_faster_than_mimalloc", "mimalloc")]
)
def test_what_is_said_of_our_allocator_holds_where_it_is_true_and_fails_where_it_is_not(name: str, peer: str) -> None:
    ours = ("allocator=system,mimalloc,corescale",)
    assert {one.verdict for one in said(name, but(1.1, allocator=peer), levels=ours)} == {"holds"}
    assert {one.verdict for one in said(name, but(1.1, allocator="corescale"), levels=ours)} == {"does not hold"}
    assert {one.why for one in said(name, weak)} == {"left out of this run: allocator=corescale"}


def test_what_the_source_says_is_true_of_its_machine() -> None:
    """The gain grows with the threads, and is 10 to 20% over all; load 1 scales better on 16 threads, and not on 4."""
    gains, slower = {1: 1.08, 4: 1.12, 16: 1.25}, waiting(1.4)
    source = but(
        0.8, lambda c: slower(c) * (gains[int(c["threads"])] if c["allocator"] != "mimalloc" else 1), load=1, threads=16
    )
    for name in set(HOLDS_AND_FAILS) - {
        "threads_add_as_much_to_small_loads",
        "lines_of_their_own",
        "made_by_their_threads",
        "beside_mimalloc",
    }:
        assert {one.verdict for one in said(name, source)} == {"holds"}


def test_a_small_load_for_which_threads_add_less_is_not_laid_to_flat_overhead() -> None:
    """On 16 threads a unit of load takes a tenth of a fifth of a second longer, but at load 1 nothing is added."""

    def short(c: Configuration) -> float:
        return 0.2 * weak(c) * (1.1 if c["threads"] == 16 and c["load"] != 1 else 1)

    assert {one.verdict for one in said("small_load_scales_better", short)} == {"holds"}
    assert {one.verdict for one in said("threads_add_as_much_to_small_loads", short)} == {"does not hold"}


def test_loads_that_differ_both_ways_are_not_equal_on_average() -> None:
    apart = but(1.2, but(1 / 1.2, load=16, threads=4), load=4, threads=4)
    assert {one.verdict for name in ("loads_alike", "larger_loads_alike") for one in said(name, apart)} == {
        "does not hold"
    }
    between = but(0.9, but(1.5, load=16, threads=16), load=4, threads=16)
    assert {one.verdict for one in said("small_load_scales_better", between)} == {"holds"}
    assert {one.verdict for one in said("small_load_scales_better_than_4", between)} == {"does not hold"}


def test_an_allocator_that_the_source_did_not_have_does_not_answer_for_it() -> None:
    other, levels = but(0.8, allocator="jemalloc", load=1, threads=4), ("allocator=system,mimalloc,hoard,jemalloc",)
    assert {one.verdict for one in said("loads_alike", other, levels=levels)} == {"holds"}


@pytest.mark.parametrize(
    "name", ["by_10_to_20_percent", "scales_better", "loads_alike", "larger_loads_alike", "small_load_scales_better",
             "small_load_scales_better_than_4", "several_threads_take_longer", "lines_of_their_own"],
)  # fmt: skip
def test_what_is_claimed_of_more_threads_than_there_are_cores_is_not_asked(name: str) -> None:
    for truth in HOLDS_AND_FAILS[name]:
        assert {one.verdict for one in said(name, truth, 2)} == {"not on this machine"}


def test_what_is_claimed_of_three_allocators_is_not_asked_of_two() -> None:
    for name in ("loads_alike", "larger_loads_alike", "small_load_scales_better", "small_load_scales_better_than_4"):
        found = said(name, HOLDS_AND_FAILS[name][0], levels=("allocator=system,mimalloc",))
        assert {one.verdict for one in found} == {"not on this machine"}


def test_what_is_claimed_of_several_threads_is_answered_for_those_that_have_cores() -> None:
    found = {(one.at["threads"], one.verdict) for one in said("faster", HOLDS_AND_FAILS["faster"][0], 4)}
    assert found == {(1, "holds"), (4, "holds"), (16, "not on this machine")}


def test_a_load_that_varies_more_is_seen() -> None:
    def noisy(load: int) -> Truth:
        return lambda c: 0.3 if c["load"] == load else 0.005

    assert {one.verdict for one in said("load_1_varies_more", weak, noise=noisy(1), blocks=18)} == {"holds"}
    assert {one.verdict for one in said("load_1_varies_more", weak, noise=noisy(4), blocks=18)} == {"does not hold"}


def larger_grids_take_longer(c: Configuration) -> float:
    return math.pow(weak(c), 1.2)


@pytest.mark.parametrize(
    ("outside", "verdict"),
    [
        (lambda c: 0.02, "holds"),
        (lambda c: 0.02 + 0.0001 * weak(c), "holds"),
        (lambda c: 0.02 + 0.002 * weak(c), "does not hold"),
        (lambda c: 0.02 * weak(c), "does not hold"),
    ],
)
def test_a_flat_overhead_is_that_of_start_and_end_at_any_load(outside: Truth, verdict: str) -> None:
    for truth in (weak, larger_grids_take_longer):
        assert {one.verdict for one in said("flat_overhead", truth, outside=outside)} == {verdict}


def test_the_overhead_that_the_source_suspects_is_told_from_threads_that_wait_less_at_load_1() -> None:
    """A unit of load takes a quarter of a second. Both machines scale better at load 1: one has a flat part."""
    names = ("small_load_scales_better", "flat_overhead", "threads_add_as_much_to_small_loads")

    def overhead(c: Configuration) -> float:
        return 0.05 + 0.25 * float(c["load"]) * (1.4 if c["threads"] == 16 else 1)

    def waits_less(c: Configuration) -> float:
        return 0.25 * float(c["load"]) * (1 if c["threads"] != 16 else 1.2 if c["load"] == 1 else 1.4)

    def verdicts(truth: Truth, outside: Truth) -> list[set[str]]:
        return [{one.verdict for one in said(name, truth, blocks=18, outside=outside)} for name in names]

    assert verdicts(overhead, lambda c: 0.05) == [{"holds"}] * 3
    scales, flat_part, as_much = verdicts(waits_less, lambda c: 0.01 * weak(c))
    assert scales == {"holds"} and "holds" not in flat_part and as_much == {"does not hold"}
