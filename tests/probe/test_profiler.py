# SPDX-License-Identifier: Apache-2.0
"""The profiler in real programs of known truth, and in programs that end as they like."""

import contextlib
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from corescale import native
from corescale.conclude.explain.ledger import ledger
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.explain.sites import sites
from corescale.declare.factors import Launch
from corescale.observe.profiled import profiled
from corescale.observe.profiler import environment
from corescale.observe.symbols import Symbols
from support.profiles import Seen, faultless, see, undisturbed

SECOND = 0.5
"""CPU seconds that stand for one in the truths"""
POINTS = 0.03
"""error of a row that is allowed; twice that for `small`, whose calls of 50 ns are off by more on some hosts"""
ENDED = "absent (serial)"
WAITS = "barrier and join wait"

ALLOCATING = ("malloc", "small", "touch")
TRUTHS: dict[tuple[str, int], dict[str, float]] = {
    (part, threads): {"computing": 0.8, "allocating": 0.2} for part in ALLOCATING for threads in (1, 2)
} | {
    ("imbalance", 1): {"computing": 1.0},
    ("imbalance", 2): {"computing": 0.75, WAITS: 0.25},
    ("slow", 2): {"computing": 0.75, WAITS: 0.25},
    ("serial", 1): {"computing": 1.0},
    ("serial", 2): {"computing": 0.75, ENDED: 0.25},
    ("sleep", 1): {"computing": 0.5, "blocked": 0.5},
    ("sleep", 2): {"computing": 0.5, "blocked": 0.5},
    ("pause", 1): {"computing": 0.5, "blocked": 0.5},
    ("pause", 2): {"computing": 0.5, "blocked": 0.5},
    ("lock", 1): {"computing": 1.0},
    ("lock", 2): {"computing": 0.7, "lock wait": 0.3},
    ("condition", 1): {"computing": 1.0},
    ("condition", 2): {"computing": 0.5, ENDED: 0.5},
    ("pool", 2): {"computing": 0.75, ENDED: 0.25},
    ("event", 2): {"computing": 0.5, "blocked": 0.5},
    ("spin", 2): {"computing": 0.5, "spinning": 0.5},
    ("yield", 2): {"computing": 0.5, "spinning": 0.5},
}
"""Shares of the thread-seconds."""
IN_A_LIBRARY = ("imbalance", "slow", "serial", "pause", "lock", "condition", "pool", "yield")
"""Parts in which a thread waits; what else a thread does is seen by the same code whoever made it."""
OF_SYSTEM = dict.fromkeys(("openmp", "libomp", "tbb"), IN_A_LIBRARY) | {"std": ("imbalance", "serial", "lock")}
"""`std` makes and joins plain threads."""
CASES = [(*case, "threads") for case in TRUTHS] + [
    (part, 2, system) for system, parts in OF_SYSTEM.items() for part in parts
]
OF_FOUR: dict[tuple[str, str], dict[str, float]] = {
    ("imbalance", "openmp"): {"computing": 2.5},
    ("slow", "libomp"): {"computing": 2.5},
    ("slow", "tbb"): {"computing": 2.5},
    ("serial", "threads"): {"computing": 5.0},
    ("lock", "std"): {"computing": 2.2, "lock wait": math.nan},
    ("condition", "threads"): {"computing": 1.0},
    ("spin", "threads"): {"computing": 1.0, "spinning": math.nan},
} | {("pause", system): {"computing": 4.0, "blocked": 4.0} for system in ("threads", "std", "openmp", "libomp", "tbb")}
"""Of 4 threads, on as many cores or fewer: seconds of rows, besides waits for others. NaN: the order decides them."""


def known(part: str, system: str = "threads", threads: int = 1, second: float = SECOND) -> Seen:
    """libomp is OpenMP by another compiler. More threads than cores share these with all programs."""
    name, system = ("known_truth_libomp", "openmp") if system == "libomp" else ("known_truth", system)
    words = (str(native.find(name)), part, system, str(threads), str(second))
    with undisturbed() if threads <= len(os.sched_getaffinity(0)) else contextlib.nullcontext(()) as first:
        return see(*first, *words, threads=threads)


@pytest.mark.parametrize(("part", "threads", "system"), CASES)
def test_known_parts_are_found(part: str, threads: int, system: str) -> None:
    if threads > len(os.sched_getaffinity(0)):
        pytest.skip("as many cores are not here")
    truth = dict(TRUTHS[part, threads])
    if part == "imbalance" and threads == 2 and system not in ("openmp", "libomp"):
        truth[ENDED] = truth.pop(WAITS)  # the worker ends, and nobody waits for it
    faultless(lambda: known(part, system, threads), lambda seen: _wrong(truth, seen.shares, 1 + (part == "small")))


def test_a_lock_that_is_asked_for_until_a_time_is_waited_for() -> None:
    """A read-write lock, in four ways."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")
    truth = {"computing": 0.7, "lock wait": 0.3}
    faultless(lambda: known("shared", "threads", 2), lambda seen: _wrong(truth, seen.shares))


@pytest.mark.parametrize(("part", "system"), OF_FOUR)
def test_four_threads_are_told_from_the_cores_that_they_wait_for(part: str, system: str) -> None:
    """Those that end first wait for the others, or are absent.

    The kernel's own sum has the queueing of threads that end a wait, too, and not all of those that have ended.
    """
    truth = {row: seconds * SECOND / 2 for row, seconds in OF_FOUR[part, system].items()}

    def wrong(seen: Seen) -> dict[str, float]:
        total, rows = seen.ledger.total, dict(seen.ledger.rows)
        booked = rows.pop(LedgerRow.QUEUED)
        left = {WAITS, ENDED, *(row for row, seconds in truth.items() if math.isnan(seconds))}
        shares = {row: seconds / total for row, seconds in rows.items() if row not in left}
        found = _wrong({row: seconds / total for row, seconds in truth.items()}, shares)
        waits = sum(rows.values()) - rows[LedgerRow.COMPUTING]
        if booked <= (seen.launch.report.runqueue_wait or 0.0) - waits - POINTS * total:
            found["waiting for a core"] = booked
        return found

    faultless(lambda: known(part, system, 4, SECOND / 2), wrong)


def _wrong(truth: Mapping[str, float], shares: Mapping[str, float], factor: int = 1) -> dict[str, float]:
    """The shares of rows that are off by more than `factor` times POINTS; `pytest -rP` shows the largest error."""
    errors = {row: abs(share - truth.get(row, 0.0)) for row, share in shares.items()}
    worst = max(errors, key=lambda row: errors[row])
    print(f"largest error {errors[worst]:.1%}, in {worst}")
    return {row: share for row, share in shares.items() if errors[row] > factor * POINTS}


def test_the_rows_are_all_there_is() -> None:
    seen = known("imbalance", "openmp", 2)
    assert sum(seen.ledger.rows.values()) == pytest.approx(seen.ledger.total, rel=0.01)


def test_a_thousand_short_threads_are_all_counted() -> None:
    seen = known("short", "std", 2)
    assert len(seen.profile.threads) == 1001
    assert sum(thread.cpu for thread in seen.profile.threads[1:]) == pytest.approx(SECOND, rel=0.25)


def test_short_threads_have_no_balance_of_their_own() -> None:
    assert known("short", "std", 2).ledger.efficiency is None


def test_ten_thousand_threads_are_all_counted() -> None:
    seen = known("many")
    assert (len(seen.profile.threads), seen.profile.lost_threads) == (10_001, 0)


def test_a_stripped_program_has_the_beginnings_of_its_functions(tmp_path: Path) -> None:
    program = tmp_path / "stripped"
    subprocess.run(["strip", "-o", program, native.find("known_truth")], check=True)
    profile = see(str(program), "imbalance", "threads", "1", str(SECOND)).profile
    found = sites([(profile, Symbols(profile.modules))])["computing"]
    assert found[0].place.startswith("stripped+0x")
    assert found[0].share > 0.8


def test_a_region_has_its_load_balance() -> None:
    region = known("imbalance", "openmp", 2).profile.regions[0]
    assert (region.calls, region.threads) == (1, 2.0)
    assert region.balance == pytest.approx(0.75, abs=0.1)


@pytest.mark.parametrize("system", ["openmp", "libomp"])
def test_tasks_that_are_run_in_a_wait_are_computing(system: str) -> None:
    """One thread makes them and waits, the other waits at the end of the region."""
    seen = faultless(lambda: known("tasks", system, 2), lambda seen: _wrong({"computing": 1.0}, seen.shares))
    assert seen.profile.regions[0].balance > 0.9
    found = sites([(seen.profile, Symbols(seen.profile.modules))])["computing"]
    assert sum(site.share for site in found if "grind" in site.place) > 0.9


def test_what_a_program_says_that_it_has_done_is_kept() -> None:
    """As the work of a loop that is repeated for some time."""
    line = (str(native.find("unit_task")), "--threading", "serial", "--repeat-for", "20")
    seen = see(*line)
    assert seen.launch.report.status == "ok"
    assert (seen.launch.work or 0) >= 4096


def test_five_thousand_regions_are_counted() -> None:
    assert sum(region.calls for region in known("regions", "openmp", 2).profile.regions) == 5000


@pytest.mark.parametrize(("part", "row", "function"), [
    ("malloc", "allocating", "allocate_a_fifth"),
    ("imbalance", "computing", "grind"),
    ("serial", "absent (serial)", "grind"),
    ("pause", "blocked", "main"),
    ("pool", "absent (serial)", "grind"),
])  # fmt: skip
def test_planted_call_sites_are_named(part: str, row: str, function: str) -> None:
    profile = known(part, "threads", 2).profile
    found = sites([(profile, Symbols(profile.modules))])[row]
    assert found[0].place.startswith("known_truth.cpp:")
    assert sum(site.share for site in found if function in site.place) > 0.8


@pytest.mark.parametrize(
    ("part", "status"), [("altstack", "ok"), ("exit", "ok"), ("kill", "signal"), ("abandon", "ok")]
)
def test_a_program_that_ends_abruptly_is_kept(part: str, status: str) -> None:
    seen = known(part)
    assert seen.launch.report.status == status
    assert seen.profile.finished == (status == "ok")
    whole = SECOND * len(seen.profile.threads)
    assert whole - 0.05 < seen.profile.cpu < whole + 0.3  # loading it takes CPU time too


def test_a_wait_that_a_signal_ends_is_booked_to_its_end() -> None:
    launch = profiled(Launch(("sleep", "60")), 1, timeout=2)
    found = ledger(launch.profiles, launch.wall)
    assert launch.report.status == "timeout"
    assert found.rows["blocked"] > 0.5 * found.total


def test_a_child_that_only_forks_has_a_profile_of_its_own() -> None:
    seen = known("fork", "threads", 2)
    assert seen.profile.cpu == pytest.approx(2 * SECOND, abs=0.1)
    assert len([one for one in seen.launch.profiles if one.executable.endswith("known_truth")]) == 2
    assert seen.ledger.rows["computing"] == pytest.approx(2.1 * SECOND, abs=0.1)  # of both
    assert sum(seen.ledger.rows.values()) == pytest.approx(seen.ledger.total)


@pytest.mark.parametrize("allocator", ["libmimalloc.so.2", "libjemalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_it_goes_before_another_allocator(allocator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", allocator)
    seen = known("malloc", "threads", 2)
    assert allocator.split(".", maxsplit=1)[0] in seen.profile.modules
    assert sum(thread.allocations for thread in seen.profile.threads) > 10_000
    allocated = seen.ledger.allocating  # by its own clock it spends a fifth, whatever allocator it has
    assert allocated is not None and allocated.low is not None and allocated.low > 0.05 * seen.profile.cpu


def test_the_memory_of_a_program_lies_where_it_does_without(tmp_path: Path) -> None:
    """So its data share the cache lines that they share without the profiler."""
    line = (str(native.find("known_truth")), "addresses", "threads", "1")
    made = [
        subprocess.run(line, check=True, capture_output=True, text=True, env=os.environ | given).stdout
        for given in ({}, environment(tmp_path, 1, os.environ.get("LD_PRELOAD")))
    ]
    assert made[0] == made[1]
    assert list(tmp_path.glob("profile-*"))


def test_a_static_program_has_no_profile() -> None:
    program = next(iter(Path(native.find("spawner_fixture")).parent.glob("spawner_fixture_static")), None)
    if program is None:
        pytest.skip("no static C library")
    assert profiled(Launch((str(program), "nothing")), 1).profiles == ()


def test_a_program_that_ends_at_every_signal_lives(tmp_path: Path) -> None:
    """As sort(1) does, which takes SIGPROF for its end."""
    lines = tmp_path / "lines"
    lines.write_text("".join(f"{k * 7919 % 200003}\n" for k in range(200_000)))
    seen = see("sort", "--parallel=2", "-o", "/dev/null", str(lines), threads=2)
    assert (seen.launch.report.status, seen.profile.finished) == ("ok", True)


def test_a_program_that_opens_a_hundred_libraries_lives() -> None:
    """Some are of C++ in a program of C, whose `new` is in no library before or after the profiler."""
    code = "import matplotlib.pyplot, numpy; half = numpy.full((300, 300), 0.5); half @ half"
    seen = see(sys.executable, "-c", code, threads=2)
    assert (seen.launch.report.status, seen.profile.finished) == ("ok", True)
    assert "_multiarray_umath" in seen.profile.modules


def test_what_a_program_says_and_returns_is_its_own() -> None:
    assert see("sh", "-c", "exit 7").launch.report.exit_code == 7


def test_ranks_with_1_to_2_work_have_the_load_balance_of_theory() -> None:
    """Started by mpirun as typed: neither it nor its daemons are ranks."""
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("needs mpirun")
    line = (mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "2", str(native.find("known_ranks")), "1")
    seen = see(*line)
    assert [Path(one.executable).name for one in seen.launch.profiles if one.is_rank] == ["known_ranks"] * 2
    assert seen.ledger.efficiency is not None
    assert seen.ledger.efficiency.load_balance == pytest.approx(0.75, abs=0.03)
    found = sites([(one, Symbols(one.modules)) for one in seen.launch.profiles if one.is_rank])
    assert any(site.place.startswith("MPI_Barrier at known_ranks.cpp:") for site in found[LedgerRow.MPI])
    assert not [site for row in found.values() for site in row if "libevent" in site.place]  # of MPI's own threads


def test_time_in_mpi_is_known_by_call_and_partner() -> None:
    """Two ranks wait 20 times for the first, which computes twice as long; nobody else has a partner."""
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("needs mpirun")
    line = (mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "3", str(native.find("known_ranks")), "1", "send")
    ranks = [one for one in see(*line).launch.profiles if one.is_rank]
    calls = sorted((m.call, m.partner, m.calls) for one in ranks for m in one.messages if m.partner is not None)
    assert calls == [("MPI_Recv", 0, 20)] * 2 + [("MPI_Send", 1, 20), ("MPI_Send", 2, 20)]
    waited = [m.seconds for one in ranks for m in one.messages if m.call == "MPI_Recv"]
    assert min(waited) > 0.3
    assert all(m.partner is None for one in ranks for m in one.messages if m.call in ("MPI_Init", "MPI_Finalize"))
