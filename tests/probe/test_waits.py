# SPDX-License-Identifier: Apache-2.0
"""Waits in real programs: their places and weights, and that they end and are refused as without the profiler."""

import os
import subprocess
from pathlib import Path

import pytest

from corescale import native
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.explain.sites import sites
from corescale.declare.factors import Launch
from corescale.observe.profiled import profiled
from corescale.observe.profiler import environment, read
from corescale.observe.symbols import Symbols
from corescale.profile import Profile
from support.profiles import Seen, see

SECOND = 0.5
"""what the programs compute or wait"""


def awkward(part: str) -> Seen:
    return see(str(native.find("awkward")), part, str(SECOND), threads=2)


@pytest.mark.parametrize("program", ["known_truth", "known_truth_libomp"])
def test_the_wait_at_a_barrier_is_at_the_barrier_and_not_at_its_region_too(program: str) -> None:
    profile = see(str(native.find(program)), "meet", "openmp", "2", str(SECOND), threads=2).profile
    region = profile.regions[0]
    assert region.inside > 0.9 * SECOND
    found = sites([(profile, Symbols(profile.modules))])[LedgerRow.BARRIER]
    assert found[0].share == pytest.approx(region.inside / region.waited, abs=0.02)


@pytest.mark.parametrize(("part", "handler"), [("jump_out_of_sleep", "jump("), ("switch_out_of_sleep", "switch_back")])
def test_a_handler_that_leaves_a_wait_ends_it_and_is_not_its_place(part: str, handler: str) -> None:
    """It sleeps 0.05 s of a minute, computes, and sleeps."""
    profile = awkward(part).profile
    thread = profile.threads[0]
    assert thread.calls["blocked"] == 2
    assert 0.05 + SECOND <= thread.spent["blocked"] < 10
    found = sites([(profile, Symbols(profile.modules))])["blocked"]
    assert part in found[0].place
    assert not [site for site in found if handler in site.place]


def test_a_long_wait_has_the_weight_of_its_length_after_a_short_one() -> None:
    profile = awkward("long_waits_after_short").profile
    found = sites([(profile, Symbols(profile.modules))])
    for row, function in ("blocked", "long_sleep"), ("lock wait", "long_lock"):
        assert function in found[row][0].place
        assert found[row][0].share > 0.95


def test_a_wait_that_a_kill_cut_off_has_its_place() -> None:
    """Each of three threads waits from the start until the time limit."""
    launch = profiled(Launch((str(native.find("awkward")), "waits_without_end")), 3, timeout=1)
    assert launch.report.exit_code != 0
    profile = launch.profiles[0]
    assert not profile.finished
    for function in "poll_for_ever", "join_for_ever", "told_for_ever":
        assert _placed(profile, function) == pytest.approx(profile.wall, abs=0.2)
    assert sum(sum(thread.spent.values()) for thread in profile.threads) == pytest.approx(3 * profile.wall, abs=0.2)
    assert len([event for event in profile.events if event.frames]) == 3


def test_a_wait_that_another_threads_exit_cut_off_has_its_place() -> None:
    profile = awkward("exits_beside_a_wait").profile
    assert profile.finished
    assert _placed(profile, "poll_for_ever") == pytest.approx(profile.threads[0].spent["blocked"], abs=0.01)
    assert profile.threads[0].spent["blocked"] > 0.8 * SECOND


def _placed(profile: Profile, function: str) -> float:
    """Seconds of waits in a function."""
    name = Symbols(profile.modules)
    waits = [stack for stack in profile.stacks if any(function in name(frame).function for frame in stack.frames)]
    return sum(sum(stack.seconds.get(state, 0.0) for state in ("blocked", "joining", "event")) for stack in waits)


def test_short_waits_have_their_share_of_the_time(tmp_path: Path) -> None:
    """Which the program says. One is several times as long as the other."""
    line = [str(native.find("awkward")), "short_waits", str(2 * SECOND)]
    said = subprocess.run(
        line, check=True, env={**os.environ, **environment(tmp_path, 1, None)}, timeout=60, capture_output=True
    ).stdout
    profile = read(tmp_path)[0][0]
    found = sites([(profile, Symbols(profile.modules))])["blocked"]
    assert sum(site.share for site in found if "sleep_less" in site.place) == pytest.approx(float(said), abs=0.07)
    assert sum(site.share for site in found if "sleep_more" in site.place) == pytest.approx(1 - float(said), abs=0.07)


def test_a_semaphore_that_is_free_is_a_place_to_be_cancelled() -> None:
    assert awkward("cancelled_at_a_free_semaphore").launch.report.exit_code == 0


def test_limits_of_time_that_there_are_not_are_refused_as_without(tmp_path: Path) -> None:
    said = [
        subprocess.run(
            [str(native.find("awkward")), "no_time_limits"],
            check=True,
            env={**os.environ, **given},
            capture_output=True,
        ).stdout
        for given in ({}, environment(tmp_path, 1, None))
    ]
    assert said[0] == said[1]
    assert b"22" in said[0]


def test_a_wait_that_a_handler_makes_within_another_leaves_none_open() -> None:
    """What is computed afterwards is not booked as a wait."""
    assert see(str(native.find("awkward")), "wait_in_a_handler", str(SECOND)).ledger.rows["computing"] > 0.8 * SECOND
