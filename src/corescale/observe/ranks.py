# SPDX-License-Identifier: Apache-2.0
"""The ranks of one launch, under any launcher: a spawner of its own starts, binds and accounts each of them.

A launcher starts the leaf script once for each rank. So the environment and the preloads reach the program alone, not
what starts it, whichever implementation of MPI or scheduler that is; and each rank leaves a report of its own.
"""

import contextlib
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from corescale import native
from corescale.errors import CorescaleError
from corescale.observe import spawn
from corescale.observe.scratch import Scratch
from corescale.observe.sources import Found
from corescale.observe.spawn import SpawnReport, SpawnRequest
from corescale.records import Process

FAILURES = ("failed", "signal", "not-started")
"""How a rank ends by itself; its launcher then ends the others."""

_LEAF = """\
#!/bin/sh
# Starts one rank, whose number the launcher has put into the environment, and fails where it fails.
rank=${{OMPI_COMM_WORLD_RANK:-${{PMIX_RANK:-${{PMI_RANK:-${{SLURM_PROCID:?no rank is numbered}}}}}}}}
report={folder}/rank.$rank
case $rank in
{bind}
esac
{spawn} --report "$report" $bound {options}
test $? -lt 128 || echo {killed} >"$report"
test "$(head -c {length} "$report")" = {ok}
"""
_OK = '{"status":"ok"'
_KILLED = "killed"
"""what replaces the report of a spawner that was killed while its rank was to go on"""


def leaf(request: SpawnRequest, scratch: Scratch, cpus: Sequence[tuple[int, ...]]) -> Path:
    """A script that executes the request as one of the ranks, of which each has its own CPUs (none: as inherited).

    Its standard output and input are the script's where the request wants them; its errors are kept for the report.
    """
    folder = scratch.of("ranks")
    for name in scratch.by_rank:
        for rank in range(len(cpus)):
            Path(str(request.environment[name]), str(rank)).mkdir(exist_ok=True)
    own = replace(
        request,
        affinity=(),
        timeout=None,
        stdin=Path("/proc/self/fd/0") if request.stdin else None,
        stdout=None,
        hash_output=False,
        sample_ms=0,
        memory_group=False,
    )
    wanted = request.stdout is not None or request.hash_output
    words = list(spawn.options(own, "", "/proc/self/fd/1" if wanted else None))[2:]
    text = _LEAF.format(
        folder=shlex.quote(str(folder)),
        bind="\n".join(f"{rank}) bound='{_bound(each)}' ;;" for rank, each in enumerate(cpus)),
        spawn=shlex.quote(str(native.find("corescale-spawn"))),
        options=" ".join(_by_rank(word, scratch.by_rank) for word in words),
        length=len(_OK),
        ok=shlex.quote(_OK),
        killed=_KILLED,
    )
    path = folder / "leaf"
    path.write_bytes(os.fsencode(text))  # arguments are bytes, and need not be text
    path.chmod(0o755)
    return path


def ended(
    report: SpawnReport, scratch: Scratch, chatter: re.Pattern[str] | None = None
) -> tuple[SpawnReport, dict[int, SpawnReport]]:
    """How a launch ended of which `report` says what started the ranks, and what each gave that came to its end.

    It ended as the first rank that failed by itself did, unless it was stopped before; its last words are without
    lines of `chatter`, where there are others.
    """
    ranks, undetected = _reports(scratch)
    all_told = bool(ranks) and not undetected and all(each.peak_memory_kind == "process" for each in ranks.values())
    report = replace(
        report,
        ranked=True,
        cpu_kind="sampled" if any(each.cpu_kind == "sampled" for each in ranks.values()) else report.cpu_kind,
        peak_memory=max((each.peak_memory for each in ranks.values()), default=0),
        peak_memory_kind="process" if all_told else "sampled",
        leftovers=report.leftovers + sum(each.leftovers for each in ranks.values()),
        survivors=tuple({*report.survivors, *(pid for each in ranks.values() for pid in each.survivors)}),
    )
    if report.status == "timeout":
        return replace(report, tail=_last_words(ranks, chatter) or report.tail), ranks
    failed = [(each.started + each.wall, rank) for rank, each in ranks.items() if each.status in FAILURES]
    if report.status == "failed" and not failed and undetected:
        tail = "".join(f"rank {rank}: the spawner that measured it was killed\n" for rank in undetected)
        return replace(report, tail=tail), ranks
    if report.status != "failed" or not failed:
        return report, ranks
    rank = min(failed)[1]
    why = ranks[rank]
    tail = _last_words({rank: why}, chatter) or f"rank {rank}: {why.status}\n"
    return replace(report, status=why.status, exit_code=why.exit_code, signal=why.signal, tail=tail), ranks


def _last_words(ranks: Mapping[int, SpawnReport], chatter: re.Pattern[str] | None) -> str:
    """The end of each rank's standard error, without lines of `chatter` if there are others."""
    lines: list[str] = []
    for rank, why in ranks.items():
        words = (why.trouble or why.tail).splitlines()
        said = [line for line in words if line.strip() and not (chatter and chatter.match(line))] or words
        lines += [f"rank {rank}: {line}\n" for line in said]
    return "".join(lines)


def _reports(scratch: Scratch) -> tuple[dict[int, SpawnReport], list[int]]:
    """The reports by rank, and the ranks whose spawner alone was killed."""
    texts = {int(path.suffix[1:]): path.read_bytes() for path in scratch.of("ranks").glob("rank.*")}
    found: dict[int, SpawnReport] = {}
    for rank, text in sorted(texts.items()):
        with contextlib.suppress(CorescaleError):  # one that was killed with all others left no whole report
            found[rank] = spawn.parse(text)
    return found, sorted(rank for rank, text in texts.items() if text.strip() == _KILLED.encode())


def processes(ranks: Mapping[int, SpawnReport], found: Found, preloaded: tuple[str, ...] | None) -> tuple[Process, ...]:
    """The processes of every rank. `preloaded` is the value if no source says which libraries are inside."""
    return tuple(
        Process(
            executable=process.executable,
            user=process.user,
            system=process.system,
            peak_memory=process.peak_memory,
            affinity=process.affinity,
            rank=rank,
            **{"preload": preloaded, **found.processes.get(process.pid, {})},
        )
        for rank, report in ranks.items()
        for process in report.processes
    )


def _bound(cpus: tuple[int, ...]) -> str:
    return f"--affinity {','.join(map(str, cpus))}" if cpus else ""


def _by_rank(word: str, variables: Sequence[str]) -> str:
    """A word of the script, in which these variables name the rank's own folder."""
    return shlex.quote(word) + ("/$rank" if word.partition("=")[0] in variables else "")
