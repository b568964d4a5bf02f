# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: what a rank writes, and what is read of it, stand together)
"""The ranks of one launch, under any launcher. Each rank has its own spawner, which starts, binds and accounts for it.

The launcher starts the leaf script once for each rank. So environment and preloads reach only the program, and not what
starts it, and each rank leaves a report of its own.
"""

import contextlib
import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corescale import native
from corescale.documents import content
from corescale.endings import RULE
from corescale.errors import CorescaleError
from corescale.observe import spawn
from corescale.observe.scratch import Scratch
from corescale.observe.sources import Found
from corescale.observe.spawn import SpawnReport, SpawnRequest
from corescale.observe.spawn.report import CpuKind, TreeMemoryKind
from corescale.observe.spawn.spawner import TAIL
from corescale.records import Process

FAILURES = ("failed", "signal", "not-started")
"""The statuses of a rank that failed by itself, after which its launcher ends the others."""

_LEAF = """\
#!/bin/sh
# Starts one rank, whose number the launcher has put into the environment, and fails if the rank fails.
rank={number}
report={folder}/rank.$rank
test -x {spawn} || {{ echo "$(uname -n) has no "{spawn} >&2; exit 127; }}
{node}
case $rank in
{bind}
esac
{spawn} --report "$report" --inherit $$ --beside $PPID $bound {options}
test $? -lt 128 || echo killed >"$report"
test -e "$report" || {{ echo deleted >"$report"; }} 2>/dev/null
test -f "$report" && test "$(head -c {length} "$report")" = {ok}
"""
_OK = '{"status":"ok"'
_LOST = {
    "killed": "the spawner that measured it was killed",
    "deleted": "its report was deleted: by the program, which must leave others' files in TMPDIR",
}
"""what the script writes if there is no report -> what it means"""
_STARTER_KILLED = "what started the ranks was killed: by the program, or memory ran out (dmesg)\n"
_DELETED = "the folder in which ranks report was deleted: by the program, which must leave others' files in TMPDIR\n"
LEAF = "leaf"
"""the script's name in the folder of the ranks"""
PATIENCE = 3.0
"""seconds to wait for the report of a rank whose launch has ended"""


OF_MPIRUN = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK")
"""variables in which Open MPI's mpirun numbers its ranks"""


def leaf(
    request: SpawnRequest,
    scratch: Scratch,
    cpus: Sequence[tuple[int, ...]],
    *,
    numbered: Sequence[str] = OF_MPIRUN,
    afar: bool = False,
) -> Path:
    """Writes a script that executes the request as one of the ranks. Each rank has its own CPUs (none: the inherited
    ones).

    `numbered`: the variables in which the launcher gives each rank its number; the first one that is set counts.
    Variables of other launchers are ignored, because corescale itself may be a rank of one.

    The program gets the script's standard output and input if the request wants them; its standard error is kept for
    the report. `afar`: the ranks run on other machines, so each accounts for itself and enforces the time limit.
    """
    folder, scratch.ranks = scratch.of("ranks"), len(cpus)
    for name in scratch.by_rank:
        for rank in range(len(cpus)):
            Path(str(request.environment[name]), str(rank)).mkdir(exist_ok=True)
    for rank in range(len(cpus) if afar else 0):
        for name in ("node", "rank"):
            (folder / f"{name}.{rank}").touch()  # so that a network file system looks for it when it is opened
    own = replace(
        request,
        affinity=(),
        timeout=request.timeout if afar else None,
        stdin=Path("/proc/self/fd/0") if request.stdin else None,
        stdout=Path("/proc/self/fd/1") if request.stdout else None,
        sample_ms=request.sample_ms if afar else 0,
        scratch=None if afar else request.scratch,
        memory_group=afar,
    )
    words = list(spawn.options(own, ""))[2:]
    text = _LEAF.format(
        folder=shlex.quote(str(folder)),
        number=_first_set(numbered),
        node=f'echo "${{SLURMD_NODENAME:-$(uname -n)}}" >{shlex.quote(str(folder))}/node.$rank' if afar else "",
        bind="\n".join(f"{rank}) bound='{_bound(each)}' ;;" for rank, each in enumerate(cpus)),
        spawn=shlex.quote(str(native.find("corescale-spawn"))),
        options=" ".join(_by_rank(word, scratch.by_rank) for word in words),
        length=len(_OK),
        ok=shlex.quote(_OK),
    )
    path = folder / LEAF
    path.write_bytes(os.fsencode(text))  # arguments are bytes, which need not be text
    path.chmod(0o755)
    return path


def afar(
    request: SpawnRequest, argv: tuple[str, ...], variables: Mapping[str, str | None], *, allowance: float, grace: float
) -> SpawnRequest:
    """The request for the program that starts the leaves on other machines. Only the leaves bind, prove and account.

    `allowance`: seconds, in addition to the ranks' time limit, to start and end them.
    """
    return replace(
        request,
        argv=argv,
        environment=variables,
        affinity=(),
        timeout=None if request.timeout is None else request.timeout + allowance,
        prove=False,
        memory_group=False,
        grace=grace,
    )


def ended(
    report: SpawnReport, scratch: Scratch, chatter: re.Pattern[str] | None = None
) -> tuple[SpawnReport, dict[int, SpawnReport]]:
    """How a launch ended, and the reports of the ranks that came to their end. `report` is about the program that
    started the ranks.

    Unless the launch was stopped, it has the status of the first rank that failed by itself. Its last lines of output
    omit `chatter`.
    """
    deleted = not (scratch.folder / "ranks" / LEAF).exists()
    ranks, undetected = _reports(scratch)
    all_exact = (
        bool(ranks)
        and len(ranks) >= scratch.ranks
        and all(each.peak_memory_kind == "process" for each in ranks.values())
        and (report.peak_memory_kind != "sampled" or any(each.node for each in ranks.values()))  # seen from outside
    )
    report = replace(
        report,
        ranked=True,
        stopped=report.stopped or any(each.stopped for each in ranks.values()),
        cpu_kind="sampled" if any(each.cpu_kind == "sampled" for each in ranks.values()) else report.cpu_kind,
        peak_memory=max((each.peak_memory for each in ranks.values()), default=0),
        peak_memory_kind="process" if all_exact else "sampled",
        peak_memory_floor=max((each.peak_memory_floor for each in ranks.values()), default=0),
        peak_memory_error=max((each.peak_memory_error for each in ranks.values()), default=0),
        leftovers=report.leftovers + sum(each.leftovers for each in ranks.values()),
        halted=report.halted + sum(each.halted for each in ranks.values()),
        survivors=tuple({*report.survivors, *(pid for each in ranks.values() for pid in each.survivors)}),
    )
    late = [each for each in ranks.values() if each.status == "timeout"]
    if report.status == "failed" and late and not any(each.status in FAILURES for each in ranks.values()):
        report = replace(report, status="timeout", exit_code=None)
    if report.status == "timeout":
        outside = "".join(RULE.split(report.tail)[::2])  # mpirun's own messages are between rules
        own = [line for line in outside.splitlines(keepends=True) if not (chatter and chatter.match(line))]
        return replace(report, tail=_last_words(ranks, chatter) or "".join(own)), ranks
    failed = [rank for rank, each in ranks.items() if each.status in FAILURES]
    first = min((*failed, *undetected), key=lambda rank: (_reported(scratch, rank), rank), default=-1)
    if report.status == "failed" and first in undetected:
        tail = "".join(f"rank {rank}: {why}\n" for rank, why in undetected.items())
        return replace(report, tail=tail), ranks
    if report.status == "failed" and not failed and deleted:
        return replace(report, tail=_DELETED), ranks
    if report.status == "signal":
        return replace(report, tail=_STARTER_KILLED), ranks
    if report.status == "ok":
        report = replace(report, tail=_last_words(ranks, chatter) or report.tail)
    if report.status != "failed" or not failed:
        return report, ranks
    why = ranks[first]
    tail = _last_words({first: why}, chatter) or f"rank {first}\n"
    return replace(report, status=why.status, exit_code=why.exit_code, signal=why.signal, tail=tail), ranks


def folded(report: SpawnReport, ranks: Mapping[int, SpawnReport], asked: int) -> SpawnReport:
    """The report of a launch whose ranks ran elsewhere, with their accounts. `report`: of the program here that started
    them.

    `asked`: the number of ranks; sums over fewer ranks are lower bounds.

    Its wall time is the slowest rank's, because that does not include waiting in a queue.
    """
    each = list(ranks.values())
    if report.status != "ok":  # Slurm sends SIGCONT to every process of a step right before it ends them
        report = replace(report, stopped=False)
    if not each:
        return replace(report, user=0.0, system=0.0, cpu_kind="sampled", processes=(), affinity=(), foreign=None)
    waits = [one.runqueue_wait for one in each if one.runqueue_wait is not None]
    ran = [one.on_cpu for one in each if one.on_cpu is not None]
    return replace(
        report,
        ranked=False,
        wall=max(one.wall for one in each) if report.status in ("ok", "timeout") else report.wall,
        wall_kind="rank" if report.status in ("ok", "timeout") else "launcher",
        **{name: sum(getattr(one, name) for one in each) for name in SUMS},
        cpu_kind=max((one.cpu_kind for one in each), key=CPU_KINDS.index) if len(each) >= asked else "sampled",
        steal=_of_nodes(each, "steal"),
        throttled=_of_nodes(each, "throttled"),
        runqueue_wait=sum(waits) if len(waits) >= asked else None,
        on_cpu=sum(ran) if len(ran) >= asked else None,
        sampled=any(one.sampled for one in each),
        foreign=None,
        affinity=(),
        tree_memory_kind=max((one.tree_memory_kind for one in each), key=TREE_KINDS.index),
    )


def _of_nodes(each: Sequence[SpawnReport], name: str) -> float:
    """The sum over nodes of a figure that every rank reports about its whole node; of each node, the largest report
    counts."""
    found: dict[str, float] = {}
    for one in each:
        found[one.node] = max(found.get(one.node, 0.0), getattr(one, name))
    return sum(found.values())


SUMS = ("user", "system", "involuntary", "tree_memory")
CPU_KINDS: Sequence[CpuKind] = ("group", "reaped", "sampled")
TREE_KINDS: Sequence[TreeMemoryKind] = ("group", "sum", "none")
"""kinds of accounts, the most reliable first"""


def _reported(scratch: Scratch, rank: int) -> float:
    """The time when a rank's report was written, by the clock of the file system that all ranks share."""
    return (scratch.of("ranks") / f"rank.{rank}").stat().st_mtime


def _last_words(ranks: Mapping[int, SpawnReport], chatter: re.Pattern[str] | None) -> str:
    """The end of each rank's standard error, without lines of `chatter`."""
    lines: list[str] = []
    for rank, why in ranks.items():
        words = (why.trouble or why.tail).splitlines()
        words = words[1:] if len(why.tail.encode()) >= TAIL and not why.trouble else words  # the first line is cut
        said = [line for line in words if line.strip() and not (chatter and chatter.match(line))]
        where = f" on {why.node}" if why.node and why.status == "not-started" else ""  # it may be there elsewhere
        lines += [f"rank {rank}{where}: {line}\n" for line in said]
    return "".join(lines)


@dataclass(frozen=True, slots=True)
class Left:
    """Which ranks on other machines have reported after a launch."""

    all_began: bool
    silent: tuple[str, ...]
    """nodes with ranks that began and did not report in time"""
    lost: bool
    """whether a rank lost its spawner or its report, although its node kept running"""
    missing: int
    """number of ranks without a complete report, if the launch succeeded"""
    where: tuple[str, ...]
    """the known nodes of these ranks"""


def left(scratch: Scratch, *, succeeded: bool) -> Left:
    """See Left, for ranks that `leaf` started with `afar`. Waits for all reports if the launch `succeeded`, and
    otherwise for those of ranks that began."""
    end = time.monotonic() + PATIENCE
    while True:
        nodes = _texts(scratch, "node")
        words = _texts(scratch, "rank")
        silent = {node for rank, node in nodes.items() if node and not words.get(rank)}
        missing = [rank for rank in range(scratch.ranks if succeeded else 0) if not _is_whole(words.get(rank, ""))]
        if not (missing or silent) or time.monotonic() > end:
            break
        time.sleep(0.05)
    lost = any(word in _LOST for word in words.values())
    where = {nodes.get(rank, "") for rank in missing} - {""}
    return Left(all(nodes.values()), tuple(sorted(silent)), lost, len(missing), tuple(sorted(where)))


def _texts(scratch: Scratch, name: str) -> dict[int, str]:
    """The text that each rank of `leaf` wrote into a file of this name. Files are opened by name, because a network
    file system's listing of a folder may be half a minute old."""
    found = {}
    for rank in range(scratch.ranks):
        with contextlib.suppress(OSError):
            path = scratch.of("ranks") / f"{name}.{rank}"
            if path.is_file():  # a pipe that the program put there would block
                found[rank] = path.read_text(errors="replace").strip()
    return found


def _is_whole(text: str) -> bool:
    """Whether a report is complete, or says why there is none."""
    if text in _LOST:
        return True
    try:
        spawn.parse(text.encode())
    except CorescaleError:
        return False
    return True


def _reports(scratch: Scratch) -> tuple[dict[int, SpawnReport], dict[int, str]]:
    """The reports by rank, and for other ranks the reasons why they have none, unless they were ended with all
    ranks."""
    paths = {rank: scratch.of("ranks") / f"rank.{rank}" for rank in range(scratch.ranks)}
    texts = {rank: content(path) for rank, path in paths.items() if path.is_file()}
    found: dict[int, SpawnReport] = {}
    for rank, text in sorted(texts.items()):
        with contextlib.suppress(CorescaleError):  # a rank that was killed with all others has no complete report
            place = scratch.of("ranks") / f"node.{rank}"
            found[rank] = replace(spawn.parse(text), node=place.read_text().strip() if place.exists() else "")
    words = {rank: text.strip().decode(errors="replace") for rank, text in sorted(texts.items())}
    return found, {rank: _LOST[word] for rank, word in words.items() if word in _LOST}


def processes(ranks: Mapping[int, SpawnReport], found: Found, preloaded: tuple[str, ...] | None) -> tuple[Process, ...]:
    """The processes of every rank. `preloaded`: the libraries inside, if no source says which they are."""
    return tuple(
        Process(
            executable=process.executable,
            user=process.user,
            system=process.system,
            peak_memory=process.peak_memory,
            affinity=process.affinity,
            rank=rank,
            node=report.node,
            **{"preload": preloaded, **found.processes.get(process.pid, {})},
        )
        for rank, report in ranks.items()
        for process in report.processes
    )


def _first_set(variables: Sequence[str]) -> str:
    """Words of the shell: the value of the first of these variables that is set; an error if none is."""
    words = f"${{{variables[-1]}:?no rank is numbered}}"
    for name in reversed(variables[:-1]):
        words = f"${{{name}:-{words}}}"
    return words


def _bound(cpus: tuple[int, ...]) -> str:
    return f"--affinity {','.join(map(str, cpus))}" if cpus else ""


def _by_rank(word: str, variables: Sequence[str]) -> str:
    """A word of the script, in which these variables are replaced by the rank's own folder."""
    return shlex.quote(word) + ("/$rank" if word.partition("=")[0] in variables else "")
