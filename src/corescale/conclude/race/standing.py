# SPDX-License-Identifier: Apache-2.0
"""How a race stands: who leads, and how far from the best the leader may be. Arrays only; logarithms are natural."""

import functools
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from corescale.conclude.race import elimination
from corescale.conclude.race.elimination import Bounds, Columns, Fit
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.surrogate import Belief, Codes, believe, tamed
from corescale.conclude.stats import Floats
from corescale.declare.stop import Stop


@dataclass(frozen=True, slots=True)
class Field:
    """What is raced. A column is a configuration."""

    codes: Codes
    """levels as numbers, shape (configurations, factors)"""
    today: int
    """column of today's launch"""
    within: float = Stop().within
    confidence: float = Stop().confidence
    entered: int = 0
    """configurations that the race began with, where some have lost since: the error was shared among them all"""
    alone: tuple[int, ...] = ()
    """columns that differ from today's launch by the allocator or the number of threads alone, most hopeful first"""
    plain: tuple[int, ...] = ()
    """of each column the one without the settings of its allocator: itself where it has none, -1 where that one lost;
    empty: nothing is set"""
    mixes: Floats | None = None
    """threads and ranks of each column, shape (configurations, 2), where both are raced"""

    @property
    def size(self) -> int:
        """Configurations."""
        return len(self.codes)

    @property
    def without_settings(self) -> npt.NDArray[np.bool_]:
        """Whether a column sets nothing for its allocator."""
        columns = np.arange(self.size)
        return np.asarray((np.array(self.plain, dtype=np.intp) if self.plain else columns) == columns)

    @property
    def tail(self) -> float:
        """Error of one comparison at one look."""
        return elimination.tail(self.confidence, max(self.size, self.entered))

    @property
    def tolerance(self) -> float:
        """`within` as a log-ratio."""
        return float(np.log1p(self.within))


@dataclass(frozen=True, slots=True)
class Standing:
    """How the race stands after some blocks."""

    rows: Floats
    """log times, the opening joined; shape (rows, configurations)"""
    fit: Fit
    belief: Belief
    favourite: int
    """the column believed to be fastest"""
    best: int
    """the leader, which the others are compared with: near the favourite, and the nearest to a proof"""
    upper: Floats
    """bounds of log(T_best / T_j) for every j"""
    launches: Columns
    """launches of each configuration, those of the opening included"""
    noise: Floats
    """variance of the log time of one launch; guessed where nothing was launched twice"""
    bounds: Bounds
    """of every configuration, by these rows"""

    @property
    def bound(self) -> float:
        """Bound of log(T_best / T) for the true best; inf while a configuration was launched less than twice."""
        return float(self.upper.max(initial=0.0))


def standing(field: Field, blocks: Floats) -> Standing:
    """The standing by log times of blocks x configurations, NaN where not launched; at least one launch."""
    rows = elimination.joined(blocks, field.today)
    fitted = elimination.fit(rows)
    noise = _noise(fitted if fitted.degrees.any() else elimination.fit(blocks), blocks, field.today)
    belief = believe(field.codes, tamed(blocks), noise)
    leaders, launches = contenders(belief, fitted), np.isfinite(blocks).sum(axis=0)
    bounds = Bounds(rows, field.tail)

    def led_by(c: int) -> Standing:
        return Standing(rows, fitted, belief, int(leaders[0]), c, bounds.of(c), launches, noise, bounds)

    return min((led_by(int(c)) for c in leaders), key=functools.partial(_distance, field))


def _distance(field: Field, found: Standing) -> tuple[int, float]:
    """The distance to a proof: comparisons that are open, and launches that they are expected to need."""
    return int((found.upper > field.tolerance).sum()), float(to_come(field, found).sum())


def _noise(fitted: Fit, blocks: Floats, today: int) -> Floats:
    """Variance of one launch of each. As long as only today's was launched twice, from one of today's to the next."""
    again = np.delete(np.isfinite(blocks).sum(axis=0), today) > 1
    steps = np.diff(blocks[np.isfinite(blocks[:, today]), today])
    guess = float((steps**2).mean() / 2) if steps.size >= OPTIONS.steps else OPTIONS.unknown_variance
    return np.where((fitted.variances > 0) & again.any(), fitted.variances, guess) + 1e-12


def to_come(field: Field, found: Standing) -> Floats:
    """Launches that each comparison with the leader is expected to need until it is settled; 0 where it is."""
    c, belief = found.best, found.belief
    room = np.maximum(belief.mean - belief.mean[c] + field.tolerance, OPTIONS.nearest * field.tolerance)
    needed = (
        scipy.special.stdtrit(OPTIONS.planned_freedom, 1 - field.tail) ** 2 * (found.noise + found.noise[c]) / room**2
    )
    made = np.isfinite(found.rows[:, [c]] - found.rows).sum(axis=0)
    left = np.clip(np.minimum(needed, OPTIONS.last_look) - made, 1.0, None)
    return np.where(found.upper > field.tolerance, left, 0.0)


def contenders(belief: Belief, fitted: Fit) -> Columns:
    """The launched configurations that are believed to be fastest, fastest first."""
    order = np.argsort(np.where(fitted.counts > 0, belief.mean, np.inf), kind="stable")
    near = belief.mean <= belief.mean[order[0]] + belief.deviation[order[0]]
    return order[: max(1, min(OPTIONS.contenders, int((near & (fitted.counts > 0)).sum())))]


def worth_trying(field: Field, found: Standing) -> npt.NDArray[np.bool_]:
    """The columns but for settings of an allocator that, without them, neither leads nor ties."""
    if not field.plain:
        return field.without_settings
    plain, mean, first = np.array(field.plain, dtype=np.intp), found.belief.mean, found.favourite
    near = mean <= mean[first] + max(float(found.belief.deviation[first]), field.tolerance)
    leads = near & (found.fit.counts > 0)
    return np.asarray(field.without_settings | ((plain >= 0) & leads[plain]))


def simplest(field: Field, found: Standing, barred: Collection[int] = ()) -> int:
    """The one proved within the tolerance with the fewest changes from today's; if none is proved, the favourite.

    `barred`: columns that may not be the answer as things stand.
    """
    mean = found.belief.mean
    changes = (field.codes != field.codes[field.today]).sum(axis=1)
    allowed = (found.fit.counts > 0) & ~np.isin(np.arange(field.size), list(barred))
    favourite = int(np.argmin(np.where(allowed, mean, np.inf))) if allowed.any() else field.today
    near = np.flatnonzero(allowed & (mean <= mean[favourite] + OPTIONS.simpler * field.tolerance))
    ordered = near[np.lexsort((mean[near], changes[near]))]
    return next((int(c) for c in ordered if regret(found, int(c)) <= field.tolerance), favourite)


def regret(found: Standing, c: int) -> float:
    """Upper bound of the log-regret of one configuration; inf where there is none."""
    return float(found.bounds.of(c).max())


def regrets(found: Standing, off: Floats) -> Floats:
    """Upper bounds of every configuration's log-regret, true all together at `confidence`; inf where there is none.

    `off`: by how much the log times of each may be off for the digits in which they are told.
    """
    told = [found.bounds.of(c) + np.where(np.arange(off.size) == c, 0.0, off + off[c]) for c in range(off.size)]
    return np.array([float(upper.max()) for upper in told])
