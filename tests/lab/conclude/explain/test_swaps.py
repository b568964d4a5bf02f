# SPDX-License-Identifier: Apache-2.0
"""What one thing changed gives back: from launches of known truth to thread-seconds."""

from dataclasses import replace

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
from corescale.show.explain import as_json, lines
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
    assert "costs 0.40 [0.30, 0.50]" in said
    assert "returns" not in said


def test_what_little_was_booked_has_digits() -> None:
    little = Swap("allocator", "mimalloc", 0.0021, Interval(-0.00001, -0.0003, 0.0004, 0.95, 10))
    said = "\n".join(lines(as_json(Explanation(booked(), {}, (), {}, swaps=(little,)))))
    assert "returns -0.00001 [-0.00030, 0.00040] of the 0.00210 booked: nothing is shown" in said
    nothing = replace(little, returned=Interval(-1e-9, -1e-9, 1e-9, 0.95, 10))
    assert "-0.0" not in "\n".join(lines(as_json(Explanation(booked(), {}, (), {}, swaps=(nothing,)))))


@pytest.mark.parametrize(("rows", "names"), [
    ({}, ()),
    ({"computing": 2.0}, ("GLIBC_TUNABLES",)),
    ({"allocating": 0.01}, ()),
    ({"allocating": 0.03}, ("allocator", "GLIBC_TUNABLES")),
    ({"spinning": 0.03}, ("OMP_WAIT_POLICY",)),
    ({"inflated_computing": 0.03}, ("GLIBC_TUNABLES", "bind")),
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
