# SPDX-License-Identifier: Apache-2.0
"""The time that a launch or hook may take under a typed budget."""

import math
import time
from collections.abc import Callable, Sequence

from corescale.declare.stop import Stop
from corescale.records import Record

LEAST = 0.05
"""least time limit of a launch or hook, in seconds"""


class Timeouts:
    """Time limits in seconds; inf without a typed budget. `clock`: the monotonic clock."""

    def __init__(self, stop: Stop, clock: Callable[[], float] = time.monotonic) -> None:
        self.whole = stop.budget if stop.binding and stop.budget is not None else math.inf
        """seconds for a command before or after all launches"""
        self._clock, self._end = clock, math.inf

    def begin(self, at: float | None = None) -> None:
        """Starts the budget, at a time of the clock, or now."""
        self._end = (self._clock() if at is None else at) + self.whole

    def recall(self, history: Sequence[Record]) -> None:
        """Subtracts the launches of an earlier part of the run."""
        self._end -= sum(record.of_budget for record in history)

    def waited(self, seconds: float) -> None:
        """Adds seconds of waiting in a queue, which no budget counts."""
        self._end += seconds

    @property
    def left(self) -> float:
        """Seconds of the budget that are left."""
        return max(LEAST, self._end - self._clock())
