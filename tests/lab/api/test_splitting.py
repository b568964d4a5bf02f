# SPDX-License-Identifier: Apache-2.0
"""Inflated computing is split by copies at once, and what keeps copies from running at once is one line."""

import math
import os
import statistics
import subprocess
from pathlib import Path
from typing import Any

import pytest

from corescale import native
from corescale.api import explaining, splitting
from corescale.api.splitting import LOOP
from corescale.conclude.explain import comparison
from corescale.conclude.explain.comparison import LAUNCHES
from corescale.conclude.explain.inflated import FEWEST, Cause
from corescale.conclude.explain.ledger import Ledger
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.stats import Interval
from corescale.declare.request import ScanRequest
from corescale.errors import InconclusiveError
from corescale.machine import Machine
from support.profiles import undisturbed

pytestmark = pytest.mark.skipif(len(Machine.here().affinity) < 2, reason="needs two CPUs")

TRIES = 4
KNOWN, BUGS = (str(native.find(name)) for name in ("known_truth", "scaling_bugs"))


def booked(inflated: float = 0.5, threads: int = 2) -> Ledger:
    rows = {LedgerRow.COMPUTING: 1.0, LedgerRow.INFLATED: inflated}
    beyond = {LedgerRow.INFLATED: Interval(inflated, None, None, None, 1)}
    return Ledger(threads, 1.0, dict.fromkeys(LedgerRow, 0.0) | rows, cpu=1.5, burnt=0.0, beyond=beyond)


def split(*words: str, ledger: Ledger | None = None, room: float = math.inf, **asked: Any) -> Any:
    request = ScanRequest(threads="1,2", **asked)
    return splitting.split(request, words, Machine.here(), ledger or booked(), room, print, print)


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ((KNOWN, "inflated", "threads", "{threads}", "0.2"), Cause.SHARING),
        ((KNOWN, "contended", "threads", "{threads}", "0.5", "shared"), Cause.MEMORY),
        ((BUGS, "statistics", "{threads}"), Cause.SHARING),
    ],
    ids=["of-its-threads", "of-all-programs", "cache-lines"],
)
def test_the_cause_is_found_by_what_copies_of_the_program_cost(
    line: tuple[str, ...], cause: Cause, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that costs more beside other threads of its program, and beside any that does it.

    In one of some results, since other programs disturb them.
    """
    monkeypatch.chdir(tmp_path)
    for _ in range(TRIES):
        parts, row = explained(line, monkeypatch)
        if parts and max(parts, key=lambda one: parts[one]) == cause:
            return
    assert parts == {cause: row}


def explained(line: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, float], float]:
    """The parts of inflated computing, and all of it, as shares of the thread-seconds that the cores gave."""
    monkeypatch.setattr(explaining, "_swaps", lambda *_: ())
    monkeypatch.setattr(explaining, "SHARE_OF_BUDGET", math.inf)
    monkeypatch.setattr(comparison, "MOST_LAUNCHES", LAUNCHES)
    monkeypatch.setattr(splitting, "MOST", FEWEST)
    with undisturbed() as first:
        monkeypatch.setattr(splitting, "LOOP", (*first, *LOOP))
        request = ScanRequest(threads="1,2", budget="1s")
        found, _ = explaining.found(request, (*first, *line), Machine.here(), print)
    assert found.late is None
    parts = {part["cause"]: part["seconds"] for part in found.shown["inflated_parts"]}
    rows = found.shown["rows"]
    row = rows["inflated computing"]["seconds"]
    if parts:
        assert sum(parts.values()) == pytest.approx(row)
        assert all(part["blocks"] == FEWEST for part in found.shown["inflated_parts"])
    given = found.shown["thread_seconds"] - rows["waiting for a core"]["seconds"]
    return {cause: seconds / given for cause, seconds in parts.items()}, row / given


def memory(mebibytes: float) -> tuple[str, ...]:
    """Goes over memory: each thread over its own, and all threads together as often, however much it is."""
    return KNOWN, "memory", "threads", "{threads}", "0.25", str(mebibytes)


def inflation(mebibytes: float) -> float:
    """The share of its CPU time that this work costs only because another program does the same on another core."""
    argv = [word.format(threads=1) for word in memory(mebibytes)]
    cores = sorted(os.sched_getaffinity(0))[:2]

    def seconds(count: int) -> float:
        with undisturbed() as first:
            made = [
                subprocess.Popen([*first, "taskset", "-c", str(core), *argv], stdout=subprocess.PIPE, text=True)
                for core in cores[:count]
            ]
            return statistics.fmean(float(one.communicate()[0].split()[0]) for one in made)

    pairs = [(seconds(1), seconds(2)) for _ in range(3)]
    return 1 - statistics.median(alone / beside for alone, beside in pairs)


IN_A_CORE = 0.0156
"""MiB: in the smallest cache of any core"""
SIZES = (16, 32, 48, 64, 96, 160)
POINTS = 0.03


def test_memory_that_the_cores_contend_for_is_found_and_none_where_they_compute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The truth is by the program's own clocks, before and after, without the profiler. Its threads share no data."""
    found = {size: inflation(size) for size in SIZES}
    contended = max(SIZES, key=lambda size: found[size])
    if found[contended] < 5 * POINTS:
        pytest.skip(f"work on memory costs two cores here no more than one: {found}")
    # Of memory alone: what its threads cost each other within one process may be more than two processes show.
    assert any(explained(memory(IN_A_CORE), monkeypatch)[0].get(Cause.MEMORY, 0) <= POINTS for _ in range(TRIES))
    steady = 0
    for _ in range(3 * TRIES):
        before = inflation(contended)
        parts, row = explained(memory(contended), monkeypatch)
        after = inflation(contended)
        truth = min(before, after), max(before, after)  # it was between them
        if all(truth[0] - POINTS <= one <= truth[1] + POINTS for one in (row, parts.get(Cause.MEMORY, 0.0))):
            return
        steady += abs(before - after) <= POINTS
        assert steady < TRIES, (truth, row, parts)
    pytest.skip(f"what the cores contend for changed during most tries, as other machines of the host do: {truth}")


def test_no_copy_is_launched_if_little_is_inflated(tmp_path: Path) -> None:
    assert split("touch", str(tmp_path / "launched"), ledger=booked(0.001)) == ()
    assert not (tmp_path / "launched").exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"room": 0.5}, "blocks of its copies need"),
        ({"ledger": booked(500.0, threads=10_000)}, "10000 copies at once need as many CPUs"),
    ],
)
def test_what_keeps_copies_from_running_at_once_is_one_line(options: dict[str, Any], why: str) -> None:
    with pytest.raises(InconclusiveError, match=why) as raised:
        split("sleep", "0.1", **options)
    assert "\n" not in str(raised.value)


def test_copies_must_fit_into_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "free_memory", lambda: 1.0)
    with pytest.raises(InconclusiveError, match=r"2 copies of .* GiB need too much memory"):
        split("true")


def test_a_program_that_fails_beside_itself_is_not_split(tmp_path: Path) -> None:
    once = f"mkdir {tmp_path}/here || exit 7; sleep 0.05; rmdir {tmp_path}/here"
    with pytest.raises(InconclusiveError, match="a copy failed with exit code 7"):
        split("sh", "-c", once)


def test_an_interruption_leaves_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(explaining, "split", interrupted)
    monkeypatch.setattr(explaining, "_swaps", lambda *_: ())
    found, _ = explaining.found(ScanRequest(threads="1", budget="1s"), ["true"], Machine.here(), print)
    assert isinstance(found.late, KeyboardInterrupt)
    assert found.shown["rows"]
