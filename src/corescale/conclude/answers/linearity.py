# SPDX-License-Identifier: Apache-2.0
"""How far y is from a straight line of a factor: each value over the chord from the least level to the largest.

Between the ends this is 1 for any y = a + b x, whatever its fixed part a. (A ratio of two levels equals that of x only
if a is 0.) For a curve it is not 1: in the middle of 100, 1,000 and 10,000 it is 0.82 of x^1.1, 0.79 of x log(x) and
1.74 of the root of x. Levels far apart show it best: near an end every curve is near its chord.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from corescale.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd


def over_chord(rows: "pd.DataFrame", y: str, along: str, alike: Sequence[str]) -> "pd.Series":
    """log(y / chord). The ends of a chord are rows that are equal in the columns `alike`. NaN at the ends, and if there
    are none.

    Raises UsageError if the levels of `along` are no numbers.
    """
    try:
        x = rows[along].astype("float64")
    except ValueError:
        raise UsageError(
            f"has levels that are no numbers: {', '.join(map(str, rows[along].unique()))}",
            where=f"line {along}", remedy="name a factor whose levels are",
        ) from None  # fmt: skip
    values = rows[y].astype("float64")
    first, last = (_at(rows.assign(_value=values)[x == end], alike, rows) for end in (x.min(), x.max()))
    chord = first + (last - first) * (x - x.min()) / (x.max() - x.min())
    ratio = (values / chord).where((x > x.min()) & (x < x.max()))
    return ratio.where(ratio > 0).map(np.log, na_action="ignore")


def _at(end: "pd.DataFrame", alike: Sequence[str], rows: "pd.DataFrame") -> "pd.Series":
    """The mean value at one end, for every row."""
    return rows.join(end.groupby(list(alike))["_value"].mean().rename("_end"), on=list(alike))["_end"]
