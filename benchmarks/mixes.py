# SPDX-License-Identifier: Apache-2.0
"""Threads x ranks on 192 cores, simulated: what the overhead law saves a race: scripts/bench mixes.

Mixes t x m with t m <= 192 are raced with and without the law as the trend of what is tried first.
Best is 64 ranks of 3 threads, as for the ant colony of the source's machine; times are made, none is measured. In the
first truth the law holds; in the second overheads bend; in the third each mix is also off by 3% at random.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from corescale.conclude.race import mixes
from corescale.conclude.race.plan import next_columns
from corescale.conclude.race.standing import Field, simplest, standing
from corescale.conclude.stats import Floats

CORES = 192
NEAR = 0.02
"""regret of an answer that is as good as the best"""
THREADS, RANKS = (1, 2, 3, 6, 12, 24, 48, 96, 192), (1, 2, 4, 8, 16, 32, 64, 96, 192)
MIXES = np.array([(t, m) for t in THREADS for m in RANKS if t * m <= CORES], dtype=np.float64)
TODAY = int(np.flatnonzero((MIXES[:, 0] == CORES) & (MIXES[:, 1] == 1))[0])
Rng = np.random.Generator


def lawful(rng: Rng) -> Floats:
    """f = a1 (t - 1) + a2 (m - 1), with the best at 3 x 64."""
    t, m = MIXES.T
    return np.asarray(np.log((1 + 0.05 * (t - 1) + 0.05 * 9 / CORES * (m - 1)) / (t * m)))


def bending(rng: Rng) -> Floats:
    """Overheads that no straight line describes: t^0.8 and m^1.2, with the best at 3 x 64."""
    t, m = MIXES.T
    ranks = 0.05 * 0.8 * 3**0.8 / (1.2 * 64**1.2)
    return np.asarray(np.log((1 + 0.05 * (t**0.8 - 1) + ranks * (m**1.2 - 1)) / (t * m)))


def uneven(rng: Rng) -> Floats:
    """Bending, and every mix off by 3% at random; the best may be another then."""
    return np.asarray(bending(rng) + rng.normal(0, 0.03, len(MIXES)))


TRUTHS: dict[str, Callable[[Rng], Floats]] = {
    "the law holds": lawful,
    "overheads bend": bending,
    "bend, and 3% off": uneven,
}


@dataclass
class Race:
    """One race: launches until the answer is as good as the best for good, and how good it was at some budgets."""

    near: int
    regrets: dict[int, float]


def raced(truth: Floats, law: bool, noise: float, most: int, rng: Rng, budgets: tuple[int, ...]) -> Race:
    """A race of `most` launches."""
    order = rng.permutation(len(MIXES))  # which mixes are tried first for being unlike is luck otherwise
    laid, truth, today = MIXES[order], truth[order], int(np.flatnonzero(order == TODAY)[0])
    codes = np.stack([np.unique(column, return_inverse=True)[1] for column in laid.T], axis=-1).astype(np.int64)
    field = Field(codes=codes, today=today, mixes=laid if law else None)
    blocks, made, near, regrets = np.empty((0, len(codes))), 0, 0, dict.fromkeys(budgets, math.nan)
    while made < most and (columns := next_columns(field, blocks, most - made)) is not None:
        row = np.full(len(codes), np.nan)
        row[columns] = truth[columns] + noise * rng.standard_normal(len(columns)) + 0.01 * rng.standard_normal()
        blocks, made = np.vstack([blocks, row]), made + len(columns)
        regret = math.expm1(truth[simplest(field, standing(field, blocks))] - truth.min())
        near = made if regret > NEAR or near == 0 else near
        regrets |= {budget: regret for budget in budgets if made <= budget or math.isnan(regrets[budget])}
    return Race(near, regrets)


def forecast(truth: Floats, noise: float, rng: Rng) -> float:
    """Regret of the mix that the law alone names after one launch each of today's and five others."""
    few = [(192, 1), (1, 192), (1, 96), (48, 4), (12, 16), (6, 16)]
    seen = np.full(len(MIXES), np.nan)
    for t, m in few:
        column = int(np.flatnonzero((MIXES[:, 0] == t) & (MIXES[:, 1] == m))[0])
        seen[column] = truth[column] + noise * rng.standard_normal()
    named = mixes.trend(MIXES, seen)
    assert named is not None, "six mixes determine the law"
    return math.expm1(truth[int(np.argmin(named))] - truth.min())


def line(name: str, noise: float, races: int, budgets: tuple[int, ...]) -> str:
    """A row: both kinds of race on the same truths."""
    truths = [TRUTHS[name](np.random.default_rng(seed)) for seed in range(races)]
    drawn = [np.random.default_rng(10**6 + seed) for seed in range(races)]
    alone = [forecast(truth, noise, rng) for truth, rng in zip(truths, drawn, strict=True)]
    made = {
        law: [
            raced(truth, law, noise, max(budgets), np.random.default_rng(2 * 10**6 + seed), budgets)
            for seed, truth in enumerate(truths)
        ]
        for law in (True, False)
    }
    near = {law: float(np.median([one.near for one in of])) for law, of in made.items()}
    cells = [" / ".join(f"{np.mean([one.regrets[b] for one in of]):.1%}" for of in made.values()) for b in budgets]
    saved = f"{near[True]:.0f} / {near[False]:.0f} ({1 - near[True] / near[False]:.0%} saved)"
    return f"| {name} | {noise:.0%} | {np.mean(alone):.1%} | {' | '.join(cells)} | {saved} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--races", type=int, default=4)
    parser.add_argument("--noise", type=float, default=0.03)
    parser.add_argument("--budgets", type=int, nargs="+", default=[12, 24, 48])
    given = parser.parse_args()
    print(f"Simulated: {len(MIXES)} mixes of threads x ranks on {CORES} cores, {given.races} races a row.")
    print("x / y: with the law and without; regrets are means, launches medians.\n")
    heads = ["truth", "noise", "regret of the law alone, 6 launches"]
    heads += [f"regret at {budget} launches" for budget in given.budgets]
    heads += [f"launches until within {NEAR:.0%} for good"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name in TRUTHS:
        print(line(name, given.noise, given.races, tuple(given.budgets)), flush=True)
