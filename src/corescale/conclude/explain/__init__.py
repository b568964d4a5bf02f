# SPDX-License-Identifier: Apache-2.0
"""Where every thread-second of a launch went: pure functions of profiles."""

from corescale.conclude.explain.chances import Chance, chances
from corescale.conclude.explain.explanation import Explanation, explanation
from corescale.conclude.explain.ledger import Efficiency, Ledger, ledger, outside, ranks_as_typed
from corescale.conclude.explain.rows import CHANGES, Change, LedgerRow
from corescale.conclude.explain.sites import Namer, Site, sites
from corescale.conclude.explain.swaps import Swap, swaps, worth_swapping

__all__ = [
    "CHANGES",
    "Chance",
    "Change",
    "Efficiency",
    "Explanation",
    "Ledger",
    "Namer",
    "LedgerRow",
    "Site",
    "Swap",
    "chances",
    "explanation",
    "ledger",
    "outside",
    "ranks_as_typed",
    "sites",
    "swaps",
    "worth_swapping",
]
