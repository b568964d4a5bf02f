# SPDX-License-Identifier: Apache-2.0
"""Inflated computing is split by copies at once, and what keeps copies from running at once is one line."""

import math
import os
import statistics
import subprocess
import time
from collections.abc import Callable
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
from corescale.errors import InconclusiveError, InterruptedRunError
from corescale.machine import Machine
from corescale.observe import other_runs
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


def known(part: str, mebibytes: float, threads: str = "{threads}") -> tuple[str, ...]:
    """Threads that go over memory of their own, all together as often, however much it is."""
    return KNOWN, part, "threads", threads, "0.1", str(mebibytes)


def seconds(line: tuple[str, ...], *places: str) -> float:
    """The CPU seconds that copies of a program print, their mean: one on each of these sets of CPUs, at once."""
    with undisturbed() as first:
        made = [
            subprocess.Popen([*first, "taskset", "-c", place, *line], stdout=subprocess.PIPE, text=True)
            for place in places
        ]
        return statistics.fmean(float(one.communicate()[0].split()[0]) for one in made)


CORES = [str(core) for core in sorted(os.sched_getaffinity(0))[:2]]


def beside_another(mebibytes: float, pairs: int = 3) -> float:
    """The share of its CPU time that work on memory costs only because another program does it on another core."""
    line = known("memory", mebibytes, "1")
    return 1 - statistics.median(seconds(line, CORES[0]) / seconds(line, *CORES) for _ in range(pairs))


def beside_its_thread() -> float:
    """The share that it costs only because another thread of the program does it in the memory next to it."""
    lines = [known("adjacent", IN_A_CORE, threads) for threads in "12"]
    return 1 - statistics.median(seconds(lines[0], CORES[0]) / seconds(lines[1], ",".join(CORES)) for _ in range(3))


IN_A_CORE = 0.015625
"""MiB: in the smallest cache of any core"""
POINTS, LONGEST, FEW = 0.03, 20, 3
"""error of a share that is allowed; seconds after which no further try is made; steady tries that are not enough"""


def must_agree(
    line: tuple[str, ...], cause: Cause, truth: Callable[[], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inflated computing is of this cause, as much as the program's own clocks show before and after, without the
    profiler: in one of some results, since other machines of the host disturb them."""
    steady, ends = 0, time.monotonic() + LONGEST
    while time.monotonic() < ends:
        before = truth()
        parts, row = explained(line, monkeypatch)
        low, high = sorted((before, truth()))
        if all(low - POINTS <= one <= high + POINTS for one in (row, parts.get(cause, 0.0))):
            return
        steady += high - low <= POINTS
    assert steady < FEW, (low, high, row, parts)
    pytest.skip(f"what it costs changed during most tries, as other machines of the host do: {low, high}")


def test_threads_that_compute_in_their_own_caches_inflate_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(explained(known("memory", IN_A_CORE), monkeypatch)[1] <= POINTS for _ in range(TRIES))


def test_what_a_processor_prefetches_of_another_thread_s_memory_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    must_agree(known("adjacent", IN_A_CORE), Cause.SHARING, beside_its_thread, monkeypatch)


def test_memory_that_the_cores_contend_for_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {size: beside_another(size, pairs=1) for size in (16, 32, 64, 96)}
    size = max(found, key=lambda one: found[one])
    if found[size] < 5 * POINTS:
        pytest.skip(f"work on memory costs two cores here no more than one: {found}")
    must_agree(known("memory", size), Cause.MEMORY, lambda: beside_another(size), monkeypatch)


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


def test_a_note_on_the_machine_comes_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two launchers run copies: of the program, and of a loop."""
    monkeypatch.setattr(other_runs, "processes", lambda: [1])
    with pytest.raises(InconclusiveError):
        split("sleep", "0.1", room=0.5)
    assert capsys.readouterr().out.count("another corescale measures") == 1


def test_copies_must_fit_into_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "free_memory", lambda: 1.0)
    with pytest.raises(InconclusiveError, match=r"2 copies of .* GiB need too much memory"):
        split("true")


def test_a_program_that_fails_beside_itself_is_not_split(tmp_path: Path) -> None:
    once = f"mkdir {tmp_path}/here || exit 7; sleep 0.05; rmdir {tmp_path}/here"
    with pytest.raises(InconclusiveError, match="a copy failed with exit code 7"):
        split("sh", "-c", once)


@pytest.mark.parametrize("last", [1, 2, 3])
def test_an_interruption_leaves_the_launches_of_whole_pairs(last: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one = explaining.Launches.one

    def interrupted(self: explaining.Launches, *given: Any, **also: Any) -> Any:
        if self.made == last:
            raise KeyboardInterrupt
        return one(self, *given, **also)

    monkeypatch.setattr(explaining.Launches, "one", interrupted)
    asked = ScanRequest(threads="1,2", budget="60s")
    if last == 1:
        with pytest.raises(KeyboardInterrupt):
            explaining.found(asked, ["sleep", "0.01"], Machine.here(), print)
        return
    found, _ = explaining.found(asked, ["sleep", "0.01"], Machine.here(), print)
    assert isinstance(found.late, KeyboardInterrupt)
    assert found.shown["rows"] and not found.shown["swaps"]


def test_an_interrupted_swap_is_an_interruption_of_explain(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise InterruptedRunError("corescale-runs/compare-1/1") from KeyboardInterrupt()

    monkeypatch.setattr(explaining, "_swaps", interrupted)
    found, _ = explaining.found(ScanRequest(threads="1", budget="1s"), ["true"], Machine.here(), print)
    assert isinstance(found.late, KeyboardInterrupt)


def test_an_interruption_leaves_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(explaining, "split", interrupted)
    monkeypatch.setattr(explaining, "_swaps", lambda *_: ())
    found, _ = explaining.found(ScanRequest(threads="1", budget="1s"), ["true"], Machine.here(), print)
    assert isinstance(found.late, KeyboardInterrupt)
    assert found.shown["rows"]
