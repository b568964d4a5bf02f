# SPDX-License-Identifier: Apache-2.0
"""Waiting until other programs leave the CPUs: what `--wait-quiet` does before each block."""

import math
import time
from collections.abc import Callable

from corescale.machine import Machine
from corescale.observe.doctor.quietness import account

BUSY = 0.05
"""share of the CPUs from which other programs count as a disturbance, as in the warning (conclude/noise.py)"""

LOOK = 1.0
"""seconds of a look; ticks of the clock are a hundredth of that"""

LONGEST = 600.0
"""seconds that one command waits in all, because a machine may never be quiet"""

Used = Callable[[], float]
"""Takes a look, and returns the share of the CPUs that was used during it."""


class Quiet:
    """Waits. Nothing of the measurement may run meanwhile."""

    def __init__(self, machine: Machine, note: Callable[[str], None], used: Used | None = None) -> None:
        self._machine, self._note = machine, note
        self._used = used or self._look
        self._waited = 0.0

    def wait(self, most: float = math.inf) -> float:
        """Returns the seconds that it took, about `most` at most; says once why, and once if it gives up."""
        start, said = time.monotonic(), False
        while self._waited < LONGEST and most > 0 and (busy := self._used()) > BUSY:
            self._waited += LOOK
            most -= LOOK
            if not said:
                said = True
                self._note(f"waiting until the machine is quiet: other programs use {busy:.0%} of the CPUs")
            if self._waited >= LONGEST:
                self._note(f"the machine was not quiet within {LONGEST / 60:g} minutes: measuring nevertheless")
        return time.monotonic() - start

    def _look(self) -> float:
        before, began = account(self._machine), time.monotonic()
        time.sleep(LOOK)
        after, seconds = account(self._machine), time.monotonic() - began
        used = after.busy + after.steal - before.busy - before.steal
        return used / (seconds * len(self._machine.affinity))
