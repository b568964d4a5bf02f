# SPDX-License-Identifier: Apache-2.0
"""Finds out why ranks on other machines did not run, from what ssh, mpirun or srun printed, and what to do about it."""

import re
import signal
from collections.abc import Mapping
from dataclasses import replace

from corescale.endings import RULE, boxed
from corescale.errors import InconclusiveError, UnavailableError
from corescale.observe import ranks
from corescale.observe.scratch import Scratch
from corescale.observe.spawn import SpawnReport

GUIDE = "docs/cluster.md says what other machines need"
AGAIN = "a machine failed or cannot be reached; the same command goes on"
SHARED = "does its folder reach this machine within seconds, and has it room? the same command goes on"
WAITED_FOR = ("ok", "failed", "timeout")
"""statuses of a launch after which ranks may still report"""
NO_SPAWNER = ("{}", "install corescale at the same path on every node")
NO_FOLDER = ("{} does not see this folder", "start in a folder that all nodes share")
CLOCK = "its clock may differ from the controller's"
SILENT = ("{}", "is the host up? ssh to it must answer")
CAUSES: Mapping[str, tuple[str, str]] = {
    r"(?s)could\s+not\s+(?:access\s+or\s+execute|change\s+to\s+the).*?Node:\s*(\S+)": NO_FOLDER,
    r"(?s)execve\(\): \S+: No such file.*?error: (\S+): task": NO_FOLDER,
    r"(?m)^(\S+ has no /.*/corescale-spawn)$": NO_SPAWNER,
    r"failed on node (\S+): Job credential expired": ("{} starts no rank: the job's credential has expired", CLOCK),
    r"(?m)^Host key for (\S+) has changed": (
        "the host key of {} has changed",
        "if it should, ssh-keygen -R removes the old one",
    ),
    r"(?mi)^(.*could not resolve hostname.*)$": ("{}", "is its name in the file of hosts right?"),
    r"(?m)^(.*key verification failed.*|No \S+ host key is known for.*)$": (
        "{}",
        "ssh to the host once, and accept it",
    ),
    r"(?m)^(.*Permission denied \(.*)$": ("{}", "ssh must need no password (ssh-copy-id)"),
    r"(?mi)^(.*connect\S* to (?:host )?\S+ port \d+.*)$": SILENT,
    r"(?m)^(.*during banner exchange.*)$": SILENT,
    r"(?m)^(.*\b(?:orted|prted)\b.*not found.*)$": ("{}", "Open MPI must be on the PATH that ssh gives on every host"),
    r"(?s)lost communication.*?Remote daemon:.*?on node (\S+)": ("{} cannot be reached any more", AGAIN),
}
"""pattern in the output -> what is wrong, and the remedy"""
ENDS_RANKS = signal.SIGTERM
"""the signal that the ranks' starter sends to all ranks if one is lost; it may reach the program before its spawner"""
TRACE = re.compile(r"\[[\w.-]+:\d+\] ")
"""how lines of Open MPI's own traces begin"""
NO_MEMORY = re.compile(r"(?mi)^.*(?:oom[-_ ]kill|out of memory).*$")
"""matches Slurm's message that a node ran out of memory, after which Slurm ends the whole step if it accounts for
memory"""


def ended(
    report: SpawnReport, scratch: Scratch, chatter: re.Pattern[str]
) -> tuple[SpawnReport, Mapping[int, SpawnReport]]:
    """The same as `ranks.ended`, with the ranks' accounts. `report` is about the program that started ranks on other
    machines.

    Raises UnavailableError or InconclusiveError if the launch failed for reasons other than its program.
    """
    left = ranks.left(scratch, succeeded=report.status == "ok") if report.status in WAITED_FOR else None
    outcome, found = ranks.ended(report, scratch, chatter)
    ends = {each.status for each in found.values()}
    failed = any(each.status in ranks.FAILURES and each.signal != ENDS_RANKS for each in found.values())
    if report.status == "failed" and not failed and (memory := NO_MEMORY.search(report.tail)) is not None:
        outcome = replace(outcome, status="failed", tail=f"{memory[0]}\n")
        return ranks.folded(outcome, found, scratch.ranks), found
    if report.status == "ok" and left is not None and left.missing:
        what = f"{left.missing} of {scratch.ranks} ranks left no whole report, so nothing is known of their time"
        raise InconclusiveError(what, where=", ".join(left.where), remedy=SHARED)
    if report.status != "ok" and left is not None and not failed and not left.lost:
        if left.silent and left.all_began:
            raise InconclusiveError("its ranks ended without a report", where=", ".join(left.silent), remedy=AGAIN)
        what, remedy = reason(report.tail)
        if not left.all_began:
            raise UnavailableError(what or "not every rank started", remedy=remedy)
        if outcome.status == "failed" and (ends <= {"cancelled"} or remedy == AGAIN):
            what = what or "something other than the program ended the ranks"
            raise InconclusiveError(what, remedy=AGAIN if remedy == GUIDE else remedy)
    return ranks.folded(outcome, found, scratch.ranks), found


def reason(said: str) -> tuple[str, str]:
    """What is wrong and what to do: a known cause, else the first line outside of boxed messages, else the text of a
    box."""
    for pattern, (what, remedy) in CAUSES.items():
        if found := re.search(pattern, said):
            return what.format(found[1].strip()), remedy
    outside = "\n".join(RULE.split(said)[::2]).splitlines()
    lines = [line.strip() for line in outside if line.strip() and not TRACE.match(line)]
    first = next((line for line in lines if "error" in line), lines[0] if lines else "")
    return first.removeprefix("srun: error: ") or boxed(said), GUIDE
