# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: the watchers, and the state that they show)
"""Progress of a run, on stderr only: live on a terminal, otherwise one line for each block, or nothing."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Timer
from typing import Self, TextIO

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.control import Control
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import ControlType
from rich.table import Table
from rich.text import Text

from corescale.conclude import stats
from corescale.conclude.budget import spent
from corescale.conclude.response import table
from corescale.declare.experiment import SHOWN, Experiment
from corescale.declare.grid import baseline, configurations
from corescale.declare.plan import Block, Invocation, most_launches
from corescale.observe.watcher import Watcher
from corescale.records import Configuration, Record
from corescale.show import interim, text
from corescale.show.naming import label

PHASES = {"warmup": "warming up", "rehearse": "rehearsing", "measure": "measuring", "confirm": "confirming"}


def create(experiment: Experiment, *, quiet: bool = False, stream: TextIO | None = None) -> Watcher:
    """The watcher: silent if `quiet` (notes are warnings in the result), Fancy on a terminal, else Plain."""
    console = Console(file=stream or sys.stderr)
    kind: type[Shown] = Shown if quiet else Fancy if console.is_terminal else Plain
    return kind(experiment, console)


SILENT = 15.0
"""seconds after which a run that is not on a terminal prints its progress"""


class Shown(Watcher):
    """Shows the output of launches that count, if that is asked for, and of those that fail."""

    def __init__(self, experiment: Experiment, console: Console) -> None:
        self.shows, self.console = experiment.output == SHOWN, console

    def launched(self, record: Record) -> None:
        if self.shows and (record.timed or not record.ok):
            self.console.print("\n".join(map(text.clean, record.tail.splitlines())), markup=False, soft_wrap=True)


class Plain(Shown):
    """Prints one line for each block, for logs and pipes."""

    def __init__(self, experiment: Experiment, console: Console) -> None:
        super().__init__(experiment, console)
        self.state, self.said = State(experiment), time.monotonic()
        self.first = Timer(SILENT, self.note, [f"no launch has ended after {SILENT:g} s; {_ends(experiment)}"])
        self.first.daemon = True

    def __exit__(self, *_: object) -> None:
        self.first.cancel()

    def launching(self, invocation: Invocation, line: str) -> None:
        """Starts to wait for the first launch, which may never end."""
        if self.first.ident is None:
            self.first.start()

    def launched(self, record: Record) -> None:
        """Counts the launch, and prints progress from time to time within a long block."""
        self.first.cancel()
        super().launched(record)
        self.state.launched(record)
        if time.monotonic() - self.said >= SILENT:
            self._say(f"{text.count(self.state.launches, 'launch', 'launches')} so far; {self.state.left}")

    def block_done(self, number: int, records: Sequence[Record]) -> None:
        self.state.block_done(records)
        self._say(f"{self.state.amount}; {self.state.best}; {self.state.left}")

    def note(self, text: str) -> None:
        self._say(f"note: {text}")

    def _say(self, line: str) -> None:
        self.said = time.monotonic()
        self.console.print(Text(text.clean(line)), soft_wrap=True)


def _ends(experiment: Experiment) -> str:
    """What ends a launch that does not end by itself."""
    limit = experiment.timeout
    after = f"a launch may take {text.duration(limit)}" if limit else f"{experiment.typed('--timeout')} limits a launch"
    return f"{after}; Ctrl-C ends all"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run, for a caller's function."""

    launches: int
    """launches so far"""
    blocks: int
    """complete measuring blocks"""
    done: float | None
    """launches made, as a share of the most that may be made; None for a race without a budget"""
    best: str
    """the fastest configuration so far compared with the reference, with its interval; in a race, the leader"""
    left: str
    """the longest time left"""
    record: Record | None = None
    """the launch that has just ended; None at the end of a block, and for a note"""
    note: str = ""
    """a note, if there is one"""

    def __str__(self) -> str:
        if self.note:
            return f"note: {self.note}"
        return f"{text.count(self.launches, 'launch', 'launches')}; {self.best}; {self.left}"


class Called(Watcher):
    """Calls a function after each launch, after each block and for each note."""

    def __init__(self, experiment: Experiment, function: Callable[[Progress], object]) -> None:
        self.state, self.function = State(experiment), function

    def launched(self, record: Record) -> None:
        self.state.launched(record)
        self._call(record)

    def block_done(self, number: int, records: Sequence[Record]) -> None:
        self.state.block_done(records)
        self._call()

    def note(self, text: str) -> None:
        self._call(note=text)

    def _call(self, record: Record | None = None, note: str = "") -> None:
        of = self.state
        self.function(Progress(of.launches, of.blocks, of.done, of.best, of.left, record, note))


class Fancy(Plain):
    """Redraws four lines: what runs, the progress, the interim answer. Notes scroll above them."""

    def __init__(self, experiment: Experiment, console: Console) -> None:
        super().__init__(experiment, console)
        self.running = Text("starting", style="dim")
        self.live = Live(self, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()
        super().__exit__()

    def __rich__(self) -> RenderableType:
        state = self.state
        bar = Table.grid(padding=(0, 1))
        for _ in range(3):
            bar.add_column(no_wrap=True, overflow="ellipsis")
        done = state.done
        total = None if done is None else 1.0
        bar.add_row(ProgressBar(total=total, completed=done or 0.0, width=16), state.amount, state.left)
        return Group(bar, self.running, Text(f"so far: {state.best}", overflow="fold"))

    def launching(self, invocation: Invocation, line: str) -> None:
        super().launching(invocation, line)
        phase = PHASES[invocation.phase]
        self.running = Text(f"{phase}: {text.clean(line)}", style="dim", no_wrap=True, overflow="ellipsis")

    def block_done(self, number: int, records: Sequence[Record]) -> None:
        self.state.block_done(records)


class Line:
    """Shows what runs now in one line, which the next one replaces; only on a terminal, and unless it is quiet."""

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.console = Console(file=stream or sys.stderr)
        self.shows = self.console.is_terminal and not self.console.is_dumb_terminal and not quiet

    def __call__(self, said: str) -> None:
        if self.shows:
            self.console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
            self.console.print(Text(text.clean(said), style="dim"), end="", no_wrap=True, overflow="ellipsis")


class State:
    """The progress of a run."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.racing = experiment.stop.rule == "race"
        self.start = 0.0  # the time of the first launch, because the proofs before it do not predict later launches
        self.launches = self.failures = self.capped = self.blocks = 0
        self.launches_here = self.of_this_block = 0
        self.confirmed = 0
        self.spent = 0.0
        self.best = "nothing measured yet"

    def launched(self, record: Record) -> None:
        """Counts one launch; a capped launch does not count as failed."""
        if not self.launches_here:
            self.start = time.monotonic() - record.wall
        self.launches += 1
        self.launches_here += 1
        self.of_this_block += record.phase == "measure"
        self.capped += record.status == "capped"
        self.failures += not record.ok and record.status != "capped"
        self.spent += record.of_budget

    def block_done(self, records: Sequence[Record]) -> None:
        """Counts the blocks of all records, including those of an earlier, interrupted part of the run."""
        self.of_this_block = 0
        self.launches, self.spent = len(records), spent(records, self.experiment)
        self.blocks = len({record.block for record in records if record.phase == "measure"})
        self.confirmed = len({record.block for record in records if record.phase == "confirm"})
        if self.blocks:
            best = interim.sentence(records, self.experiment) or best_so_far(records, self.experiment)
            self.best = interim.marked(best, records)

    @property
    def done(self) -> float | None:
        """Launches made, as a share of the most that may be made; None for a race without a budget."""
        stop = self.experiment.stop
        if not self.racing:
            return min(1.0, self.blocks / max(stop.max_blocks, 1))
        shares = [self.launches / stop.launches] if stop.launches else []
        shares += [self.spent / stop.budget] if stop.budget else []
        return min(1.0, max(shares)) if shares else None

    @property
    def amount(self) -> str:
        """`9 of at most 40 blocks, 1 of 36 launches failed`, or in a race `36 launches, 2 capped`."""
        launches = text.count(self.launches, "launch", "launches")
        stop = self.experiment.stop
        most = f"{'' if stop.min_blocks == stop.max_blocks else 'at most '}{stop.max_blocks} blocks"
        said = launches if self.racing else f"{self.blocks} of {most}"
        said += f", {self.confirmed} to confirm" if self.confirmed else ""
        ends = {"failed": self.failures, "capped": self.capped}
        of = "" if self.racing else f"of {launches} "
        return ", ".join([said, *(f"{count} {of}{end}" for end, count in ends.items() if count)])

    @property
    def left(self) -> str:
        """The longest time left, by the launches made, up to the budget or last block; a race may end before."""
        stop = self.experiment.stop
        by_budget = float("inf") if stop.budget is None else max(0.0, stop.budget - self.spent)
        if self.racing and stop.launches is not None and not self.confirmed:
            return f"at most {text.count(max(0, stop.launches - self.launches), 'launch', 'launches')} left"
        if (self.racing or self.confirmed) and stop.budget is None:
            return "until it is decided" if self.confirmed else f"until {text.percent(stop.within)} is proved"
        if not self.racing and not self.confirmed:
            if not self.launches_here:
                return "time left unknown"
            each = (time.monotonic() - self.start) / self.launches_here
            blocks = stop.max_blocks - self.blocks
            missing = blocks * self.launches_a_block - self.of_this_block  # unless configurations are given up
            by_budget = min(by_budget, each * max(0, missing))
        return f"at most {text.duration(by_budget)} left"

    @cached_property
    def launches_a_block(self) -> int:
        """Launches of all configurations, with the repeated ones of the baseline."""
        block = Block("measure", configurations(self.experiment))
        return most_launches(block, baseline(self.experiment), 0)


def best_so_far(records: Sequence[Record], experiment: Experiment) -> str:
    """The fastest configuration compared with the reference, in the words of the first line, for the records so far."""
    if experiment.compares and len({command.argv for command in experiment.commands}) < len(experiment.commands):
        return "equal launches"
    if experiment.finds:
        return f"{len({record.configuration for record in records})} configurations"
    times = table(records, experiment.response)
    failed = {record.configuration for record in records if not record.ok}
    usable = [c for c in times.configurations if c not in failed and np.isfinite(times.column(c)).any()]
    reference = _reference(experiment, usable)
    if reference is None:
        return "nothing succeeded yet"
    typical = {c: float(stats.typical_times(times.column(c)[:, None])[0]) for c in usable}
    best = min((c for c in usable if c != reference), key=typical.__getitem__, default=None)
    if best is None:
        takes = text.value(typical[reference], experiment.response)
        return f"{label(reference) or 'the program'} takes {takes} so far"
    ratio = stats.ratio_interval(times.column(reference), times.column(best), experiment.stop.confidence)
    return text.than(label(best), label(reference), ratio, experiment.stop.confidence, experiment.response)


def _reference(experiment: Experiment, usable: Sequence[Configuration]) -> Configuration | None:
    """The baseline; in a scan, the configuration with the smallest p."""
    if experiment.scans:
        return min(usable, key=lambda c: c.layout.p, default=None)
    now = baseline(experiment)
    return now if now in usable else next(iter(usable), None)
