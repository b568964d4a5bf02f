# SPDX-License-Identifier: Apache-2.0
"""What a study's findings decide, by simulated studies: scripts/bench findings [--studies N].

Prints the two tables of docs/study.md: how often "b is faster" holds where b is 5% faster, by noise of a launch, blocks
and levels that it must hold at; and how often the interval of a finding with `best` misses the truth where all levels
are alike, so that each is the best. The verdicts are those of conclude.answers; the launches are drawn here.
"""

import argparse
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from corescale.conclude.answers.findings import Answer, answers
from corescale.declare.experiment import Command, Experiment, Factor
from corescale.declare.outputs import Finding

BLOCKS = (6, 8, 12, 20)
GAIN, NOISES, LEVELS = 0.05, (0.02, 0.03, 0.05), (1, 4)
TIED = (2, 5, 10)
SEED = 1


def experiment(sides: Sequence[int], levels: int) -> Experiment:
    """A factor of the sides that are compared, and one of the levels at which they are."""
    factors = (
        Factor(name="side", kind="parameter", levels=tuple(sides)),
        Factor(name="size", kind="parameter", levels=tuple(range(1, levels + 1))),
    )
    return Experiment(
        verb="study", commands=(Command(name="main", argv=("true", "{side}", "{size}")),), factors=factors
    )


def launches(rng: np.random.Generator, asked: Experiment, blocks: int, noise: float, slower: float) -> pd.DataFrame:
    """Side 0 is slower by that, all others are alike."""
    sides, sizes = (factor.levels for factor in asked.factors)
    grid = pd.MultiIndex.from_product([range(1, blocks + 1), sides, sizes], names=["replicate", "side", "size"])
    found = grid.to_frame(index=False)
    found["time"] = np.exp(noise * rng.standard_normal(len(found))) * np.where(found["side"] == 0, 1 + slower, 1.0)
    return found.assign(machine="", status="ok", oversubscribed=False, p=1)


@dataclass(frozen=True)
class Simulated:
    """One cell of a table: studies that differ by their noise alone."""

    finding: Finding
    asked: Experiment
    noise: float
    slower: float = 0.0

    def share(self, of: Callable[[Answer], bool], blocks: int, studies: int) -> float:
        """Of the studies of so many blocks."""
        rng = np.random.default_rng(SEED)
        made = (launches(rng, self.asked, blocks, self.noise, self.slower) for _ in range(studies))
        return sum(of(answers(frame, self.asked, self.finding)[0]) for frame in made) / studies


def power(studies: int) -> Iterator[str]:
    finding = Finding(name="x", statement="b is faster", a={"side": 0}, b={"side": 1}, claim="> 1")
    for levels, noise in itertools.product(LEVELS, NOISES):
        cell = Simulated(finding, experiment((0, 1), levels), noise, GAIN)
        held = [cell.share(lambda one: one.verdict == "holds", blocks, studies) for blocks in BLOCKS]
        yield f"| {levels} | {noise:.0%} | " + " | ".join(f"{share:.0%}" for share in held) + " |"


def missed(studies: int) -> Iterator[str]:
    for tied in TIED:
        every = tuple(range(1, tied + 1))
        finding = Finding(name="x", statement="as the best", a={"side": 0}, b={"side": every}, best="side", claim="> 1")
        cell = Simulated(finding, experiment((0, *every), 1), noise=0.03)
        shares = [cell.share(lambda one: not covers(one), blocks, studies) for blocks in BLOCKS]
        yield f"| {tied} | " + " | ".join(f"{share:.1%}" for share in shares) + " |"


def covers(found: Answer) -> bool:
    low, high = found.ratio.low, found.ratio.high
    return low is not None and high is not None and math.log(low) <= 0 <= math.log(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=500, help="simulated in each cell")
    studies = parser.parse_args().studies
    columns = " | ".join(f"{n} blocks" for n in BLOCKS)
    print(f'{studies} studies a cell. "b is faster" holds, where it is 5% faster at each level:\n')
    print(f"| levels | noise of a launch | {columns} |\n|---|---|---|---|---|---|", *power(studies), sep="\n")
    print("\nIntervals of 95% that miss, where a and all levels that b is the best of are alike:\n")
    print(f"| levels | {columns} |")
    print("|---|---|---|---|---|", *missed(studies), sep="\n")


if __name__ == "__main__":
    main()
