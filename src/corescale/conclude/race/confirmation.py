# SPDX-License-Identifier: Apache-2.0
"""Confirmation pairs of one configuration and the baseline: at which numbers they are looked at, and what they show.

A leader leads partly by luck, so its gain is measured by pairs made after the race. The first look is planned from the
lead and the noise of the race. It gets half of the error, and each later look gets half of the remaining error.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy

from corescale.conclude.race import bounds
from corescale.conclude.race.answer import Gain
from corescale.conclude.race.options import RaceOptions
from corescale.conclude.stats import Floats, Interval, tail_count, walsh_bounds
from corescale.declare.stop import Stop

FEW = 2  # degrees of freedom; with 2 the half width of a t interval is 4.3 standard errors, and with 3 it is 3.2


@dataclass(frozen=True, slots=True)
class Plan:
    """The numbers of pairs at the looks, and the error of each look."""

    looks: tuple[int, ...] = ()
    errors: tuple[float, ...] = ()

    @classmethod
    def of(cls, first: int, begun: int, affordable: float, error: float, options: RaceOptions) -> "Plan":
        """`begun`: looks that were planned before the first pair, 0 before that. A single one has all of the error."""
        several = bounds.looks(first, options.growth)
        if begun < 2 and affordable < several[1]:
            return cls((first if begun else int(max(1, min(first, affordable))),), (error,))
        return cls(several, tuple(error / 2**k for k in range(1, len(several) + 1)))


def first_look(lead: float, noise: float, options: RaceOptions) -> int:
    """Pairs to the first look, if the gain is this lead and the variance of a launch this noise."""
    needed = 2 * noise * (options.lead_errors / max(lead, 1e-3)) ** 2
    return max(options.fewest_pairs, min(options.most_pairs, math.ceil(needed)))


class Scatter(NamedTuple):
    """The variance of the log ratio of two launches, and its degrees of freedom."""

    freedom: float = 0.0
    variance: float = 0.0


def scatter(groups: Iterable[Sequence[float]]) -> Scatter:
    """The scatter of single launches around the means of their groups."""
    logs = [np.log(group) for group in groups if group]
    freedom, squares = sum(one.size - 1 for one in logs), sum(float(((one - one.mean()) ** 2).sum()) for one in logs)
    return Scatter(freedom, 2 * squares / freedom if freedom else 0.0)


def gain(
    ratios: Floats, first: Sequence[bool], plan: Plan, race: Scatter, single: Scatter, off: float, stop: Stop,
    options: RaceOptions,
) -> Gain | None:  # fmt: skip
    """The gain from these log ratios; None if there are none. `first`: the pairs in which the baseline was launched
    first.

    `race`: the scatter within blocks of the race. `single`: the scatter of all launches of the two over blocks. `off`:
    the rounding error of the ratio, from the digits in which the response is reported.
    """
    if not ratios.size:
        return None
    place = max((k for k, n in enumerate(plan.looks) if n <= ratios.size), default=0)  # the last look that was passed
    made = min(plan.looks[place], ratios.size) if len(plan.looks) > 1 else ratios.size
    lent = Scatter(options.lent, race.variance) if race.freedom >= options.lent else Scatter()
    signs = np.where(np.array(first[:made]), 1.0, -1.0)
    error = plan.errors[place] if plan.errors else 1 - stop.confidence
    middle, reach, by = interval(ratios[:made], signs, error, lent, single, options)
    low, high = (None, None) if reach is None else (middle - reach[0] - off, middle + reach[1] + off)
    tolerance, verdict = math.log1p(stop.within), None
    if low is not None and high is not None:
        verdict = "faster" if low > 0 else "not faster" if high < tolerance else None
    known = Interval(middle, low, high, stop.confidence, made)
    most = max(middle, tolerance - middle)  # the half width below which there is a verdict
    quantised = verdict is None and off >= most
    more = None if verdict or quantised else _more(known, ratios.size, plan, most, off)
    return Gain(known.map(math.exp), by, verdict, more, quantised)  # type: ignore[arg-type]


def interval(
    ratios: Floats, signs: Floats, error: float, lent: Scatter, single: Scatter, options: RaceOptions
) -> tuple[float, tuple[float, float] | None, Literal["signed ranks", "t"]]:
    """The centre of pairs with alternating order, the distances from it to the ends of the interval, and the method.

    One order term removes the effect of being first, as in any crossover. `lent`, `single`: see `gain`. No distances if
    the scatter is unknown.
    """
    n, both = ratios.size, np.unique(signs).size > 1
    count = tail_count(n, error / 2)
    if 2 * n >= options.ranked and count >= 0:
        order = np.median(np.subtract.outer(ratios[signs > 0], ratios[signs < 0])) / 2 if both else 0.0
        centre, low, high = map(float, walsh_bounds(ratios - signs * order, count))
        return centre, (centre - low, high - centre), "signed ranks"
    design = np.column_stack([np.ones(n), signs]) if both else np.ones((n, 1))
    inverse = np.linalg.inv(design.T @ design)
    effects = inverse @ design.T @ ratios
    freedom = lent.freedom + n - design.shape[1]
    if freedom > FEW:
        variance = (lent.freedom * lent.variance + float(((ratios - design @ effects) ** 2).sum())) / freedom
    else:  # almost nothing is known about pairs
        freedom, variance = single.freedom, single.variance
    if n < 2 or freedom <= 0:
        return float(effects[0]), None, "t"
    reach = float(scipy.special.stdtrit(freedom, 1 - error / 2)) * math.sqrt(variance * inverse[0, 0])
    return float(effects[0]), (reach, reach), "t"


def _more(found: Interval, made: int, plan: Plan, most: float, off: float) -> int | None:
    """Further pairs until the half width is `most`, if all of it but `off` narrows with the root of their number."""
    if found.half_width is None:
        return None
    needed = math.ceil(found.n * ((found.half_width - off) / (most - off)) ** 2)
    if len(plan.looks) > 1:
        return next((n - made for n in plan.looks if n >= needed and n > made), None)
    return max(1, needed - made)
