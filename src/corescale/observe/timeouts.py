# SPDX-License-Identifier: Apache-2.0
"""The time that a launch or hook may take under a typed budget."""

import math
import time
from collections.abc import Callable, Sequence

from corescale.declare.stop import Stop
from corescale.records import Record

OVERRUN = 1.1
"""multiple of the budget after which a launch is ended, so that a slightly longer one can finish"""

LEAST = 0.05
"""least time limit of a launch or hook, in seconds"""


class Timeouts:
    """Time limits in seconds; inf without a typed budget. `clock`: the monotonic clock."""

    def __init__(self, stop: Stop, clock: Callable[[], float] = time.monotonic) -> None:
        self.whole = stop.budget if stop.binding and stop.budget is not None else math.inf
        """seconds for a command before or after all launches"""
        self._clock, self._end, self._fresh = clock, math.inf, True

    def begin(self) -> None:
        """Starts the budget."""
        self._end = self._clock() + OVERRUN * self.whole

    def recall(self, history: Sequence[Record]) -> None:
        """Subtracts the launches of an earlier part of the run."""
        self._end -= sum(record.of_budget for record in history)
        self._fresh = not history

    def waited(self, seconds: float) -> None:
        """Adds seconds of waiting in a queue, which no budget counts."""
        self._end += seconds

    def launched(self) -> None:
        """Notes that a launch was made; later launches get only the time that is left."""
        self._fresh = False

    @property
    def left(self) -> float:
        """Seconds of the budget that are left."""
        return max(LEAST, self._end - self._clock())

    @property
    def of_a_launch(self) -> float:
        """Seconds left for a launch. The first of all has a whole budget, because it shows how long one takes."""
        return max(self.left, self.whole) if self._fresh else self.left
