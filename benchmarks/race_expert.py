# SPDX-License-Identifier: Apache-2.0
"""The race beside an expert, at budgets of a few launches: scripts/bench race expert.

The expert tries today's launch, then each allocator and thread count alone (of one factor, each level) as far as the
budget goes, takes what was fastest, and spends the rest on fresh pairs of it and today's launch. Both are raced
by the loop of `tune` on the fake launcher, on the same landscapes.
"""

import dataclasses
import functools
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from race_adversaries import ADVERSARIES, CLEAR_LEADERS, FEW_LAUNCHES, Adversary, Raced, seeds

from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.budget import exceeds
from corescale.conclude.policy import Policy
from corescale.conclude.response import response
from corescale.conclude.stats import Floats
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations, one_at_a_time, today
from corescale.declare.plan import Block
from corescale.observe import store
from corescale.observe.launchers.fake import Fake
from corescale.observe.run import run
from corescale.records import Configuration, Record

Who = Literal["race", "expert"]
BUDGETS = (8, 12, 20, 40)
CHANCE = 2.0
"""standard errors from which a difference is more than chance"""

LANDSCAPES: dict[str, Adversary] = ADVERSARIES | {
    "plain tune": FEW_LAUNCHES["plain tune, 12x"],
    "clear leaders": CLEAR_LEADERS["clear leaders, 140x"],
}


def expert(experiment: Experiment) -> Policy:
    """See above."""
    now = today(experiment)
    tried = (now, *(one_at_a_time(experiment) or [c for c in configurations(experiment) if c != now]))

    def next_block(records: Sequence[Record]) -> Block | None:
        best = fastest(records, experiment)
        if best is None:
            return Block("measure", tried[: max(2, (experiment.stop.launches or len(tried)) - 1)])
        block = Block("confirm", (now, best))
        return None if best == now or exceeds(block, records, experiment) else block

    return next_block


def fastest(records: Sequence[Record], experiment: Experiment) -> Configuration | None:
    """What was fastest where it was tried, and never failed; None before."""
    bad = {record.configuration for record in records if not record.ok}
    seen = {r.configuration: response(r, experiment.response) for r in records if r.phase == "measure" and r.ok}
    good = {c: seconds for c, seconds in seen.items() if c not in bad}
    return min(good, key=lambda c: good[c], default=None)


@dataclasses.dataclass
class Score:
    """Of one race: 1 or 0."""

    led: int
    """the favourite is the best, or within 2% of it"""
    found: int
    """and fresh blocks confirm that it is faster than today's launch"""


def played(name: str, budget: int, who: Who, seed: int) -> Score:
    """One race of either."""
    land = at_budget(name, budget)
    if who == "race":
        return scored(land.raced(seed))
    experiment = land.experiment
    fake = Fake(experiment, land.landscape(seed))
    records = run(experiment, store.Memory(), fake, expert(experiment), fresh_seed=seeds(seed))
    picked = fastest(records, experiment)
    return scored(Raced(experiment, fake, records, recommend(records, experiment, picked)))


@functools.cache
def at_budget(name: str, budget: int) -> Adversary:
    """The landscape with that many launches."""
    land = LANDSCAPES[name]
    return dataclasses.replace(land, options=dict(land.options) | {"budget": f"{budget}x"})


def scored(found: Raced) -> Score:
    """What came of a race."""
    led = found.fake.truth(found.answer.winner) <= 1.02 * found.fake.truth(found.fake.best())
    return Score(int(led), int(led and not found.answer.keep_today))


def main(races: int, keep: Path | None = None, seconds: float = math.inf) -> None:
    """Print the table."""
    end = time.monotonic() + seconds
    print("| landscape | launches | races | leader right: race | expert | confirmed: race | expert | |")
    print("|" + "---|" * 8)
    behind = cells = 0
    for name in LANDSCAPES:
        for budget in BUDGETS:
            made = {who: _made(keep, name, budget, who, races, end) for who in ("race", "expert")}
            count = min(len(rows) for rows in made.values())
            if count < 2:
                continue
            race, other = (np.array(rows[:count], dtype=float) for rows in made.values())
            worse = [label for k, label in enumerate(("leader", "confirmed")) if _behind(race[:, k], other[:, k])]
            behind, cells = behind + len(worse), cells + 2
            shown = " | ".join(f"{100 * rows[:, k].mean():.0f}%" for k in (0, 1) for rows in (race, other))
            says = "behind: " + " and ".join(worse) if worse else ""
            print(f"| {name} | {budget} | {count} | {shown} | {says} |", flush=True)
    print(f"\nThe race is behind the expert by more than {CHANCE:g} standard errors in {behind} of {cells} shares.")


def _behind(race: Floats, other: Floats) -> bool:
    """By pairs of races with the same seed."""
    difference = other - race
    return bool(difference.mean() > CHANCE * difference.std(ddof=1) / math.sqrt(difference.size) + 1e-9)


def _made(keep: Path | None, name: str, budget: int, who: Who, races: int, end: float) -> list[list[int]]:
    path = None if keep is None else keep / f"expert-{who}-{name.replace(' ', '_')}-{budget}.json"
    rows: list[list[int]] = json.loads(path.read_text()) if path is not None and path.exists() else []
    while len(rows) < races and time.monotonic() < end:
        rows.append([*dataclasses.asdict(played(name, budget, who, len(rows))).values()])
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows))
    return rows[:races]
