# SPDX-License-Identifier: Apache-2.0
"""What a race promises, by simulation on landscapes with a known truth: python benchmarks/race.py guarantee|budgets.

guarantee: how often a claim "within 2% of the best" is wrong; how often a change is recommended where nothing differs;
how often the interval of the confirmation covers the truth, after selection; launches against uniform blocks which end
by the same bounds. budgets: the true regret of the answer against peers, which get as many launches. Optuna is needed
for the latter. docs/race.md explains, docs/results/race_simulated.md holds what it printed.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import race_players as players
from race_landscapes import GRIDS, TRUTHS, landscape

MOST = 10**6
BUDGETS = (10, 24, 60, 120, 240, 480)


@dataclass
class Tally:
    """Of the races on one kind of landscape."""

    races: int = 0
    claimed: int = 0
    wrong: int = 0
    changed: int = 0
    covered: int = 0
    faster: int = 0
    launches: float = 0.0
    uniform: float = 0.0
    full_blocks: float = 0.0

    @property
    def ratio(self) -> float:
        """Launches of the race over those of uniform blocks, on the same landscapes."""
        return self.launches / self.uniform if self.uniform else float("nan")


def tally(name: str, size: int, noise: float, races: int, against: int) -> Tally:
    """So many races, the first `against` of them repeated with uniform blocks."""
    result = Tally()
    for seed in range(races):
        land = landscape(name, size, noise, seed)
        outcome = players.race(land, MOST)
        result.races += 1
        result.claimed += outcome.claimed
        result.wrong += outcome.claimed and bool(land.regret[outcome.answer] > 0.02)
        if outcome.answer != land.today:
            low, high = players.confirmation(land, outcome.answer)
            result.changed += 1
            result.covered += low <= land.truth[land.today] - land.truth[outcome.answer] <= high
            result.faster += low > 0
        if seed < against:
            other = players.uniform(landscape(name, size, noise, seed), MOST)
            result.launches += outcome.launches / against
            result.uniform += other.launches / against
            result.full_blocks += other.blocks / against
    return result


def guarantee(sizes: list[int], noises: list[float], races: int) -> None:
    print("| landscape | configurations | noise | races | claimed | wrong | changed | covered | false faster ", end="")
    print("| launches | uniform (blocks) | ratio |\n|" + "---|" * 12)
    total = Tally()
    for size in sizes:
        for noise in noises:
            for name in TRUTHS:
                count = max(4, int(races * 24 / size * (0.3 if noise >= 0.1 else 1)))
                found = tally(name, size, noise, count, max(3, count // 8))
                total.claimed, total.wrong = total.claimed + found.claimed, total.wrong + found.wrong
                total.changed, total.covered = total.changed + found.changed, total.covered + found.covered
                false = f"{found.faster}" if name == "flat" else ""
                print(
                    f"| {name} | {size} | {noise:.0%} | {found.races} | {found.claimed} | {found.wrong} "
                    f"| {found.changed} | {found.covered} | {false} "
                    f"| {found.launches:.0f} | {found.uniform:.0f} ({found.full_blocks:.0f}) | {found.ratio:.2f} |",
                    flush=True,
                )
    print(f"\nwrong claims: {total.wrong} of {total.claimed}; ", end="")
    print(f"intervals that cover after selection: {total.covered} of {total.changed}")


def budgets(sizes: list[int], noises: list[float], races: int) -> None:
    print("Mean true regret of the answer, %.\n\n| landscape | configurations | noise | player | ", end="")
    print(" | ".join(map(str, BUDGETS)) + " |\n|" + "---|" * (4 + len(BUDGETS)))
    for size in sizes:
        for noise in noises:
            for name in TRUTHS:
                for player, play in players.PLAYERS.items():
                    means = [_regret(play, name, size, noise, budget, races) for budget in BUDGETS]
                    shown = " | ".join(f"{100 * mean:.2f}" for mean in means)
                    print(f"| {name} | {size} | {noise:.0%} | {player} | {shown} |", flush=True)


def _regret(play: Callable[..., int], name: str, size: int, noise: float, budget: int, races: int) -> float:
    lands = [landscape(name, size, noise, seed) for seed in range(races)]
    return float(np.mean([land.regret[play(land, budget)] for land in lands]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=["guarantee", "budgets"])
    parser.add_argument("--sizes", type=int, nargs="+", choices=list(GRIDS), default=list(GRIDS))
    parser.add_argument("--noise", type=float, nargs="+", default=[0.01, 0.03, 0.1])
    parser.add_argument("--races", type=int, default=100)
    given = parser.parse_args()
    started = time.monotonic()
    {"guarantee": guarantee, "budgets": budgets}[given.part](given.sizes, given.noise, given.races)
    print(f"\n{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
