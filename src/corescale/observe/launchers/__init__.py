# SPDX-License-Identifier: Apache-2.0
"""Launchers: they take a block of invocations and yield records as they end.

A new launcher is one file that meets the contract, and one line in LAUNCHERS.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from corescale.declare.experiment import Experiment
from corescale.declare.plan import Invocation
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.observe.launchers.direct import Direct
from corescale.observe.launchers.fake import Fake
from corescale.records import Configuration, Record


class Launcher(Protocol):
    """The contract. `open`, then `launch` block after block, then `close`; `cancel` at any time, and for good."""

    @property
    def name(self) -> str:
        """Tells its run folders from those of other launchers."""

    def open(self, history: Sequence[Record], note: Callable[[str], None]) -> None:
        """Before the first launch; `history` is what an earlier part of the same run gave. Raises ProgramError."""

    def subject(self) -> Mapping[str, Any]:
        """What is measured and by which probes, as JSON: records of different subjects are never mixed."""

    def line(self, configuration: Configuration) -> str:
        """What a person would type for this configuration."""

    def launch(self, block: Sequence[Invocation]) -> Iterator[Record]:
        """One record for each invocation, in the same order, each as soon as its launch has ended."""

    def cancel(self) -> None:
        """Nothing that was launched is running any more when this returns; no further launch is made."""

    def close(self) -> None:
        """After the last launch, also after a failure."""


LAUNCHERS: dict[str, Callable[[Experiment, Machine, Path | None], Launcher]] = {
    "direct": Direct.create,
    "fake": Fake.create,
}


def create(name: str, experiment: Experiment, machine: Machine, landscape: str | Path | None = None) -> Launcher:
    """The launcher of that name; raises UsageError. `landscape` is for the fake one."""
    if name not in LAUNCHERS:
        raise UsageError(f"no launcher {name!r}", where="--on", remedy=f"one of {', '.join(LAUNCHERS)}")
    return LAUNCHERS[name](experiment, machine, Path(landscape) if landscape else None)
