# SPDX-License-Identifier: Apache-2.0
"""Who plays on a landscape: the race, uniform blocks with the same guarantee, and the peers that have none."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from race_adversaries import MACHINE, seeds
from race_landscapes import Landscape

from corescale.conclude.answers.recommendation import Recommendation, recommend
from corescale.conclude.race.elimination import Columns
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.race import race as policy
from corescale.conclude.race.standing import Field, simplest, standing
from corescale.conclude.stats import Floats
from corescale.declare import command_line
from corescale.declare.command_line.request import TuneRequest
from corescale.observe import store
from corescale.observe.launchers import landscape as fake
from corescale.observe.launchers.fake import Fake
from corescale.observe.run import run
from corescale.records import Configuration, Record

CLAIM = 0.02 + 1e-9
"""largest bound of a claim that counts"""


@dataclass(frozen=True)
class Outcome:
    answer: int
    claimed: bool
    """within 2% of the best at 95%"""
    launches: int
    """the confirmation not counted"""
    blocks: int
    covered: bool | None = None
    """whether the interval of the gain holds the truth; None where there is none"""
    faster: bool = False


def race(land: Landscape) -> Outcome:
    """Until it claims, and is confirmed."""
    records, answer = raced(land, budget="none")
    column, gain = column_of(land, answer.winner), answer.gain
    truth = math.exp(land.truth[land.today] - land.truth[column])
    measured = [record for record in records if record.phase != "confirm"]
    return Outcome(
        column,
        answer.within is not None and answer.within <= CLAIM,
        len(measured),
        len({record.block for record in measured}),
        None if gain is None or gain.low is None else gain.covers(truth),
        not answer.keep_today,
    )


def column_of(land: Landscape, chosen: Configuration) -> int:
    """Its row in the codes."""
    code = [int(str(chosen[f"f{k}"])) for k in range(land.codes.shape[1])]
    return int(np.flatnonzero((land.codes == code).all(axis=1))[0])


def raced(land: Landscape, **options: str) -> tuple[Sequence[Record], Recommendation]:
    """The product's own loop, from the command line to the store, on the fake launcher."""
    names = [f"f{k}" for k in range(land.codes.shape[1])]
    levels = [
        f"{name}={','.join(map(str, range(n)))}" for name, n in zip(names, land.codes.max(axis=0) + 1, strict=True)
    ]
    request = TuneRequest(threads="1", factor=levels, **options)  # type: ignore[arg-type]
    experiment = command_line.tune(request, ["x", *(f"{{{name}}}" for name in names)], MACHINE)
    seed = int(land.rng.integers(1 << 31))
    launcher = Fake(experiment, as_fake(land, names, seed))
    records = run(experiment, store.Memory(), launcher, policy(experiment), fresh_seed=seeds(seed))
    return records, recommend(records, experiment)


def as_fake(land: Landscape, names: Sequence[str], seed: int) -> fake.Landscape:
    """The same truth, noise and drift for the fake launcher; a launch takes about a second."""
    places = [dict(zip(names, map(str, code), strict=True)) for code in land.codes.tolist()]
    pairs = list(zip(places, land.truth, land.sigma, strict=True))
    return fake.Landscape(
        interactions=tuple(fake.Interaction(levels=place, times=math.exp(truth)) for place, truth, _ in pairs),
        noise=fake.Disturbance(size=float(land.sigma[0])),
        own=tuple(fake.Own(levels=place, noise=fake.Disturbance(size=float(size))) for place, _, size in pairs
                  if np.ptp(land.sigma) > 0),
        period=fake.Period(seconds=400, height=land.drift) if land.drift else None,
        seed=seed,
    )  # fmt: skip


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


Player = Callable[[Landscape, Sequence[int]], list[int]]
"""The answers after these budgets of launches, which rise."""


def race_at(land: Landscape, budgets: Sequence[int]) -> list[int]:
    """Of each budget it is told, and plays for it alone; nothing of it is kept for a confirmation."""
    return [column_of(land, raced(land, budget=f"{budget}x", confirm="0")[1].winner) for budget in budgets]


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
