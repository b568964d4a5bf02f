# SPDX-License-Identifier: Apache-2.0
"""What a race promises, on simulated landscapes and on real programs: scripts/bench race PART.

landscapes: wrong claims, gains found, false gains, coverage and launches, a row a landscape and budget. ablation: every
rule and constant off or changed in turn (race_ablation.py). loop: a few races a landscape by the product's own loop.
programs: real ones (race_programs.py). docs/race.md explains, docs/results/race_simulation.md has what was printed.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import race_ablation
import race_programs
from race_landscapes import LANDSCAPES, Outcome, looped, raced
from scipy.special import betaincinv

BUDGETS = ("12x", "20x", "40x", "100x", "none")


def upper_limit(count: int, of: int) -> float:
    """Upper end of the one-sided 95% interval of a share (Clopper & Pearson 1934)."""
    return 1.0 if count >= of else float(betaincinv(count + 1, of - count, 0.95))


def share(count: int, of: int) -> str:
    return f"{count} of {of}" if of else ""


def row(made: Sequence[Outcome]) -> str:
    """Wrong claims with their upper limit, gains found, false gains, coverage, launches, regret."""
    wrong, claimed = sum(one.wrong for one in made), sum(one.claimed for one in made)
    limit = f" (< {upper_limit(wrong, claimed):.0%})" if claimed else ""
    found, worth = sum(one.found for one in made), sum(one.worth for one in made)
    covered, intervals = sum(one.covered for one in made), sum(one.interval for one in made)
    launches = float(np.mean([one.launches for one in made]))
    regret = 100 * float(np.mean([one.regret for one in made]))
    cells = [f"{share(wrong, claimed)}{limit}", share(found, worth), str(sum(one.false for one in made))]
    return " | ".join([*cells, share(covered, intervals), f"{launches:.0f}", f"{regret:.1f}%"])


def landscapes(given: argparse.Namespace) -> None:
    """A row a landscape and budget."""
    play = looped if given.part == "loop" else raced
    print(
        "| landscape | budget | wrong claims | 5% found | false gains | covered | launches | regret |\n|" + "---|" * 8
    )
    every: dict[str, list[Outcome]] = {budget: [] for budget in given.budgets}
    for name in given.landscapes:
        for budget in given.budgets:
            made = [play(LANDSCAPES[name], seed, budget) for seed in range(given.races)]
            every[budget] += made
            print(f"| {name} | {budget} | {row(made)} |", flush=True)
    for budget, together in every.items():
        print(f"| together | {budget} | {row(together)} |")


def ablation(given: argparse.Namespace) -> None:
    """See race_ablation.py."""
    race_ablation.main(given.landscapes, given.budgets, given.races, given.only)


def programs(given: argparse.Namespace) -> None:
    """See race_programs.py."""
    names = given.programs or list(race_programs.PROGRAMS)
    race_programs.main(names, Path(given.keep) if given.keep else None, given.blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=["landscapes", "loop", "ablation", "programs"])
    parser.add_argument("--landscapes", nargs="+", choices=list(LANDSCAPES), default=list(LANDSCAPES))
    parser.add_argument("--budgets", nargs="+", default=list(BUDGETS))
    parser.add_argument("--races", type=int, default=20, help="of each landscape and budget")
    parser.add_argument(
        "--only", nargs="+", default=[], help="ablation: what is said of the changed begins or contains"
    )
    parser.add_argument("--programs", nargs="+", choices=list(race_programs.PROGRAMS), default=None)
    parser.add_argument("--blocks", type=int, default=30, help="programs: exhaustive blocks")
    parser.add_argument("--keep", help="programs: folder for what is finished")
    given = parser.parse_args()
    started = time.monotonic()
    {"landscapes": landscapes, "loop": landscapes, "ablation": ablation, "programs": programs}[given.part](given)
    print(f"\n{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
