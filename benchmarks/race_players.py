# SPDX-License-Identifier: Apache-2.0
"""Who plays on a landscape: the race, uniform blocks with the same guarantee, and the peers that have none."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from race_landscapes import Landscape

from corescale.conclude.race.elimination import Columns
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.plan import next_columns
from corescale.conclude.race.standing import Field, simplest, standing
from corescale.conclude.stats import Floats, hodges_lehmann

CONFIRM = 10
"""fresh blocks"""


@dataclass(frozen=True)
class Outcome:
    answer: int
    claimed: bool
    """within 2% of the best at 95%"""
    launches: int
    """the confirmation not counted"""
    blocks: int


def race(land: Landscape, most: int, within: float = 0.02) -> Outcome:
    """Until it claims, or has made so many launches. The first launch of today's counts; it tells nothing here."""
    field = Field(land.codes, land.today, within)
    blocks = np.empty((0, field.size))
    start = land.launches
    land.times(np.array([land.today]))
    while land.launches - start < most:
        columns = next_columns(field, blocks)
        if columns is None:
            break
        opened = np.isfinite(blocks).any(axis=0).all() if len(blocks) else False
        repeats = max(1, len(blocks) // OPTIONS.replan) if opened else 1
        for _ in range(repeats):
            blocks = np.vstack([blocks, land.block(columns)])
    return _outcome(field, blocks, land.launches - start)


def uniform(land: Landscape, most: int, within: float = 0.02) -> Outcome:
    """All configurations in every block, with the same bounds and looks."""
    field = Field(land.codes, land.today, within)
    everyone = list(range(field.size))
    blocks = np.empty((0, field.size))
    start = land.launches
    for look in OPTIONS.looks:
        blocks = np.vstack([blocks, *(land.block(everyone) for _ in range(look - len(blocks)))])
        if standing(field, blocks).bound <= field.tolerance or land.launches - start >= most:
            break
    return _outcome(field, blocks, land.launches - start)


def _outcome(field: Field, blocks: Floats, launches: int) -> Outcome:
    found = standing(field, blocks)
    return Outcome(simplest(field, found), bool(found.bound <= field.tolerance), launches, len(blocks))


def confirmation(land: Landscape, answer: int) -> tuple[float, float]:
    """Interval of log(T_today / T_answer) from fresh blocks."""
    rows = np.array([land.block([land.today, answer]) for _ in range(CONFIRM)])
    found = hodges_lehmann(rows[:, land.today] - rows[:, answer])
    return found.low or -math.inf, found.high or math.inf


Player = Callable[[Landscape, Sequence[int]], list[int]]
"""The answers after these budgets of launches, which rise."""


def race_at(land: Landscape, budgets: Sequence[int]) -> list[int]:
    """Of each budget it is told, and plays for it alone, on the same machine one after the other."""
    return [_raced(land, budget) for budget in budgets]


def _raced(land: Landscape, budget: int) -> int:
    """The block that would exceed the budget is cut off."""
    field, blocks, end = Field(land.codes, land.today), np.empty((0, land.truth.size)), land.launches + budget
    land.times(np.array([land.today]))
    while land.launches < end:
        columns = next_columns(field, blocks, end - land.launches)
        if columns is None:
            break
        blocks = np.vstack([blocks, land.block(columns, end - land.launches)])
    return simplest(field, standing(field, blocks))


def uniform_at(land: Landscape, budgets: Sequence[int]) -> list[int]:
    """Everything in turn, in random order; the lowest mean of what was launched."""
    size = land.truth.size
    drawn = np.concatenate([land.rng.permutation(size) for _ in range(-(-budgets[-1] // size))])[: budgets[-1]]
    seen = land.times(drawn)
    return [_lowest(drawn[:budget], seen[:budget], size) for budget in budgets]


def successive_halving_at(land: Landscape, budgets: Sequence[int]) -> list[int]:
    """Karnin et al. 2013: of each budget it is told, and plays for it alone."""
    return [_halved(land, budget) for budget in budgets]


def _halved(land: Landscape, budget: int) -> int:
    """The slower half of those left goes after each round, by all launches so far; a random half of the budget starts.

    Rounds share what is left of the budget equally, one launch of each at least.
    """
    left = land.rng.permutation(land.truth.size)[: max(2, budget // 2)]
    rounds = math.ceil(math.log2(left.size))
    sums, counts = np.zeros(land.truth.size), np.zeros(land.truth.size)
    for done in range(rounds):
        each = max(1, (budget - int(counts.sum())) // ((rounds - done) * left.size))
        for column in left[: budget - int(counts.sum())]:
            sums[column] += land.times(np.full(each, column)).sum()
            counts[column] += each
        means = sums[left] / np.maximum(counts[left], 1)
        left = left[np.argsort(means, kind="stable")[: math.ceil(left.size / 2)]]
    return int(left[0])


def tpe_at(land: Landscape, budgets: Sequence[int], repeats: int = 3) -> list[int]:
    """Optuna's default sampler on categories, each trial the mean of three launches; its best value."""
    import optuna  # noqa: PLC0415 - only for this comparison

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=int(land.rng.integers(1 << 31))))
    columns = {tuple(code): column for column, code in enumerate(land.codes.tolist())}
    levels = land.codes.max(axis=0) + 1
    answers = []
    for budget in budgets:
        while len(study.trials) < max(1, budget // repeats):
            trial = study.ask()
            code = tuple(trial.suggest_categorical(f"f{k}", list(range(n))) for k, n in enumerate(levels))
            study.tell(trial, float(land.times(np.full(repeats, columns[code])).mean()))
        answers.append(columns[tuple(study.best_params[f"f{k}"] for k in range(levels.size))])
    return answers


PLAYERS: dict[str, Player] = {
    "race": race_at,
    "uniform": uniform_at,
    "successive halving": successive_halving_at,
    "TPE": tpe_at,
}


def _lowest(drawn: Columns, seen: Floats, size: int) -> int:
    counts = np.bincount(drawn, minlength=size)
    means = np.bincount(drawn, seen, size) / np.maximum(counts, 1)
    return int(np.argmin(np.where(counts > 0, means, np.inf)))
