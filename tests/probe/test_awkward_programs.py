# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: a test for each habit, and they share nothing else)
"""The profiler in programs that do what is allowed and rare: they run as without it, and are seen as far as it goes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from corescale import native
from corescale.conclude.explain.explanation import explanation
from corescale.conclude.explain.ledger import ledger
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.explain.sites import sites
from corescale.declare.factors import Launch
from corescale.errors import UnavailableError
from corescale.observe import profiler
from corescale.observe.profiled import profiled
from corescale.observe.profiler import environment
from corescale.observe.symbols import Symbols
from support.profiles import Seen, see

SECOND = 0.5
"""CPU seconds that each thread of a program computes"""
SEEN_WHOLE = (
    "reset_signals", "reset_signals_raw", "block_signals", "handle_urgent", "wait_for_any_signal", "wait_for_urgent",
    "change_user", "ask_for_filters", "c11_threads", "main_leaves", "jump_out_of_sleep", "switch_out_of_sleep",
    "coroutines", "close_all",
    "tiny_stacks", "cancelled_in_a_wait", "cancel_at_once", "cancel_later", "read_beside", "timer_with_threads",
    "new_that_throws",
)  # fmt: skip
"""Parts of awkward.cpp."""


def awkward(part: str, *words: str, threads: int = 2) -> Seen:
    return see(str(native.find("awkward")), part, str(SECOND), *words, threads=threads)


@pytest.mark.parametrize("part", SEEN_WHOLE)
def test_an_awkward_program_is_served_as_without_and_seen(part: str) -> None:
    seen = awkward(part)
    assert (seen.launch.report.exit_code, seen.profile.finished) == (0, True)
    assert seen.profile.cpu == pytest.approx(SECOND * (2 if part == "c11_threads" else 1), abs=0.15)
    found = sites([(seen.profile, Symbols(seen.profile.modules))])["computing"]
    assert sum(site.share for site in found if "grind" in site.place) > 0.8


@pytest.mark.parametrize(("part", "seconds"), [
    ("strict", 0.0), ("forbid_by_prctl", 1.5 * SECOND), ("forbid_by_syscall", 1.5 * SECOND),
])  # fmt: skip
def test_a_program_that_forbids_itself_calls_of_the_system_lives_and_is_seen_until_then(
    part: str, seconds: float
) -> None:
    seen = awkward(part)
    assert (seen.launch.report.exit_code, seen.profile.confined) == (0, True)
    assert SECOND * (seconds > 0) <= seen.profile.cpu <= seconds + 0.1
    whole = ledger(seen.launch.profiles, seen.launch.wall)
    assert whole.rows["unattributed"] > 0.3 * whole.total
    assert any("seccomp" in note for note in whole.notes)


@pytest.mark.parametrize("part", ["fork_behind_a_filter", "quiet_fork_behind_a_filter"])
def test_children_of_a_program_that_forbids_itself_calls_live_and_are_not_profiled(part: str) -> None:
    """One of them executes another program. The filter kills for calls that only the profiler makes."""
    seen = awkward(part)
    assert (seen.launch.report.exit_code, seen.launch.unwritten, len(seen.launch.profiles)) == (0, 0, 1)
    assert (seen.profile.confined, seen.profile.finished) == (True, True)


def test_a_program_that_is_killed_before_it_has_a_profile_found_no_full_disk(tmp_path: Path) -> None:
    (tmp_path / "profile-1-0").touch()
    assert profiler.read(tmp_path) == ((), 0)
    (tmp_path / "full-2-0").touch()
    assert profiler.read(tmp_path) == ((), 1)


def test_ticks_take_no_number_of_a_descriptor_that_the_program_closed() -> None:
    """Each of two threads opens its file of the kernel once, at a tick, and may then have such a number for a while."""
    seen = awkward("own_numbers")
    assert seen.launch.report.exit_code in (0, 1, 2)
    assert (seen.profile.finished, seen.profile.unqueued) == (True, False)
    assert sum(thread.ticks for thread in seen.profile.threads) > 20


def test_a_forked_child_has_none_of_the_files_of_its_parent_s_other_threads() -> None:
    assert awkward("descriptors_of_a_child").launch.report.exit_code <= 2  # its own two


def test_with_few_descriptors_the_wait_for_a_core_is_known() -> None:
    program = str(native.find("awkward"))
    seen = see("bash", "-c", f"ulimit -n 8; exec {program} c11_threads {SECOND}", threads=2)
    assert (seen.launch.report.exit_code, seen.profile.unqueued) == (0, False)
    assert sum(thread.ticks for thread in seen.profile.threads) > 20


def test_without_a_descriptor_the_wait_for_a_core_is_not_known_and_no_other() -> None:
    seen = awkward("no_descriptors")
    assert (seen.launch.report.exit_code, seen.profile.unqueued) == (0, True)
    whole = ledger(seen.launch.profiles, seen.launch.wall)
    assert whole.rows["unattributed"] > 0.9 * SECOND  # the second thread's; the first has its file
    assert (whole.rows["blocked"] < 0.3 * SECOND, whole.efficiency) == (True, None)
    assert any("had no descriptor left" in note for note in whole.notes)


def test_without_proc_the_wait_for_a_core_is_not_known() -> None:
    hide = "mount --bind /var /proc && exec $0 $@"
    if subprocess.run(["unshare", "-m", "sh", "-c", hide, "true"], check=False, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    seen = see("unshare", "-m", "sh", "-c", hide, str(native.find("awkward")), "c11_threads", str(SECOND))
    profile = max(seen.launch.profiles, key=lambda one: one.cpu)
    assert (seen.launch.report.exit_code, profile.unqueued) == (0, True)


def test_children_are_made_while_threads_hold_the_loader_s_lock() -> None:
    assert awkward("forks_beside_the_loader").launch.report.exit_code == 0


CALLS = """
import ctypes, os, threading, time
c, half, none = ctypes.CDLL(None), (ctypes.c_long * 2)(0, 500_000_000), (ctypes.c_long * 2)()
some, free, held = (ctypes.c_char * 64)(), (ctypes.c_char * 64)(), threading.Lock()
held.acquire()
"""


@pytest.mark.parametrize("call", [
    "c.ppoll(None, 0, half, None)", "c.pselect(0, None, None, None, half, None)",
    "c.epoll_pwait(c.epoll_create1(0), some, 1, 500, None)", "held.acquire(timeout=0.5)",
    "os.wait()", "os.waitpid(child, 0)", "os.wait3(0)", "os.wait4(child, 0)", "os.waitid(os.P_ALL, 0, os.WEXITED)",
])  # fmt: skip
def test_waits_for_descriptors_and_children_are_seen(call: str) -> None:
    code = f"""{CALLS}
child = os.fork() if "os." in {call!r} else -1
if child:
    {call}
else:
    time.sleep(0.5)
"""
    profile = min(see(sys.executable, "-c", code).launch.profiles, key=lambda one: one.started)
    state = "joining" if "os." in call else "blocked"
    assert profile.threads[0].spent.get(state, 0.0) == pytest.approx(0.5, abs=0.2)


@pytest.mark.parametrize("call", [
    "c.poll(None, 0, 0)", "c.ppoll(None, 0, none, None)", "c.select(0, None, None, None, none)",
    "c.pselect(0, None, None, None, none, None)", "c.epoll_wait(descriptor, some, 1, 0)",
    "c.pthread_mutex_timedlock(free, half); c.pthread_mutex_unlock(free)",
    "c.sem_post(free); c.sem_timedwait(free, half)", "c.waitpid(-1, None, os.WNOHANG)",
    "c.poll(readable, 1, -1)", "c.ppoll(readable, 1, None, None)", "c.epoll_wait(full, some, 1, -1)",
    "c.epoll_pwait(full, some, 1, -1, None)",
])  # fmt: skip
def test_calls_that_find_what_they_ask_for_are_no_waits(call: str) -> None:
    code = f"""{CALLS}
import select
descriptor, poller = c.epoll_create1(0), select.epoll()
number = c.eventfd(1, 0)
poller.register(number, select.EPOLLIN)
full, readable = poller.fileno(), (ctypes.c_int * 2)(number, select.POLLIN)
for _ in range(100):
    {call}
"""
    assert sum(see(sys.executable, "-c", code).profile.threads[0].calls.values()) < 100


def test_a_main_thread_that_leaves_ends_then() -> None:
    first, second = sorted(awkward("main_leaves").profile.threads, key=lambda thread: thread.cpu)
    assert first.wall + SECOND < second.wall


@pytest.mark.parametrize(("part", "seconds"), [
    ("quiet_fork", [SECOND, 0.0]), ("clear_environment", [SECOND, SECOND]), ("raw_fork", [0.0]), ("raw_clone", [0.0]),
])  # fmt: skip
def test_what_a_child_computes_is_never_its_parents(part: str, seconds: list[float]) -> None:
    """The C library knows nothing of the raw ones, so they have no profile."""
    seen = awkward(part)
    assert seen.launch.report.exit_code == 0
    assert [profile.cpu for profile in seen.launch.profiles] == pytest.approx(seconds, abs=0.15)


def test_programs_that_one_process_executes_count_once() -> None:
    seen = awkward("execute")
    first, second = sorted(seen.launch.profiles, key=lambda profile: profile.started)
    assert first.process == second.process
    assert [first.cpu, second.cpu] == pytest.approx([SECOND, SECOND], abs=0.1)
    assert first.started + first.wall == pytest.approx(second.started)


def test_a_place_of_an_ended_thread_is_taken_again_when_there_are_no_others() -> None:
    profile = awkward("churn").profile
    assert (len(profile.threads), profile.lost_threads) == (15_000, 0)
    assert sum(thread.calls.get("joining", 0) for thread in profile.threads) == 20_000
    assert sum(thread.frees for thread in profile.threads) > 10_000


def test_what_new_gives_and_delete_takes_is_counted_once() -> None:
    threads = awkward("by_new").profile.threads
    assert sum(thread.allocations for thread in threads) == pytest.approx(100_000, rel=0.2)
    assert sum(thread.frees for thread in threads) == pytest.approx(100_000, rel=0.2)


def test_a_forked_process_takes_little_of_the_disk(tmp_path: Path) -> None:
    line = [str(native.find("awkward")), "forks"]
    subprocess.run(line, check=True, env={**os.environ, **environment(tmp_path, 1, None)}, timeout=60)
    files = list(tmp_path.iterdir())
    assert len([file for file in files if file.name.startswith("profile-")]) == 201
    assert max(file.stat().st_blocks * 512 for file in files) < 1 << 17


def test_libraries_that_come_to_one_address_by_turns_keep_their_names() -> None:
    profile = awkward("libraries_by_turns", *(str(native.library(f"lib{one}_work.so")) for one in ("first", "second")))
    found = sites([(profile.profile, Symbols(profile.profile.modules))])["computing"]
    for function in ("first_of_two", "second_of_two"):
        share = sum(site.share for site in found if function in site.place)
        assert share == pytest.approx(0.5, abs=0.15)


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Libraries with OpenMP on libgomp, on a libgomp of its own as wheels bring one, and on libomp."""
    first = native.library("libopenmp_plugin.so")
    folder = tmp_path_factory.mktemp("plugins")
    lines = subprocess.run(["ldd", first], capture_output=True, text=True, check=True).stdout.splitlines()
    runtime = next(Path(line.split()[2]) for line in lines if "libgomp.so.1 " in line)
    (folder / "libgomX.so.1").write_bytes(runtime.read_bytes().replace(b"libgomp.so.1\0", b"libgomX.so.1\0"))
    second = folder / "libopenmp_plugin_2.so"
    second.write_bytes(first.read_bytes().replace(b"libgomp.so.1\0", b"libgomX.so.1\0"))
    third = [str(path) for path in first.parent.glob("libopenmp_plugin_libomp.so")]
    return [str(first), str(second), *third]


@pytest.mark.parametrize("closes", [False, True])
def test_each_library_has_the_runtime_of_openmp_that_it_would_have_without(
    closes: bool, plugins: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where one is closed before the next is opened."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(Path(plugins[1]).parent))
    libraries = ["-c", *plugins[::2]] if closes else plugins
    seen = see(str(native.find("opens_plugins")), *libraries, threads=3)
    assert seen.launch.report.exit_code == 0
    assert sum(region.calls for region in seen.profile.regions) == 10 * len([one for one in libraries if one != "-c"])


def test_without_timers_the_rows_are_known_and_a_note_says_that_places_are_missing() -> None:
    program = str(native.find("known_truth"))
    seen = see("bash", "-c", f"ulimit -i 0; exec {program} sleep threads 1 {SECOND}")
    assert seen.profile.lost_timers == 1
    assert "computing" not in sites([(seen.profile, Symbols(seen.profile.modules))])
    assert any("ulimit -i" in note for note in seen.ledger.notes)
    assert not explanation(seen.ledger, [(seen.profile, Symbols(seen.profile.modules))]).over_time
    assert seen.profile.cpu == pytest.approx(SECOND / 2, abs=0.1)


def test_a_thread_without_a_tick_is_noted_and_nothing_is_drawn_over_the_time() -> None:
    seen = awkward("block_signals_raw")
    assert (seen.launch.report.exit_code, seen.profile.unticked) == (0, 1)
    assert seen.profile.cpu == pytest.approx(SECOND, abs=0.15)
    assert any("places are missing for 1 of its threads: no tick came" in note for note in seen.ledger.notes)
    found = explanation(seen.ledger, [(seen.profile, Symbols(seen.profile.modules))])
    assert not (found.in_use or found.over_time or found.lines or found.rows_over_time or found.stretches)


def test_the_children_of_ranks_are_unattributed_and_use_cpus() -> None:
    """Each rank waits for a child, which computes for a second. The child is no rank."""
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("needs mpirun")
    line = (mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "2", str(native.find("known_ranks")), "1", "fork")
    seen = see(*line)
    assert sum(one.is_rank for one in seen.launch.profiles) == 2
    assert seen.ledger.rows[LedgerRow.UNATTRIBUTED] >= 2.0
    found = explanation(seen.ledger, [(one, Symbols(one.modules)) for one in seen.launch.profiles])
    mean = sum(found.over_time) / len(found.over_time)
    assert mean * max(one.wall for one in seen.launch.profiles if one.is_rank) > 3.2  # 1.5 of the ranks, 2 of children


@pytest.mark.parametrize("what", ["FORMAT", "_BYTES"])
def test_a_library_of_another_version_is_said_to_be_one(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiler, what, getattr(profiler, what) + 4096)
    with pytest.raises(UnavailableError, match=r"libcorescale_profiler\.so: is of another version of corescale; "):
        profiled(Launch(("true",)), 1)


def test_a_program_that_is_killed_has_no_row_beyond_what_it_had() -> None:
    """Workers that spin between short regions: their CPU time is written as late as that of their waits."""
    line = (str(native.find("known_truth")), "regions", "openmp", "2", "1")
    for k in range(12):
        seen = profiled(Launch(line), 2, timeout=0.04 + 0.015 * k)
        found = ledger(seen.profiles, seen.wall)
        assert seen.report.status == "timeout"
        assert sum(found.rows.values()) == pytest.approx(found.total)
        for thread in seen.profiles[0].threads:
            assert sum(thread.burnt.values()) <= thread.cpu + 0.0005
