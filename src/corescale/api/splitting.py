# SPDX-License-Identifier: Apache-2.0
"""Splits inflated computing into its parts, by simultaneous copies of a program that share nothing but the machine."""

import contextlib
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from corescale.api.interference import at_once
from corescale.conclude.explain.changes import WORTH
from corescale.conclude.explain.inflated import FEWEST, MOST, Block, Part, parts
from corescale.conclude.explain.ledger import Ledger
from corescale.conclude.explain.rows import LedgerRow
from corescale.declare import command_line
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.request import ScanRequest
from corescale.endings import ending
from corescale.errors import InconclusiveError
from corescale.machine import Machine, free_memory
from corescale.observe import launchers
from corescale.records import Record

LOOP = ("sh", "-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done")
"""the same instructions in each launch, which need no memory beyond a core's own caches"""

Launched = Callable[[int], list[Record]]
"""Launches so many at once, each on a core of its own."""


def split(
    request: ScanRequest,
    words: Sequence[str],
    machine: Machine,
    booked: Ledger,
    room: float,
    note: Callable[[str], object],
    watch: Callable[[str], object],
) -> tuple[Part, ...]:
    """The parts of inflated computing; none if there is too little of it. The launches take at most `room` seconds.

    Raises InconclusiveError if that does not pay for an interval, or if copies cannot run at once.
    """
    if booked.rows[LedgerRow.INFLATED] < WORTH * booked.total:
        return ()
    count, began = booked.threads, time.monotonic()
    budget = "none" if math.isinf(room) else f"{room}s"
    asked = replace(request, threads="1", ranks="", budget=budget)
    program = command_line.scan(asked, words, machine)
    if request.ranks or program.starts_ranks:
        raise InconclusiveError("its copies would be ranks of MPI")
    if count > len(machine.usable):
        raise InconclusiveError(f"{count} copies at once need as many CPUs")
    loop = command_line.scan(replace(asked, input=""), LOOP, machine)
    with _launching(program, machine, count, note) as programs, _launching(loop, machine, count) as loops:
        watch("inflated computing: a launch with one thread")
        (first,) = _succeeded(programs(1))
        took = 2 * (first.wall + max(one.wall for one in _succeeded(loops(1))))
        if (needed := FEWEST * took + first.wall) > room:
            raise InconclusiveError(f"{FEWEST} blocks of its copies need {needed:.0f} s: raise --budget")
        if count * first.peak_memory > free_memory():
            raise InconclusiveError(f"{count} copies of {first.peak_memory / 2**30:.3g} GiB need too much memory")
        blocks = list[Block]()
        while len(blocks) < FEWEST or (len(blocks) < MOST and time.monotonic() - began + took < room):
            watch(f"inflated computing: block {len(blocks) + 1} with {count} copies at once")
            last = time.monotonic()
            blocks.append(_block(programs, loops, count))
            took = time.monotonic() - last
    return parts(booked, blocks)


def _block(programs: Launched, loops: Launched, count: int) -> Block:
    """Its launches, in random order."""
    cases = {(launched, number): 0.0 for launched in (programs, loops) for number in (1, count)}
    for launched, number in random.sample(list(cases), len(cases)):
        cases[launched, number] = statistics.fmean(one.response("cpu") for one in _succeeded(launched(number)))
    return Block(*cases.values())


def _succeeded(made: list[Record]) -> list[Record]:
    for one in made:
        if not one.ok:
            raise InconclusiveError(f"a copy {ending(one)}")
        if math.isnan(one.response("cpu")):
            raise InconclusiveError("the CPU time of its copies is not known")
    return made


@contextlib.contextmanager
def _launching(
    experiment: Experiment, machine: Machine, count: int, note: Callable[[str], object] = lambda _: None
) -> Iterator[Launched]:
    """A launcher of copies; `note` takes its notes, which are about the machine and so the same for each."""
    launcher = launchers.create("direct", experiment, machine)
    (chosen,) = configurations(experiment)
    launcher.side_by_side(count)

    def noted(said: str) -> None:
        note(said)

    try:
        launcher.open(noted)
        yield lambda number: at_once(launcher, chosen, number)
    finally:
        launcher.close()
