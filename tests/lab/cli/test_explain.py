# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: every way in which explain is typed, and what it must bear)
"""explain from the command line: swaps, results beside each other, and programs that cannot be traced."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from corescale import cli, native
from corescale.api import explained as results
from corescale.api import explaining, measuring
from corescale.cli.explain import swapped
from corescale.conclude.explain.comparison import MOST_LAUNCHES
from corescale.declare.catalogue import openmp
from corescale.declare.request import ScanRequest
from corescale.endings import SHORT
from corescale.errors import ExitCode, InconclusiveError
from corescale.machine import Machine
from corescale.observe import store
from corescale.show.charts import of_explain
from support import sanitizers
from support.commands import corescale, refused

KNOWN = str(native.find("known_truth"))


def explained(*words: str, cwd: Path, code: ExitCode = ExitCode.OK) -> dict[str, Any]:
    done = corescale("explain", "--json", "--no-swap", *words, cwd=cwd)
    assert done.returncode == code, done.stderr
    return whole(done.stdout)


def test_a_link_to_a_result_is_a_result(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text("{}")
    (tmp_path / "linked").symlink_to("1.json")
    (tmp_path / "other").write_text("{}")
    assert results.is_result(tmp_path / "linked") and not results.is_result(tmp_path / "other")


def whole(said: str) -> dict[str, Any]:
    """A result of which every thread-second is in a row."""
    found = dict(json.loads(said))
    assert sum(row["seconds"] for row in found["rows"].values()) == pytest.approx(found["thread_seconds"], abs=1e-6)
    return found


def test_swaps_are_launched_in_pairs_and_kept_as_a_run(tmp_path: Path) -> None:
    line = (KNOWN, "malloc", "threads", "1", "0.02")
    done = corescale("explain", "--json", "-q", "-t", "1", "--budget", "60s", "--", *line, cwd=tmp_path)
    found = {swap["factor"]: swap for swap in whole(done.stdout)["swaps"]}
    assert found["allocator"]["pairs"] >= 8
    assert found["allocator"]["low"] <= found["allocator"]["returned"] <= found["allocator"]["high"]
    assert any("not swapped: " in line and "the wait policy" in line for line in done.stderr.splitlines())
    (run,) = (tmp_path / "corescale-runs").glob("compare-*/1")
    assert store.load(run).finished


def test_ctrl_c_in_the_swaps_leaves_the_result_of_explain(tmp_path: Path) -> None:
    words = ("explain", "-q", "-t", "1", "--budget", "60s", "--", KNOWN, "malloc", "threads", "1", "0.02")
    command = [sys.executable, "-m", "corescale", *words]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as going:
        while not any("wall" in each.read_text() for each in tmp_path.glob("corescale-runs/compare-*/1/records.jsonl")):
            assert going.poll() is None
            time.sleep(0.02)
        going.send_signal(signal.SIGINT)
        out, err = going.communicate(timeout=60)
    (kept,) = tmp_path.glob("corescale-runs/explain-*/1.json")
    said = f"what was measured is kept in {kept.relative_to(tmp_path)} (corescale report)"
    assert (going.returncode, err.splitlines()[-1]) == (ExitCode.INTERRUPTED, f"corescale: interrupted; {said}")
    assert " thread-seconds; " in out.splitlines()[0]


def test_the_openmp_runtime_is_swapped_where_regions_ran_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not in a program that is linked with it and has no regions."""
    monkeypatch.chdir(tmp_path)
    asked = ScanRequest(threads="2", budget="none", runs=1)
    for system in ("openmp", "threads"):
        said: list[str] = []
        line = (KNOWN, "imbalance", system, "2", "0.02")
        shown = explaining.found(asked, line, Machine.here(), said.append)[0].shown
        levels = {swap["factor"]: swap["level"] for swap in shown["swaps"]}
        found = openmp.find("libomp") is not None and system == "openmp"
        assert levels.get("openmp") == ("libomp" if found else None), said
        assert "smt" not in levels or Machine.here().smt_active


def test_a_shell_that_waits_for_its_children_gets_no_advice_about_threads(tmp_path: Path) -> None:
    done = corescale("explain", "--no-swap", "--shell", "--", "sleep 0.3; sleep 0.3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "  barrier and join wait " in done.stdout
    assert "in C++" not in done.stdout


IN_TWO_REGIONS = """
import time
from corescale.region import region
def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
with region("first"):
    burn(0.2)
burn(0.2)
with region("last"):
    burn(0.1)
"""


def test_regions_that_a_program_names_are_below_its_timeline(tmp_path: Path) -> None:
    words = ("explain", "--no-swap", "-t", "1", "--", sys.executable, "-c", IN_TWO_REGIONS)
    done = corescale(*words, cwd=tmp_path)
    (kept,) = (tmp_path / "corescale-runs").glob("explain-*/1.json")
    shown = json.loads(kept.read_text())
    first, last = shown["own_regions"]
    assert (first["region"], last["region"]) == ("first", "last")
    assert (first["process"], first["thread"]) in {(line["process"], line["thread"]) for line in shown["timelines"]}
    (begin, end), (begins, ends) = first["spans"][0], last["spans"][0]
    assert 0 < begin < end < begins < ends <= shown["wall"]
    drawn = [line for line in done.stdout.splitlines() if line.endswith(("=  first", " first"))]
    assert len(drawn) == 1 and "====" in drawn[0]
    assert "first" in {name.split()[-1] for name in timeline(shown)}


def timeline(shown: dict[str, Any]) -> tuple[str, ...]:
    """What has a line in the picture."""
    (chart,) = [chart for chart in of_explain.views(shown) if chart.name == "timeline"]
    return chart.x.categories


def test_a_region_that_a_file_says_lasted_for_ever_is_drawn(tmp_path: Path) -> None:
    explained("-t", "1", "--", KNOWN, "sleep", "threads", "1", "0.1", cwd=tmp_path)
    (kept,) = (tmp_path / "corescale-runs").glob("explain-*/1.json")
    shown = json.loads(kept.read_text())
    line = shown["timelines"][0] if shown["timelines"] else {"process": 1, "thread": 1, "rows": "W" * 600}
    own = {"region": "x", "process": line["process"], "thread": line["thread"], "spans": [[-1e9, 1e9]]}
    kept.write_text(json.dumps(shown | {"timelines": [line], "own_regions": [own]}))
    done = corescale("report", str(kept), cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert f"{'=' * 60}  x" in done.stdout


@pytest.mark.parametrize(("budget", "launches"), [("none", MOST_LAUNCHES), ("0.01s", 1)])
def test_the_difference_to_one_thread_has_an_interval_if_the_budget_has_room(
    budget: str, launches: int, tmp_path: Path
) -> None:
    line = (KNOWN, "malloc", "threads", "{threads}", "0.05")
    rows = explained("-t", "1,2", "--budget", budget, "--", *line, cwd=tmp_path)["rows"]
    for row in ("inflated computing", "allocating"):
        found = rows[row]["beyond_one_thread"]
        assert (found["n"], found["low"] is None, found["high"] is None) == (launches, launches == 1, launches == 1)
    assert rows["computing"]["beyond_one_thread"] is None
    sampled = rows["allocating"]["sampled"]
    assert sampled["low"] <= rows["allocating"]["seconds"] <= sampled["high"]


def test_work_that_costs_a_quarter_more_by_two_threads_is_inflated_by_that(tmp_path: Path) -> None:
    line = (KNOWN, "inflated", "threads", "{threads}", "0.4")
    rows = explained("-t", "1,2", "--budget", "20s", "--", *line, cwd=tmp_path)["rows"]
    computed = rows["computing"]["seconds"] + rows["inflated computing"]["seconds"]
    assert rows["inflated computing"]["seconds"] / computed == pytest.approx(0.2, abs=0.03)


def test_what_ends_the_swaps_leaves_the_ledger(tmp_path: Path) -> None:
    """A program that fails once it is launched without the profiler."""
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\n[ -n "$CORESCALE_PROFILER" ] && exec {KNOWN} malloc threads 1 0.05\nexit 9\n')
    program.chmod(0o755)
    done = corescale("explain", "--json", "-q", "-t", "1", "--budget", "60s", "--", str(program), cwd=tmp_path)
    refused(done, ExitCode.PROGRAM)
    assert whole(done.stdout)["swaps"] == []


def test_a_budget_that_pays_for_no_interval_launches_no_swap(tmp_path: Path) -> None:
    line = (KNOWN, "malloc", "threads", "1", "0.3")
    done = corescale("explain", "--json", "-t", "1", "--budget", "1s", "--", *line, cwd=tmp_path)
    assert whole(done.stdout)["swaps"] == []
    assert "--budget" in done.stderr
    assert not list((tmp_path / "corescale-runs").glob("compare-*"))


def test_results_are_kept_and_shown_beside_each_other(tmp_path: Path) -> None:
    first = explained("-t", "1", "--", KNOWN, "sleep", "threads", "1", "0.1", cwd=tmp_path)
    (folder,) = (tmp_path / "corescale-runs").glob("explain-*")
    assert json.loads((folder / "1.json").read_text()) == first
    for before in (folder, folder / "1.json"):
        words = ("--no-swap", "--before", str(before), "-t", "1", "--", KNOWN, "sleep", "threads", "1", "0.2")
        done = corescale("explain", *words, cwd=tmp_path)
        assert done.returncode == ExitCode.OK, done.stderr
        beside = [line for line in done.stdout.splitlines() if line.startswith("  blocked")][-1].split()
        assert float(beside[1]) == pytest.approx(first["rows"]["blocked"]["seconds"], abs=0.006)


@pytest.mark.parametrize("content", [None, "", "[]", '{"rows": {}}'])
def test_what_is_no_result_is_refused_before_anything_is_launched(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "before").write_text(content)
    done = corescale("explain", "--before", "before", "--", "touch", "launched", cwd=tmp_path)
    refused(done, ExitCode.USAGE, "--before")
    assert not (tmp_path / "launched").exists()


def test_a_program_that_is_gone_is_said_in_a_line(tmp_path: Path) -> None:
    refused(corescale("explain", "--", "./gone", cwd=tmp_path), ExitCode.PROGRAM, "./gone")


def test_a_program_that_fails_is_explained_and_says_so_by_the_exit_code(tmp_path: Path) -> None:
    explained("-t", "1", "--", "sh", "-c", "exit 7", cwd=tmp_path, code=ExitCode.PROGRAM)


def test_what_a_program_without_the_profiler_uses_is_used(tmp_path: Path) -> None:
    program = str(native.find("spawner_fixture"))
    found = explained("-t", "1", "--", "env", "-u", "LD_PRELOAD", program, "burn", "0.3", cwd=tmp_path)
    assert found["cores_used"] * found["wall"] == pytest.approx(0.3, abs=0.06)


BURN = """
import subprocess, sys, time
while time.process_time() < float(sys.argv[1]): pass
subprocess.run(["env", "-u", "LD_PRELOAD", *sys.argv[2:]], check=True)
"""
"""computes, and then waits for a program without the profiler"""


@pytest.mark.parametrize("own", [0.02, 0.6])
def test_what_the_profiler_did_not_see_is_no_wait(own: float, tmp_path: Path) -> None:
    """If it is most of the CPU time, all is from the kernel's accounts; else it is unattributed."""
    program = str(native.find("spawner_fixture"))
    words = (sys.executable, "-S", "-c", BURN, str(own), program, "burn", "0.3")
    found = explained("-t", "2", "--", *words, cwd=tmp_path)
    rows = {row: value["seconds"] for row, value in found["rows"].items()}
    assert rows["computing"] == pytest.approx(own + 0.3 * (own < 0.3), abs=0.12)
    assert rows["unattributed"] >= (0.3 if own > 0.3 else found["wall"] - 0.1) - 0.03
    assert rows["blocked"] + rows["barrier and join wait"] < 0.1 + (found["wall"] - own - 0.3) * (own > 0.3)
    assert (found["efficiency"], found["serial"], found["cpus_in_use"]) == (None, None, {})
    assert any("what the profiler did not see used 0." in note for note in found["notes"])
    assert not any("it ran 1 thread" in note or "are summed" in note for note in found["notes"])


def test_a_program_that_ends_at_once_is_explained_in_figures_above_0(tmp_path: Path) -> None:
    words = ("explain", "--no-swap", "-t", "1,2", "--", "true")
    done = corescale(*words, cwd=tmp_path)
    (kept,) = (tmp_path / "corescale-runs").glob("explain-*/1.json")
    found = json.loads(kept.read_text())
    assert done.returncode == ExitCode.OK and found["threads"] == 2
    assert any("starting the process" in note for note in found["notes"]) == (found["wall"] < SHORT)
    most = max(found["rows"], key=lambda row: found["rows"][row]["seconds"])
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(f"  {most} ")]
    assert float(line.removeprefix(f"  {most} ").split()[0]) > 0


def test_a_program_that_takes_no_number_of_threads_is_compared_with_itself_on_one_cpu(tmp_path: Path) -> None:
    found = explained("-t", "1,2", "--", KNOWN, "imbalance", "threads", "2", "0.1", cwd=tmp_path)
    assert found["compared"]


def test_a_static_program_shows_what_the_kernel_accounts_and_why_no_more(tmp_path: Path) -> None:
    program = Path(native.find("spawner_fixture")).with_name("spawner_fixture_static")
    if not program.exists():
        pytest.skip("no static C library")
    found = explained("-t", "1", "--", str(program), "nothing", cwd=tmp_path)
    assert sum("linked statically" in note for note in found["notes"]) == 1
    assert found["rows"]["computing"]["share"] > 0


@sanitizers.SANITIZERS
def test_the_profiler_is_left_out_of_what_gccs_sanitizers_are_in(option: str, name: str, tmp_path: Path) -> None:
    """They end a program into which another library is loaded first."""
    program = sanitizers.built(tmp_path, option, "for (volatile int k = 0; k < 20000000; ++k);")
    if subprocess.run([program], capture_output=True, check=False).returncode:
        pytest.skip(f"{name} runs no program here")
    found = explained("-t", "1", "--", str(program), cwd=tmp_path)
    (note,) = [note for note in found["notes"] if "built with" in note]
    assert name in note and "not profiled" in note and "linked statically" not in note
    if option == "address":  # behind another program only the launch shows it
        found = explained("-t", "1", "--", "env", str(program), cwd=tmp_path)
        assert any("it is built with a sanitizer" in note and "not profiled" in note for note in found["notes"])
    words = ("scan", "-t", "1", "-r", "1", "--metric", "n=explain:allocating", "--", str(program))
    done = corescale(*words, cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "no profiler could be loaded" in done.stdout + done.stderr


@pytest.mark.parametrize("size", ["4k", "12k"])
def test_a_full_disk_under_the_trace_loses_the_trace_alone(size: str, tmp_path: Path) -> None:
    """All of it, or what came last."""
    small = tmp_path / "small"
    small.mkdir()
    alone = ["unshare", *(["--map-root-user"] if os.getuid() else []), "--mount", "sh", "-c"]
    mount = f'mount -t tmpfs -o size={size} tmpfs "$0" && TMPDIR="$0" exec "$@"'
    words = (
        "-m",
        "corescale",
        "explain",
        "--json",
        "--no-swap",
        "-t",
        "1",
        "--",
        KNOWN,
        "sleep",
        "threads",
        "1",
        "0.1",
    )
    if subprocess.run([*alone, 'mount -t tmpfs tmpfs "$0"', small], check=False, capture_output=True).returncode:
        pytest.skip("no file system may be mounted here")
    line = [*alone, mount, str(small), sys.executable, *words]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.OK, done.stderr
    (note,) = whole(done.stdout)["notes"]
    assert "disk" in note


AS_AN_ORDINARY_USER = """
import ctypes, os, platform, struct, sys
call = {"x86_64": 298, "aarch64": 241}[platform.machine()]  # perf_event_open
libc = ctypes.CDLL(None, use_errno=True)
if not [line for line in open("/proc/self/status") if line.startswith("CapEff:") and int(line.split()[1], 16) == 0]:
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)
    os.execv(sys.executable, sys.orig_argv)
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, call), (6, 0, 0, 0x5000D), (6, 0, 0, 0x7FFF0000)]  # EACCES, else allowed
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
libc.prctl(38, 1, 0, 0, 0)
libc.prctl(22, 2, struct.pack("HP", len(steps), ctypes.addressof(program)), 0, 0)
if libc.syscall(call, None, 0, -1, -1, 0) != -1 or ctypes.get_errno() != 13:
    sys.exit("perf events are not forbidden")
os.execv(sys.executable, [sys.executable, "-m", "corescale", *sys.argv[1:]])
"""


@pytest.mark.parametrize("user", ["", "nobody"])
def test_without_privileges_and_perf_events_there_are_rows_and_places(user: str) -> None:
    """As for an ordinary user where perf_event_paranoid is 4, which a test may not set for the whole machine."""
    if user and os.geteuid() != 0:
        pytest.skip("only root can start a program as another user, and this user is an ordinary one")
    another: dict[str, Any] = {"user": user, "extra_groups": []} if user else {}
    imports = ["env", sys.executable, "-c", "import corescale"]
    if subprocess.run(imports, check=False, capture_output=True, **another).returncode:
        pytest.skip(f"{user} may not read {sys.executable} and what it imports")
    words = ("explain", "--json", "--no-swap", "-t", "1", "--", KNOWN, "malloc", "threads", "1", "0.3")
    line = [sys.executable, "-c", AS_AN_ORDINARY_USER, *words]
    with tempfile.TemporaryDirectory() as folder:
        if user:
            shutil.chown(folder, user)
        there = os.environ | {"HOME": folder}
        done = subprocess.run(line, cwd=folder, env=there, capture_output=True, text=True, check=False, **another)
    assert done.returncode == ExitCode.OK, done.stderr
    rows = whole(done.stdout)["rows"]
    assert rows["allocating"]["seconds"] > 0.1 * rows["computing"]["seconds"]
    assert "known_truth.cpp" in rows["computing"]["sites"][0]["place"]


def test_tune_races_what_the_ledger_of_a_launch_says_can_matter(tmp_path: Path) -> None:
    """And says of each factor why; the ledger is kept, so that the same command goes on with the same run."""
    for work in ("malloc", "sleep"):
        line = ("tune", "--explain", "--budget", "6x", "--", KNOWN, work, "threads", "{threads}", "0.1")
        done = corescale(*line, cwd=tmp_path)
        assert done.returncode in {ExitCode.OK, ExitCode.INCONCLUSIVE}, done.stderr
        assert ("raced" in _of_allocators(done.stderr)) == (work == "malloc")
    assert len(list((tmp_path / "corescale-runs").glob("explain-*/1.json"))) == 2
    again = corescale(*line, cwd=tmp_path)
    assert _of_allocators(again.stderr) == _of_allocators(done.stderr)
    assert not list((tmp_path / "corescale-runs").glob("explain-*/2.json"))
    assert len(list((tmp_path / "corescale-runs").glob("tune-*"))) == 2


def _of_allocators(said: str) -> str:
    return next(one for one in said.splitlines() if one.startswith("note: allocator: "))


def test_tune_races_everything_where_the_program_fails_under_the_profiler(tmp_path: Path) -> None:
    done = corescale("tune", "--explain", "--budget", "1s", "--", "sh", "-c", "exit 7", cwd=tmp_path)
    assert done.returncode == ExitCode.PROGRAM
    assert "note: everything is raced" in done.stderr


def test_each_launch_with_the_profiler_is_watched_until_it_has_ended() -> None:
    said: list[str] = []
    asked = ScanRequest(threads="1,2", budget="none")
    explaining.found(asked, ["sleep", "0.01"], Machine.here(), said.append, watch=said.append, swap=False)
    assert [line.partition(" with")[0] for line in said[::2]] == ["launch 1 of 2", "launch 2 of 2"] + [
        f"launch {number} of {2 * MOST_LAUNCHES}" for number in range(3, 2 * MOST_LAUNCHES + 1)
    ]
    assert {*said[1::2]} == {""}


def test_a_budget_that_ends_in_the_swaps_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def spent(*_: object) -> None:
        raise InconclusiveError("1 s sufficed for 1 of 3 configurations", where="--budget")

    monkeypatch.setattr(explaining, "_swaps", spent)
    said: list[str] = []
    found, _ = explaining.found(ScanRequest(threads="1"), ["sleep", "0.01"], Machine.here(), said.append)
    assert found.ok and found.late is None
    assert any("--budget" in line for line in said)


def test_the_budget_of_the_swaps_begins_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """What came before, such as the launch with the profiler, is not charged to it."""
    given: list[float] = []
    monkeypatch.setattr(measuring, "loadable", lambda *arguments: given.append(arguments[-1]))
    monkeypatch.setattr(cli, "_began", [0.0])
    monkeypatch.setattr(cli, "_measured", [])
    before = time.monotonic()
    swapped(lambda _: pytest.fail("nothing is declared"), ScanRequest(quiet=True), Machine.here())
    assert given[0] >= before
