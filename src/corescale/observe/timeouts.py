# SPDX-License-Identifier: Apache-2.0
"""How long a launch or a hook may still last under a budget that was typed."""

import math
import time
from collections.abc import Callable, Sequence

from corescale.declare.stop import Stop
from corescale.records import Record

OVERRUN = 1.1
"""multiple of the budget after which a launch is ended: one that takes a little longer than its last may finish"""

LEAST = 0.05
"""seconds that a launch or command has at least"""


class Timeouts:
    """Seconds, inf without a budget that was typed. `clock`: the monotonic one."""

    def __init__(self, stop: Stop, clock: Callable[[], float] = time.monotonic) -> None:
        self.whole = stop.budget if stop.binding and stop.budget is not None else math.inf
        """seconds for a command before or after all launches"""
        self._clock, self._end, self._fresh = clock, math.inf, True

    def begin(self) -> None:
        """The budget runs from here on."""
        self._end = self._clock() + OVERRUN * self.whole

    def recall(self, history: Sequence[Record]) -> None:
        """Subtracts the launches of an earlier part of the run."""
        self._end -= sum(record.of_budget for record in history)
        self._fresh = not history

    def waited(self, seconds: float) -> None:
        """Seconds passed in a queue, which no budget pays."""
        self._end += seconds

    def launched(self) -> None:
        """A launch was made: the next have what is left."""
        self._fresh = False

    @property
    def left(self) -> float:
        """What is left."""
        return max(LEAST, self._end - self._clock())

    @property
    def of_a_launch(self) -> float:
        """Seconds left for a launch. The first launch of all has a whole budget, because it shows how long a launch
        takes."""
        return max(self.left, self.whole) if self._fresh else self.left
