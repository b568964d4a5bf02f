# SPDX-License-Identifier: Apache-2.0
"""Landscapes with a known truth for races: log times over a grid of factors, noise, drift, and a clock of launches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude.race.elimination import Columns
from corescale.conclude.race.surrogate import Codes
from corescale.conclude.stats import Floats
from corescale.declare.plan import with_today, with_todays_due

GRIDS = {24: (4, 3, 2), 60: (5, 4, 3), 200: (5, 5, 4, 2)}
"""levels of each factor"""

Rng = np.random.Generator


def grid(levels: Sequence[int]) -> Codes:
    """Every combination, today's launch (all zeros) first."""
    return np.stack(np.meshgrid(*map(np.arange, levels), indexing="ij"), axis=-1).reshape(-1, len(levels))


def flat(codes: Codes, rng: Rng) -> Floats:
    """All alike: every race is an A/A race."""
    return np.zeros(len(codes))


def one_effect(codes: Codes, rng: Rng) -> Floats:
    """The first factor matters, up to 40%; among the others all is tied."""
    effect = rng.permutation(np.linspace(0, 0.35, codes[:, 0].max() + 1))
    return np.asarray(effect[codes[:, 0]])


def interacting(codes: Codes, rng: Rng) -> Floats:
    """Two factors and their combinations matter, and the third a little."""
    a, b = rng.normal(0, 0.15, codes[:, 0].max() + 1), rng.normal(0, 0.1, codes[:, 1].max() + 1)
    together = rng.normal(0, 0.08, (a.size, b.size))
    last = rng.normal(0, 0.03, codes[:, -1].max() + 1)
    return np.asarray(a[codes[:, 0]] + b[codes[:, 1]] + together[codes[:, 0], codes[:, 1]] + last[codes[:, -1]])


def trap(codes: Codes, rng: Rng) -> Floats:
    """Additive but for one configuration, the best, whose every factor is the worst elsewhere."""
    truth = sum((0.06 * codes[:, f] for f in range(codes.shape[1])), np.zeros(len(codes)))
    truth[-1] = truth.min() - 0.12
    return np.asarray(truth)


def near_ties(codes: Codes, rng: Rng) -> Floats:
    """A tenth within 3% of the best, the others up to 50% behind."""
    truth = rng.uniform(0.05, 0.4, len(codes))
    best = rng.choice(len(codes), max(2, len(codes) // 10), replace=False)
    truth[best] = np.linspace(0, 0.03, best.size)
    return truth


TRUTHS: dict[str, Callable[[Codes, Rng], Floats]] = {
    "flat": flat,
    "one effect": one_effect,
    "two interacting": interacting,
    "trap": trap,
    "near ties": near_ties,
    "unequal noise": near_ties,
    "drift": interacting,
}


@dataclass
class Landscape:
    """A machine for one race: launches cost nothing, each moves the clock by one."""

    codes: Codes
    truth: Floats
    sigma: Floats
    """of the log time of each configuration"""
    drift: float
    """height of a swing of all log times, there and back in 400 launches"""
    rng: Rng
    today: int = 0
    launches: int = 0
    since: int = 0
    """launches of blocks since today's last one"""

    @property
    def regret(self) -> Floats:
        """True time over the best one, less 1."""
        return np.asarray(np.expm1(self.truth - self.truth.min()))

    def block(self, columns: Sequence[int] | Columns, most: int | None = None) -> Floats:
        """One launch of each column in random order, today's among them as in a plan; `most`: the first of them alone.

        A row, NaN where not launched.
        """
        chosen = with_todays_due(list(columns), self.today, self.since)
        order = np.array(with_today(self.rng.permutation(chosen).tolist(), self.today)[:most], dtype=np.intp)
        behind = np.flatnonzero(order[::-1] == self.today)
        self.since = int(behind[0]) if behind.size else self.since + order.size
        seen = self.times(order)
        counts = np.bincount(order, minlength=self.truth.size)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.bincount(order, seen, self.truth.size) / np.where(counts, counts, np.nan))

    def times(self, order: Columns) -> Floats:
        """Log times of launches in this order."""
        when = self.launches + np.arange(order.size)
        self.launches += order.size
        noise = self.sigma[order] * self.rng.standard_normal(order.size)
        return np.asarray(self.truth[order] + noise + self.drift * np.sin(when * (2 * np.pi / 400)))


def landscape(name: str, size: int, noise: float, seed: int) -> Landscape:
    """One of TRUTHS; everything random about it, and about its launches, comes from the seed."""
    rng = np.random.default_rng([seed, size, int(1000 * noise)])
    codes = grid(GRIDS[size])
    sigma = np.full(size, noise)
    if name == "unequal noise":
        sigma = noise * rng.choice([0.5, 1.0, 3.0], size)
    return Landscape(codes, TRUTHS[name](codes, rng), sigma, 0.1 if name == "drift" else 0.0, rng)
