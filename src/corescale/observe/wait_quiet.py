# SPDX-License-Identifier: Apache-2.0
"""Waits until other programs leave the CPUs idle, which `--wait-quiet` does before each block."""

import math
import time
from collections.abc import Callable

from corescale.machine import Machine
from corescale.observe.doctor.quietness import account

BUSY = 0.05
"""share of the CPUs above which other programs count as a disturbance, as in the warning (conclude/noise.py)"""

LOOK = 1.0
"""seconds of an observation, which are a hundred clock ticks"""

LONGEST = 600.0
"""most seconds that one command waits in total, because a machine may never be quiet"""

Used = Callable[[], float]
"""Observes the machine for a while, and returns the share of the CPUs that was in use."""


class Quiet:
    """Waits. Nothing of the measurement may run meanwhile."""

    def __init__(self, machine: Machine, note: Callable[[str], None], used: Used | None = None) -> None:
        self._machine, self._note = machine, note
        self._used = used or self._look
        self._waited = 0.0

    def wait(self, most: float = math.inf) -> float:
        """Waits up to about `most` seconds; returns how long it took. Says once why, and once if it gives up."""
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
