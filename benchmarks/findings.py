# SPDX-License-Identifier: Apache-2.0
"""What a study's findings decide, by simulated studies: scripts/bench findings [--studies N].

Prints the tables of docs/study.md: how often "b is faster" holds where b is 5% faster, by noise of a launch, blocks and
levels that it must hold at; how often the interval of a finding with `best` misses the truth where all levels are
equal, so that each is the best; how often a study that goes on until its findings are decided says what is not true,
and after how many blocks it stops; and how often the interval of a finding `along` a factor has the truth. The verdicts
are those of conclude.answers; the launches are drawn here.
"""

import argparse
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from corescale.conclude.answers import study, thresholds
from corescale.conclude.answers.findings import Answer, answers
from corescale.declare.claimed_range import MARGIN
from corescale.declare.experiment import Command, Experiment, Factor
from corescale.declare.outputs import Finding
from corescale.declare.stop import DECIDED_BLOCKS, Stop

BLOCKS = (6, 8, 12, 20)
GAIN, NOISES, LEVELS = 0.05, (0.02, 0.03, 0.05), (1, 4)
TIED = (2, 5, 10)
SEED = 1
SCATTERS, TRUTHS = (0.05, 0.1, 0.2), (1.0, 1.02, 1.06, 1.1)
"""scatter of a block's log-ratio; and true ratios, by which b is faster"""
EACH = 10
"""answers of one finding"""
SIZES, BOUND = (100, 200, 400, 800), 1 / 0.9


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
    """One cell of a table: studies that differ only in their noise."""

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


def until_decided(studies: int) -> Iterator[str]:
    for (each, scatter), truth in itertools.product(((1, 0.05), (1, 0.1), (1, 0.2), (EACH, 0.1)), TRUTHS):
        rng = np.random.default_rng(SEED)
        runs = [decided(rng, each, scatter, truth) for _ in range(max(1, studies // each))]
        wrong = sum(any(untrue(one, truth) for one in said) for said in runs) / len(runs)
        every = [one for said in runs for one in said]
        settled = sum(one.verdict != "open" for one in every) / len(every)
        blocks = sum(one.ratio.n for one in every) / len(every)
        yield f"| {each} | {scatter:g} | {truth:g} | {wrong:.1%} | {settled:.0%} | {blocks:.0f} |"


def decided(rng: np.random.Generator, each: int, scatter: float, truth: float) -> Sequence[Answer]:
    """The answers of one study, at as many levels of `each`; those that are open had all blocks."""
    asked = experiment((0, 1), each).model_copy(update={"stop": Stop(rule="decided", max_blocks=DECIDED_BLOCKS)})
    finding = Finding(name="x", statement="b is faster", a={"side": 0}, b={"side": 1}, each=("size",), claim="> 1")
    rows = launches(rng, asked, DECIDED_BLOCKS, scatter / math.sqrt(2), truth - 1)
    return [one for one in study.answers(rows, asked, finding) if isinstance(one, Answer)]


def untrue(said: Answer, truth: float) -> bool:
    """Of the claim that the ratio is above 1."""
    true = {"holds": truth > 1, "does not hold": truth <= 1, "equal": truth <= 1 + MARGIN}
    return not true.get(said.verdict, True)


def along(studies: int) -> Iterator[str]:
    """1 + f = 1 + (s / size)^2 / 9 of y, so that y is at most the bound from size s on: 400 for a, 200 for b."""
    asked = experiment((0, 1), 1).model_copy(
        update={"factors": tuple(Factor(name=name, kind="parameter", levels=levels) for name, levels in
                                 (("side", (0, 1)), ("size", SIZES)))}
    )  # fmt: skip
    finding = Finding(
        name="x",
        statement="b from smaller sizes on",
        a={"side": 0},
        b={"side": 1},
        along="size",
        at_most=BOUND,
        claim="> 1",
    )
    for noise, blocks in itertools.product((0.01, 0.03), (6, 12, 24)):
        rng = np.random.default_rng(SEED)
        made = [thresholds.answers(sized(rng, asked, blocks, noise), asked, finding)[0].ratio for _ in range(studies)]
        hit = sum(one.covers(2) for one in made) / studies
        widths = [one.high / one.low for one in made if one.low and one.high is not None and math.isfinite(one.high)]
        width = f"{np.median(widths):.2f}" if len(widths) > studies / 2 else "unbounded"
        yield f"| {noise:.0%} | {blocks} | {hit:.1%} | {width} |"


def sized(rng: np.random.Generator, asked: Experiment, blocks: int, noise: float) -> pd.DataFrame:
    found = launches(rng, asked, blocks, noise, 0.0)
    reaches = np.where(found["side"] == 0, 400.0, 200.0)
    found["time"] *= 1 + (reaches / found["size"]) ** 2 / 9
    return found


def covers(found: Answer) -> bool:
    low, high = found.ratio.low, found.ratio.high
    return low is not None and high is not None and math.log(low) <= 0 <= math.log(high)


COLUMNS = " | ".join(f"{n} blocks" for n in BLOCKS)
TABLES: dict[str, tuple[str, str, Callable[[int], Iterator[str]]]] = {
    "power": ("b is faster by 5% at each level, and that holds:", f"levels | noise of a launch | {COLUMNS}", power),
    "best": ("Intervals of 95% that miss, where a and all levels of b are equal:", f"levels | {COLUMNS}", missed),
    "decided": (
        f"Until decided, at most {DECIDED_BLOCKS} blocks: claimed is > 1, and {MARGIN:.0%} would not matter:",
        "answers of the finding | scatter of a block | true ratio | studies with a wrong verdict | decided | blocks",
        until_decided,
    ),
    "along": (
        "Along a factor, 95% intervals of how many times larger the size is, truly 2:",
        "noise of a launch | blocks | have the truth | upper end over lower end",
        along,
    ),
}
"""by name: what is said above, the headings, and the rows"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=500, help="simulated in each cell")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    asked = parser.parse_args()
    for said, heads, rows in (TABLES[name] for name in asked.tables):
        print(
            f"\n{said} {asked.studies} studies a cell.\n\n| {heads} |\n|{'---|' * (heads.count('|') + 1)}", flush=True
        )
        for row in rows(asked.studies):
            print(row, flush=True)


if __name__ == "__main__":
    main()
