# SPDX-License-Identifier: Apache-2.0
"""POP metrics of programs whose thread-seconds are known, against theory."""

import os

import pytest

from corescale import native
from corescale.conclude.explain import sites
from corescale.conclude.explain.efficiency import Efficiency
from corescale.observe.symbols import Symbols
from support.profiles import Seen, faultless, see, undisturbed

POINTS = 0.02
SECONDS = "0.4"
"""of work: the kernel takes a core from a program of real time after 0.95 s"""
THEORY = {
    ("imbalance", "openmp"): (0.75, 1.0),
    ("serial", "openmp"): (0.75, 1.0),
    ("sleep", "openmp"): (1.0, 0.5),
    ("condition", "threads"): (0.5, 1.0),
    ("lock", "threads"): (0.7, 1.0),
}
"""Load balance, and communication, of two threads."""


OF_FOUR = {("imbalance", "openmp"): 0.625, ("condition", "threads"): 0.25, ("lock", "std"): 0.55}
"""Load balance of four, on as many cores or fewer: it is of CPU time, which does not know how many cores there are."""


def launch(part: str, system: str, threads: int, first: tuple[str, ...] = ()) -> Seen:
    return see(*first, str(native.find("known_truth")), part, system, str(threads), SECONDS, threads=threads)


def metrics(seen: Seen) -> Efficiency:
    assert seen.ledger.efficiency is not None
    return seen.ledger.efficiency


@pytest.mark.parametrize(("part", "system"), THEORY)
def test_metrics_are_within_two_points_of_theory(part: str, system: str) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")
    balance, communication = THEORY[part, system]

    def alone() -> Seen:
        with undisturbed() as first:
            return launch(part, system, 2, first)

    def wrong(seen: Seen) -> dict[str, float]:
        found = metrics(seen)
        errors = {"communication": found.communication - communication, "balance": found.load_balance - balance}
        return {name: error for name, error in errors.items() if abs(error) >= POINTS}

    found = metrics(faultless(alone, wrong))
    assert found.parallel == pytest.approx(found.load_balance * found.communication * found.had_a_core)


@pytest.mark.parametrize(("part", "system"), OF_FOUR)
def test_the_load_balance_of_four_threads_is_within_two_points_of_theory(part: str, system: str) -> None:
    assert metrics(launch(part, system, 4)).load_balance == pytest.approx(OF_FOUR[part, system], abs=POINTS)


@pytest.mark.parametrize("part", ["imbalance", "condition"])
def test_threads_that_take_turns_on_few_cores_wait_for_these_and_not_for_each_other(part: str) -> None:
    """The thread with most work computes or is ready to all the time, on however many cores."""
    system = "openmp" if part == "imbalance" else "threads"

    def wrong(seen: Seen) -> dict[str, float]:
        error = metrics(seen).communication - 1.0
        return {"communication": error} if abs(error) >= POINTS else {}

    faultless(lambda: launch(part, system, 4), wrong)


@pytest.mark.parametrize(("part", "system"), [("serial", "openmp"), ("imbalance", "threads"), ("imbalance", "openmp")])
def test_half_of_the_time_one_thread_alone_computes(part: str, system: str) -> None:
    """Whether the other one has no work, has ended, or waits at the end of a region."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")

    def alone() -> Seen:
        with undisturbed() as first:
            return launch(part, system, 2, first)

    def wrong(seen: Seen) -> dict[str, float]:
        assert seen.ledger.serial is not None
        error = seen.ledger.serial / seen.ledger.wall - 0.5
        return {"serial": error} if abs(error) >= POINTS else {}

    profile = faultless(alone, wrong).profile
    places = sites.alone([(profile, Symbols(profile.modules))])
    assert sum(site.share for site in places if "grind" in site.place) > 0.8
