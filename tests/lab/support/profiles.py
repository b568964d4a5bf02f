# SPDX-License-Identifier: Apache-2.0
"""Launches with the profiler."""

import contextlib
import fcntl
import functools
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from corescale.conclude.explain.ledger import Ledger, ledger
from corescale.conclude.explain.rows import LedgerRow
from corescale.declare.factors import Launch
from corescale.observe.profiled import Profiled, profiled
from corescale.profile import Profile


@dataclass(frozen=True)
class Seen:
    """A launch, and what follows from it."""

    launch: Profiled
    ledger: Ledger

    @property
    def profile(self) -> Profile:
        return self.launch.profiles[0]

    @property
    def shares(self) -> dict[str, float]:
        """Of what the cores gave: what other programs took meanwhile is left out."""
        rows = dict(self.ledger.rows)
        given = self.ledger.total - rows.pop(LedgerRow.QUEUED)
        return {row: seconds / given for row, seconds in rows.items()}


def see(*argv: str, threads: int = 1) -> Seen:
    launch = profiled(Launch(argv), threads, timeout=60)
    wall = launch.profiles[0].wall  # of the program; others only start it
    return Seen(launch, ledger(launch.profiles, wall, stolen=launch.report.stolen))


def faultless(launch: Callable[[], Seen], wrong: Callable[[Seen], Mapping[str, float]]) -> Seen:
    """The first launch with nothing wrong: other programs, and the host's other machines, disturb some launches.

    Fails after six wrong ones during which the host took less than a hundredth of the thread-seconds.
    """
    calm = 0
    for _ in range(20):
        seen = launch()
        if not (faults := wrong(seen)):
            return seen
        calm += seen.launch.report.steal < 0.01 * seen.ledger.total
        assert calm < 6, faults
    pytest.skip(f"the host took cores from all but {calm} of 20 launches")


@contextlib.contextmanager
def undisturbed() -> Iterator[tuple[str, ...]]:
    """The words before a program that keep others off its cores, where it is allowed; one such program at a time."""
    if not (words := _real_time()):
        yield ()
        return
    with Path(words[0]).open("rb") as turn:  # a file that is the same for all tests on the machine
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield words


@functools.cache
def _real_time() -> tuple[str, ...]:
    words = (shutil.which("chrt") or "false", "--fifo", "1")
    allowed = not subprocess.run([*words, "true"], check=False, capture_output=True).returncode
    return words if allowed else ()
