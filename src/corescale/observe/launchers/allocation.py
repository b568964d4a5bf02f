# SPDX-License-Identifier: Apache-2.0
"""Allocations: nodes that Slurm reserves for one block of launches. Also runs Slurm's commands."""

import contextlib
import itertools
import os
import platform
import re
import select
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from corescale import native
from corescale.errors import InconclusiveError, UnavailableError, UsageError
from corescale.observe import environment

REMEDY = "is the cluster up? try sinfo"
SEE = "see --allocation and sinfo"
GRACE = 10.0
"""seconds for srun to end its ranks on all nodes, and for salloc to give an allocation back"""
FOLLOWS = re.compile(r"Granted|Relinquish|Pending|Nodes|[Jj]ob (allocation )?\d")
"""matches lines of salloc that give no reason"""
PATIENCE = 2.0
"""seconds of waiting for an allocation after which a note is printed"""
LONGEST_LOOK = 60.0
"""longest time between two queries of why the job waits, in seconds; the time doubles from query to query, to spare the
controller"""
SILENT_LOOKS = 3
"""if the nodes are allocated but our holder has not answered after this many queries, another command holds them"""
RAN = re.compile(r"RUNNING|COMPLETING|COMPLETED|FAILED\|NonZeroExitCode")
"""matches the states (with reasons) of a job whose command was started and that was not cancelled"""
NOT_OURS = "salloc's options hold a command, or a word too many, which salloc ran in place of corescale's"
REFUSED = re.compile(
    r"can't use|not permitted|Invalid|NotAllowed|Partition(Config|Node|Time)|BadConstraints|NeverSatisfied"
)
"""reasons for which a job waits and will never start"""
OURS = (
    *("-N", "--nodes", "-n", "--ntasks", "--ntasks-per-node", "-c", "--cpus-per-task"),
    *("-J", "--job-name", "--no-shell", "-H", "--hold", "-h", "--help", "--usage", "-V", "--version", ":"),
    *("--uid", "--gid", "-s", "--oversubscribe", "--exclusive"),
)
"""options of salloc that are refused. With them, corescale could not hold the nodes, know them or keep others away, or
they would contradict the layout"""
MOST_SAID = 1 << 20
"""most bytes of salloc's errors that are read"""
POLL = 0.2
"""seconds between two checks of whether waiting was cancelled"""
BEAT, LOST = 60, 200
"""seconds between two heartbeats of salloc, and seconds without one after which the first node cancels the job"""
HOLD = """
echo "$SLURM_JOB_ID" $(scontrol show hostnames "$SLURM_JOB_NODELIST")
env | grep ^SLURM_
echo
{{
while kill -0 $PPID && echo; do sleep {beat}; done 2>/dev/null &
cat
kill $!
kill -0 $PPID && echo end
}} | srun --overlap --nodes=1 --ntasks=1 --mpi=none --input=all --output=none --error=none sh -c '
while said=$(timeout {lost} sh -c "read -r said && echo :\\$said"); do test $said = : || exit 0; done
scancel $SLURM_JOB_ID'
"""
"""the script that holds an allocation: it prints the job's number and its nodes, Slurm's variables, and an empty line;
it ends when its pipe is closed, and salloc then gives the nodes back. If salloc no longer exists, a step on a node
does"""
OF_COMMANDS = re.compile(r"(SQUEUE|SINFO|SCONTROL|SCANCEL)_")
"""variables that change the output of Slurm's commands"""
OF_A_JOB = re.compile(r"SLURM(D|_(?!CONF$|CLUSTERS$|JWT$))|(OMPI_COMM_WORLD|PMI)_|PMIX_(?!MCA_)")
"""variables that Slurm and MPI set for a job and its ranks"""

_NUMBERS = itertools.count(1)
"""numbers for this process's allocations; Slurm remembers a job for minutes after its end, so names must not repeat"""


class Allocation:
    """Nodes that Slurm reserves for us, from the end of `wait` to `release`."""

    def __init__(self, nodes: int, words: Sequence[str]) -> None:
        self.job = ""
        """the job's number, once it is known"""
        self.nodes: Sequence[str] = ()
        self.variables: Mapping[str, str | None] = {}
        """changes to this process's environment, with which srun finds the job that salloc made"""
        self._note: Callable[[str], None] = lambda _: None
        self._name = f"corescale-{platform.node()}-{os.getpid()}-{next(_NUMBERS)}"
        own = ("salloc", "--exclusive", "--kill-command", f"--job-name={self._name}", f"--nodes={nodes}")
        argv = (*_guard(), *own, *words, "sh", "-c", HOLD.format(beat=BEAT, lost=LOST))
        self._errors = os.memfd_create("salloc")  # a full pipe that nobody reads would block a verbose salloc (-vv)
        self._salloc = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
            env=_environment(),
        )

    def wait(self, cancelled: Callable[[], bool], note: Callable[[str], None]) -> None:
        """Returns when the nodes are available. Raises UsageError if Slurm refuses, InconclusiveError if the job is
        cancelled, and KeyboardInterrupt."""
        assert self._salloc.stdout is not None
        self._note = note
        began, look, said, silent = time.monotonic(), PATIENCE, "", 0
        while not select.select([self._salloc.stdout], [], [], POLL)[0]:
            if cancelled():
                raise KeyboardInterrupt
            if time.monotonic() - began > look:
                state, why = self._seen()
                ran = RAN.match(state) is not None
                if REFUSED.search(why):
                    raise UsageError(why, where="slurm", remedy=SEE)
                silent += ran
                if silent == SILENT_LOOKS:
                    raise UsageError(NOT_OURS, where="--allocation", remedy="give options alone")
                if not ran and why not in ("", "None", said):
                    note(f"waiting for nodes ({why}); squeue --name={self._name} shows the place; Ctrl-C gives up")
                    said = why
                look += min(look, LONGEST_LOOK)
        job, *self.nodes = self._salloc.stdout.readline().decode().split() or [""]
        if not (job.isdecimal() and self.nodes):
            state, why = self._seen()
            if RAN.match(state):
                raise UsageError(NOT_OURS, where="--allocation", remedy="give options alone")
            if state.startswith("CANCELLED"):
                what = "its job was cancelled while it waited for nodes"
                raise InconclusiveError(what, where="slurm", remedy="the same command goes on")
            why = (not job and self._said()) or why or "salloc gave no nodes"
            raise UsageError(why, where="slurm", remedy=SEE)
        self.job = job
        lines = (line.decode(errors="surrogateescape").rstrip("\n") for line in self._salloc.stdout)
        granted = {line.partition("=")[0]: line.partition("=")[2] for line in itertools.takewhile(bool, lines)}
        self.variables = {**{name: None for name in os.environ if OF_A_JOB.match(name)}, **granted}

    def _seen(self) -> tuple[str, str]:
        """The job's state with its reason, as squeue writes them, and the reason alone, or why it is unknown."""
        words = ("squeue", "-h", f"--name={self._name}", "--me", "--states=all", "-o", "%T|%r")
        try:
            jobs = asked(*words, seconds=GRACE / 2).splitlines() or [""]
        except UnavailableError as error:
            return "", error.what
        return jobs[-1], jobs[-1].partition("|")[2].strip()

    @property
    def is_gone(self) -> bool:
        """Whether Slurm has taken the nodes back; False if Slurm cannot be asked."""
        try:
            return asked("squeue", "-h", "-j", self.job, "-o", "%T").strip() != "RUNNING"
        except UnavailableError as error:  # Slurm no longer knows the job
            return "Invalid job" in error.what

    def _said(self) -> str:
        """Why salloc ended, in one line: its errors, without consequential ones."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._salloc.wait(GRACE)
        text = os.pread(self._errors, MOST_SAID, 0).decode(errors="replace").splitlines()
        errors = [line for line in text if "error: " in line] or text  # with -v it prints much more
        lines = [line.removeprefix("salloc: ").removeprefix("error: ") for line in errors]
        return next((line.strip() for line in lines if not FOLLOWS.match(line)), "")

    def release(self) -> None:
        """Gives back the nodes or the place in the queue. A note says so if Slurm does not confirm it."""
        for pipe in (self._salloc.stdin, self._salloc.stdout):
            if pipe is not None:
                pipe.close()
        if not self.job:
            self._salloc.terminate()
        try:
            self._salloc.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._salloc.terminate()
            self._salloc.wait()
        if not (self.job and self.is_gone):  # Slurm does not notice if salloc was killed
            words = (self.job,) if self.job else (f"--name={self._name}", "--me")
            try:
                asked("scancel", *words, seconds=GRACE / 2)
            except UnavailableError as error:
                self._note(f"Slurm may keep the nodes ({error.what}): once it answers, scancel {shlex.join(words)}")
        os.close(self._errors)


def permitted(option: Sequence[str]) -> tuple[str, ...]:
    """The user's options of salloc; raises UsageError for options that only corescale may set."""
    for word in (uncombined(word) for word in option if word != "--exclusive"):  # corescale sets it anyway
        name = word.partition("=")[0]
        long = name.startswith("--") and len(name) > 2 and any(each.startswith(name) for each in OURS)
        if long or word == ":" or any(len(each) == 2 and name.startswith(each) for each in OURS):
            remedy = "leave it out: corescale chooses the nodes, CPUs and job name, and holds the nodes alone"
            raise UsageError(f"{word} cannot be passed to salloc", where="--allocation", remedy=remedy)
    return tuple(option)


def uncombined(word: str) -> str:
    """A word of salloc's options, without leading short options that take no value: `-pbig` for `-Qpbig`.

    If the result begins with a dash, it is a single option.
    """
    return re.sub(r"^-[kOQuv]+(?=[^kOQuv])", "-", word)


def _guard() -> tuple[str, ...]:
    """The words to put before salloc, so that whatever ends corescale also ends salloc, even while it waits in the
    queue."""
    files = (
        word for name, file in (("in", 0), ("out", 1), ("err", 2)) for word in (f"--std{name}", f"/proc/self/fd/{file}")
    )
    spawner = (str(native.find("corescale-spawn")), "--report", "/dev/null", "--parent", str(os.getpid()))
    return (*spawner, *files, "--grace", f"{GRACE / 2:g}", "--sample-ms", "0", "--cgroup", "off", "--")


def _environment() -> dict[str, str]:
    """The environment of Slurm's commands, without variables that change their output, and without those of a
    surrounding job."""
    left_out = [OF_COMMANDS, *([OF_A_JOB] if within_a_job() else [])]
    inherited = environment.inherited().items()
    return {name: value for name, value in inherited if not any(each.match(name) for each in left_out)}


def within_a_job() -> bool:
    """Whether this process runs in a Slurm job. If so, Slurm's variables come from the job, and otherwise from the
    user."""
    return "SLURM_JOB_ID" in os.environ


def asked(*words: str, seconds: float | None = None) -> str:
    """The output of a Slurm command; raises UnavailableError if it cannot reach the cluster."""
    wait = GRACE if seconds is None else seconds
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=wait, check=False, env=_environment())
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
