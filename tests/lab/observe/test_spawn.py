# SPDX-License-Identifier: Apache-2.0
"""The native spawner as the lab uses it: what it measures is true, and nothing it started survives it."""

import contextlib
import errno
import hashlib
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from corescale import native
from corescale.errors import CorescaleError
from corescale.observe.spawn import Spawner, SpawnReport, SpawnRequest

FIXTURE = str(native.find("spawner_fixture"))
SPAWNER = str(native.find("corescale-spawn"))


def spawn(*argv: str, **options: Any) -> SpawnReport:
    return Spawner().spawn(SpawnRequest(argv, **options))


def fixture(*words: object, **options: Any) -> SpawnReport:
    return spawn(FIXTURE, *map(str, words), **options)


def eventually(condition: Callable[[], object], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def alive(process: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, 0)
        with contextlib.suppress(FileNotFoundError):
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def daemon_of(file: Path) -> int:
    assert eventually(lambda: file.exists() and file.read_text())
    return int(file.read_text())


def memory_groups() -> list[str]:
    """Groups that spawners have made and not removed, other people's included: compare sets by owner."""
    return [str(path) for path in Path("/sys/fs/cgroup").rglob("corescale-*") if not alive(int(path.name[10:]))]


class TestEnd:
    def test_exit_code(self) -> None:
        assert spawn("true").status == "ok"
        report = spawn("sh", "-c", "exit 3")
        assert (report.status, report.exit_code, report.signal) == ("failed", 3, None)

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
        assert report.survivors == 0
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
        report = spawn("sh", "-c", f"({FIXTURE} burn 0.3 & echo $! >&2) ; sleep 1.5")
        assert report.user + report.system == pytest.approx(0.3, abs=0.05)
        assert FIXTURE in [process.executable for process in report.processes]

    def test_threads(self) -> None:
        report = fixture("burn-threads", 4, sample_ms=20)
        assert report.user + report.system == pytest.approx(1.2, abs=0.08)
        assert report.on_cpu is not None
        assert report.runqueue_wait is not None
        assert report.sampled
        assert 0.8 < report.on_cpu <= report.user + report.system + 0.01

    def test_waiting_for_a_core(self) -> None:
        report = fixture("burn-threads", 3, sample_ms=20, affinity=(min(os.sched_getaffinity(0)),))
        assert report.runqueue_wait is not None
        assert report.runqueue_wait > 0.7
        assert report.involuntary > 0

    def test_schedule_of_a_single_thread_is_exact(self) -> None:
        report = fixture("burn", 0.2, sample_ms=0)
        assert not report.sampled
        assert report.on_cpu == pytest.approx(report.user + report.system, abs=0.002)

    @pytest.mark.parametrize("memory_group", [True, False])
    def test_peak_memory_of_the_tree(self, memory_group: bool) -> None:
        # Samples are a lower bound, and miss a peak when the sampler has no core: one in five must not.
        for _ in range(5):
            report = fixture("fill", 100, memory_group=memory_group, sample_ms=20)
            assert report.peak_memory < 215 << 20
            if report.peak_memory >= 200 << 20:
                break
        assert report.peak_memory >= 200 << 20
        assert report.peak_memory_kind in (["anonymous", "anonymous-sum"] if memory_group else ["anonymous-sum"])
        assert 100 << 20 <= report.processes[0].peak_memory < 108 << 20

    def test_a_small_program_is_small_whoever_starts_it(self) -> None:
        ballast = bytearray(200 << 20)
        report = spawn("true", memory_group=False)
        assert len(ballast) > report.peak_memory
        assert report.peak_memory_kind == "process"
        assert 0 < report.peak_memory < 10 << 20

    def test_limits(self) -> None:
        assert fixture("fill", 300, limit_memory=100 << 20).status != "ok"
        assert fixture("fill", 300, limit_memory=100 << 20, memory_group=False).status != "ok"
        assert fixture("burn", 30, limit_cpu=1).signal in (signal.SIGXCPU, signal.SIGKILL)


class TestSurroundings:
    def test_environment_reaches_only_the_program(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SPAWN_OLD", "here")
        request = {"environment": {"SPAWN_NEW": "a=b c", "SPAWN_OLD": None, "LD_PRELOAD": "/nonexistent.so"}}
        report = spawn("sh", "-c", 'echo "$SPAWN_NEW|${SPAWN_OLD-unset}"', count_output=True, **request)
        assert report.stdout_tail == "a=b c|unset\n"
        assert report.tail.count("/nonexistent.so") == 1

    def test_affinity(self) -> None:
        last = max(os.sched_getaffinity(0))
        report = spawn("nproc", affinity=(last,), count_output=True)
        assert report.stdout_tail == "1\n"
        assert report.affinity == report.processes[0].affinity == (last,)

    def test_signals_descriptors_and_session_are_fresh(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            with Path("/dev/null").open("rb") as extra:
                os.set_inheritable(extra.fileno(), True)
                assert fixture("inspect", hash_output=True).exit_code == 0
        finally:
            signal.signal(signal.SIGHUP, before)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR2})

    def test_working_directory_and_input(self, tmp_path: Path) -> None:
        (tmp_path / "in").write_text("from a file")
        report = spawn("sh", "-c", "pwd; cat", cwd=tmp_path, stdin=tmp_path / "in", count_output=True)
        assert report.stdout_tail == f"{tmp_path}\nfrom a file"
        assert spawn("cat").status == "ok"


class TestOutput:
    def test_tail_of_any_bytes(self) -> None:
        assert fixture("binary-errors").tail == 'start\0\ufffd\ufffd\x1b[31m café "end"\n'
        assert fixture("binary-errors", tail_bytes=6).tail == '"end"\n'
        assert fixture("binary-errors", tail_bytes=0).tail == ""

    def test_counted_output_is_whole_though_only_its_end_is_kept(self) -> None:
        report = fixture("write", 300, count_output=True, tail_bytes=7, sample_ms=5)
        assert (report.stdout_bytes, report.stdout_tail) == (300 * 2**20 + 7, "the end")

    def test_hash_is_that_of_sha256sum(self, tmp_path: Path) -> None:
        expected = hashlib.sha256(b"x" * 2**20 * 3 + b"the end").hexdigest()
        assert fixture("write", 3, hash_output=True).output_hash == expected
        named = fixture("write", 3, hash_output=True, stdout=tmp_path / "out", stderr=tmp_path / "err")
        assert named.output_hash == expected
        assert (tmp_path / "out").stat().st_size == named.stdout_bytes == 3 * 2**20 + 7

    def test_unkept_output_goes_nowhere(self) -> None:
        report = fixture("write", 3)
        assert (report.stdout_bytes, report.stdout_tail, report.output_hash) == (None, "", None)


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

    def test_files_and_directories(self, tmp_path: Path) -> None:
        gone = tmp_path / "gone" / "x"
        self.expect(spawn("true", cwd=gone), "cwd", errno.ENOENT)
        self.expect(spawn("true", stdin=gone), "stdin", errno.ENOENT)
        self.expect(spawn("true", stdout=gone), "stdout", errno.ENOENT)
        self.expect(spawn("true", stderr=gone), "stderr", errno.ENOENT)
        self.expect(spawn("true", scratch=gone), "scratch", errno.ENOENT)
        self.expect(spawn("true", scratch=gone, hash_output=True), "scratch", errno.ENOENT)

    def test_cpus_that_are_not_there(self) -> None:
        self.expect(spawn("true", affinity=(1023,)), "affinity", errno.EINVAL)

    def test_a_spawner_that_says_nothing_is_an_error(self) -> None:
        with pytest.raises(CorescaleError, match="no report"):
            Spawner(Path("/bin/false")).spawn(SpawnRequest(("true",)))


class TestProof:
    def proof(self, *argv: str, **options: Any) -> dict[str, Any]:
        report = spawn(*argv, prove=True, **options)
        assert report.proof is not None
        return {Path(program.executable).name: program for program in report.proof}

    def test_dynamic_program(self) -> None:
        program = self.proof(FIXTURE, "nothing")["spawner_fixture"]
        assert program.readable
        assert not (program.static or program.setuid or program.replaced)
        assert any("libstdc++" in path for path in program.maps)

    def test_preload_is_seen(self) -> None:
        witness = str(native.library("libcorescale_witness.so"))
        for what in ("nothing", "exit-from-thread", "exit-beside-main"):
            assert witness in self.proof(FIXTURE, what, environment={"LD_PRELOAD": witness})["spawner_fixture"].maps

    def test_static_program(self) -> None:
        program = self.proof(str(native.find("spawner_fixture_static")), "nothing")["spawner_fixture_static"]
        assert program.static
        assert program.readable
        assert not any(".so" in path for path in program.maps)

    def test_script_that_execs(self, tmp_path: Path) -> None:
        found = self.proof(self.script(tmp_path, f"exec {FIXTURE} nothing"))
        assert found["dash" if "dash" in found else "bash"].replaced
        assert not found["spawner_fixture"].replaced
        assert found["spawner_fixture"].readable

    def test_script_that_forks(self, tmp_path: Path) -> None:
        script = self.script(tmp_path, f"{FIXTURE} nothing\n{native.find('spawner_fixture_static')} nothing")
        found = self.proof(script)
        assert found["spawner_fixture"].readable
        assert found["spawner_fixture_static"].static
        assert found["dash" if "dash" in found else "bash"].readable

    def script(self, tmp_path: Path, body: str) -> str:
        path = tmp_path / "wrapper"
        path.write_text(f"#!/bin/sh\n{body}\n:\n")
        path.chmod(0o755)
        return str(path)

    def test_exec_from_a_thread(self) -> None:
        found = self.proof(FIXTURE, "exec-from-thread")
        assert found["spawner_fixture"].replaced
        assert found["true"].readable

    def test_setuid_program(self, tmp_path: Path) -> None:
        copy = tmp_path / "set-id"
        copy.write_bytes(Path(FIXTURE).read_bytes())
        copy.chmod(0o755 | stat.S_ISUID)
        assert self.proof(str(copy), "nothing")["set-id"].setuid

    @pytest.mark.parametrize(("what", "code"), [("catch", 0), ("stop", 0), ("exit-beside-main", 7), ("inspect", 0)])
    def test_tracing_changes_no_behaviour(self, what: str, code: int) -> None:
        assert fixture(what, prove=True, timeout=20).exit_code == fixture(what, timeout=20).exit_code == code

    def test_signals_pass_through(self) -> None:
        assert fixture("signal", int(signal.SIGSEGV), prove=True).signal == signal.SIGSEGV

    def test_time_out_kills_what_is_traced(self, tmp_path: Path) -> None:
        assert fixture("daemon", 100, tmp_path / "pid", timeout=0.5, prove=True).status == "timeout"
        assert not alive(daemon_of(tmp_path / "pid"))

    def test_many_threads(self) -> None:
        assert self.proof(FIXTURE, "burn-threads", "40", timeout=60)["spawner_fixture"].readable


class TestWitness:
    def witnesses(self, tmp_path: Path, *argv: str, preload: str = "") -> list[list[str]]:
        witness = native.library("libcorescale_witness.so")
        libraries = f"{witness}:{preload}" if preload else str(witness)
        spawn(*argv, environment={"LD_PRELOAD": libraries, "CORESCALE_WITNESS": str(tmp_path)})
        fields = [field for path in sorted(tmp_path.iterdir()) for field in path.read_text().split("\0")[:-1]]
        return [fields[i : i + 4] for i in range(0, len(fields), 4)]

    def test_names_program_and_allocator(self, tmp_path: Path) -> None:
        ((process, executable, malloc, aligned),) = self.witnesses(tmp_path, FIXTURE, "nothing")
        assert int(process) > 0
        assert executable == FIXTURE
        assert malloc == aligned
        assert "libc.so" in malloc

    def test_programs_that_give_way_are_seen(self, tmp_path: Path) -> None:
        seen = self.witnesses(tmp_path, "sh", "-c", f"exec {FIXTURE} exit-from-thread")
        assert [Path(fields[1]).name for fields in seen][-1] == "spawner_fixture"
        assert len(seen) == 2

    def test_a_preloaded_allocator_is_named(self, tmp_path: Path) -> None:
        allocator = Path("/usr/lib/x86_64-linux-gnu/libmimalloc.so.2")
        if not allocator.exists():
            pytest.skip("libmimalloc is not installed (apt-get install libmimalloc2.0)")
        ((_, _, malloc, _),) = self.witnesses(tmp_path, FIXTURE, "nothing", preload=str(allocator))
        assert malloc == str(allocator)


def children() -> set[str]:
    return set(Path("/proc/thread-self/children").read_text().split())


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def unchanged(tmp_path: Path) -> Iterator[Path]:
    """Fails when a launch leaves behind a process, descriptor, file or group."""
    before = children(), open_files()
    yield tmp_path
    assert (children(), open_files()) == before
    assert list(tmp_path.iterdir()) == []
    assert eventually(lambda: not memory_groups(), 5)


def test_a_thousand_launches_leave_nothing_behind(unchanged: Path) -> None:
    spawner = Spawner()
    for number in range(1000):
        request = SpawnRequest(
            ("sh", "-c", "echo text; sleep 100 & :"), scratch=unchanged, hash_output=number % 2 == 0, count_output=True
        )
        report = spawner.spawn(request)
        assert (report.status, report.leftovers, report.survivors) == ("ok", 1, 0)
