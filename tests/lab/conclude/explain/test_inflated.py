# SPDX-License-Identifier: Apache-2.0
"""What inflated computing is made of: from launches at once whose truth is known."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from corescale.conclude.explain.explanation import Explanation
from corescale.conclude.explain.inflated import FEWEST, MOST, Block, Cause, Part, parts
from corescale.conclude.explain.ledger import Ledger
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.stats import Interval
from corescale.show.explain import lines
from corescale.show.explain_json import as_json

USUAL = 2.0
"""thread-seconds of computing, as at 1 thread"""
TRUTHS = {
    "memory": {Cause.MEMORY: 0.6, Cause.CORES: 0.0, Cause.SHARING: 0.0},
    "cores": {Cause.MEMORY: 0.0, Cause.CORES: 0.5, Cause.SHARING: 0.0},
    "sharing": {Cause.MEMORY: 0.0, Cause.CORES: 0.0, Cause.SHARING: 0.8},
    "all": {Cause.MEMORY: 0.4, Cause.CORES: 0.2, Cause.SHARING: 0.6},
}


def booked(inflated: float, reach: float | None = 0.02) -> Ledger:
    """A ledger whose row of inflated computing is known to so much."""
    rows = {LedgerRow.COMPUTING: USUAL, LedgerRow.INFLATED: inflated}
    low, high = (None, None) if reach is None else (inflated - reach, inflated + reach)
    beyond = {LedgerRow.INFLATED: Interval(inflated, low, high, 0.95, 4)}
    return Ledger(2, 2.0, dict.fromkeys(LedgerRow, 0.0) | rows, cpu=3.0, burnt=0.0, beyond=beyond)


def made(truth: dict[Cause, float], count: int, rng: np.random.Generator, noise: float = 0.005) -> Sequence[Block]:
    """All launches of a block drift together."""
    cores = 1 + truth[Cause.CORES] / USUAL
    usual = np.array([1.0, cores + truth[Cause.MEMORY] / USUAL, 0.3, 0.3 * cores])
    drift = np.exp(0.08 * rng.standard_normal((count, 1)))
    return [Block(*map(float, one)) for one in usual * drift * np.exp(noise * rng.standard_normal((count, 4)))]


def by_cause(found: Sequence[Part]) -> dict[Cause, Interval]:
    return {part.cause: part.seconds for part in found}


@pytest.mark.parametrize("name", TRUTHS)
def test_parts_of_known_size_are_found(name: str) -> None:
    truth, rng = TRUTHS[name], np.random.default_rng(1)
    whole = sum(truth.values())
    covered = 0
    for _ in range(100):
        found = by_cause(parts(booked(whole), made(truth, FEWEST, rng)))
        assert sum(one.estimate for one in found.values()) == pytest.approx(whole)
        covered += all(
            one.low is not None and one.high is not None and one.low - 1e-9 <= truth[cause] <= one.high + 1e-9
            for cause, one in found.items()
        )
    assert covered >= 93
    assert {cause: one.estimate for cause, one in found.items()} == pytest.approx(truth, abs=0.05)


def test_copies_that_cost_more_than_threads_leave_nothing_for_sharing() -> None:
    """Each copy has all of the data, which threads divide among them."""
    truth = {Cause.MEMORY: 1.2, Cause.CORES: 0.0, Cause.SHARING: 0.0}
    found = by_cause(parts(booked(0.4), made(truth, MOST, np.random.default_rng(2))))
    assert found[Cause.MEMORY].estimate == pytest.approx(0.4, abs=0.02)
    assert found[Cause.SHARING].estimate == pytest.approx(0.0, abs=1e-9)
    assert found[Cause.SHARING].high == 0.0


def test_a_row_without_an_interval_gives_sharing_none() -> None:
    found = by_cause(parts(booked(0.8, reach=None), made(TRUTHS["all"], FEWEST, np.random.default_rng(3))))
    assert found[Cause.SHARING].low is None
    assert found[Cause.MEMORY].low is not None


def test_the_fewest_blocks_are_enough_for_an_interval_and_one_less_is_not() -> None:
    rng = np.random.default_rng(4)
    for count in (FEWEST - 1, FEWEST):
        found = by_cause(parts(booked(1.2), made(TRUTHS["all"], count, rng)))
        assert (found[Cause.MEMORY].low is None) == (count < FEWEST)


@pytest.mark.parametrize(("largest", "advised"), [(Cause.SHARING, True), (Cause.MEMORY, False)])
def test_parts_are_shown_the_largest_first_and_only_sharing_has_a_remedy_in_cpp(largest: Cause, advised: bool) -> None:
    found = [Part(cause, Interval(0.1 + 0.5 * (cause is largest), 0.0, 0.7, None, 8), 8) for cause in Cause]
    shown = as_json(Explanation(booked(0.8), {}, (), {}, inflated=tuple(found)))
    (line,) = [line for line in lines(shown) if line.startswith("  inflated computing: ")]
    assert line.startswith(f"  inflated computing: {largest} 0.60 [0.00, 0.70]; ")
    assert any("in C++" in line for line in lines(shown)) == advised
    assert not any("in C++" in line for line in lines(shown | {"is_cpp": False}))
    assert any(line.endswith(" more than at 1 rank") for line in lines(shown | {"ranks": 2}))
    assert sum(part["seconds"] for part in shown["inflated_parts"]) == pytest.approx(0.8)
    earlier = {name: value for name, value in shown.items() if name != "inflated_parts"}
    assert not any(line.startswith("  inflated computing: ") for line in lines(earlier))


def test_nothing_is_said_of_parts_that_were_not_tested() -> None:
    shown = as_json(Explanation(replace(booked(0.8)), {}, (), {}))
    assert shown["inflated_parts"] == []
    assert not any(line.startswith("  inflated computing: ") for line in lines(shown))
