# SPDX-License-Identifier: Apache-2.0
"""From a command to where its thread-seconds go: the launches of explain, its swaps, and the results that are kept."""

import json
import math
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from corescale.api import measuring
from corescale.conclude import stats
from corescale.conclude.answers.verdict import compare
from corescale.conclude.explain import (
    Explanation,
    Ledger,
    Swap,
    chances,
    explanation,
    ledger,
    outside,
    swaps,
    worth_swapping,
)
from corescale.declare import command_line, grid, paths
from corescale.declare.catalogue import space
from corescale.declare.experiment import Experiment
from corescale.declare.request import RunRequest, ScanRequest, TuneRequest
from corescale.endings import ending
from corescale.errors import CorescaleError, UsageError
from corescale.machine import Machine
from corescale.observe import launchers, redirects, store
from corescale.observe.launchers.local import Local
from corescale.observe.profiler import Profiled, profiled
from corescale.observe.symbols import Symbols
from corescale.records import Configuration
from corescale.show import exchange
from corescale.show import explain as show
from corescale.show.explain_json import as_json

UNSEEN = "no library could be loaded into it: it is linked statically, set-user-id, or bypasses the C library"
FULL = "a trace had too little room: free 17 MB of disk in the temporary folder (TMPDIR), or raise ulimit -f"
BUDGET = "2m"
"""of the swaps, where none is asked for"""
SHARE_OF_BUDGET = 0.1
"""of a race's budget, that a launch with 1 thread may take to know what is inflated"""

Note = Callable[[str], object]
"""Takes what is said beside a result, a line each."""
Loadable = Callable[[measuring.Declare, ScanRequest, Machine], store.Run]
"""Measures, without other allocators where none can be preloaded."""


@dataclass(frozen=True, slots=True)
class Found:
    """What came of one command."""

    shown: Mapping[str, Any]
    """everything, as JSON has it"""
    ok: bool
    """whether the program succeeded"""
    late: CorescaleError | None = None
    """what ended the swaps; Ctrl-C too"""


def found(
    request: ScanRequest,
    command: Sequence[str],
    machine: Machine,
    note: Note,
    loadable: Loadable = measuring.loadable,
    *,
    swap: bool = True,
) -> tuple[Found, Experiment]:
    """The command launched with the profiler, and without it with one thing changed each; raises CorescaleError."""
    command_line.scan(request, command, machine)  # raises UsageError for what the swaps could not use
    experiment = command_line.scan(replace(request, budget="none"), command, machine)
    redirects.must_work(experiment)
    seen, made = explained(experiment, machine, note)
    late: CorescaleError | None = None
    if swap and seen.report.status == "ok" and not request.shell:
        try:
            asked = replace(request, timeout=None)
            made = replace(made, swaps=_swaps(asked, command, experiment, machine, made.ledger, note, loadable))
        except CorescaleError as error:  # what is known by now is shown first
            late = error
    return Found(as_json(made, command), seen.report.status == "ok", late), experiment


def explained(experiment: Experiment, machine: Machine, note: Note) -> tuple[Profiled, Explanation]:
    """The launch with the largest p, beside one with p = 1 where there is such a level."""
    by_size = sorted(grid.configurations(experiment), key=lambda chosen: chosen.layout.p)
    alone, most = by_size[0], by_size[-1]
    if most.layout.p > machine.default_max_threads:
        note(f"oversubscribed: p = {most.layout.p} on {machine.default_max_threads} cores")
    compares = alone.layout.p == 1 < most.layout.p
    serial = _serial(experiment, alone if compares else None, machine, note)
    seen = _launched(experiment, most, machine, note)
    return seen, _explanation(seen, most, serial)


def _serial(experiment: Experiment, alone: Configuration | None, machine: Machine, note: Note) -> Ledger | None:
    """The ledger of the launch with one thread, if it is asked for and succeeded.

    It has one CPU: threads that a program starts all the same take turns there, and none makes another's work dearer.
    """
    first = _launched(experiment, alone, machine, note, one_cpu=True) if alone is not None else None
    return _ledger(first, 1, None) if first is not None and first.report.status == "ok" else None


def unlikely(request: TuneRequest, words: Sequence[str], machine: Machine, note: Note) -> Mapping[str, str]:
    """The factors that need not be raced, and why, by what is kept of the baseline or a launch of it with the profiler.

    Says of every factor why it is raced or not. Raises CorescaleError where the program cannot be started.
    """
    everything = command_line.tune(request, words, machine)
    if launchers.create(request.on, everything, machine, request.launching).virtual:
        raise UsageError(
            "nothing is launched that could be explained", where="--explain", remedy=f"drop --on {request.on}"
        )
    folder = folder_of(request, everything)
    shown = _recent(folder, everything) if not request.fresh else None
    if shown is None:
        seen, made = _of_baseline(everything, machine, note)
        if seen.report.status != "ok" or not seen.profiles:
            note("everything is raced: no launch was explained")
            return {}
        shown = as_json(made, words)
        keep(shown, folder)
    shares = {row: float(found["share"]) for row, found in shown["rows"].items()}
    asked, argv = command_line.chosen(request), everything.commands[0].argv
    usual, _ = space.usual(argv, space.no_preload(argv))
    names = [factor.name for factor in everything.factors] if asked else usual
    found = chances(names, shares, compared=shown["compared"])
    for chance in found:
        instead = "one level as a check" if space.stands_alone(chance.factor) else "not raced"
        decided = "as asked" if asked else "raced" if chance.likely else instead
        note(f"{chance.factor}: {decided}: {chance.why}")
    return {} if asked else {chance.factor: chance.why for chance in found if not chance.likely}


def _of_baseline(experiment: Experiment, machine: Machine, note: Note) -> tuple[Profiled, Explanation]:
    """The baseline, beside one with 1 thread if the budget has room for that."""
    now = grid.baseline(experiment)
    seen = _launched(experiment, now, machine, note)
    room = SHARE_OF_BUDGET * (experiment.stop.budget or math.inf)
    fits = now.layout.p > 1 and seen.wall * now.layout.p <= room and seen.report.status == "ok"
    alone = next((c for c in grid.configurations(experiment) if c.layout.p == 1), None) if fits else None
    return seen, _explanation(seen, now, _serial(experiment, alone, machine, note))


def _recent(folder: Path, experiment: Experiment) -> Mapping[str, Any] | None:
    """The last result that is kept there, if the program is not newer."""
    program = shutil.which(experiment.commands[0].argv[0])
    newer = [path for path in kept(folder) if program and path.stat().st_mtime > Path(program).stat().st_mtime]
    return earlier(str(newer[-1]), "--explain")[1] if newer else None


def _explanation(seen: Profiled, chosen: Configuration, serial: Ledger | None) -> Explanation:
    made = _ledger(seen, chosen.layout.p, serial)
    return explanation(made, [(profile, Symbols(profile.modules)) for profile in seen.profiles])


def _launched(
    experiment: Experiment, chosen: Configuration, machine: Machine, note: Note, *, one_cpu: bool = False
) -> Profiled:
    launch = grid.launch(experiment, chosen, machine)
    stdin = Path(experiment.input) if experiment.input else None
    launcher = launchers.create("", experiment, machine)
    launcher.subject()  # raises ProgramError for what is not here
    ranked = (launcher, chosen.layout) if isinstance(launcher, Local) else None
    if one_cpu and not launcher.starts_ranks:
        launch = launch.within((launch.affinity or machine.affinity)[:1])
    seen = profiled(launch, chosen.layout.threads_per_rank, experiment.timeout, stdin, ranked)
    if seen.report.status != "ok":
        note(f"{shlex.join(launch.argv)} {ending(seen.report)}")
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
    request: ScanRequest,
    words: Sequence[str],
    experiment: Experiment,
    machine: Machine,
    booked: Ledger,
    note: Note,
    loadable: Loadable,
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
        note(f"nothing was swapped: {blocks * launched} launches need --budget {needed:.0f}s")
        return ()
    run = loadable(lambda error: declare(unloadable=error), asked, machine)
    return swaps(compare(run.records, run.experiment), booked)


def folder_of(request: RunRequest, experiment: Experiment) -> Path:
    """Where results of this experiment are kept."""
    return Path(request.out or measuring.RUNS) / f"explain-{experiment.hash}"


def kept(folder: Path) -> list[Path]:
    """The results in a folder, in their order."""
    return sorted((path for path in folder.glob("*.json") if path.stem.isdecimal()), key=lambda path: int(path.stem))


def keep(shown: Mapping[str, Any], folder: Path) -> Path:
    """Writes the result behind the earlier ones; raises CorescaleError where that cannot be."""
    exchange.make_folder(folder)
    path = folder / f"{int(kept(folder)[-1].stem) + 1 if kept(folder) else 1}.json"
    exchange.write(str(path), json.dumps(shown, indent=2))
    return path


def is_result(path: Path) -> bool:
    """Whether a path is of explain: a folder of its results, or a file."""
    return path.suffix == ".json" or (paths.is_folder(path) and bool(kept(path)))


def earlier(place: str, where: str) -> tuple[Path, Mapping[str, Any]]:
    """A result that was kept, and its file: of a folder the last one. Raises UsageError, about the option `where`."""
    path = Path(place)
    try:
        path = kept(path)[-1] if path.is_dir() else path
        found: Mapping[str, Any] = json.loads(path.read_text())
        list(show.lines(found))
        list(show.side_by_side(found, found))
    except (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError):
        remedy = "name a file or folder that an earlier explain has kept"
        raise UsageError(f"{place!r} is no result of explain", where=where, remedy=remedy) from None
    return path, found
