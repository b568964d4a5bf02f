# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: programs out of the ordinary, of which each was once
# measured wrongly)
"""What crosses the process boundary stays true for programs that are out of the ordinary: real processes, each once
measured wrongly.
"""

import contextlib
import errno
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corescale.endings import HALTED, ending
from corescale.errors import ExitCode
from corescale.observe.spawn import Spawner, SpawnReport, SpawnRequest, bounds
from support.processes import FIXTURE, SPAWNER, alive, eventually, spawn

CORE = min(os.sched_getaffinity(0))
TRIES = 4


UNREAPED_UNTIL_SEEN = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
spawner = f"/proc/{os.getppid()}/status"
def sleeps():
    return int(open(spawner).read().partition("nonvoluntary")[0].rpartition("voluntary_ctxt_switches:")[2])
if os.fork() == 0:
    while time.process_time() < 0.3: pass
    seen = sleeps() + 10
    while sleeps() < seen: time.sleep(0.01)
    os._exit(0)
try: os.wait()
except ChildProcessError: pass
"""
"""A child that nobody waits for uses 0.3 s, and ends once the spawner, which sleeps after each look, has looked."""


class TestAsUnderAShell:
    def test_a_rank_has_the_socket_by_which_it_finds_the_others(self) -> None:
        ours, its = socket.socketpair()
        with ours, its:
            script = "import os; os.write(int(os.environ['PMI_FD']), b'cmd=init')"
            words = [SPAWNER, "--report", "1", "--", sys.executable, "-S", "-c", script]
            environment = {**os.environ, "PMI_FD": str(its.fileno())}
            done = subprocess.run(
                words, env=environment, pass_fds=[its.fileno()], stdout=subprocess.PIPE, check=True, timeout=60
            )
            assert json.loads(done.stdout)["status"] == "ok", done.stdout
            assert ours.recv(99) == b"cmd=init"

    def test_of_other_files_none_is_handed_on_whatever_the_environment_says(self) -> None:
        words = [SPAWNER, "--report", "1", "--", FIXTURE, "inspect"]
        reader, writer = os.pipe()
        environment = {**os.environ, "PMI_FD": str(writer)}
        done = subprocess.run(words, env=environment, pass_fds=[writer], stdout=subprocess.PIPE, check=True)
        os.close(reader), os.close(writer)
        assert json.loads(done.stdout)["exit_code"] == 0

    def test_a_pipe_that_nobody_writes_is_an_empty_input(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        words = [SPAWNER, "--report", "1", "--stdin", str(tmp_path / "pipe"), "--", "cat"]
        done = subprocess.run(words, stdout=subprocess.PIPE, check=True, timeout=60)
        assert json.loads(done.stdout)["status"] == "ok"

    def test_the_kernel_may_copy_to_standard_output(self, tmp_path: Path) -> None:
        assert spawn(FIXTURE, "copy", stdout=tmp_path / "out").exit_code == 0
        assert (tmp_path / "out").stat().st_size == 20

    @pytest.mark.parametrize(("writes", "step"), [("head -c 1M /dev/zero >&2", "scratch"), ("exit 3", None)])
    def test_a_temporary_folder_without_room_is_no_fault_of_the_program(self, writes: str, step: str | None) -> None:
        mounts = 'mount -t tmpfs -o size=64k none /mnt && exec "$@"'
        within = ["unshare", "-m", "sh", "-c", mounts, "sh"]
        if subprocess.run([*within, "true"], capture_output=True, check=False).returncode:
            pytest.skip("no file system can be mounted here")
        words = [SPAWNER, "--report", "1", "--tail", "99", "--scratch", "/mnt", "--", "sh", "-c", writes]
        report = json.loads(subprocess.run([*within, *words], stdout=subprocess.PIPE, check=True).stdout)
        assert (report["status"], report["step"]) == ("failed", step)

    @pytest.mark.parametrize("prove", [False, True])
    def test_a_process_group_of_its_own_and_no_terminal(self, prove: bool) -> None:
        assert spawn(FIXTURE, "inspect", prove=prove).exit_code == 0

    def test_what_asks_its_parent_to_trace_it_goes_on(self) -> None:
        ask = "import ctypes, os, signal; ctypes.CDLL(None).ptrace(0, 0, 0, 0); "
        own = spawn(sys.executable, "-S", "-c", ask + "os.kill(os.getpid(), signal.SIGUSR1)", timeout=30)
        assert (own.status, own.signal, len(own.processes)) == ("signal", signal.SIGUSR1, 1)
        other = spawn(sys.executable, "-S", "-c", ask + "os.execl('/bin/sh', 'sh', '-c', 'exit 3')", timeout=30)
        assert (other.status, other.exit_code) == ("failed", 3)

    def test_what_stops_to_be_traced_goes_on_within_a_proof(self) -> None:
        script = "import os, signal\nif not os.fork(): os.kill(os.getpid(), signal.SIGSTOP); os._exit(3)\nos.wait()"
        report = spawn(sys.executable, "-S", "-c", script, prove=True, timeout=30)
        assert (report.status, report.exit_code) == ("ok", 0)


@pytest.mark.parametrize("within", ["-m sh -c 'mount -t tmpfs none /proc; exec \"$@\"' sh", "-pf"])
def test_without_its_own_processes_in_sight_nothing_is_launched(within: str, tmp_path: Path) -> None:
    """What it left could not be found and ended."""
    words = ["unshare", *shlex.split(within), sys.executable, "-m", "corescale", "scan", "-r", "1", "-t", "1", "--"]
    if subprocess.run(["unshare", *shlex.split(within), "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespace can be made here")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*words, "touch", "launched"], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert (done.returncode, b"/proc: does not show this process" in done.stderr) == (ExitCode.UNAVAILABLE, True)
    assert not (tmp_path / "launched").exists()


class TestCpuTime:
    def test_of_a_child_that_nobody_waits_for(self) -> None:
        report = spawn(FIXTURE, "unreaped", 0.5)
        assert report.user + report.system == pytest.approx(0.5, abs=0.06)
        assert report.cpu_kind in ("group", "sampled")

    def test_without_a_group_it_is_a_lower_bound_and_says_so(self) -> None:
        """The spawner samples when it is given a core: in one of some launches, since other programs disturb it."""
        for _ in range(TRIES):
            report = spawn(FIXTURE, "unreaped", 0.5, memory_group=False, sample_ms=20)
            assert (report.cpu_kind, report.user + report.system < 0.56) == ("sampled", True)
            if report.user + report.system > 0.2:
                break
        assert report.user + report.system > 0.2
        short = spawn(FIXTURE, "unreaped", 0.001, memory_group=False, sample_ms=0)
        assert short.cpu_kind == "sampled"

    def test_of_children_that_leave_without_a_sign(self) -> None:
        """SA_NOCLDWAIT shows nowhere: samples have more than was reaped; the last may be early."""
        report = spawn(FIXTURE, "unreaped-quietly", 0.5, memory_group=False, sample_ms=20)
        assert 0.02 < report.user + report.system < 0.56
        assert report.cpu_kind == "sampled"

    def test_of_a_child_that_left_the_group_and_that_nobody_waits_for(self) -> None:
        root = Path("/sys/fs/cgroup/unified/cgroup.procs")
        root = root if root.exists() else Path("/sys/fs/cgroup/cgroup.procs")
        if spawn("true").cpu_kind != "group" or not os.access(root, os.W_OK):
            pytest.skip("no group can be made and left here")
        words = (sys.executable, "-S", "-c", UNREAPED_UNTIL_SEEN)
        report = spawn("sh", "-c", f'echo $$ > {root} && exec "$@"', "sh", *words)
        assert report.status == "ok", report.tail
        assert report.cpu_kind == "sampled"
        assert report.user + report.system >= 0.3
        assert bounds(report)["user"] == "lower"

    def test_of_an_ordinary_tree_is_what_its_parents_were_told(self) -> None:
        report = spawn(FIXTURE, "burn-tree", 0.2, memory_group=False)
        assert report.cpu_kind == "reaped"
        assert report.user + report.system == pytest.approx(0.6, abs=0.05)

    def test_waiting_of_chains_of_short_children_is_a_share_of_what_was_seen(self) -> None:
        report = spawn(FIXTURE, "chains", 40, affinity=(CORE,), sample_ms=10)
        assert report.sampled
        assert report.on_cpu is not None
        assert report.runqueue_wait is not None
        used = report.user + report.system
        assert report.on_cpu < 0.7 * used  # most children lived and died unseen
        share = report.runqueue_wait / (report.runqueue_wait + report.on_cpu)
        assert share > 0.6  # four wait for one core: three quarters, and more if others use it, too


class TestMemory:
    """ru_maxrss of the largest process; test_gnu_time.py compares it with GNU time."""

    def test_exact_however_short(self) -> None:
        report = spawn(sys.executable, "-S", "-c", "b'x' * (100 << 20)")
        assert report.peak_memory_kind == "process"
        assert 100 << 20 < report.peak_memory < 130 << 20

    def test_a_program_as_small_as_the_spawner_has_an_upper_bound(self) -> None:
        report = spawn("true")
        smaller = report.peak_memory <= report.peak_memory_floor
        assert bounds(report).get("peak_memory") == ("upper" if smaller else None)
        assert report.peak_memory_floor < 3 << 20

    def test_of_a_process_that_nobody_waits_for_is_a_lower_bound(self) -> None:
        fill = "import signal, os, time; signal.signal(17, signal.SIG_IGN); child = os.fork()\n"
        fill += "if not child: memory = b'x' * (100 << 20); time.sleep(0.3)\nelse: time.sleep(0.4)"
        report = spawn(sys.executable, "-S", "-c", fill)
        assert bounds(report)["peak_memory"] == "lower"
        assert 20 << 20 < report.peak_memory < 130 << 20

    def test_of_a_process_that_ends_without_a_sign_is_a_lower_bound(self) -> None:
        """Its time is in the group's account, and in nobody's who waited."""
        if spawn("true").cpu_kind != "group":
            pytest.skip("no group can be made here")
        assert bounds(spawn(FIXTURE, "unreaped-quietly", 0.1, sample_ms=0))["peak_memory"] == "lower"
        assert spawn(FIXTURE, "burn-tree", 0.1).peak_memory_kind == "process"

    def test_page_cache_is_none(self, tmp_path: Path) -> None:
        file = tmp_path / "large"
        file.write_bytes(bytes(100 << 20))
        cold, warm = (self.peak(file, drop=drop) for drop in (True, False))
        assert abs(cold - warm) < 2 << 20
        assert max(cold, warm) < 10 << 20

    def peak(self, file: Path, *, drop: bool) -> int:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
            if drop:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        report = spawn(FIXTURE, "read", 0, file)
        assert report.peak_memory < 10 << 20
        assert report.tree_memory_kind in ("group", "sum")
        return report.tree_memory

    def test_kept_output_is_none(self, tmp_path: Path) -> None:
        words = ("head", "-c", "200M", "/dev/zero")
        peaks = [spawn(*words, stdout=kept).peak_memory for kept in (None, tmp_path / "out")]
        assert max(peaks) < 10 << 20

    def test_a_short_program_is_sampled_too(self) -> None:
        report = spawn(FIXTURE, "burn", 0.05)
        assert report.tree_memory_kind in ("group", "sum")
        assert bounds(report)["tree_memory"] in ("lower", "estimate")


class TestManyProcesses:
    def test_orphans_do_not_swell_the_report(self) -> None:
        words = [SPAWNER, "--report", "1", "--", FIXTURE, "orphans", "1000"]
        text = subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout
        report = json.loads(text)
        assert len(text) < 100_000
        assert 100 < len(report["processes"]) <= 200

    def test_chains_of_processes_that_fork_and_end_are_killed_soon(self) -> None:
        if spawn("true").cpu_kind != "group" or tuple(map(int, os.uname().release.split(".")[:2])) < (5, 14):
            pytest.skip("no group can be made or killed here")
        chain = "import os, time; end = time.monotonic() + 60; os.fork() or os.setsid(); os.fork() and os._exit(0)\n"
        chain += "while time.monotonic() < end:\n if os.fork(): os._exit(0)"
        chains = f"for i in 1 2 3 4 5 6; do {sys.executable} -S -c '{chain}' & done; sleep 61"
        report = spawn("sh", "-c", chains, timeout=0.7)
        assert (report.survivors, report.leftovers > 0, bounds(report)["user"]) == ((), True, "upper")
        assert report.wall < 40

    def test_leftovers_are_killed_soon(self) -> None:
        script = "i=0; while [ $i -lt 300 ]; do sleep 100 & i=$((i+1)); done"
        begun = time.monotonic()
        report = spawn("sh", "-c", script)
        assert (report.leftovers, report.survivors) == (300, ())
        assert time.monotonic() - begun < 10


class TestWhatCannotBeKilled:
    def test_it_is_told_and_disturbs_no_account(self, tmp_path: Path) -> None:
        if os.geteuid() != 0:
            pytest.skip("only root makes a set-user-id program that becomes root")
        program = tmp_path / "fixture"
        shutil.copy(FIXTURE, program)
        program.chmod(0o4755)
        tmp_path.chmod(0o755), tmp_path.parent.chmod(0o755), tmp_path.parent.parent.chmod(0o755)
        words = ["setpriv", "--reuid=65534", "--clear-groups", SPAWNER, "--report", "1", "--", program, "outlive", "11"]
        report = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
        if report["exit_code"] != 0:
            pytest.skip("set-user-id programs gain nothing here")
        assert len(report["survivors"]) == 1
        assert report["leftovers"] == 0
        assert report["wall"] < 1
        cpus = len(report["affinity"])
        assert (report["foreign"] or 0) <= 1.1 * cpus * report["wall"]  # not of the ten seconds of clean-up
        assert report["steal"] <= 1.1 * (os.cpu_count() or 1) * report["wall"]


class TestLargeMachines:
    def test_cpu_numbers_beyond_1023_are_understood(self) -> None:
        report = spawn("true", affinity=(1500, 4000))
        assert (report.status, report.step) == ("not-started", "affinity")

    def test_an_affinity_with_numbers_that_are_not_there_is_that_of_the_others(self) -> None:
        assert spawn("true", affinity=(CORE, 2000)).processes[0].affinity == (CORE,)


@contextlib.contextmanager
def cpu_group(parent: Path, name: str) -> Iterator[Path]:
    """A control group of version 1 whose quota a test may set."""
    group = parent / name
    try:
        group.mkdir()
        (group / "cpu.cfs_quota_us").read_text()
    except OSError as error:
        pytest.skip(f"no control group with a CPU quota can be made here: {error}")
    try:
        yield group
    finally:
        deadline = time.monotonic() + 30
        while group.exists() and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                group.rmdir()


def throttled(group: Path, *argv: object) -> float:
    """The throttling that the spawner reports when it runs in `group`."""
    words = [SPAWNER, "--report", "1", "--", *map(str, argv)]
    enter = f'echo $$ > {group}/cgroup.procs && exec "$@"'
    done = subprocess.run(["sh", "-c", enter, "sh", *words], stdout=subprocess.PIPE, check=True)
    return float(json.loads(done.stdout)["throttled"])


def test_throttling_of_the_inner_group_is_not_hidden_by_an_older_one_outside() -> None:
    with (
        cpu_group(Path("/sys/fs/cgroup/cpu"), f"corescale-test-{os.getpid()}") as outer,
        cpu_group(outer, "inner") as inner,
    ):
        (outer / "cpu.cfs_quota_us").write_text("5000")
        older = throttled(inner, FIXTURE, "burn", 0.2)
        (outer / "cpu.cfs_quota_us").write_text("-1")
        (inner / "cpu.cfs_quota_us").write_text("10000")
        assert 0.02 < throttled(inner, FIXTURE, "burn", 0.1) < older


def test_a_runtime_that_reads_its_own_group_alone_finds_the_limit_that_binds_it(tmp_path: Path) -> None:
    group = Path("/sys/fs/cgroup/memory") / f"corescale-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(300 << 20))
    except OSError as error:
        pytest.skip(f"no memory group of version 1 can be made here: {error}")
    read = "cat /sys/fs/cgroup/memory$(grep :memory: /proc/self/cgroup | cut -d: -f3)/memory.limit_in_bytes"
    words = [SPAWNER, "--report", "1", "--stdout", str(tmp_path / "limit"), "--", "sh", "-c", read]
    try:
        enter = f'echo $$ > {group}/cgroup.procs && exec "$@"'
        subprocess.run(["sh", "-c", enter, "sh", *words], stdout=subprocess.PIPE, check=True)
    finally:
        group.rmdir()
    assert int((tmp_path / "limit").read_text()) == 300 << 20


def lab(*argv: str) -> subprocess.Popen[bytes]:
    """A process that spawns this, as the lab does."""
    code = "from corescale.observe.spawn import *; import sys; Spawner().spawn(SpawnRequest(tuple(sys.argv[1:])))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", code, *argv], env=environment)


class TestSpawnerItself:
    def test_one_that_is_killed_leaves_nothing_and_the_message_says_so(self, tmp_path: Path) -> None:
        pids = tmp_path / "pids"
        script = f"sleep 1000 & echo $! >> {pids}; setsid sleep 1000 & echo $! >> {pids}; echo $PPID >> {pids}; wait"
        killer = threading.Thread(target=kill_last_line, args=(pids, 3))
        killer.start()
        begun = time.time()
        report = spawn("sh", "-c", script)
        killer.join()
        assert (report.status, report.signal, report.leftovers > 0) == ("signal", signal.SIGKILL, True)
        assert begun <= report.started <= time.time()
        assert (report.wall > 0, bounds(report)["wall"]) == (True, "upper")
        assert "its parent, which measures it, was killed" in report.tail
        assert not any(alive(int(pid)) for pid in pids.read_text().split())

    def test_one_that_the_program_leaves_no_descriptor_ends_it_and_its_group(self, tmp_path: Path) -> None:
        pid = tmp_path / "pid"
        take = "import os, time, resource as r\nif os.fork(): r.prlimit(os.getppid(), r.RLIMIT_NOFILE, (0, 0))\n"
        take += f"else: open({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(1000)"
        report = spawn(sys.executable, "-S", "-c", take, timeout=2.0)
        assert (report.status, report.signal) == ("timeout", signal.SIGKILL)
        assert not alive(int(pid.read_text()))

    @pytest.mark.parametrize("grouped", [True, False])
    def test_one_that_the_program_leaves_no_descriptor_leaves_no_session_behind(
        self, grouped: bool, tmp_path: Path
    ) -> None:
        pid = tmp_path / "pid"
        take = f"""import os, sys, time, resource as r
if os.fork():
    while not os.path.exists({str(pid)!r}): time.sleep(0.01)
    sys.exit()
os.setsid()
r.prlimit(int(os.environ['SPAWNER']), r.RLIMIT_NOFILE, (0, 0))
open({f"{pid}.part"!r}, 'w').write(str(os.getpid()))
os.rename({f"{pid}.part"!r}, {str(pid)!r})
time.sleep(1000)"""
        script = 'SPAWNER=$PPID exec "$@"'
        report = spawn("sh", "-c", script, "sh", sys.executable, "-S", "-c", take, memory_group=grouped)
        assert (report.status, report.leftovers > 0) == ("ok", True), report.tail
        assert not alive(int(pid.read_text()))

    def test_the_end_of_a_program_that_its_own_child_traces_is_seen(self) -> None:
        """The kernel tells the tracer first, which never asks."""
        seize = "import ctypes, os, time; done = ctypes.CDLL(None).ptrace(0x4206, os.getppid(), 0, 0) == 0\n"
        seize += "os.write(1, b'x' if done else b'-'); os.close(1); time.sleep(1000)"
        script = (
            f"import os, subprocess, sys; one = subprocess.Popen([sys.executable, '-S', '-c', {seize!r}], stdout=-1)"
        )
        script += "\nos._exit(3 if one.stdout.read(1) == b'x' else 4)"
        report = spawn(sys.executable, "-S", "-c", script, timeout=30.0)
        if report.exit_code == 4:
            pytest.skip("no parent may be traced here")
        assert (report.status, report.exit_code, bounds(report)["wall"]) == ("failed", 3, "upper")

    def test_time_outside_the_group_makes_its_account_a_lower_bound(self) -> None:
        """Nothing looks at the child that leaves: the program itself waits for it."""
        if spawn("true").cpu_kind != "group":
            pytest.skip("no group can be made here")
        leave = """import os, time
root = next(f for f in ('/sys/fs/cgroup/unified', '/sys/fs/cgroup') if os.path.isdir(f))
mine = next(line[3:] for line in open('/proc/self/cgroup') if line.startswith('0::'))
if os.fork(): os._exit(os.wait()[1])
open(root + os.path.dirname(mine) + '/cgroup.procs', 'w').write(str(os.getpid()))
while time.process_time() < 0.2: pass"""
        report = spawn(sys.executable, "-S", "-c", leave, sample_ms=0)
        if report.status != "ok":
            pytest.skip("no group can be left here")
        assert report.user + report.system >= 0.19
        assert bounds(report)["user"] == "lower"

    def test_a_program_that_stops_it_ends_all_the_same(self) -> None:
        report = spawn("sh", "-c", "kill -STOP $PPID; exit 3")
        assert (report.exit_code, bounds(report)["wall"]) == (3, "upper")
        assert "wall" not in bounds(spawn("true"))

    def test_one_that_is_continued_and_was_not_stopped_sees_the_end_in_time(self) -> None:
        report = spawn("sh", "-c", "kill -CONT $PPID; sleep 0.2; exit 3")
        assert (report.exit_code, "wall" in bounds(report)) == (3, False)

    def test_one_that_is_stopped_and_continued_in_time_sees_the_end_in_time(self) -> None:
        report = spawn("sh", "-c", "kill -STOP $PPID; sleep 0.1; kill -CONT $PPID; sleep 0.2; exit 3")
        assert (report.exit_code, report.wall < 0.9, "wall" in bounds(report)) == (3, True, False)

    @pytest.mark.parametrize("script", ["kill -STOP $$", "kill -TSTP $$", "sh -c 'kill -STOP $$'; true"])
    def test_a_program_that_stops_itself_is_said_to(self, script: str) -> None:
        report = spawn("sh", "-c", f"echo of its own >&2; {script}", timeout=0.5)
        assert (report.status, report.halted, report.tail) == ("timeout", 1, "of its own\n")
        assert ending(report) == f"did not end ({HALTED}), and was killed after {report.wall:.3g} s: of its own"
        assert spawn("sleep", "1000", timeout=0.2).halted == 0

    def test_one_that_the_program_asks_to_end_was_killed(self) -> None:
        report = spawn("sh", "-c", "kill -TERM $PPID; sleep 1000")
        assert (report.status, report.tail) == ("signal", spawn("sh", "-c", "kill -KILL $PPID; sleep 1000").tail)

    def test_one_that_the_program_traces_is_waited_for_only_so_long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("corescale.observe.spawn.spawner.PATIENCE", 0.5)
        attach = "import ctypes, os, time; ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) or time.sleep(99); exit(1)"
        report = spawn(sys.executable, "-S", "-c", attach, timeout=0.5)
        if report.status == "failed":
            pytest.skip("no parent may be traced here")
        assert report.status == "signal"

    def test_one_that_the_program_has_stopped_ends_with_the_lab(self, tmp_path: Path) -> None:
        pids = tmp_path / "pids"
        script = f"setsid sleep 1000 & echo $! $$ $PPID > {pids}; kill -STOP $PPID; wait"
        with lab("sh", "-c", script) as running:
            assert eventually(lambda: pids.exists() and pids.read_text().endswith("\n"))
            spawner = pids.read_text().split()[2]
            assert eventually(lambda: ") T " in Path(f"/proc/{spawner}/stat").read_text())
            running.kill()
        assert eventually(lambda: not any(alive(int(pid)) for pid in pids.read_text().split()))

    def test_what_runs_on_where_the_lab_was_killed_with_it_ends_with_the_next_launch(self, tmp_path: Path) -> None:
        if spawn("true").cpu_kind != "group" or tuple(map(int, os.uname().release.split(".")[:2])) < (5, 14):
            pytest.skip("no group can be made or killed here")
        pids = tmp_path / "pids"
        script = f"setsid sleep 1000 & echo $! $PPID > {pids}; wait"
        with lab("sh", "-c", script) as running:
            assert eventually(lambda: pids.exists() and pids.read_text().endswith("\n"))
            child, spawner = map(int, pids.read_text().split())
            running.send_signal(signal.SIGSTOP)
            os.kill(spawner, signal.SIGKILL)
            running.kill()
        assert alive(child)
        assert eventually(lambda: spawn("true").status == "ok" and not alive(child))

    def test_what_is_written_by_the_name_of_standard_error_is_not_written_over(self) -> None:
        report = spawn("sh", "-c", "echo one > /dev/stderr; echo two >&2")
        assert report.tail.splitlines() == ["one", "two"]

    def test_processes_of_others_are_spared_when_one_is_killed(self, tmp_path: Path) -> None:
        """What a hook left in the background is older, also in a session of its own; what runs meanwhile is ours."""
        older = subprocess.Popen(["setsid", "sleep", "1000"])
        beside = subprocess.Popen(["sleep", "1000"])
        pids = tmp_path / "pids"
        time.sleep(0.05)
        killer = threading.Thread(target=kill_last_line, args=(pids, 1))
        killer.start()
        try:
            assert spawn("sh", "-c", f"echo $PPID > {pids}; sleep 1000").status == "signal"
            killer.join()
            assert older.poll() is None
            assert beside.poll() is None
        finally:
            older.kill(), beside.kill()
            older.wait(), beside.wait()

    @pytest.mark.parametrize("sent", ["INT", "HUP", "TERM", "KILL"])
    def test_a_program_that_signals_its_parent_ended_it_by_that_signal(self, sent: str) -> None:
        report = spawn("sh", "-c", f"kill -{sent} $PPID; sleep 1000")
        assert (report.status, report.signal) == ("signal", signal.Signals[f"SIG{sent}"])

    def test_a_cancellation_in_its_first_moment_is_one(self) -> None:
        """While it is being started, it could not yet tell a SIGTERM from its end."""
        endless = SpawnRequest(("sleep", "1000"))
        endless = SpawnRequest(("sleep", "1000"))
        for delay in (0.0, 0.0001, 0.0003, 0.0005, 0.001, 0.002) * 5:
            spawner, reports = Spawner(), list[SpawnReport]()
            thread = threading.Thread(target=lambda s=spawner, r=reports: r.append(s.spawn(endless)))
            thread.start()
            time.sleep(delay)
            spawner.cancel()
            thread.join(20)
            assert [report.status for report in reports] == ["cancelled"]

    def test_no_new_process_is_no_traceback(self) -> None:
        code = (
            "import resource, os; from pathlib import Path; from corescale.observe.spawn import *; os.setuid(65534);"
            "resource.setrlimit(resource.RLIMIT_NPROC, (0, 0));"
            "report = Spawner(PROGRAM).spawn(SpawnRequest(('true',))); print(report.status, report.trouble)"
        )
        if os.geteuid() != 0:
            pytest.skip("changes its user, to which the limit applies; only root may")
        code = code.replace("PROGRAM", f"Path({SPAWNER!r})")
        done = run_python(code)
        assert done.stdout == "not-started no new process: Resource temporarily unavailable\n", done.stderr

    def test_arguments_that_are_too_long_are_no_traceback(self) -> None:
        report = spawn("true", "x" * (1 << 20))
        assert (report.status, report.step, report.errno) == ("not-started", "exec", errno.E2BIG)

    def test_arguments_of_any_bytes_pass_through(self, tmp_path: Path) -> None:
        report = spawn("printf", "%s", os.fsdecode(b"caf\xe9"), stdout=tmp_path / "out")
        assert (report.status, (tmp_path / "out").read_bytes()) == ("ok", b"caf\xe9")

    def test_a_run_whose_arguments_are_no_text_is_kept_gone_on_with_and_exported(self, tmp_path: Path) -> None:
        words = [sys.executable, "-m", "corescale", "scan", "--threads", "1", "--runs", "1", "--out", "runs"]
        words += ["--export-json", "all.json", "--", "sh", "-c", 'printf %s "$1" > out', "sh", os.fsdecode(b"caf\xe9")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        for _ in range(2):
            done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        assert (tmp_path / "out").read_bytes() == b"caf\xe9"
        assert len(list(tmp_path.glob("runs/*"))) == 1
        json.loads((tmp_path / "all.json").read_text())

    def test_a_prepare_that_fails_is_seen_though_the_caller_ignored_its_children(self, tmp_path: Path) -> None:
        words = [sys.executable, "-m", "corescale", "scan", "--threads", "1", "--runs", "1", "--out", str(tmp_path)]
        words += ["--prepare", "false", "--", "true"]
        code = f"import os, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv({words[0]!r}, {words!r})"
        done = run_python(code)
        assert done.returncode != 0
        assert "--prepare false" in done.stderr

    def test_children_are_detected_though_the_caller_ignored_them(self) -> None:
        code = (
            "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
            "import subprocess; from corescale.observe.spawn import orphans; orphans.adopt();"
            "print(subprocess.run(['false']).returncode)"
        )
        assert run_python(code).stdout == "1\n"


def run_python(code: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def kill_last_line(file: Path, lines: int) -> None:
    """SIGKILL for the process whose number is the last of this number of lines."""
    deadline = time.monotonic() + 20
    while not file.exists() or file.read_text().count("\n") < lines:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(int(file.read_text().split()[-1]), signal.SIGKILL)
