# SPDX-License-Identifier: Apache-2.0
"""What pairs of one command with itself say of the next comparison: the smallest difference that n blocks show.

The log-ratios of such pairs are made symmetric, for their sign is chance, and n of them are drawn again and again. A
slowdown by d is shown where the interval of the drawn ones, shifted by d, lies above 0: in POWER of the draws.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from corescale.conclude import stats

CONFIDENCE = 0.98
"""of a gate's interval: of 100 equal pairs at most one is called slower, and one faster"""
POWER = 0.9
"""share of true differences of the named size that are to be shown"""
MOST_BLOCKS = 200
"""beyond which nobody waits for a gate; 200 blocks show a third of what 20 show"""
DRAWS, SEED = 400, 20_261_124


def smallest(log_ratios: npt.ArrayLike, blocks: int) -> float:
    """The smallest relative slowdown that so many blocks show, 0.03 for 3%; inf where they allow no interval."""
    values = np.asarray(log_ratios, dtype=np.float64)
    values = values[np.isfinite(values)]
    tail = stats.tail_count(blocks, (1 - CONFIDENCE) / 2)
    if tail < 0 or not values.size:
        return math.inf
    drawn = np.random.default_rng(SEED).choice(np.concatenate([values, -values]), (DRAWS, blocks))
    _, low, _ = stats.walsh_bounds(drawn, tail)
    return math.expm1(float(np.quantile(-low, POWER)))


def needed(log_ratios: npt.ArrayLike, difference: float) -> int | None:
    """The fewest blocks that show a slowdown of that size; None beyond MOST_BLOCKS."""
    low, high = stats.fewest_blocks(CONFIDENCE), MOST_BLOCKS
    if smallest(log_ratios, high) > difference:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if smallest(log_ratios, middle) <= difference else (middle + 1, high)
    return low


def alarms(log_ratios: Sequence[float], blocks: int) -> tuple[int, int]:
    """How many of the gates of so many consecutive pairs call equal commands faster or slower; and how many gates."""
    gates = [log_ratios[k : k + blocks] for k in range(0, len(log_ratios) - blocks + 1, blocks)]
    found = [stats.hodges_lehmann(gate, CONFIDENCE) for gate in gates]
    return sum(not one.covers(0.0) for one in found), len(gates)
