# SPDX-License-Identifier: Apache-2.0
"""From a command to the ledger of its thread-seconds: the launches of explain, and its swaps."""

import math
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from corescale.api import measuring
from corescale.api.splitting import split
from corescale.conclude import stats
from corescale.conclude.answers.verdict import compare
from corescale.conclude.explain.changes import CHANGES, WORTH, Swap, swaps, worth_swapping
from corescale.conclude.explain.comparison import affordable, compared, middle
from corescale.conclude.explain.explanation import Explanation, explanation
from corescale.conclude.explain.ledger import Ledger, ledger, mains_of, outside, ranks_as_typed
from corescale.conclude.explain.notes import seen_to_the_end
from corescale.declare import command_line, grid, template
from corescale.declare.catalogue import elf, openmp, space
from corescale.declare.experiment import Experiment
from corescale.declare.request import ScanRequest
from corescale.endings import ending, left_running, spoiled, too_short
from corescale.errors import CorescaleError, InconclusiveError, InterruptedRunError
from corescale.machine import Machine
from corescale.observe import hooks, launchers, store
from corescale.observe.launchers.spawning import SpawningLauncher
from corescale.observe.profiled import Profiled, profiled
from corescale.observe.spawn import SpawnReport
from corescale.observe.symbols import Symbols
from corescale.records import Configuration
from corescale.show.explain_json import as_json
from corescale.show.naming import counted, label

UNSEEN = "no library could be loaded into it: it is linked statically, set-user-id, or bypasses the C library"
FULL = "a trace had too little room: free 17 MB of disk in the temporary folder (TMPDIR), or raise ulimit -f or -v"
NO_RANKS = "no rank called MPI: it is no MPI program, and what its ranks did is booked as one program's"
SHARE_OF_BUDGET = 0.25
"""largest share of the budget for equal launches, which show the scatter; launches of copies have as much again"""

Note = Callable[[str], object]
"""Takes a note on a result, one line each time."""
Watch = Callable[[str], object]
"""Takes a line on what runs now, and an empty one when it has ended."""


def unwatched(said: str) -> None:
    """Nobody watches."""
    del said


Loadable = Callable[[measuring.Declare, ScanRequest, Machine], store.Run]
"""Measures an experiment, without its other allocators if none can be preloaded."""


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of one command of explain."""

    shown: Mapping[str, Any]
    """everything, as JSON has it"""
    ok: bool
    """whether the program succeeded"""
    late: CorescaleError | KeyboardInterrupt | None = None
    """the error or Ctrl-C after which no more launches were made"""


def found(
    request: ScanRequest,
    command: Sequence[str],
    machine: Machine,
    note: Note,
    loadable: Loadable = measuring.loadable,
    *,
    watch: Watch = unwatched,
    swap: bool = True,
) -> tuple[Found, Experiment]:
    """Launches the command with the profiler, and then without it, each time with one thing changed; raises
    CorescaleError."""
    known = {"threads", *(("p", "ranks", "nodes") if request.ranks else ())}
    template.check(command, known, varied=False)
    limited = command_line.scan(request, command, machine)  # raises UsageError for options that the swaps could not use
    experiment = command_line.scan(replace(request, budget="none"), command, machine)
    hooks.files_must_work(experiment)
    for reason in experiment.left_out:
        note(f"left out: {reason}")
    if request.out:
        store.must_hold_runs(Path(request.out))
    launches = Launches(experiment, machine, note, watch)
    seen, made = largest(launches, limited.stop.budget)
    late: CorescaleError | KeyboardInterrupt | None = launches.interrupted
    if swap and seen.report.status == "ok" and not (request.shell or late):
        try:
            asked = replace(request, timeout=None)
            possible = _possible(experiment, seen, machine)
            swapped = _swaps(asked, command, experiment, machine, made.ledger, possible, note, loadable)
            made = replace(made, swaps=swapped)
        except InconclusiveError as error:  # the answer does not need them
            note(f"nothing was swapped: {error.where} {error.what}")
        except InterruptedRunError as error:
            late = error.__cause__ if isinstance(error.__cause__, KeyboardInterrupt) else error
        except (CorescaleError, KeyboardInterrupt) as error:  # what is known by now is shown first
            late = error
        room = SHARE_OF_BUDGET * (limited.stop.budget or math.inf)
        try:
            told = unwatched if made.swaps else note  # the swaps have told what is to say about the machine
            parts = () if late else split(request, command, machine, made.ledger, room, told, watch)
            made = replace(made, inflated=parts)
        except InconclusiveError as error:
            note(f"inflated computing is not split: {error.what}")
        except (CorescaleError, KeyboardInterrupt) as error:
            late = error
        watch("")
    return Found(as_json(made, command), seen.report.status == "ok", late), experiment


class Launches:
    """Launches of a command with the profiler, one after the other."""

    def __init__(self, experiment: Experiment, machine: Machine, note: Note, watch: Watch = unwatched) -> None:
        self.experiment, self.machine, self.note, self.watch = experiment, machine, note, watch
        self.made, self.planned = 0, 1
        self.interrupted: KeyboardInterrupt | None = None
        """the Ctrl-C after which a result needs no more launches"""
        self._reports: list[SpawnReport] = []

    def one(self, chosen: Configuration, *, one_cpu: bool = False) -> Profiled:
        """Makes the next launch; raises ProgramError if it cannot be started."""
        launch = grid.launch(self.experiment, chosen, self.machine)
        stdin = Path(self.experiment.input) if self.experiment.input else None
        launcher = launchers.create("", self.experiment, self.machine)
        launcher.subject()  # raises ProgramError for what is not here
        ranked = (launcher, chosen.layout) if isinstance(launcher, SpawningLauncher) else None
        if one_cpu and not launcher.starts_ranks:
            launch = launch.within((launch.affinity or self.machine.affinity)[:1])
        self.made += 1
        count = f"launch {self.made} of {max(self.made, self.planned)}"
        self.watch(f"{count} with the profiler: {shlex.join(launch.argv)}")
        try:
            seen = profiled(launch, chosen.layout.threads_per_rank, self.experiment.timeout, stdin, ranked, self.note)
        finally:
            self.watch("")
        self._reports.append(seen.report)
        if seen.report.status != "ok":
            self.note(f"{shlex.join(launch.argv)} {ending(seen.report)} at {counted(chosen)}")
            if said := spoiled(self._reports, "a script that starts it"):
                self.note(said)
        return seen

    def with_one_thread(self, chosen: Configuration | None) -> Ledger | None:
        """Launches `chosen`, which has one thread, and returns its ledger; None if there is no `chosen`, or if it
        fails.

        The launch gets one CPU. If the program starts several threads all the same, they take turns on it, so that none
        slows down another's work.
        """
        first = self.one(chosen, one_cpu=True) if chosen is not None else None
        return _ledger(first, 1) if first is not None and first.report.status == "ok" else None


def largest(launches: Launches, budget: float | None = None) -> tuple[Profiled, Explanation]:
    """The launch with the largest p, compared with one of p = 1 if there is such a level.

    If the budget allows it, both are launched often enough for an interval of their difference, and then until the
    budget is used up. They alternate in going first, so that neither always finds the files cold.
    """
    by_size = sorted(grid.configurations(launches.experiment), key=lambda chosen: chosen.layout.p)
    alone, most = by_size[0], by_size[-1]
    single = alone if alone.layout.p == 1 < most.layout.p else None

    def pair(number: int) -> tuple[Profiled, Ledger | None]:
        early = launches.with_one_thread(single) if number % 2 == 0 else None
        seen = launches.one(most)
        return seen, launches.with_one_thread(single) if number % 2 else early

    launches.planned = 2 if single is not None else 1
    began = time.monotonic()
    seen, serial = pair(0)
    took = time.monotonic() - began  # with the reading of its profiles, which takes long for many threads
    every, ledgers = [seen], [serial] if serial is not None else []
    room = math.inf if budget is None else SHARE_OF_BUDGET * budget
    if serial is not None and seen.report.status == "ok":
        each = affordable(took, room)
        launches.planned = 2 * each
        try:
            for other, one in map(pair, range(1, each)):
                every += [other] if other.report.status == "ok" else []
                ledgers += [one] if one is not None else []
        except KeyboardInterrupt as end:
            launches.interrupted = end
    seen, made = explained(every, most, ledgers)
    cores = launches.machine.default_max_threads * most.layout.nodes
    return seen, replace(made, ledger=replace(made.ledger, cores_available=cores if most.layout.p > cores else None))


def explained(
    launches: Sequence[Profiled], chosen: Configuration, alone: Sequence[Ledger]
) -> tuple[Profiled, Explanation]:
    """The median of several equal launches and its explanation, compared with launches with one thread."""
    if chosen.layout.p == chosen.layout.threads_per_rank:
        launches = [replace(one, profiles=ranks_as_typed(one.profiles)) for one in launches]
    ledgers = [_ledger(one, chosen.layout.p) for one in launches]
    place = middle([one.wall for one in ledgers])
    seen, made = launches[place], ledgers[place]
    made = compared(made, ledgers, alone) if alone and not made.by_kernel else made
    ranks = sum(profile.is_rank for profile in seen.profiles)
    notes = [NO_RANKS] if seen.profiles and not ranks and chosen.layout.p > chosen.layout.threads_per_rank else []
    notes += filter(None, [left_running([one.report for one in launches]), too_short(made.wall)])
    made = replace(made, ranks=max(1, ranks), notes=(*made.notes, *notes))
    named = [(one, Symbols(one.modules, seen.ended)) for one in (() if made.by_kernel else seen.profiles)]
    found = explanation(made, named, seen.spans)
    if lost := sorted({name for _, symbols in named for name in symbols.lost}):
        lacks = (
            f"no symbols of {', '.join(lost)}: removed or changed since it was launched, so its places are addresses"
        )
        found = replace(found, ledger=replace(found.ledger, notes=(*found.ledger.notes, lacks)))
    if seen.profiles:
        found = replace(found, is_cpp=any(elf.is_cpp(Path(one.executable)) for one in mains_of(seen.profiles)))
    return seen, replace(found, most_threads=None, in_use={}, over_time=(), stretches=()) if _unseen(seen) else found


def _unseen(seen: Profiled) -> float:
    """CPU seconds of programs that have no profile; 0 if loading the profiled programs may have taken all of them."""
    unseen = seen.cpu - sum(profile.cpu for profile in seen.profiles)
    return unseen if unseen > max(0.1, 0.05 * seen.cpu) else 0.0


def _ledger(seen: Profiled, threads: int) -> Ledger:
    report = seen.report
    if not seen.profiles:
        why = f"{seen.unloadable}: it was not profiled" if seen.unloadable else FULL if seen.unwritten else UNSEEN
        return outside(threads, seen.wall, seen.cpu, report.runqueue_wait or 0.0, why)
    unseen = _unseen(seen)
    found = ledger(seen.profiles, seen.wall, seen.work, report.stolen, unseen)
    notes = [FULL] if seen.unwritten else []
    if unseen:
        most = 2 * unseen > seen.cpu
        booked = "so all rows are the kernel's accounts" if most else "which is unattributed"
        notes.append(f"what the profiler did not see used {unseen:.2f} s of {seen.cpu:.2f} s of CPU time, {booked}")
        if most:
            whole = outside(threads, seen.wall, seen.cpu, report.runqueue_wait or 0.0, "")
            found = replace(whole, notes=seen_to_the_end(seen.profiles), work=found.work)
    return replace(found, notes=(*found.notes, *notes))


def _possible(experiment: Experiment, seen: Profiled, machine: Machine) -> tuple[str, ...]:
    """The changes that can be made to this command here.

    Another OpenMP runtime can replace GCC's, and SMT can be left out where cores have several CPUs.
    """
    argv = experiment.commands[0].argv
    usual, _ = space.usual(argv, space.no_preload(argv), tuple(CHANGES))
    replaced = any(one.regions and openmp.REPLACED in one.modules for one in seen.profiles)
    here = {"openmp": replaced, "smt": machine.smt_active}
    return tuple(name for name in usual if here.get(name, True))


def _swaps(
    request: ScanRequest,
    words: Sequence[str],
    experiment: Experiment,
    machine: Machine,
    booked: Ledger,
    possible: Sequence[str],
    note: Note,
    loadable: Loadable,
) -> tuple[Swap, ...]:
    """The gain from each single change. Nothing is tried without rows to gain from or budget for an interval."""
    names = [name for name in worth_swapping(booked) if name in possible]
    if left := [CHANGES[name].words for name in possible if name not in names]:
        note(f"not swapped: {', '.join(left)}: less than {WORTH:.0%} of the thread-seconds could come back")
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
        note(f"nothing was swapped: {blocks * launched} launches need --budget {math.ceil(needed)}s")
        return ()
    run = loadable(lambda error: declare(unloadable=error), asked, machine)
    compared = compare(run.records, run.experiment)
    for one in compared:
        if one.decision == "failed":
            note(f"{label(one.other)} failed, so it returns nothing")
    return swaps(compared, booked)
