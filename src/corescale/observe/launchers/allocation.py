# SPDX-License-Identifier: Apache-2.0
"""Nodes that Slurm keeps for one block of launches, and what its commands say."""

import contextlib
import functools
import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Sequence

from corescale.errors import UnavailableError, UsageError
from corescale.observe import environment

REMEDY = "is the cluster up? try sinfo"
GRACE = 10.0
"""seconds for srun to end its ranks on all nodes, and for salloc to give an allocation back"""
FOLLOWS = re.compile(r"Granted|Relinquish|Pending|Nodes|job \d")
"""what salloc says that is no reason"""
PATIENCE = 2.0
"""seconds after which a note says that an allocation is waited for"""
REFUSED = re.compile(r"can't use|Invalid|NotAllowed|Partition(Node|Time)Limit|BadConstraints")
"""why a job waits that will never start"""
POLL = 0.2
"""seconds between two looks at whether waiting was cancelled"""
HOLD = 'echo "$SLURM_JOB_ID" $(scontrol show hostnames "$SLURM_JOB_NODELIST"); exec cat'
"""what holds an allocation: it says its number and its nodes, and ends when its pipe does"""


class Allocation:
    """Nodes that Slurm keeps for us, from the end of `wait` to `release`."""

    def __init__(self, nodes: int, words: Sequence[str]) -> None:
        self.job = ""
        """its number, once it is there"""
        self.nodes: Sequence[str] = ()
        self._name = f"corescale-{os.getpid()}"
        argv = [
            "salloc",
            "--exclusive",
            "--kill-command",
            f"--job-name={self._name}",
            f"--nodes={nodes}",
            *words,
            "sh",
            "-c",
            HOLD,
        ]
        self._salloc = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=environment.inherited(),
        )

    def wait(self, cancelled: Callable[[], bool], note: Callable[[str], None]) -> None:
        """Returns when the nodes are there. Raises UsageError for what Slurm refuses, and KeyboardInterrupt."""
        assert self._salloc.stdout is not None
        began, said = time.monotonic(), False
        while not select.select([self._salloc.stdout], [], [], POLL)[0]:
            if cancelled():
                raise KeyboardInterrupt
            if not said and time.monotonic() - began > PATIENCE:
                said = True
                why = asked("squeue", "-h", f"--name={self._name}", "-o", "%r").strip()
                if REFUSED.search(why):
                    raise UsageError(why, where="slurm", remedy="see --allocation and sinfo")
                note(f"waiting for nodes ({why}); squeue --name={self._name} shows the place; Ctrl-C gives up")
        self.job, *self.nodes = self._salloc.stdout.readline().decode().split() or [""]
        if not self.job:
            self._salloc.wait()
            raise UsageError(self.said or "salloc gave no nodes", where="slurm", remedy="see --allocation and sinfo")

    @property
    def is_gone(self) -> bool:
        """Whether Slurm has taken the nodes back."""
        with contextlib.suppress(UnavailableError):  # of a job that is forgotten
            return asked("squeue", "-h", "-j", self.job, "-o", "%T").strip() != "RUNNING"
        return True

    @functools.cached_property
    def said(self) -> str:
        """Why salloc ended, on one line: its errors without those that follow from others."""
        assert self._salloc.stderr is not None
        text = self._salloc.stderr.read().decode(errors="replace")
        lines = [line.removeprefix("salloc: ").removeprefix("error: ") for line in text.splitlines()]
        return next((line.strip() for line in lines if not FOLLOWS.match(line)), "")

    def release(self) -> None:
        """Gives the nodes back, or the place in the queue; nothing of it is left when this returns."""
        for pipe in (self._salloc.stdin, self._salloc.stdout):
            if pipe is not None:
                pipe.close()
        if self._salloc.poll() is None:
            if not self.job:
                self._salloc.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._salloc.wait(GRACE)
        if self._salloc.poll() is None:
            asked("scancel", f"--name={self._name}", "--me")
            self._salloc.kill()
            self._salloc.wait()
        if self._salloc.stderr is not None:
            self._salloc.stderr.close()


def asked(*words: str, seconds: float | None = None) -> str:
    """What a command of Slurm's says; raises UnavailableError where it cannot reach the cluster."""
    wait = GRACE if seconds is None else seconds
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=wait, check=False)
    except subprocess.TimeoutExpired:
        what = f"{words[0]} did not answer within {wait:g} s"
        raise UnavailableError(what, where="slurm", remedy=REMEDY) from None
    except OSError as error:
        raise UnavailableError(f"{words[0]}: {error.strerror}", where="slurm", remedy=REMEDY) from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        why = re.sub(rf"^{words[0]}: |error: |fatal: ", "", said[-1]) if said else f"exit code {done.returncode}"
        raise UnavailableError(f"{words[0]} failed: {why}", where="slurm", remedy=REMEDY)
    return done.stdout
