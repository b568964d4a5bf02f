# SPDX-License-Identifier: Apache-2.0
"""What happens while a run goes on, on stderr only: live on a terminal, one line a block elsewhere, or nothing."""

import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self, TextIO

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from corescale.conclude import stats
from corescale.conclude.response import table
from corescale.declare.plan import Invocation
from corescale.declare.study import Experiment, configurations, today
from corescale.records import Configuration, Record
from corescale.show import text

PHASES = {"warmup": "warming up", "rehearse": "rehearsing", "measure": "measuring", "confirm": "confirming"}


class Watcher(Protocol):
    """Told by the loop, between launches, what goes on; a context, so that the terminal is left as it was."""

    def launching(self, invocation: Invocation, line: str) -> None:
        """This launch is next."""

    def launched(self, record: Record) -> None:
        """It ended."""

    def block_done(self, number: int, records: Sequence[Record]) -> None:
        """A block counts; these are the records of all that do."""

    def note(self, text: str) -> None:
        """Something to know."""


def create(
    experiment: Experiment, *, quiet: bool = False, stream: TextIO | None = None
) -> "AbstractContextManager[Watcher]":
    """Quiet if asked, Fancy on a terminal, else Plain."""
    if quiet:
        return Quiet()
    console = Console(file=stream or sys.stderr)
    return Fancy(experiment, console) if console.is_terminal else Plain(experiment, console)


class Quiet:
    """Says nothing, notes included: they are repeated as doubts beside the result."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        pass

    def launching(self, invocation: Invocation, line: str) -> None:
        """Nothing."""

    def launched(self, record: Record) -> None:
        """Nothing."""

    def block_done(self, number: int, records: Sequence[Record]) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


class Plain(Quiet):
    """One line a block: for logs and pipes."""

    def __init__(self, experiment: Experiment, console: Console) -> None:
        self.state = State(experiment)
        self.console = console

    def launched(self, record: Record) -> None:
        """Counts it."""
        self.state.launched(record)

    def block_done(self, number: int, records: Sequence[Record]) -> None:
        """Says how far it is and what is best so far."""
        self.state.block_done(records)
        self._say(f"{self.state.amount}; {self.state.best}; {self.state.left}")

    def note(self, text: str) -> None:
        """Says it."""
        self._say(f"note: {text}")

    def _say(self, line: str) -> None:
        self.console.print(Text(text.clean(line)), soft_wrap=True)


class Fancy(Plain):
    """Redraws four lines: what runs, how far, what is best so far, notes scrolling above."""

    def __init__(self, experiment: Experiment, console: Console) -> None:
        super().__init__(experiment, console)
        self.running = Text("starting", style="dim")
        self.live = Live(self, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:  # type: ignore[override]
        self.live.stop()

    def __rich__(self) -> RenderableType:
        """Called by rich at each refresh."""
        state = self.state
        bar = Table.grid(padding=(0, 1))
        bar.add_row(ProgressBar(total=max(state.most, 1), completed=state.done, width=24), state.amount, state.left)
        return Group(bar, self.running, Text(f"best so far: {state.best}", no_wrap=True, overflow="ellipsis"))

    def launching(self, invocation: Invocation, line: str) -> None:
        """Shows the line that runs."""
        phase = PHASES[invocation.phase]
        self.running = Text(f"{phase}: {text.clean(line)}", style="dim", no_wrap=True, overflow="ellipsis")

    def block_done(self, number: int, records: Sequence[Record]) -> None:
        """Shown at the next refresh."""
        self.state.block_done(records)


class State:
    """How far a run is."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.launches_per_block = len(configurations(experiment))
        self.start = time.monotonic()
        self.spent = 0.0
        self.launches = self.failures = self.capped = self.blocks = self.confirmations = 0
        self.best = "nothing measured yet"
        self.blocks_here = 0

    def launched(self, record: Record) -> None:
        """Counts one launch."""
        self.launches += 1
        self.capped += record.status == "capped"
        self.failures += not record.ok and record.status != "capped"
        self.spent += record.wall

    def block_done(self, records: Sequence[Record]) -> None:
        """Counts the blocks of all records, those of an earlier, interrupted try included."""
        self.blocks_here += 1
        self.blocks = len({record.block for record in records if record.phase == "measure"})
        self.confirmations = len({record.block for record in records if record.phase == "confirm"})
        self.best = best_so_far(records, self.experiment)

    @property
    def done(self) -> float:
        """Share of the bar, in launches."""
        stop = self.experiment.stop
        return min(self.most, self.blocks + self.confirmations * stop.max_blocks / max(stop.confirm_blocks, 1) * 0.1)

    @property
    def most(self) -> float:
        """The bar's end."""
        return float(self.experiment.stop.max_blocks)

    @property
    def amount(self) -> str:
        """`9 of 8 to 40 blocks, of 36 launches 1 failed, 2 stopped as lost`."""
        stop = self.experiment.stop
        planned = (
            str(stop.max_blocks) if stop.min_blocks == stop.max_blocks else f"{stop.min_blocks} to {stop.max_blocks}"
        )
        said = f"{self.blocks} of {planned} blocks"
        if self.confirmations:
            said += f", {self.confirmations} of {stop.confirm_blocks} to confirm"
        ends = {"failed": self.failures, "stopped as lost": self.capped}
        told = ", ".join(f"{count} {end}" for end, count in ends.items() if count)
        return f"{said}, of {self.launches} launches {told}" if told else said

    @property
    def left(self) -> str:
        """At most so long, by the blocks made here: the budget or the last block ends it."""
        if not self.blocks_here:
            return "time left unknown"
        each = (time.monotonic() - self.start) / self.blocks_here
        stop = self.experiment.stop
        by_blocks = each * max(0, stop.max_blocks - self.blocks)
        if self.confirmations:
            by_blocks = each * max(0, stop.confirm_blocks - self.confirmations)
        by_budget = float("inf") if stop.budget is None else max(0.0, stop.budget - self.spent)
        return f"at most {text.duration(min(by_blocks, by_budget))} left"


def best_so_far(records: Sequence[Record], experiment: Experiment) -> str:
    """The fastest configuration against the reference, with the interval of what was measured so far."""
    if experiment.verb == "study" and experiment.stop.rule != "race":
        return f"{len({record.configuration for record in records})} configurations"
    times = table(records, experiment.response)
    failed = {record.configuration for record in records if not record.ok}
    usable = [c for c in times.configurations if c not in failed and np.isfinite(times.column(c)).any()]
    reference = _reference(experiment, usable)
    if reference is None:
        return "nothing succeeded yet"
    typical = {c: float(stats.typical_times(times.column(c)[:, None])[0]) for c in usable}
    best = min(usable, key=typical.__getitem__)
    if best == reference:
        return f"{text.clean(best.label)}, the reference itself"
    ratio = stats.ratio_interval(times.column(reference), times.column(best), experiment.stop.confidence)
    return f"{text.clean(best.label)}, {text.join(text.times(ratio))} faster than {text.clean(reference.label)}"


def _reference(experiment: Experiment, usable: Sequence[Configuration]) -> Configuration | None:
    """Today's launch; in a scan the one at p_ref."""
    if experiment.verb == "scan":
        return next(
            (c for c in usable if c.layout.p == experiment.p_ref), min(usable, key=lambda c: c.layout.p, default=None)
        )
    now = today(experiment)
    return now if now in usable else next(iter(usable), None)
