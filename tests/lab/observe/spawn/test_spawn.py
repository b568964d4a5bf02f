# SPDX-License-Identifier: Apache-2.0
"""The native spawner as the lab uses it: what it measures is true, and nothing it started survives it."""

import errno
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from corescale.errors import CorescaleError
from corescale.observe.spawn import Spawner, SpawnReport, SpawnRequest
from corescale.observe.spawn.spawner import TAIL
from support.processes import FIXTURE, SPAWNER, alive, daemon_of, eventually, fixture, spawn


def memory_groups() -> list[str]:
    """Groups that spawners have made and not removed, other people's included: compare sets by owner."""
    # os.walk passes over a folder that another test removes meanwhile.
    folders = (Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup"))
    found = [path for path in folders if path.name.startswith("corescale-launch-")]
    return [str(path) for path in found if not alive(int(path.name.split("-")[2]))]


class TestEnd:
    def test_exit_code(self) -> None:
        assert spawn("true").status == "ok"
        report = spawn("sh", "-c", "exit 3")
        assert (report.status, report.exit_code, report.signal) == ("failed", 3, None)

    @pytest.mark.parametrize("script", ["kill -STOP $$; exit 3", "(kill -STOP 0); exit 3"])
    def test_one_that_a_signal_stopped_is_noted_once_with_what_continues_it(self, script: str) -> None:
        notes: list[str] = []

        def note(said: str) -> None:
            notes.append(said)
            for process in re.findall(r"\d+", said):
                os.kill(int(process), signal.SIGCONT)

        assert Spawner().spawn(SpawnRequest(("sh", "-c", script)), note).exit_code == 3
        assert len(notes) == 1 and "kill -CONT" in notes[0]

    def test_one_of_which_a_process_is_not_stopped_is_not_noted(self) -> None:
        notes: list[str] = []
        Spawner().spawn(SpawnRequest(("sh", "-c", "sh -c 'kill -STOP $$' & sleep 1.3")), notes.append)
        assert notes == []

    @pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
    def test_signal(self, number: signal.Signals) -> None:
        report = fixture("signal", int(number))
        assert (report.status, report.exit_code, report.signal) == ("signal", None, number)

    def test_leftovers_are_killed_counted_and_not_waited_for(self, tmp_path: Path) -> None:
        report = fixture("daemon", 0, tmp_path / "pid")
        assert report.status == "ok"
        assert report.leftovers == 1
        assert report.wall < 5
        assert not alive(daemon_of(tmp_path / "pid"))

    def test_time_out_kills_daemons_too(self, tmp_path: Path) -> None:
        report = fixture("daemon", 100, tmp_path / "pid", timeout=0.5)
        assert report.status == "timeout"
        assert 0.5 <= report.wall < 2
        assert report.survivors == ()
        assert not alive(daemon_of(tmp_path / "pid"))

    def test_grace_lets_a_program_end_by_itself(self, tmp_path: Path) -> None:
        report = fixture("obey", 0, tmp_path / "mark", timeout=0.3, grace=10)
        assert (report.status, report.exit_code) == ("timeout", 0)
        assert (tmp_path / "mark").exists()
        assert not fixture("obey", 0, tmp_path / "none", timeout=0.3).exit_code
        assert not (tmp_path / "none").exists()

    def test_cancel_from_another_thread_is_final(self, tmp_path: Path) -> None:
        spawner, reports = Spawner(), []
        request = SpawnRequest((FIXTURE, "daemon", "100", str(tmp_path / "pid")))
        thread = threading.Thread(target=lambda: reports.append(spawner.spawn(request)))
        thread.start()
        daemon = daemon_of(tmp_path / "pid")
        spawner.cancel()
        thread.join(20)
        assert reports[0].status == "cancelled"
        assert not alive(daemon)
        assert spawner.spawn(request).status == "cancelled"

    def test_kill_9_of_the_lab_leaves_nothing(self, tmp_path: Path) -> None:
        lab = launch_lab(f"[{FIXTURE!r}, 'daemon', '100', {str(tmp_path / 'pid')!r}]")
        daemon = daemon_of(tmp_path / "pid")
        lab.kill()
        lab.wait()
        assert eventually(lambda: not alive(daemon))

    def test_ctrl_c_in_the_lab_cleans_up_and_propagates(self, tmp_path: Path) -> None:
        lab = launch_lab(f"[{FIXTURE!r}, 'daemon', '100', {str(tmp_path / 'pid')!r}]")
        daemon = daemon_of(tmp_path / "pid")
        lab.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in lab.communicate(timeout=20)[1]
        assert not alive(daemon)

    def test_a_report_that_nobody_reads_cancels(self, tmp_path: Path) -> None:
        reader, writer = os.pipe()
        words = [SPAWNER, "--report", str(writer), "--", FIXTURE, "daemon", "100", str(tmp_path / "pid")]
        process = subprocess.Popen(words, pass_fds=(writer,), stderr=subprocess.DEVNULL)
        os.close(writer)
        daemon = daemon_of(tmp_path / "pid")
        os.close(reader)
        assert process.wait(20) == 1
        assert not alive(daemon)


def launch_lab(argv: str) -> "subprocess.Popen[bytes]":
    code = f"from corescale.observe.spawn import *\nSpawner().spawn(SpawnRequest(tuple({argv})))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE)


class TestAccounts:
    def test_wall_is_exec_to_exit(self) -> None:
        assert 0.3 <= spawn("sleep", "0.3").wall < 0.35 + 0.3

    def test_cpu_time_of_a_tree(self) -> None:
        report = fixture("burn-tree", 0.3)
        assert report.user + report.system == pytest.approx(0.9, abs=0.05)
        assert len(report.processes) == 1

    def test_cpu_time_of_orphans_counts(self) -> None:
        start = f"p=$({FIXTURE} burn 0.3 >/dev/null & echo $!)"
        report = spawn("sh", "-c", f"{start}; while kill -0 $p 2>/dev/null; do sleep 0.05; done; sleep 0.1")
        (orphan,) = [process for process in report.processes if process.executable == FIXTURE]
        assert orphan.user + orphan.system == pytest.approx(0.3, abs=0.05)
        assert report.user + report.system >= orphan.user + orphan.system

    def test_threads(self) -> None:
        report = fixture("burn-threads", 4, sample_ms=20)
        assert report.user + report.system == pytest.approx(1.2, abs=0.08)
        assert report.on_cpu is not None
        assert report.runqueue_wait is not None
        assert report.sampled
        assert 0.1 < report.on_cpu <= report.user + report.system + 0.01  # what was seen: others may use the cores

    def test_waiting_for_a_core(self) -> None:
        report = fixture("burn-threads", 3, sample_ms=20, affinity=(min(os.sched_getaffinity(0)),))
        assert report.runqueue_wait is not None
        assert report.runqueue_wait > 0.7
        assert report.involuntary > 0

    def test_time_of_other_programs_on_its_cpus(self) -> None:
        """A neighbour on the only CPU that it may use; the same one, started by the launch itself, is its own."""
        cpu = (min(os.sched_getaffinity(0)),)
        with subprocess.Popen([FIXTURE, "burn", "20"]) as neighbour:
            os.sched_setaffinity(neighbour.pid, cpu)
            beside = spawn("sleep", "1", affinity=cpu)
            neighbour.kill()
        assert beside.affinity == cpu
        assert beside.foreign is not None and beside.foreign > 0.2
        own = fixture("burn", 1, affinity=cpu)
        assert own.foreign is not None and own.foreign < own.wall - 0.5

    def test_schedule_of_a_single_thread_is_exact(self) -> None:
        report = fixture("burn", 0.2, sample_ms=0)
        assert not report.sampled
        assert report.on_cpu == pytest.approx(report.user + report.system, abs=0.002)

    @pytest.mark.parametrize("memory_group", [True, False])
    def test_peak_memory_of_the_tree(self, memory_group: bool) -> None:
        # Samples are a lower bound, and miss a peak when the sampler has no core: one in five must not.
        for _ in range(5):
            report = fixture("fill", 100, memory_group=memory_group, sample_ms=20)
            assert report.tree_memory < 215 << 20
            if report.tree_memory >= 200 << 20:
                break
        assert report.tree_memory >= 200 << 20
        assert report.tree_memory_kind in (["group", "sum"] if memory_group else ["sum"])
        assert 100 << 20 <= report.peak_memory == report.processes[0].peak_memory < 108 << 20

    def test_a_small_program_is_small_whoever_starts_it(self) -> None:
        ballast = bytearray(200 << 20)
        report = spawn("true", memory_group=False)
        assert len(ballast) > report.peak_memory
        assert report.peak_memory_kind == "process"
        assert 0 < report.peak_memory < 10 << 20


class TestSurroundings:
    def test_environment_reaches_only_the_program(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("SPAWN_OLD", "here")
        request = {"environment": {"SPAWN_NEW": "a=b c", "SPAWN_OLD": None, "LD_PRELOAD": "/nonexistent.so"}}
        report = spawn("sh", "-c", 'echo "$SPAWN_NEW|${SPAWN_OLD-unset}"', stdout=tmp_path / "out", **request)
        assert (tmp_path / "out").read_text() == "a=b c|unset\n"
        assert report.tail.count("/nonexistent.so") == 1

    def test_affinity(self, tmp_path: Path) -> None:
        last = max(os.sched_getaffinity(0))
        report = spawn("nproc", affinity=(last,), stdout=tmp_path / "out")
        assert (tmp_path / "out").read_text() == "1\n"
        assert report.affinity == report.processes[0].affinity == (last,)

    def test_blocked_signals_descriptors_and_session_are_fresh(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
        try:
            with Path("/dev/null").open("rb") as extra:
                os.set_inheritable(extra.fileno(), True)
                assert fixture("inspect").exit_code == 0
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR2})

    def test_input(self, tmp_path: Path) -> None:
        (tmp_path / "in").write_text("from a file")
        spawn("cat", stdin=tmp_path / "in", stdout=tmp_path / "out")
        assert (tmp_path / "out").read_text() == "from a file"
        assert spawn("cat").status == "ok"


class TestOutput:
    def test_tail_of_any_bytes(self) -> None:
        assert fixture("binary-errors").tail == 'start\0\ufffd\ufffd\x1b[31m café "end"\n'

    def test_of_long_errors_the_end_is_kept(self) -> None:
        report = spawn("sh", "-c", f"exec {FIXTURE} write 300 >&2", sample_ms=5)
        assert report.tail == "the end".rjust(TAIL, "x")

    def test_is_written_whole(self, tmp_path: Path) -> None:
        fixture("write", 3, stdout=tmp_path / "out")
        assert (tmp_path / "out").stat().st_size == 3 * 2**20 + 7


class TestNotStarted:
    def expect(self, report: SpawnReport, step: str, number: int) -> None:
        assert (report.status, report.step, report.errno) == ("not-started", step, number)
        assert report.trouble

    def test_not_found(self) -> None:
        self.expect(spawn("no-such-program"), "find", errno.ENOENT)
        self.expect(spawn("./no/such/program"), "find", errno.ENOENT)

    @pytest.mark.parametrize(
        ("text", "mode", "step", "number"),
        [
            ("#!/bin/sh\n", 0o644, "exec", errno.EACCES),
            ("#!/no/interpreter\n", 0o755, "interpreter", errno.ENOENT),
            ("no magic\n", 0o755, "exec", errno.ENOEXEC),
        ],
    )
    @pytest.mark.parametrize("prove", [False, True])
    def test_no_program(self, tmp_path: Path, text: str, mode: int, step: str, number: int, prove: bool) -> None:
        script = tmp_path / "script"
        script.write_text(text)
        script.chmod(mode)
        self.expect(spawn(str(script), prove=prove), step, number)

    def test_files_and_directories(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        gone = tmp_path / "gone" / "x"
        self.expect(spawn("true", stdin=gone), "stdin", errno.ENOENT)
        self.expect(spawn("true", stdout=gone), "stdout", errno.ENOENT)
        monkeypatch.setattr(tempfile, "tempdir", str(gone))
        self.expect(spawn("true"), "scratch", errno.ENOENT)

    def test_cpus_that_are_not_there(self) -> None:
        self.expect(spawn("true", affinity=(1023,)), "affinity", errno.EINVAL)

    def test_a_spawner_that_says_nothing_is_an_error(self) -> None:
        with pytest.raises(CorescaleError, match="no report"):
            Spawner(Path("/bin/false")).spawn(SpawnRequest(("true",)))


def children() -> set[str]:
    return set(Path("/proc/thread-self/children").read_text().split())


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def unchanged(tmp_path: Path) -> Iterator[Path]:
    """Fails when a launch leaves behind a process, descriptor, file or group."""
    before, groups = (children(), open_files()), {*memory_groups()}
    yield tmp_path
    assert (children(), open_files()) == before
    assert list(tmp_path.iterdir()) == []
    assert eventually(lambda: {*memory_groups()} <= groups, 5)


def test_many_launches_leave_nothing_behind(unchanged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(unchanged))
    spawner = Spawner()
    request = SpawnRequest(("sh", "-c", "echo text; sleep 100 & :"))
    for _ in range(50):
        report = spawner.spawn(request)
        assert (report.status, report.leftovers, report.survivors) == ("ok", 1, ())
