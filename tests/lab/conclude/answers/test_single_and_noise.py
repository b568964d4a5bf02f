# SPDX-License-Identifier: Apache-2.0
"""One command alone, and waiting that a program or its neighbours caused."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from corescale.conclude.answers.scaling import scan
from corescale.conclude.answers.timing import timing
from corescale.conclude.answers.verdict import compare
from corescale.conclude.warnings import warnings
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.records import Noise, Process, Record
from support.play import record

Make = Callable[..., Experiment]


def launches(experiment: Experiment, walls: list[float], **more: Any) -> list[Record]:
    (only, *_) = configurations(experiment)
    return [record(only, wall, block=k, **more) for k, wall in enumerate(walls)]


def test_mean_spread_range_and_what_stands_apart(experiment: Make) -> None:
    e = experiment(verb="compare", levels={})
    found = timing(launches(e, [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 3.0]), configurations(e)[0], e)
    assert found is not None
    assert (found.least, found.most, found.launches, found.apart, found.median) == (0.98, 3.0, 7, 1, 1.0)
    few = timing(launches(e, [51.35, 51.35001, 51.47]), configurations(e)[0], e)
    assert few is not None and few.apart == 0, "of three, two are often close by chance"
    assert found.mean == pytest.approx(9.0 / 7) and found.deviation == pytest.approx(0.7560, rel=1e-3)


def test_one_command_has_nothing_to_be_compared_with(experiment: Make) -> None:
    e = experiment(verb="compare", levels={})
    (only,) = compare(launches(e, [1.0] * 7), e)
    assert only.alone is not None and only.alone.mean == 1
    (failed,) = compare(launches(e, [1.0] * 7, status="failed"), e)
    assert failed.alone is None and len(failed.never) == 1 and failed.failures == (7, 7)


@pytest.mark.parametrize(("slower", "told"), [(1.2, True), (1.0, False)])
def test_a_node_on_which_launches_take_longer_is_named(slower: float, told: bool, experiment: Make) -> None:
    """A block lies on one node; six blocks on each of two."""
    e = experiment(verb="compare", levels={})
    (only, *_) = configurations(e)
    made = [
        record(only, (slower if k % 2 else 1.0) * (1 + 0.01 * (k * 7 % 5)), block=k,
               processes=(Process("x264", 1.0, 0.0, 0, rank=0, node="n2" if k % 2 else "n1"),))
        for k in range(12)
    ]  # fmt: skip
    found = [line for line in warnings(made, e).lines if line.startswith("node ")]
    assert bool(found) == told
    if told:
        assert {line.split(":")[0] for line in found} == {"node n1", "node n2"}


@pytest.mark.parametrize(("used", "told"), [(2.0, False), (1.2, True)])
def test_threads_beyond_the_cores_wait_for_one_another(used: float, told: bool, experiment: Make) -> None:
    """A program that fills both of its CPUs has more threads than cores; one that does not was displaced by others."""
    e = experiment(verb="compare", levels={})
    waited = Noise(runqueue_wait=1.0, on_cpu=used, involuntary_switches=1000)
    process = Process("x264", used, 0.0, 0, affinity=(0, 1))
    found = warnings(launches(e, [1.0] * 7, user=used, noise=waited, processes=(process,)), e)
    assert any("waiting" in line for line in found.lines) == told
    assert any("switches" in line for line in found.lines) == told


@pytest.mark.parametrize(
    ("noise", "idle"),
    [
        (Noise(), True),
        (Noise(runqueue_wait=1.0), False),
        (Noise(runqueue_wait=0.2), True),
        # While one waits for the half of the time, the other stands at the barrier for as long.
        (Noise(runqueue_wait=0.3), False),
        (Noise(steal=0.3), False),
        # A fifth of its running was seen, so a fifth of its waiting.
        (Noise(runqueue_wait=0.2, on_cpu=0.2, sampled=True), False),
    ],
)
def test_cores_that_neighbours_had_are_not_idle(noise: Noise, idle: bool, experiment: Make) -> None:
    e = experiment(verb="scan", levels={"threads": (2,)})
    (row,) = scan(launches(e, [1.0] * 7, user=1.0, noise=noise), e).rows
    assert row.idle == idle


@pytest.mark.parametrize(
    ("used", "waited", "beyond"), [(1.0, 0.0, False), (1.9, 0.0, True), (0.2, 1.7, True), (0.2, 0.7, False)]
)
def test_more_threads_than_were_asked_for(used: float, waited: float, beyond: bool, experiment: Make) -> None:
    """Those that wait for a core count, so a busy machine does not hide them; what the hypervisor took does not."""
    e = experiment(verb="scan", levels={"threads": (1,)})
    noise = Noise(runqueue_wait=waited, steal=2.0)
    (row,) = scan(launches(e, [1.0] * 7, user=used, noise=noise), e).rows
    assert row.beyond == beyond


def test_one_thread_that_waits_is_not_several(experiment: Make) -> None:
    """A sample that saw a seventh of its running saw all of its waiting: the whole is no longer than the launch."""
    e = experiment(verb="scan", levels={"threads": (1,)})
    noise = Noise(runqueue_wait=0.3, on_cpu=0.1, sampled=True)
    (row,) = scan(launches(e, [1.0] * 7, user=0.7, noise=noise), e).rows
    assert not row.beyond


def test_one_thread_is_never_idle(experiment: Make) -> None:
    e = experiment(verb="scan", levels={"threads": (1,)})
    (row,) = scan(launches(e, [1.0] * 7, user=0.1), e).rows
    assert not row.idle
    assert dataclasses.replace(row, p=2).idle
