# SPDX-License-Identifier: Apache-2.0
"""Ranks as a factor: what they make of p, what fits, and what is refused."""

import dataclasses

import pytest

from corescale.declare import command_line
from corescale.declare.grid import baseline, configurations, launch
from corescale.declare.request import ScanRequest, TuneRequest
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import Layout
from support.typed import scan, tune


@pytest.mark.parametrize("threads", ["1,2", ""])
def test_ranks_make_p_and_stay_within_the_cores(two_cores: Machine, threads: str) -> None:
    four = dataclasses.replace(two_cores, affinity=(0, 1, 2, 3), quota_cores=4.0)
    made = scan(four, "x", threads=threads, factor=["ranks=1,2,4"])
    assert {c.layout.p: c.layout.ranks_per_node for c in configurations(made)}.keys() == {1, 2, 4}
    assert made.scaling.p_ref == 1
    assert made.makes_p == ({"threads", "ranks"} if threads else {"ranks"})
    assert [reason for reason in made.left_out if "--oversubscribe" in reason] == (
        [
            "1 of 6 combinations: ranks times threads are more than the 4 cores that may be used"
            " (--oversubscribe measures them too)"
        ]
        if threads
        else []
    )
    every = scan(four, "x", threads=threads, factor=["ranks=1,2,4"], oversubscribe=True)
    assert max(c.layout.p for c in configurations(every)) == (8 if threads else 4)
    variables = launch(made, baseline(made), four).environment
    assert variables["OMP_NUM_THREADS"] == str(baseline(made).layout.threads_per_rank), "one in each rank if unsaid"


def test_baseline_ranks_and_threads_fit(two_cores: Machine) -> None:
    four = dataclasses.replace(two_cores, affinity=(0, 1, 2, 3), quota_cores=4.0)
    made = scan(four, "x", threads="1,2,4", factor=["ranks=2,4"])
    assert baseline(made).layout == Layout(2, 2)
    assert baseline(tune(four, "x", threads="1,2,4", factor=["ranks=1,2,4"], baseline="ranks=4")).layout == Layout(1, 4)
    auto = command_line.tune(TuneRequest(ranks="auto", threads="auto"), ["x"], four)
    assert baseline(auto).layout == Layout(4, 1)
    assert {str(c.layout) for c in configurations(auto)} >= {"4x1x1", "2x2x1", "1x4x1", "1x1x1"}
    assert all(c.layout.p <= 4 for c in configurations(auto))


def test_automatic_mixes_fill_the_cores(two_cores: Machine) -> None:
    """The best of 192 cores may be 64 ranks of 3 threads; threads without ranks have no such levels."""
    many = dataclasses.replace(two_cores, affinity=tuple(range(192)), quota_cores=192.0)
    mixes = configurations(command_line.tune(TuneRequest(ranks="auto", threads="auto"), ["x"], many))
    full = {(c.layout.ranks_per_node, c.layout.threads_per_rank) for c in mixes if c.layout.p == 192}
    assert full == {(m, 192 // m) for m in range(1, 193) if 192 % m == 0}
    assert 3 not in command_line.scan(ScanRequest(threads="auto"), ["x"], many).factors[0].levels


def test_ranks_beyond_the_cores_and_a_second_mpirun_are_refused(two_cores: Machine) -> None:
    two = dataclasses.replace(two_cores, affinity=(0, 1), quota_cores=2.0)
    with pytest.raises(
        UsageError, match="more than the 2 cores that may be used; ask for fewer, or add --oversubscribe"
    ):
        scan(two, "x", factor=["ranks=4"])
    with pytest.raises(
        UsageError, match=r"mpiexec: corescale starts the ranks itself; write mpiexec -n {ranks}, or leave mpiexec"
    ):
        scan(two, "mpiexec", "-n", "2", "x", factor=["ranks=1,2"])


def test_ranks_that_the_command_starts_make_p(two_cores: Machine) -> None:
    """The command is launched directly: it is no rank of a launcher's own mpirun."""
    four = dataclasses.replace(two_cores, affinity=(0, 1, 2, 3), quota_cores=4.0)
    for words in (["mpirun", "-n", "{ranks}", "x"], ["sh", "-c", "cd a && exec mpirun -n {ranks} x"]):
        made = scan(four, *words, factor=["ranks=1,2"], threads="1,2")
        assert sorted(c.layout.p for c in configurations(made)) == [1, 2, 2, 4]
        assert made.starts_ranks
    laid_out = scan(four, "srun", "-n", "{ranks}", "x", factor=["layout=2x1x1,1x2x1"])
    assert [c.layout for c in configurations(laid_out)] == [Layout(2, 1), Layout(1, 2)]
    assert not scan(four, "x", "{ranks}", factor=["ranks=1,2"]).starts_ranks
