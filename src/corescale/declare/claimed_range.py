# SPDX-License-Identifier: Apache-2.0
"""The range that a finding claims for a ratio or a difference."""

import re
from typing import Self

from corescale.declare.base import Model
from corescale.errors import UsageError

MARGIN = 0.05
"""Largest difference between two sides that are called equal, unless a finding names another."""

EQUAL = 1e-9
"""Sides that differ by less are the same, up to rounding: `> 1` does not hold for them."""


class Claim(Model):
    """The claimed range of a ratio or difference: `>= 1.1`, `<= 0.9`, `> 1`, or `0.95 to 1.05`."""

    low: float
    high: float
    text: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises UsageError."""
        number = r"(-?[0-9]*\.?[0-9]+)"
        if match := re.fullmatch(rf"\s*{number}\s+to\s+{number}\s*", text):
            low, high = float(match[1]), float(match[2])
        elif match := re.fullmatch(rf"\s*(>=|>|<=|<)\s*{number}\s*", text):
            apart = EQUAL if match[1] in "<>" else 0.0
            bound = float(match[2])
            low, high = (bound + apart, float("inf")) if ">" in match[1] else (float("-inf"), bound - apart)
        else:
            low, high = 1.0, 0.0
        if low > high:
            raise UsageError(f"not a claim: {text!r}", where="claim", remedy="write '>= 1.1', '< 1' or '0.95 to 1.05'")
        return cls(low=low, high=high, text=text.strip())


def equal(margin: float, *, difference: bool) -> tuple[float, float]:
    """Range of the ratio, or of the difference, of two sides that differ by no more than the margin."""
    return (-margin, margin) if difference else (1 / (1 + margin), 1 + margin)
