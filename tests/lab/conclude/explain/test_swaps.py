# SPDX-License-Identifier: Apache-2.0
"""What one thing changed gives back: from launches of known truth to thread-seconds."""

from dataclasses import replace

import numpy as np
import pytest

from corescale.conclude.answers.verdict import compare
from corescale.conclude.explain.changes import Swap, swaps, worth_swapping
from corescale.conclude.explain.explanation import Explanation
from corescale.conclude.explain.ledger import Ledger
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.stats import Interval
from corescale.declare import command_line
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.declare.request import ScanRequest
from corescale.machine import Machine
from corescale.show.explain import lines
from corescale.show.explain_json import as_json
from support.samples import records

NAMES = ("allocator", "OMP_WAIT_POLICY")


def booked(**rows: float) -> Ledger:
    named = {LedgerRow(name.replace("_", " ")): seconds for name, seconds in rows.items()}
    return Ledger(2, 1.0, dict.fromkeys(LedgerRow, 0.0) | named, cpu=2.0, burnt=0.0)


def asked() -> Experiment:
    return command_line.swaps(ScanRequest(threads="2"), ("sort", "x"), Machine.here(), NAMES)


def test_one_thing_is_changed_in_each_launch() -> None:
    experiment = asked()
    now = dict(baseline(experiment).levels)
    changed = [{k for k, v in c.levels if v != now[k]} for c in configurations(experiment)[1:]]
    assert sorted(map(tuple, changed)) == [("OMP_WAIT_POLICY",), ("allocator",)]
    assert {c.layout.p for c in configurations(experiment)} == {2}


def test_a_change_gives_back_its_part_of_the_thread_seconds() -> None:
    """A tenth of 2 threads x 1 s with another allocator, and nothing with another wait policy."""
    experiment, ledger = asked(), booked(allocating=0.3, spinning=0.1)
    other = dict(baseline(experiment).levels)["allocator"]
    seen = records(experiment, lambda c: 1.0 if c.get("allocator") == other else 0.9, 20)
    found = swaps(compare(seen, experiment), ledger)
    assert [swap.factor for swap in found] == list(NAMES)
    assert found[0].booked == 0.3
    assert found[0].returned.estimate == pytest.approx(0.2, abs=0.03)
    assert found[0].returned.low and found[0].returned.low > 0.1
    assert found[1].returned.covers(0.0)
    said = [
        line
        for line in lines(as_json(Explanation(ledger, {}, (), {}, swaps=found), ("sort", "x")))
        if "swapping" in line
    ]
    assert said[0].endswith("corescale tune -f allocator=auto -- sort x")
    assert "try" not in said[1]


def test_a_change_that_fails_gives_back_nothing() -> None:
    experiment, ledger = asked(), booked(allocating=0.3, spinning=0.1)
    now = baseline(experiment)
    seen = [
        record if record.configuration == now else replace(record, status="failed")
        for record in records(experiment, lambda _: 1.0, 10)
    ]
    assert swaps(compare(seen, experiment), ledger) == ()


def test_what_costs_is_not_said_to_return() -> None:
    slower = Swap("bind", "close:cores", 0.5, Interval(-0.4, -0.5, -0.3, 0.95, 10))
    said = "\n".join(lines(as_json(Explanation(booked(), {}, (), {}, swaps=(slower,)))))
    assert "costs 20.0% [15.0%, 25.0%]" in said
    assert "returns" not in said


@pytest.mark.parametrize(("rows", "named"), [
    ({"allocating": 0.3, "blocked": 0.2}, "thread_allocator"),
    ({"allocating": 0.1, "blocked": 0.2}, None),
    ({"inflated computing": 0.3, "waiting for a core": 0.5}, "team"),
    ({"allocating": 0.01}, None),
])  # fmt: skip
def test_the_row_in_which_most_is_lost_names_what_the_cpp_library_has(
    rows: dict[str, float], named: str | None
) -> None:
    shown = as_json(Explanation(booked(**rows), {}, (), {}))
    said = [line for line in lines(shown) if "in C++" in line]
    assert len(said) == (named is not None)
    assert named is None or named in said[0]


@pytest.mark.parametrize(("most", "advised"), [(1, False), (2, True), (None, False)])
def test_a_wait_for_a_child_names_nothing_of_the_cpp_library(most: int | None, advised: bool) -> None:
    """Without a second thread nobody waits at a barrier."""
    rows = {"barrier and join wait": 0.5}
    shown = as_json(Explanation(booked(**rows), {}, (), {}, most_threads=most))
    assert any("parallel_for" in line for line in lines(shown)) == advised


def test_nothing_has_no_sign() -> None:
    nothing = Swap("allocator", "mimalloc", 0.0021, Interval(-1e-9, -1e-9, 1e-9, 0.95, 10))
    said = "\n".join(lines(as_json(Explanation(booked(), {}, (), {}, swaps=(nothing,)))))
    assert "nothing is shown" in said
    assert "-0.0" not in said


def test_the_share_is_covered_although_all_launches_of_a_block_drift_together() -> None:
    """Blocks drift by 8%, and a swap gives back 40%: in seconds of the blocks, the interval would cover it in 3 of 4
    runs."""
    experiment, ledger = asked(), booked(allocating=1.0)
    other = dict(baseline(experiment).levels)["allocator"]
    rng, covered = np.random.default_rng(3), 0
    for seed in range(100):
        drift = np.exp(0.08 * rng.standard_normal(12))
        seen = [
            replace(record, wall=(record.wall or 0.0) * float(drift[record.block]))
            for record in records(experiment, lambda c: 1.0 if c.get("allocator") == other else 0.6, 12, seed=seed)
        ]
        found = next(swap for swap in swaps(compare(seen, experiment), ledger) if swap.factor == "allocator")
        covered += found.returned.covers(0.4 * ledger.total)
    assert covered >= 93


@pytest.mark.parametrize(("rows", "names"), [
    ({}, ()),
    ({"computing": 2.0}, ("GLIBC_TUNABLES",)),
    ({"allocating": 0.01}, ()),
    ({"allocating": 0.03}, ("allocator", "GLIBC_TUNABLES")),
    ({"spinning": 0.03}, ("OMP_WAIT_POLICY", "openmp")),
    ({"inflated_computing": 0.03}, ("GLIBC_TUNABLES", "bind", "smt")),
])  # fmt: skip
def test_only_what_has_something_to_give_back_is_changed(rows: dict[str, float], names: tuple[str, ...]) -> None:
    assert worth_swapping(booked(**rows)) == names


@pytest.mark.parametrize(
    ("of", "said"),
    [
        ({}, "2 threads x"),
        ({"ranks": 2}, "2 ranks x"),
        ({"threads": 4, "ranks": 2}, "4 threads of 2 ranks x"),
        ({"threads": 4, "cores_available": 2}, "4 threads (oversubscribed: 2 cores) x"),
    ],
)
def test_the_first_line_counts_ranks_as_ranks_and_says_what_is_oversubscribed(of: dict[str, int], said: str) -> None:
    shown = as_json(Explanation(replace(booked(), **of), {}, (), {}))  # type: ignore[arg-type]
    assert next(lines(shown)).startswith(said)
    kept = {name: value for name, value in shown.items() if name not in ("ranks", "cores_available")}
    assert next(lines(kept)).startswith(f"{shown['threads']} threads x")
