# SPDX-License-Identifier: Apache-2.0
"""Runs the spawner: its options, its start, its report, its cancellation, and the clean-up if it is killed."""

import contextlib
import errno
import math
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from corescale import native
from corescale.errors import CorescaleError
from corescale.observe import environment
from corescale.observe.spawn import orphans
from corescale.observe.spawn.report import SpawnReport, parse

TAIL = 4096
"""bytes at the end of standard error that a report keeps"""


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    """One program to start once. Seconds and bytes throughout."""

    argv: tuple[str, ...]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """changes to the inherited environment, for the program only; None unsets a variable"""
    affinity: tuple[int, ...] = ()
    """CPUs; empty: the inherited ones"""
    timeout: float | None = None
    grace: float = 0.0
    """seconds between SIGTERM and SIGKILL, for launchers that must end processes on other machines"""
    stdin: Path | None = None
    """None: /dev/null"""
    stdout: Path | None = None
    """None: /dev/null"""
    sample_ms: int = 100
    """milliseconds between samples of the process tree, more if these use half a percent of a core. 0: none"""
    prove: bool = False
    """trace the program; its times are then those of a traced program, and only the main process is accounted"""
    scratch: str | None = field(default_factory=tempfile.gettempdir)
    """folder for its temporary files; None: TMPDIR of the machine where the spawner runs"""
    memory_group: bool = True
    """account for memory and CPU time by control groups, if these can be made"""


def options(request: SpawnRequest, report: str) -> Iterator[str]:
    """The spawner's arguments; `report`: the file for its report."""
    yield from ("--report", report)
    for name, value in request.environment.items():
        yield from ("--unset", name) if value is None else ("--env", f"{name}={value}")
    if request.affinity:
        yield from ("--affinity", ",".join(map(str, request.affinity)))
    for option, setting in _settings(request).items():
        if setting is not None:
            yield from (option, str(setting))
    if request.prove:
        yield "--prove"
    yield from ("--", *request.argv)


def _settings(request: SpawnRequest) -> dict[str, str | float | Path | None]:
    return {
        "--timeout": request.timeout,
        "--grace": request.grace,
        "--stdin": request.stdin,
        "--stdout": request.stdout,
        "--scratch": request.scratch,
        "--tail": TAIL,
        "--sample-ms": request.sample_ms,
        "--cgroup": "auto" if request.memory_group else "off",
    }


class Spawner:
    """Starts programs one after the other. `cancel` may be called from any thread or signal handler, and is final."""

    def __init__(self, program: Path | None = None) -> None:
        self._program = program
        self._running: subprocess.Popen[bytes] | None = None
        self._cancelled = False

    def cancel(self) -> None:
        """Ends the current launch and everything that it started; later launches are not started."""
        self._cancelled = True
        running = self._running
        if running is not None:
            running.send_signal(signal.SIGTERM)

    def spawn(self, request: SpawnRequest, note: Callable[[str], object] = lambda _: None) -> SpawnReport:
        """Runs the program to its end; raises only if the spawner itself is missing or fails. `note` is told once if
        the program waits for a signal to continue it."""
        if self._cancelled:
            return SpawnReport(status="cancelled")
        self._program = self._program or native.find("corescale-spawn")
        orphans.adopt()
        begun, older = orphans.now(), orphans.children()
        started, clock = time.time(), time.monotonic()
        try:
            running, reader = self._start(request)
        except OSError as error:
            step = "exec" if error.errno == errno.E2BIG else "process"
            return SpawnReport(status="not-started", step=step, errno=error.errno)
        with reader as pipe:
            longest = math.inf if request.timeout is None else request.timeout + request.grace + PATIENCE
            text, complaint = self._collect(running, pipe, time.monotonic() + longest, note)
        if not text:
            wall = time.monotonic() - clock
            fallen = self._fallen(running.returncode, complaint, begun, older)
            return replace(fallen, started=started, wall=wall, stopped=True)
        report = parse(text)
        if running.returncode == UNSEEN:
            report = replace(report, leftovers=report.leftovers + orphans.end(begun, _LIVE | older))
        if report.status == "cancelled" and not self._cancelled:  # it was cancelled, but not by the lab
            ended_by = -running.returncode if running.returncode < 0 else signal.SIGTERM
            return replace(report, status="signal", signal=ended_by, tail=KILLED)
        return report

    def _start(self, request: SpawnRequest) -> tuple["subprocess.Popen[bytes]", IO[bytes]]:
        """Starts the spawner; returns it and the pipe for its report. Raises OSError if there can be no new process."""
        reader, writer = os.pipe()
        try:
            words = [str(self._program), "--parent", str(os.getpid()), *options(request, str(writer))]
            running = self._running = _started(words, (writer,))
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        _LIVE.add(running.pid)
        return running, os.fdopen(reader, "rb")

    def _collect(
        self, running: "subprocess.Popen[bytes]", pipe: IO[bytes], until: float, note: Callable[[str], object]
    ) -> tuple[bytes, bytes]:
        try:
            if self._cancelled:
                running.send_signal(signal.SIGTERM)
            return _read(pipe, running, until, note), running.communicate()[1]
        except BaseException:
            _end(running)
            raise
        finally:
            self._running = None
            _LIVE.discard(running.pid)

    def _fallen(self, status: int, complaint: bytes, begun: int, older: set[int]) -> SpawnReport:
        """Replaces a missing report: if the spawner was killed, the launch failed; otherwise it is a defect."""
        killed = orphans.end(begun, _LIVE | older)
        if self._cancelled:
            return SpawnReport(status="cancelled", leftovers=killed)
        if status < 0:
            return SpawnReport(
                "signal", signal=-status, leftovers=killed, tail=KILLED, cpu_kind="sampled", peak_memory_kind="sampled"
            )
        said = next(iter(complaint.decode(errors="replace").strip().splitlines()), f"exit code {status}")
        raise CorescaleError(f"no report from the spawner: {said}", where="spawn")


KILLED = "its parent, which measures it, was killed: by the program, or memory ran out (dmesg)"

UNSEEN = 3
"""Exit status of a spawner that has reported, but could not examine some processes."""

_LIVE: set[int] = set()
"""The spawners of this process, which may run several at once."""


def _started(words: list[str], files: tuple[int, ...]) -> "subprocess.Popen[bytes]":
    """Starts the spawner in its own session, so that Ctrl-C in a terminal reaches only the lab, which then cancels.

    Signals are blocked in the spawner until it is ready for them, so a cancellation waits until then.
    """
    null = subprocess.DEVNULL
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
    try:
        return subprocess.Popen(
            words,
            stdin=null,
            stdout=null,
            stderr=subprocess.PIPE,
            pass_fds=files,
            start_new_session=True,
            env=environment.inherited(),
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


STOPPED = 1.0
"""Seconds after which a spawner that was stopped by its program is continued."""


PATIENCE = 30.0
"""Seconds from the launch's limit until the spawner is killed. (Traced by its program, it would wait for ever.)"""


def _read(pipe: IO[bytes], running: "subprocess.Popen[bytes]", until: float, note: Callable[[str], object]) -> bytes:
    """The spawner's report. `until`: time by the monotonic clock after which the spawner is killed. `note`: see
    Spawner.spawn."""
    ready, found, noted = select.poll(), bytearray(), False
    ready.register(pipe, select.POLLIN)
    while True:
        if not ready.poll(1000 * STOPPED):
            if time.monotonic() > until:
                running.kill()
            elif orphans.is_stopped(running.pid):
                running.send_signal(signal.SIGCONT)
            elif not noted and (halted := orphans.halted(running.pid)):
                noted = True
                processes = " ".join(map(str, halted))
                note(f"a signal (such as SIGSTOP) has stopped the program: kill -CONT {processes} continues it")
        elif part := os.read(pipe.fileno(), 1 << 16):
            found += part
        else:
            return bytes(found)


def _end(running: "subprocess.Popen[bytes]") -> None:
    """Waits until the spawner has killed everything, even if Ctrl-C is pressed several times meanwhile."""
    until = time.monotonic() + PATIENCE
    while running.returncode is None:
        if time.monotonic() > until:
            running.kill()
        with contextlib.suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
            running.send_signal(signal.SIGTERM)
            running.send_signal(signal.SIGCONT)
            running.wait(STOPPED)
    if running.stderr is not None:
        running.stderr.close()
