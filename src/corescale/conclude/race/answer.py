# SPDX-License-Identifier: Apache-2.0
"""The state of a race at any moment, as plain data that all other parts read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from corescale.conclude.race.rehearsal import Rehearsal
from corescale.conclude.stats import Interval, Regret
from corescale.records import Configuration

Stopped = Literal["proved", "budget", "blocks", "nothing to compare", "interrupted"]
"""Why there is no next block; `interrupted`: there is one, and it was not made"""

Why = Literal["failed", "capped", "constraint"]
"""Why a configuration is not launched any more"""


@dataclass(frozen=True, slots=True)
class Gain:
    """The ratio T(baseline) / T of one configuration, only from its confirmation pairs."""

    ratio: Interval
    """its `confidence` holds for the whole sequence of looks"""
    by: Literal["signed ranks", "t"]
    verdict: Literal["faster", "not faster"] | None
    """`not faster`: not by more than the tolerance; None: not decided"""
    more: int | None
    """pairs that should decide it, by the scatter so far; None if it is decided, or nothing is known"""
    quantised: bool = False
    """whether no number of pairs decides it, because half a step of the response is too wide"""


@dataclass(frozen=True, slots=True)
class RaceAnswer:
    """The answer if measuring ended now. Its bounds hold at any moment."""

    baseline: Configuration
    leader: Configuration
    """the answer of the measuring blocks, which pairs confirm"""
    bound: float | None
    """at `confidence`, the leader's time exceeds the best by at most this fraction; None while there is no bound"""
    confidence: float
    gain: Gain | None
    """the gain of the leader; None without pairs, and if it is the baseline"""
    pairs: int
    """confirmation pairs of the leader that count"""
    proved: bool
    """whether the bound is within the tolerance"""
    step: float
    """the step in which the response is reported, if no launches beyond these can decide because of it; else 0"""
    tried: int
    of: int
    """`tried`: configurations launched at least once; `of`: all that are raced"""
    regrets: Mapping[Configuration, Regret]
    tied: tuple[tuple[Configuration, float | None], ...]
    """configurations that may be faster than the leader, each with the largest fraction by which; None: unknown"""
    rehearsal: Rehearsal | None
    eliminated: Mapping[Configuration, Why]
    stopped: Stopped
