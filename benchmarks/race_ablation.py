# SPDX-License-Identifier: Apache-2.0
"""Every rule and constant of the race off or changed in turn, beside the race as it is on the same seeds.

scripts/bench race ablation [--races N] [--only WORDS ...]. A row has the launches without a budget as a ratio, and what
changes of gains found (in points) and of the mean regret with a budget, each with half of its 95% interval over seeds.
A quarter of the races has no budget: those take most of the time.
"""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np
from race_landscapes import LANDSCAPES, Outcome, raced

from corescale.conclude.race import bounds, confirmation, race
from corescale.conclude.race.confirmation import Plan
from corescale.conclude.race.options import OPTIONS, RaceOptions
from corescale.conclude.race.race import Race
from corescale.declare import plan

Made = Sequence[Sequence[Outcome]]
"""a row a landscape, a column a seed"""


@dataclasses.dataclass(frozen=True)
class Variant:
    """The race with one rule or constant off or changed."""

    said: str
    options: RaceOptions = OPTIONS
    patches: tuple[tuple[Any, str, Any], ...] = ()

    def races(self, names: Sequence[str], seeds: int, budget: str) -> Made:
        """The seeds are those of every other variant."""
        with contextlib.ExitStack() as stack:
            for owner, name, value in self.patches:
                stack.enter_context(mock.patch.object(owner, name, value))
            return [[raced(LANDSCAPES[n], s, budget, self.options) for s in range(seeds)] for n in names]


OTHERS: Mapping[str, tuple[float, ...]] = {
    "growth": (1.2, 3), "lent": (0, 8), "ranked": (10**6,), "level": (1e-3, 1e9), "interaction": (1e-3, 1e9),
    "rare_levels": (0, 1), "fewest_pairs": (2, 12), "lead_errors": (4, 8), "pairs_share": (0.1, 0.5), "cap": (1.5, 1e9),
}  # fmt: skip
"""Values at which a constant is off or changed; a third and three times as much if none is here."""


def constants() -> list[Variant]:
    found = []
    for name, value in dataclasses.asdict(OPTIONS).items():
        for other in OTHERS.get(name, (value / 3, value * 3)):
            changed = dataclasses.replace(OPTIONS, **{name: type(value)(other)})
            found.append(Variant(f"`{name}` {other:g} for {value:g}", changed))
    return found


def _without_order(ratios: Any, signs: Any, *more: Any) -> Any:
    return INTERVAL(ratios, np.ones_like(signs), *more)


def _leader(self: Race) -> Any:
    return self._everyone[self.standing.leader]


def _several(_: Any, first: int, begun: int, affordable: float, error: float, options: RaceOptions) -> Plan:
    del begun, affordable
    return PLAN(first, 2, math.inf, error, options)


def _share_alone(self: Race) -> int:
    whole, found = self.budget.whole, self.standing
    if math.isinf(whole) or (len(found.rows) and found.leader == self._columns[self.now]):
        return 0
    return int(whole * self.options.pairs_share)


PLAN = Plan.of
INTERVAL = confirmation.interval


RULES = [
    Variant("no order term in pairs", patches=((confirmation, "interval", _without_order),)),
    Variant("no scatter of single launches", patches=((confirmation, "FEW", 0),)),
    Variant("no belief", dataclasses.replace(OPTIONS, level=1e9, interaction=1e-6, rare_levels=1.0)),
    Variant("no model of threads x ranks", patches=((bounds, "trend", lambda *_: None),)),
    Variant("the leader, not the fewest changes", patches=((Race, "leader", _leader),)),
    Variant("no half steps", patches=((race, "half_steps", lambda logs, *_: np.zeros(logs.shape[1])),)),
    Variant("later looks always planned", patches=((Plan, "of", classmethod(_several)),)),
    Variant("the first look at 6 pairs", patches=((confirmation, "first_look", lambda *_: 6),)),
    Variant("the first look at 10 pairs", patches=((confirmation, "first_look", lambda *_: 10),)),
    Variant("room for pairs: only a share of a budget", patches=((Race, "_room", _share_alone),)),
    Variant("no room kept for pairs", patches=((Race, "_room", lambda *_: 0),)),
    Variant("no pair in eight repeats an order", patches=((plan, "SHIFTED", 10**6),)),
]  # fmt: skip


def difference(made: Made, first: Made, of: Callable[[Outcome], float]) -> tuple[float, float]:
    """Mean over landscapes of the difference of two variants on the same seeds, and half of its 95% interval."""
    rows = [np.array([of(a) - of(b) for a, b in zip(*both, strict=True)]) for both in zip(made, first, strict=True)]
    spread = sum(float(row.var(ddof=1)) / row.size for row in rows if row.size > 1)
    return float(np.mean([row.mean() for row in rows])), 1.96 * math.sqrt(spread) / len(rows)


def mean(made: Made, of: Callable[[Outcome], float]) -> float:
    """Over landscapes, of the means over seeds."""
    return float(np.mean([np.mean([of(one) for one in row]) for row in made]))


def with_gain(made: Made) -> Made:
    """The landscapes in which there is a gain of 5%."""
    return [row for row in made if row[0].worth]


def _found(one: Outcome) -> float:
    return one.found


def _regret(one: Outcome) -> float:
    return one.regret


def cells(made: Mapping[str, Made], first: Mapping[str, Made] | None) -> list[str]:
    """Of the race as it is its figures; of another what it changes."""
    result, budgets = [], [budget for budget in made if budget != "none"]
    if "none" in made:
        launches = sum(one.launches for row in made["none"] for one in row)
        ratio, half = difference(made["none"], (first or made)["none"], lambda one: math.log(one.launches))
        result.append(f"{launches}" if first is None else f"x{math.exp(ratio):.3f} ± {math.expm1(half):.3f}")
    for of, some in ((_found, with_gain), (_regret, list)):
        each = {budget: some(made[budget]) for budget in budgets}
        if first is None:
            result += [f"{100 * mean(each[budget], of):.1f}%" for budget in budgets]
            continue
        apart = [difference(each[budget], some(first[budget]), of) for budget in budgets]
        result += [f"{100 * change:+.1f} ± {100 * half:.1f}" for change, half in apart]
    every = [one for each in made.values() for row in each for one in row]
    wrong, claimed, false = (sum(getattr(one, name) for one in every) for name in ("wrong", "claimed", "false"))
    return [*result, f"{wrong} of {claimed}", f"{false}"]


def main(landscapes: Sequence[str], budgets: Sequence[str], races: int, only: Sequence[str]) -> None:
    """Print a row a variant."""
    variants = [one for one in (*constants(), *RULES) if not only or any(word in one.said for word in only)]
    some = [budget[:-1] for budget in budgets if budget != "none"]
    heads = ["changed", *(["launches"] if "none" in budgets else []), *(f"found at {n}" for n in some)]
    heads += [*(f"regret at {n}" for n in some), "wrong claims", "false gains"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    seeds = {budget: races if budget != "none" else max(2, races // 4) for budget in budgets}
    first: dict[str, Made] | None = None
    for variant in (Variant("as it is"), *variants):
        made = {budget: variant.races(landscapes, count, budget) for budget, count in seeds.items()}
        print(f"| {variant.said} | {' | '.join(cells(made, first))} |", flush=True)
        first = first or made
