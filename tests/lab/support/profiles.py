# SPDX-License-Identifier: Apache-2.0
"""Launches with the profiler."""

from dataclasses import dataclass

from corescale.conclude.explain import Ledger, ledger
from corescale.declare.factors import Launch
from corescale.observe.profiler import Profiled, profiled
from corescale.profile import Profile


@dataclass(frozen=True)
class Seen:
    """A launch, and what follows from it."""

    launch: Profiled
    ledger: Ledger

    @property
    def profile(self) -> Profile:
        return self.launch.profiles[0]

    @property
    def shares(self) -> dict[str, float]:
        """Of what the cores gave: what other programs took meanwhile is left out."""
        rows = dict(self.ledger.rows)
        given = self.ledger.total - rows.pop("waiting for a core")
        return {row: seconds / given for row, seconds in rows.items()}


def see(*argv: str, threads: int = 1) -> Seen:
    launch = profiled(Launch(argv), threads, timeout=60)
    return Seen(launch, ledger(launch.profiles, launch.profiles[0].wall))  # of the program; others only start it
