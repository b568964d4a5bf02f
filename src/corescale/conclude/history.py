# SPDX-License-Identifier: Apache-2.0
"""Where a number changed over the commits of a project: change points by rank-sum tests, again in each part."""

import math
from collections.abc import Sequence

import numpy as np

from corescale.conclude.two_samples import unpaired_ratio

FEWEST = 4
"""commits on either side of a change point: fewer cannot differ by chance as rarely as LEVEL"""
LEVEL = 0.01
"""of all places in a series together: a history that never changes shows a change point in one of 100"""


def change_points(values: Sequence[float]) -> tuple[int, ...]:
    """Positions of the first values after a change, in order; of positive numbers, one for each commit in order."""
    return tuple(sorted(_split(np.asarray(values, dtype=np.float64), 0)))


def _split(values: np.ndarray[tuple[int], np.dtype[np.float64]], first: int) -> list[int]:
    places = range(FEWEST, values.size - FEWEST + 1)
    if not places:
        return []
    confidence = 1 - LEVEL / len(places)
    found = {k: unpaired_ratio(values[k:], values[:k], confidence) for k in places}
    shown = {k: abs(math.log(one.estimate)) for k, one in found.items() if one.low is not None and not one.covers(1.0)}
    if not shown:
        return []
    # Where the parts differ most clearly: the shift, weighted as a mean of so many values on either side is.
    at = max(shown, key=lambda k: shown[k] * math.sqrt(k * (values.size - k)))
    return [*_split(values[:at], first), first + at, *_split(values[at:], first + at)]
