# SPDX-License-Identifier: Apache-2.0
"""The smallest difference that n blocks of a comparison show, from pairs of one command with itself. n log-ratios are
drawn many times, in stretches of consecutive pairs, so that a noisy period stays together. Each log-ratio gets a random
sign, because the order within a pair is random. A draw shows a slowdown by d if its interval, shifted by d, lies above
0. The share of draws that show it must exceed POWER by two standard errors, because the draws are few.
"""

import bisect
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from corescale.conclude import stats

STATED = 0.98
"""confidence of a gate: of 100 equal commands, at most one is called slower and at most one faster"""
CONFIDENCE = 1 - (1 - STATED) / 2
"""confidence of a gate's interval at each of its two looks"""
POWER = 0.9
"""share of true differences of that size that must be shown"""
MOST_BLOCKS = 200
"""the most blocks of a gate; 200 blocks show a third of the difference that 20 show"""
DRAWS, SEED = 400, 20_261_124
STRETCHES = 20
"""parts into which the pairs are cut: enough for random draws, and each long enough to contain a noisy period"""


def smallest(log_ratios: npt.ArrayLike, blocks: int) -> float:
    """The smallest relative slowdown that this many blocks show, 0.03 for 3%; inf if they allow no interval."""
    values = stats.finite(log_ratios)
    tail = stats.tail_count(blocks, (1 - CONFIDENCE) / 2)
    if tail < 0 or not values.size:
        return math.inf
    _, low, _ = stats.walsh_bounds(_drawn(values, blocks), tail)
    return math.expm1(float(np.quantile(-low, POWER + 2 * math.sqrt(POWER * (1 - POWER) / DRAWS))))


def _drawn(values: npt.NDArray[np.float64], blocks: int) -> npt.NDArray[np.float64]:
    """Gates of so many blocks. Shape (DRAWS, blocks)."""
    random, length = np.random.default_rng(SEED), -(-values.size // STRETCHES)
    begins = random.integers(values.size, size=(DRAWS, -(-blocks // length), 1))
    places = ((begins + np.arange(length)) % values.size).reshape(DRAWS, -1)[:, :blocks]
    signs: npt.NDArray[np.float64] = random.choice([-1.0, 1.0], places.shape)
    drawn: npt.NDArray[np.float64] = values[places] * signs
    return drawn


def needed(log_ratios: npt.ArrayLike, difference: float) -> int | None:
    """The fewest blocks that show a slowdown of that size; None beyond MOST_BLOCKS."""
    blocks = range(stats.fewest_blocks(CONFIDENCE), MOST_BLOCKS + 1)
    place = bisect.bisect_left(blocks, True, key=lambda n: smallest(log_ratios, n) <= difference)
    return blocks[place] if place < len(blocks) else None


def alarms(log_ratios: Sequence[float], blocks: int) -> tuple[int, int]:
    """How many gates, of this many consecutive pairs each, wrongly find a difference; and of how many gates."""
    gates = [log_ratios[k : k + blocks] for k in range(0, len(log_ratios) - blocks + 1, blocks)]
    found = [stats.hodges_lehmann(gate, CONFIDENCE) for gate in gates]
    return sum(not one.covers(0.0) for one in found), len(gates)
