# SPDX-License-Identifier: Apache-2.0
"""The mean or median of independent launches with a bootstrapped interval: what charts of declared columns show.

The percentile bootstrap (Efron 1979) is what published figures mostly use, and it is too narrow at few launches: at 8
of them 95% covered 85 to 87% of the time where docs/measuring.md tested it. It is for looking; ratios that carry an
answer come from conclude/stats.py.
"""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from corescale.conclude.stats import Floats, Interval

Statistic = Literal["mean", "median"]
STATISTICS: dict[Statistic, Callable[..., Floats]] = {"mean": np.mean, "median": np.median}
RESAMPLES = 1999
SEED = 20_200_714
"""Fixed: equal records give equal intervals."""


def bootstrapped(values: npt.ArrayLike, statistic: Statistic = "mean", confidence: float = 0.95) -> Interval:
    """Mean of the finite values; without an interval below two of them, NaN for none."""
    array = np.asarray(values, dtype=np.float64).ravel()
    array = array[np.isfinite(array)]
    of = STATISTICS[statistic]
    estimate = float(of(array)) if array.size else math.nan
    if array.size < 2:
        return Interval(estimate, None, None, None, array.size)
    drawn = np.random.default_rng(SEED).choice(array, (RESAMPLES, array.size))
    low, high = np.quantile(of(drawn, axis=1), [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(estimate, float(low), float(high), confidence, array.size)
