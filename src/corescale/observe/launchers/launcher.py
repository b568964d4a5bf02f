# SPDX-License-Identifier: Apache-2.0
"""The contract of a launcher, with the usual implementations."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from corescale.declare.experiment import Experiment
from corescale.declare.plan import Invocation
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import Configuration, Layout, Origin, Record


class Launcher(ABC):
    """Call `open`, then `launch` for each block, then `close`. `cancel` may come at any time, and is final."""

    name: str
    """The name by which its run folders differ from other launchers' folders."""
    starts_ranks: ClassVar[bool] = False
    """Whether it starts the ranks itself, so that the command must not."""
    only_if_asked: ClassVar[bool] = False
    """Whether it is used only if --on names it."""
    virtual: ClassVar[bool] = False
    """Whether its clock is virtual: it starts no program, and takes no real time."""
    origin: ClassVar[Origin] = "measured"
    """The origin of every number of its records."""
    binds: ClassVar[bool] = True
    """Whether it can restrict a launch to CPUs that a factor chooses."""
    takes: ClassVar[str] = ""
    """The option of a request that only this launcher takes, such as `landscape`; empty if there is none."""
    place: Path | None = None
    """The folder, shared with other machines, for files that launches there need; None if launches run here."""
    waited = 0.0
    """Seconds that it waited in a queue, which no budget counts."""

    @classmethod
    def machine(cls, option: str = "") -> Machine:
        """The machine that it launches on; a launch may use several such nodes. Raises UsageError."""
        del option
        return Machine.here()

    @classmethod
    @abstractmethod
    def create(cls, experiment: Experiment, machine: Machine, option: str = "") -> Self:
        """A launcher for this experiment; `option` is the value of the option that it `takes`. Raises UsageError."""

    @classmethod
    @abstractmethod
    def cannot(cls, layout: Layout) -> str | None:
        """Why it cannot start that many ranks, nodes and threads here; None if it can."""

    @abstractmethod
    def open(self, note: Callable[[str], None], began: float | None = None) -> None:
        """Called before the first launch; `note` takes what a person should know. `began`: start of the budget, by the
        monotonic clock. Raises ProgramError."""

    @abstractmethod
    def recall(self, history: Sequence[Record]) -> None:
        """Called after `open` with the records of an earlier part of the same run."""

    @abstractmethod
    def subject(self) -> Mapping[str, Any]:
        """What is measured, and by which probes, as JSON values. Records of different subjects are never mixed."""

    @abstractmethod
    def line(self, configuration: Configuration, reads: Collection[str] | None = None) -> str:
        """The line that a user would type for this configuration. It sets those known variables that are in `reads`,
        which the program reads. If `reads` is None, it sets all.
        """

    def side_by_side(self, jobs: int) -> None:
        """Called before `open`: so many launches at once, each on CPUs of its own. Raises UsageError if it cannot."""
        what = f"the {self.name} launcher makes {jobs} launches one after the other"
        raise UsageError(what, where="--jobs", remedy="leave it out")

    def untimed(self, configurations: Sequence[Configuration]) -> int:
        """The untimed launches before these are timed, which prove that libraries can be preloaded."""
        del configurations
        return 0

    @abstractmethod
    def launch(self, block: Sequence[Invocation]) -> Iterator[Record]:
        """A record for each invocation, in the block's order, once its invocation and all before it have ended. Returns
        when the block can be launched, after waiting in a queue if there is one.
        """

    def cancel(self) -> None:  # noqa: B027
        """Ends everything that was launched, and returns when none of it is running; no launch follows."""

    def close(self) -> None:  # noqa: B027
        """Called after the last launch, also after a failure."""
