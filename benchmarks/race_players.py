# SPDX-License-Identifier: Apache-2.0
"""Who plays on a landscape: the race, uniform blocks with the same guarantee, and the peers that have none."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from race_landscapes import Landscape

from corescale.conclude import elimination
from corescale.conclude.elimination import Columns
from corescale.conclude.race_plan import REPLAN, next_columns, with_today_due
from corescale.conclude.standing import Field, simplest, standing
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
        repeats = max(1, len(blocks) // REPLAN) if opened else 1
        for _ in range(repeats):
            blocks = np.vstack([blocks, land.block(with_today_due(columns, blocks, land.today))])
    return _outcome(field, blocks, land.launches - start)


def uniform(land: Landscape, most: int, within: float = 0.02) -> Outcome:
    """All configurations in every block, with the same bounds and looks."""
    field = Field(land.codes, land.today, within)
    everyone = list(range(field.size))
    blocks = np.empty((0, field.size))
    start = land.launches
    for look in elimination.LOOKS:
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
    """The race's answers when it is stopped after so many launches: the block in flight does not count."""
    field, start = Field(land.codes, land.today), land.launches
    land.times(np.array([land.today]))
    blocks = np.empty((0, field.size))
    answers: list[int] = []
    while len(answers) < len(budgets):
        columns = next_columns(field, blocks)
        row = None if columns is None else land.block(with_today_due(columns, blocks, land.today))
        while len(answers) < len(budgets) and (row is None or land.launches - start > budgets[len(answers)]):
            answers.append(simplest(field, standing(field, blocks)) if len(blocks) else land.today)
        blocks = blocks if row is None else np.vstack([blocks, row])
    return answers


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
    """With too little for all, of a random part of them."""
    size = min(land.truth.size, max(2, budget // 2))
    left = land.rng.permutation(land.truth.size)[:size]
    steps = max(1, math.ceil(math.log2(size)))
    for _ in range(steps):
        drawn = np.tile(left, max(1, budget // (steps * left.size)))
        seen = land.times(drawn)
        means = [seen[drawn == column].mean() for column in left]
        left = left[np.argsort(means)[: max(1, math.ceil(left.size / 2))]]
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
