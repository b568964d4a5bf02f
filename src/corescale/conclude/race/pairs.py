# SPDX-License-Identifier: Apache-2.0
"""Confirmation pairs of one configuration and the baseline: when one looks at them, and what they show.

A leader leads partly by luck, so its gain comes from pairs that were made afterwards. The first look is planned from
the lead and the noise of the race; it has most of the error, and each later look half of what is left.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude.race import bounds
from corescale.conclude.race.answer import Gain
from corescale.conclude.race.options import RaceOptions
from corescale.conclude.stats import Floats, Interval
from corescale.declare.stop import Stop


@dataclass(frozen=True, slots=True)
class Plan:
    """The numbers of pairs at which one looks, and the error of each look."""

    looks: tuple[int, ...] = ()
    errors: tuple[float, ...] = ()

    @classmethod
    def of(cls, first: int, begun: int, affordable: float, error: float, options: RaceOptions) -> "Plan":
        """`begun`: looks that the first pair was planned with, 0 before it, and 1 where one look had all of the error.

        A larger budget adds looks behind that one, with the error that later looks have.
        """
        several = bounds.looks(first, options.growth)
        alone = begun == 1 or (begun == 0 and affordable < several[1])
        if alone and affordable < several[1]:
            return cls((first if begun else int(max(1, min(first, affordable))),), (error,))
        later = (error * (1 - options.at_first) / 2**k for k in range(1, len(several)))
        return cls(several, (error if alone else error * options.at_first, *later))

    def passed(self, made: int) -> int:
        """The place of the last look that was passed; 0 before the first, which is then at all pairs so far."""
        return max((k for k, n in enumerate(self.looks) if n <= made), default=0)


def first_look(lead: float, noise: float, options: RaceOptions) -> int:
    """Pairs to the first look, if the gain is this lead and the variance of a launch this noise."""
    needed = 2 * noise * (options.seen / max(lead, 1e-3)) ** 2
    return max(options.least, min(options.most, math.ceil(needed)))


@dataclass(frozen=True, slots=True)
class Scatter:
    """Degrees of freedom, and the variance of the log ratio of two launches by them."""

    freedom: float
    variance: float

    @classmethod
    def of(cls, groups: Sequence[Sequence[float]]) -> "Scatter":
        """Of single launches, about the mean of each group."""
        logs = [np.log(group) for group in groups if group]
        freedom = sum(one.size - 1 for one in logs)
        squares = sum(float(((one - one.mean()) ** 2).sum()) for one in logs)
        return cls(freedom, 2 * squares / freedom if freedom else 0.0)


def gain(
    ratios: Floats, first: Sequence[bool], plan: Plan, race: Scatter, single: Scatter, off: float, stop: Stop,
    options: RaceOptions,
) -> Gain | None:  # fmt: skip
    """The gain by these log ratios, of pairs in which the baseline came `first`; None for no pair.

    `race`, `single`: scatter within blocks of the race, and of all launches of the two from block to block.
    `off`: by how much the ratio may be off for the digits in which the response is reported.
    """
    if not ratios.size:
        return None
    place = plan.passed(ratios.size)
    made = ratios.size
    if len(plan.looks) > 1 and plan.looks[place] <= made:
        made = plan.looks[place]
    lent = Scatter(options.lent, race.variance) if race.freedom >= options.lent else Scatter(0, 0)
    signs = np.where(np.array(first[:made]), 1.0, -1.0)
    error = plan.errors[place] if plan.errors else 1 - stop.confidence
    found = bounds.interval(
        ratios[:made], signs, error, (lent.freedom, lent.variance), (single.freedom, single.variance),
        options,
    )  # fmt: skip
    low = None if found.low is None else found.low - off
    high = None if found.high is None else found.high + off
    tolerance = math.log1p(stop.within)
    verdict = None
    if low is not None and high is not None:
        verdict = "faster" if low > 0 else "not faster" if high < tolerance else None
    known = Interval(found.estimate, low, high, stop.confidence, made)
    more = None if verdict else _more(known, ratios.size, plan, tolerance)
    return Gain(known.map(math.exp), found.by, verdict, more)  # type: ignore[arg-type]


def _more(found: Interval, made: int, plan: Plan, tolerance: float) -> int | None:
    """Pairs to a verdict, if the interval narrows with the root of their number."""
    if found.half_width is None:
        return None
    margin = max(found.estimate, tolerance - found.estimate)
    needed = math.ceil(found.n * (found.half_width / margin) ** 2)
    if len(plan.looks) > 1:
        return next((n - made for n in plan.looks if n >= needed and n > made), None)
    return max(1, needed - made)
