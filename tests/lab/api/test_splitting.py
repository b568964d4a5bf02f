# SPDX-License-Identifier: Apache-2.0
"""Inflated computing is split by copies at once, and what keeps copies from running at once is one line."""

import math
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
    monkeypatch.setattr(explaining, "_swaps", lambda *_: ())
    monkeypatch.setattr(explaining, "SHARE_OF_BUDGET", math.inf)
    monkeypatch.setattr(comparison, "MOST_LAUNCHES", LAUNCHES)
    monkeypatch.setattr(splitting, "MOST", FEWEST)
    for _ in range(TRIES):
        with undisturbed() as first:
            monkeypatch.setattr(splitting, "LOOP", (*first, *LOOP))
            request = ScanRequest(threads="1,2", budget="1s")
            found, _ = explaining.found(request, (*first, *line), Machine.here(), print)
        assert found.late is None
        parts = {part["cause"]: part for part in found.shown["inflated_parts"]}
        row = found.shown["rows"]["inflated computing"]["seconds"]
        assert sum(part["seconds"] for part in parts.values()) == pytest.approx(row)
        assert all(part["blocks"] == FEWEST for part in parts.values())
        if parts and max(parts, key=lambda one: float(parts[one]["seconds"])) == cause:
            return
    assert parts == {cause: row}


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
