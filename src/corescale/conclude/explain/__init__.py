# SPDX-License-Identifier: Apache-2.0
"""Where every thread-second of a launch went: pure functions of profiles."""

from corescale.conclude.explain.chances import Chance, chances
from corescale.conclude.explain.explanation import Explanation, explanation
from corescale.conclude.explain.ledger import ROWS, Efficiency, Ledger, ledger, outside
from corescale.conclude.explain.sites import Namer, Site, sites
from corescale.conclude.explain.swaps import Swap, swaps, worth_swapping

__all__ = [
    "ROWS",
    "Chance",
    "Efficiency",
    "Explanation",
    "Ledger",
    "Namer",
    "Site",
    "Swap",
    "chances",
    "explanation",
    "ledger",
    "outside",
    "sites",
    "swaps",
    "worth_swapping",
]
