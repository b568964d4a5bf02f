# SPDX-License-Identifier: Apache-2.0
"""What a race promises, on landscapes and on programs: scripts/bench race PART.

guarantee, by simulation with a known truth: how often a claim "within 2% of the best" is wrong; how often a change is
recommended where nothing differs; how often the interval of the confirmation covers the truth, after selection;
launches against uniform blocks which end by the same bounds. budgets: the true regret of the answer against peers
(needs `pip install optuna`). programs, adversarial, expert: see race_programs.py and so on. With --keep DIR every
finished cell is written there and not made again. docs/race.md explains, docs/results/ holds what it printed.
"""

import argparse
import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import race_adversarial
import race_expert
import race_players as players
import race_programs
from race_adversarial import LANDSCAPES
from race_landscapes import GRIDS, TRUTHS, landscape
from scipy.special import stdtr

from corescale.conclude.stats import Floats

MOST = 10**6
BUDGETS = (10, 24, 60, 120, 240)
WIDE, MANY_BLOCKS = 0.10, 25
"""from this spread and this number of uniform blocks on, a race is to take at most a quarter of the launches"""


@dataclass
class Tally:
    """Of the races on one kind of landscape."""

    races: int = 0
    claimed: int = 0
    wrong: int = 0
    """claims of one that is more than 2% behind the best"""
    changed: int = 0
    """answers that fresh blocks gave an interval of"""
    covered: int = 0
    faster: int = 0
    """confirmed to be faster"""
    paired: int = 0
    """races repeated with uniform blocks; means over these:"""
    launches: float = 0.0
    uniform: float = 0.0
    full_blocks: float = 0.0

    @property
    def ratio(self) -> float:
        """Launches of the race over those of uniform blocks, on the same landscapes."""
        return self.launches / self.uniform if self.uniform else float("nan")

    def add(self, other: "Tally") -> None:
        """Counts alone."""
        for name in ("races", "claimed", "wrong", "changed", "covered", "faster"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def tally(name: str, size: int, noise: float, races: int, against: int) -> Tally:
    """That number of races, the first `against` of them repeated with uniform blocks."""
    result = Tally(paired=against)
    for seed in range(races):
        land = landscape(name, size, noise, seed)
        outcome = players.race(land)
        result.races += 1
        result.claimed += outcome.claimed
        result.wrong += outcome.claimed and bool(land.regret[outcome.answer] > 0.02)
        result.changed += outcome.covered is not None
        result.covered += outcome.covered is True
        result.faster += outcome.faster
        if seed < against:
            other = players.uniform(landscape(name, size, noise, seed), MOST)
            result.launches += outcome.launches / against
            result.uniform += other.launches / against
            result.full_blocks += other.blocks / against
    return result


Cell = tuple[str, int, float]


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    return ((name, size, noise) for size in given.sizes for noise in given.noise for name in given.landscapes
            if name in TRUTHS)  # fmt: skip


def races_of(cell: Cell, given: argparse.Namespace) -> int:
    """Fewer where one takes long."""
    _, size, noise = cell
    return max(4, int(given.races * 24 / size * (0.3 if noise >= 0.1 else 1)))


def kept(cell: Cell, given: argparse.Namespace, make: Callable[[], Any]) -> Any:
    """What was made of a cell; None where it would have to be made, and the time is over."""
    path = file_of(cell, given)
    if path is not None and path.exists():
        return json.loads(path.read_text())
    if time.monotonic() > given.end:
        return None
    made = make()
    if path is not None:
        path.write_text(json.dumps(made))
    return made


def file_of(cell: Cell, given: argparse.Namespace, player: str = "") -> Path | None:
    if given.keep is None:
        return None
    name = "-".join(filter(None, (given.part, player, cell[0], str(cell[1]), f"{cell[2]:g}")))
    Path(given.keep).mkdir(parents=True, exist_ok=True)
    return Path(given.keep) / f"{name.replace(' ', '_')}.json"


def regrets(player: str, cell: Cell, given: argparse.Namespace) -> list[list[float]]:
    """True regrets of a player's answers, a row a race and a column a budget; fewer where the time is over."""
    path = file_of(cell, given, player)
    rows: list[list[float]] = json.loads(path.read_text()) if path is not None and path.exists() else []
    while len(rows) < given.players_races and time.monotonic() < given.end:
        land = landscape(*cell, len(rows))
        rows.append(land.regret[players.PLAYERS[player](land, BUDGETS)].tolist())
        if path is not None:
            path.write_text(json.dumps(rows))
    return rows[: given.players_races]


def guarantee(given: argparse.Namespace) -> None:
    print("| landscape | configurations | noise | races | claimed | wrong | changed | covered | false faster ", end="")
    print("| paired | launches | uniform (blocks) | ratio | goal |\n|" + "---|" * 14)
    total, flat = Tally(), Tally()
    for cell in cells(given):
        count = races_of(cell, given)
        against = min(count, max(3, count // 4))
        made = kept(cell, given, lambda: dataclasses.asdict(tally(*cell, count, against)))  # noqa: B023 - called at once
        if made is None:
            continue
        found = Tally(**made)
        total.add(found)
        if cell[0] == "flat":
            flat.add(found)
        print(_row(cell, found), flush=True)
    print(f"\nwrong claims: {total.wrong} of {total.claimed} ", end="")
    print(f"(upper limit {race_adversarial.upper_limit(total.wrong, total.claimed):.1%}); ", end="")
    print(f"false faster than today's: {flat.faster} of {flat.races} races where all is alike; ", end="")
    print(f"intervals that cover after selection: {total.covered} of {total.changed}", end="")
    print(f" ({total.covered / max(total.changed, 1):.1%})")


def _row(cell: Cell, found: Tally) -> str:
    name, size, noise = cell
    goal = 0.25 if spread(name, size, noise) >= WIDE and found.full_blocks >= MANY_BLOCKS else 1.05
    false = f"{found.faster}" if name == "flat" else ""
    met = "met" if found.ratio <= goal else f"missed ({goal})"
    return (
        f"| {name} | {size} | {noise:.0%} | {found.races} | {found.claimed} | {found.wrong} "
        f"| {found.changed} | {found.covered} | {false} | {found.paired} "
        f"| {found.launches:.0f} | {found.uniform:.0f} ({found.full_blocks:.0f}) | {found.ratio:.2f} | {met} |"
    )


def spread(name: str, size: int, noise: float) -> float:
    """Of the first landscape of a kind: slowest over fastest, less 1."""
    return float(landscape(name, size, noise, 0).regret.max())


def budgets(given: argparse.Namespace) -> None:
    print("Mean true regret of the answer in %, at each number of launches; bold where no other player is lower.\n")
    print("| landscape | configurations | noise | player | " + " | ".join(map(str, BUDGETS)) + " |")
    print("|" + "---|" * (4 + len(BUDGETS)))
    found: dict[str, list[Floats]] = {player: [] for player in players.PLAYERS}
    many, wanted = given.players_races, [cell for cell in cells(given) if cell[0] != "flat"]
    made_of: list[Cell] = []
    for cell in wanted:
        rows = {player: regrets(player, cell, given) for player in found}
        if min(map(len, rows.values())) < many:
            continue
        made_of.append(cell)
        for player, made in found.items():
            made.append(np.array(rows[player]))
        means = {player: made[-1].mean(axis=0) for player, made in found.items()}
        lowest = np.min(list(means.values()), axis=0)
        for player, mean in means.items():
            shown = " | ".join(_share(one, best) for one, best in zip(mean, lowest, strict=True))
            print(f"| {cell[0]} | {cell[1]} | {cell[2]:.0%} | {player} | {shown} |", flush=True)
    if not made_of:
        return
    _means(found)
    print(f"\n{many} races a cell, {len(made_of)} of {len(wanted)} landscapes.\n")
    for player in list(found)[1:]:
        print(_against(player, made_of, found["race"], found[player]))


def _means(found: dict[str, list[Floats]]) -> None:
    print("\n| player, all cells | " + " | ".join(map(str, BUDGETS)) + " |\n|" + "---|" * (1 + len(BUDGETS)))
    for player, made in found.items():
        print(f"| {player} | " + " | ".join(f"{100 * mean:.2f}" for mean in np.mean(made, axis=(0, 1))) + " |")


def _against(player: str, made_of: list[Cell], race: list[Floats], other: list[Floats]) -> str:
    """Of pairs of cell and budget: where the mean regret is not higher, and where it is by two standard errors."""
    differences = np.array(race) - np.array(other)
    mean, error = differences.mean(axis=1), differences.std(axis=1, ddof=1) / np.sqrt(differences.shape[1])
    ahead, behind = int((mean <= 1e-9).sum()), np.argwhere(mean > 2 * error + 1e-9)
    cells = [(*made_of[cell], BUDGETS[budget]) for cell, budget in behind]
    where = "; ".join(f"{name}, {size}, {noise:.0%}, {budget} launches" for name, size, noise, budget in cells)
    chance = float(stdtr(differences.shape[1] - 1, -2)) * int((error > 0).sum())
    said = f"{player}: the race is not behind in {ahead} of {mean.size}, and behind by two standard errors in"
    said += f" {len(cells)} (by chance in {chance:.0f}, if the two were alike)"
    return f"* {said}{': ' if cells else ''}{where}."


def _share(mean: float, best: float) -> str:
    return f"**{100 * mean:.2f}**" if mean <= best + 1e-9 else f"{100 * mean:.2f}"


def programs(given: argparse.Namespace) -> None:
    names = given.programs or list(race_programs.PROGRAMS)
    race_programs.main(names, Path(given.keep) if given.keep else None, given.blocks)


def adversarial(given: argparse.Namespace) -> None:
    names = [name for name in given.landscapes if name in LANDSCAPES]
    race_adversarial.main(
        given.races, Path(given.keep) if given.keep else None, given.seconds, names or list(LANDSCAPES)
    )


def expert(given: argparse.Namespace) -> None:
    race_expert.main(given.races, Path(given.keep) if given.keep else None, given.seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=["guarantee", "budgets", "programs", "adversarial", "expert"])
    parser.add_argument("--programs", nargs="+", choices=list(race_programs.PROGRAMS), default=None)
    parser.add_argument("--landscapes", nargs="+", choices=[*TRUTHS, *LANDSCAPES], default=list(TRUTHS))
    parser.add_argument("--sizes", type=int, nargs="+", choices=list(GRIDS), default=list(GRIDS))
    parser.add_argument("--noise", type=float, nargs="+", default=[0.01, 0.03, 0.1])
    parser.add_argument("--races", type=int, default=400, help="of 24 configurations; larger grids get fewer")
    parser.add_argument("--players-races", type=int, default=30, help="of every cell of budgets")
    parser.add_argument("--blocks", type=int, default=30, help="programs: exhaustive blocks")
    parser.add_argument("--keep", help="folder for finished cells")
    parser.add_argument("--seconds", type=float, default=math.inf, help="nothing new is begun after so long")
    given = parser.parse_args()
    started = time.monotonic()
    given.end = started + given.seconds
    parts = [guarantee, budgets, programs, adversarial, expert]
    next(part for part in parts if part.__name__ == given.part)(given)
    print(f"\n{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
