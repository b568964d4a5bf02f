# SPDX-License-Identifier: Apache-2.0
"""The parts of inflated computing, found by simultaneous launches that share nothing but the machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from corescale.conclude import stats
from corescale.conclude.explain.ledger import Ledger
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.stats import Interval

CONFIDENCE = stats.bonferroni(0.95, 2)
"""confidence of each of the two ratios, so that both hold together with 95%"""
FEWEST, MOST = stats.fewest_blocks(CONFIDENCE), 12
"""blocks of launches: with fewer than FEWEST the ratios have no interval, and more than MOST hardly narrow it"""


class Cause(StrEnum):
    """Why the same work costs more CPU time in several threads."""

    MEMORY = "memory bandwidth and shared cache"
    CORES = "frequency, SMT and steal"
    SHARING = "sharing between threads"


@dataclass(frozen=True, slots=True)
class Block:
    """CPU seconds of the program with one thread, and of a loop that needs no memory.

    `program` and `loop` are launched alone; `programs` and `loops` are means of several at once, each on its own core.
    """

    program: float
    programs: float
    loop: float
    loops: float


@dataclass(frozen=True, slots=True)
class Part:
    """A part of inflated computing: thread-seconds, and how many blocks showed it."""

    cause: Cause
    seconds: Interval
    blocks: int


def parts(ledger: Ledger, blocks: Sequence[Block]) -> tuple[Part, ...]:
    """The parts of inflated computing; their estimates sum to the row.

    If several loops at once cost more than one alone, the cores are the cause. If the program costs more by a larger
    factor than the loop, the excess is due to memory. The rest comes from threads that share data. Each interval
    combines the worst ends of the intervals it is computed from.
    """
    usual, whole = ledger.rows[LedgerRow.COMPUTING], ledger.rows[LedgerRow.INFLATED]
    machine = _more(usual, [one.programs for one in blocks], [one.program for one in blocks])
    cores = _more(usual, [one.loops for one in blocks], [one.loop for one in blocks])
    row = ledger.beyond[LedgerRow.INFLATED]
    most = max(whole, row.high or 0.0)
    by_cores = _within(cores.estimate, whole)
    by_memory = _within(machine.estimate - by_cores, whole - by_cores)
    found = {
        Cause.MEMORY: _less(by_memory, machine, cores, most),
        Cause.CORES: _less(by_cores, cores, Interval(0.0, 0.0, 0.0, None, 0), most),
        Cause.SHARING: _less(whole - by_cores - by_memory, row, machine, most),
    }
    return tuple(Part(cause, seconds, len(blocks)) for cause, seconds in found.items())


def _more(usual: float, at_once: Sequence[float], alone: Sequence[float]) -> Interval:
    """The additional thread-seconds of simultaneous launches, for work that usually takes `usual`."""
    return stats.ratio_interval(at_once, alone, CONFIDENCE).map(lambda ratio: usual * (ratio - 1))


def _less(estimate: float, found: Interval, other: Interval, most: float) -> Interval:
    """The estimate, with the interval of `found` minus `other`, clamped to 0 .. `most`."""
    if found.low is None or found.high is None or other.low is None or other.high is None:
        return Interval(estimate, None, None, None, found.n)
    low, high = _within(found.low - other.high, most), _within(found.high - other.low, most)
    return Interval(estimate, min(low, estimate), max(high, estimate), None, found.n)


def _within(seconds: float, most: float) -> float:
    return min(max(0.0, seconds), most)
