# SPDX-License-Identifier: Apache-2.0
"""How much more a launch costs than launches with 1 thread that do the same work."""

import math
from collections.abc import Sequence
from dataclasses import replace

from corescale.conclude.explain.ledger import USEFUL, Ledger
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.stats import Interval
from corescale.conclude.two_samples import unpaired_ratio

LAUNCHES, MOST_LAUNCHES = 4, 12
"""launches of each kind: with fewer, two unpaired samples have no 95% interval; with more, it hardly narrows"""


def affordable(seconds: float, room: float) -> int:
    """How many launches of each kind to make. `seconds`: time of one launch of each kind. `room`: seconds left after
    the first."""
    fits = 1 + int(min(room / seconds, MOST_LAUNCHES - 1)) if seconds else MOST_LAUNCHES
    return fits if fits >= LAUNCHES else 1


def middle(walls: Sequence[float]) -> int:
    """Which of several equal launches is shown: the one with the median wall time, or the shorter of two."""
    return sorted(range(len(walls)), key=lambda place: walls[place])[(len(walls) - 1) // 2]


def compared(shown: Ledger, launches: Sequence[Ledger], alone: Sequence[Ledger]) -> Ledger:
    """The ledger `shown`, one of `launches`, compared with the ledgers of launches with one thread.

    Computing that exceeds that of 1 thread is inflated, unless the noise of the launches explains it. If the launches
    report their work, costs are scaled by it; otherwise equal work is assumed.
    """
    computing, allocating = (
        _beyond(shown.rows[row], _costs(launches, shown, (row,)), _costs(alone, shown, (row,)))
        for row in (LedgerRow.COMPUTING, LedgerRow.ALLOCATING)
    )
    inflated = max(0.0, computing.estimate) if computing.low is None or computing.low > 0 else 0.0
    rows = {LedgerRow.INFLATED: inflated, LedgerRow.COMPUTING: shown.rows[LedgerRow.COMPUTING] - inflated}
    usual, useful = (sum(_costs(some, shown, USEFUL)) / len(some) for some in (alone, launches))
    scaling = usual / useful if useful else None
    return replace(
        shown,
        rows={**shown.rows, **rows},
        beyond={LedgerRow.INFLATED: computing, LedgerRow.ALLOCATING: allocating},
        efficiency=shown.efficiency and replace(shown.efficiency, computation_scaling=scaling),
    )


def _costs(launches: Sequence[Ledger], shown: Ledger, rows: Sequence[LedgerRow]) -> list[float]:
    """Seconds in these rows for the work that the shown launch has done."""
    return [
        sum(one.rows[row] for row in rows) * (shown.work / one.work if shown.work and one.work else 1.0)
        for one in launches
    ]


def _beyond(seconds: float, most: Sequence[float], alone: Sequence[float]) -> Interval:
    """The seconds of a row beyond what the same work costs with one thread; negative if it costs more there."""
    ratio = unpaired_ratio(most, alone)
    if math.isnan(ratio.estimate):  # one of them has nothing in the row
        return Interval(0.0, None, None, None, 0)
    return ratio.map(lambda more: seconds * (1 - 1 / more))
