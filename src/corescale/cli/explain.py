# SPDX-License-Identifier: Apache-2.0
"""`corescale explain`: where every thread-second of a program goes, and where in its code."""

import json as text
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from corescale.api.measuring import RUNS
from corescale.cli.measure import loadable
from corescale.cli.options import Words
from corescale.conclude import stats
from corescale.conclude.answers.verdict import compare
from corescale.conclude.explain import Explanation, Ledger, Swap, explanation, ledger, outside, swaps, worth_swapping
from corescale.declare import command_line, grid
from corescale.declare.catalogue import space
from corescale.declare.experiment import Experiment
from corescale.declare.request import ScanRequest
from corescale.errors import CorescaleError, ExitCode, UsageError
from corescale.machine import Machine
from corescale.observe import launchers
from corescale.observe.launchers.local import Local
from corescale.observe.profiler import Profiled, profiled
from corescale.observe.symbols import Symbols
from corescale.records import Configuration
from corescale.show import exchange
from corescale.show import explain as show

UNSEEN = "no library could be loaded into it: it is linked statically, set-user-id, or bypasses the C library"
FULL = "a program had no room for its trace: free 18 MB of disk in the temporary folder (TMPDIR), or raise ulimit -f"
MOST_OF_ONE = 1.1
"""cores that a launch with one thread uses at most; libraries may start a helper"""


def explain(
    words: Words = None,
    threads: Annotated[
        str, typer.Option("--threads", "-t", metavar="1,N", help="thread counts; the largest is explained")
    ] = "",
    ranks: Annotated[str, typer.Option("--ranks", metavar="1,N", help="numbers of MPI ranks (docs/mpi.md)")] = "",
    before: Annotated[
        str, typer.Option("--before", metavar="RUN", help="an earlier result to show next to this one: file or folder")
    ] = "",
    swap: Annotated[
        bool, typer.Option("--swap/--no-swap", help="test causes: launches with one thing changed each")
    ] = True,
    budget: Annotated[str, typer.Option("--budget", metavar="2m", help="limit for these launches")] = "2m",
    input: Annotated[str, typer.Option("--input", metavar="FILE", help="standard input (default: nothing)")] = "",  # noqa: A002
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="60s", help="kill a launch after this long")
    ] = None,
    shell: Annotated[bool, typer.Option("--shell", help="run the command through /bin/sh")] = False,
    out: Annotated[
        str, typer.Option("--out", metavar="DIR", help="where results are kept (default ./corescale-runs)")
    ] = "",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="show no progress")] = False,
    json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
) -> None:
    """Where every thread-second goes: corescale explain -- ./program {threads}"""
    earlier = _earlier(before) if before else None
    machine, command = Machine.here(), words or []
    request = ScanRequest(
        threads=threads, ranks=ranks, budget="none", input=input, timeout=timeout, shell=shell, out=out, quiet=quiet
    )
    experiment = command_line.scan(request, command, machine)
    seen, found = _explained(experiment, machine)
    late: CorescaleError | None = None
    if swap and seen.report.status == "ok" and not shell:
        try:
            asked = replace(request, budget=budget, timeout=None)
            found = replace(found, swaps=_swaps(asked, command, experiment, machine, found.ledger))
        except CorescaleError as error:  # Ctrl-C too: what is known by now is shown first
            late = error
    shown = show.as_json(found)
    typer.echo(text.dumps(shown, indent=2) if json else "\n".join(show.lines(found, command)))
    if earlier is not None and not json:
        typer.echo("\n".join(show.side_by_side(earlier, shown)))
    _keep(shown, Path(out or RUNS) / f"explain-{experiment.hash}")
    if late is not None:
        sys.stdout.flush()
        raise late
    if seen.report.status != "ok":
        raise typer.Exit(ExitCode.PROGRAM)


def _explained(experiment: Experiment, machine: Machine) -> tuple[Profiled, Explanation]:
    """The launch with the largest p, beside one with p = 1 where there is such a level."""
    by_size = sorted(grid.configurations(experiment), key=lambda chosen: chosen.layout.p)
    alone, most = by_size[0], by_size[-1]
    compares = alone.layout.p == 1 < most.layout.p
    first = _launched(experiment, alone, machine) if compares else None
    serial = _ledger(first, 1, None) if first is not None and _is_serial(first) else None
    seen = _launched(experiment, most, machine)
    made = _ledger(seen, most.layout.p, serial)
    return seen, explanation(made, [(profile, Symbols(profile.modules)) for profile in seen.profiles])


def _is_serial(first: Profiled) -> bool:
    """Whether the launch with one thread succeeded and had one: what it computed is the work then."""
    used = sum(profile.cpu for profile in first.profiles)
    if first.report.status == "ok" and used > MOST_OF_ONE * first.wall:
        typer.echo(f"note: told to use 1 thread, it used {used / first.wall:.1f} cores: not compared with it", err=True)
        return False
    return first.report.status == "ok"


def _launched(experiment: Experiment, chosen: Configuration, machine: Machine) -> Profiled:
    launch = grid.launch(experiment, chosen, machine)
    stdin = Path(experiment.input) if experiment.input else None
    launcher = launchers.create("", experiment, machine)
    ranked = (launcher, chosen.layout) if isinstance(launcher, Local) else None
    seen = profiled(launch, chosen.layout.threads_per_rank, experiment.timeout, stdin, ranked)
    if seen.report.status != "ok":
        how = f"exit code {seen.report.exit_code}" if seen.report.status == "failed" else seen.report.status
        typer.echo(f"note: {shlex.join(launch.argv)} ended by {how}", err=True)
    return seen


def _ledger(seen: Profiled, threads: int, alone: Ledger | None) -> Ledger:
    report = seen.report
    if not seen.profiles:
        why = FULL if seen.unwritten else UNSEEN
        return outside(threads, seen.wall, report.user + report.system, report.runqueue_wait or 0.0, why)
    found = ledger(seen.profiles, seen.wall, alone)
    unseen = report.user + report.system - sum(profile.cpu for profile in seen.profiles)
    notes = [FULL] if seen.unwritten else []
    if unseen > max(0.1, 0.05 * (report.user + report.system)):
        notes.append(f"programs that the profiler did not see used {unseen:.2f} s of CPU time: unattributed or blocked")
    return replace(found, notes=(*found.notes, *notes))


def _swaps(
    request: ScanRequest, words: Sequence[str], experiment: Experiment, machine: Machine, booked: Ledger
) -> tuple[Swap, ...]:
    """What changing one thing gives back, if there is something to give back and the budget pays for an interval."""
    argv = experiment.commands[0].argv
    usual, _ = space.usual(argv, space.no_preload(argv))
    names = [name for name in worth_swapping(booked) if name in usual]
    most = max((chosen.layout for chosen in grid.configurations(experiment)), key=lambda layout: layout.p)
    count = str(most.threads_per_rank) if request.threads or not request.ranks else ""
    each = str(most.ranks_per_node) if request.ranks else ""
    asked = replace(request, threads=count, ranks=each)
    declare = partial(command_line.swaps, asked, words, machine, names)
    made = declare()
    launched = len(grid.configurations(made))
    if launched < 2:
        return ()
    blocks = max(made.stop.min_blocks, stats.fewest_blocks(stats.bonferroni(made.stop.confidence, launched - 1)))
    needed = blocks * launched * booked.wall
    if needed > (made.stop.budget or needed):
        typer.echo(f"note: nothing was swapped: {blocks * launched} launches need --budget {needed:.0f}s", err=True)
        return ()
    run = loadable(lambda error: declare(unloadable=error), asked, machine)
    return swaps(compare(run.records, run.experiment), booked)


def _earlier(place: str) -> Mapping[str, Any]:
    """A result that was kept: of a folder the last one. Raises UsageError."""
    path = Path(place)
    try:
        found = text.loads((_kept(path)[-1] if path.is_dir() else path).read_text())
        list(show.side_by_side(found, found))
    except (OSError, ValueError, IndexError, KeyError, TypeError):
        remedy = "name a file or folder that an earlier explain has kept"
        raise UsageError(f"{place!r} is no result of explain", where="--before", remedy=remedy) from None
    return found  # type: ignore[no-any-return]


def _kept(folder: Path) -> list[Path]:
    return sorted((path for path in folder.glob("*.json") if path.stem.isdecimal()), key=lambda path: int(path.stem))


def _keep(shown: Mapping[str, Any], folder: Path) -> None:
    """Writes the result behind the earlier ones; says where, or why it cannot be kept."""
    try:
        exchange.make_folder(folder)
        number = int(kept[-1].stem) + 1 if (kept := _kept(folder)) else 1
        exchange.write(str(folder / f"{number}.json"), text.dumps(shown, indent=2))
        typer.echo(f"kept: {folder / f'{number}.json'}", err=True)
    except CorescaleError as error:
        typer.echo(f"note: the result is not kept: {error}", err=True)
