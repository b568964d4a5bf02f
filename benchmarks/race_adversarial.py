# SPDX-License-Identifier: Apache-2.0
"""What a race claims and misses on landscapes that it has been wrong on: scripts/bench race adversarial.

A claim is wrong where the answer is further from the best than the bound beside it, or had failed in a launch. A gain
is missed where today's launch is kept although the best is faster by 5%.
"""

import dataclasses
import itertools
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from race_adversaries import EVERY, Raced
from race_gains import GAINS
from scipy.special import betaincinv

LANDSCAPES = EVERY | GAINS
WORTH = 1.05
"""a gain from which one that is not found is missed"""


@dataclass
class Tally:
    """Of the races on one landscape."""

    races: int = 0
    claimed: int = 0
    """with a bound"""
    wrong: int = 0
    launches: int = 0
    fresh: int = 0
    """launches to confirm"""
    faster: int = 0
    """answers that were confirmed to be faster than today's"""
    false_faster: int = 0
    gains: int = 0
    """races in which there was something to gain"""
    missed: int = 0
    undecided: int = 0
    intervals: int = 0
    covered: int = 0
    by_t: int = 0
    """of these intervals: those of a few pairs by a t test"""
    covered_by_t: int = 0
    led: int = 0
    """races whose favourite was the best, or within 2% of it"""

    def add(self, found: Raced) -> None:
        """One more race."""
        answer, best = found.answer, found.fake.truth(found.fake.best())
        self.races += 1
        self.claimed += found.bound is not None
        self.wrong += found.wrong
        self.launches += sum(record.phase != "confirm" for record in found.records)
        self.fresh += sum(record.phase == "confirm" for record in found.records)
        self.faster += not answer.keep_today
        self.false_faster += not answer.keep_today and found.gain <= 1
        self.gains += found.fake.truth(answer.today) / best >= WORTH
        self.missed += answer.keep_today and found.fake.truth(answer.today) / best >= WORTH
        self.undecided += not answer.decided
        if answer.fresh is not None and answer.fresh.ratio.low is not None:
            covers, by_t = answer.fresh.ratio.covers(found.gain), answer.fresh.by == "t"
            self.intervals += 1
            self.covered += covers
            self.by_t += by_t
            self.covered_by_t += by_t and covers
        self.led += found.fake.truth(answer.winner) / best <= 1.02


def tally(name: str, races: int, first: int = 0) -> Tally:
    """Of this many races with the seeds from `first`."""
    found = Tally()
    for seed in range(first, first + races):
        found.add(LANDSCAPES[name].raced(seed))
    return found


def upper_limit(count: int, of: int) -> float:
    """Upper end of the one-sided 95% interval of a share (Clopper & Pearson 1934)."""
    return 1.0 if count >= of else float(betaincinv(count + 1, of - count, 0.95))


def made(races: int, keep: Path | None, seconds: float, names: Sequence[str]) -> dict[str, Tally]:
    """Of these landscapes the races of these seeds; one in turn of each, and no more after so long.

    What is finished is kept in a folder, a line a race, and taken from there.
    """
    end = time.monotonic() + seconds
    found = {name: _kept(keep, name)[:races] for name in names}
    for seed, name in itertools.product(range(races), names):
        if seed == len(found[name]) and time.monotonic() < end:
            found[name].append(tally(name, 1, seed))
            if keep is not None:
                with _file(keep, name).open("a") as file:
                    file.write(json.dumps(dataclasses.asdict(found[name][-1])) + "\n")
    return {name: _together(some) for name, some in found.items() if some}


def _file(keep: Path, name: str) -> Path:
    keep.mkdir(parents=True, exist_ok=True)
    return keep / f"{name.replace(' ', '_')}.jsonl"


def _kept(keep: Path | None, name: str) -> list[Tally]:
    if keep is None or not _file(keep, name).exists():
        return []
    return [Tally(**json.loads(line)) for line in _file(keep, name).read_text().splitlines()]


def _together(some: list[Tally]) -> Tally:
    names = [counted.name for counted in dataclasses.fields(Tally)]
    return Tally(**{name: sum(getattr(one, name) for one in some) for name in names})


def main(
    races: int, keep: Path | None = None, seconds: float = math.inf, names: Sequence[str] = tuple(LANDSCAPES)
) -> None:
    """Print the table."""
    print(
        "| landscape | races | wrong | upper limit | faster | false | missed | not decided | covered | by t | leader ",
        end="",
    )
    print("| launches | fresh |\n|" + "---|" * 13)
    rows = made(races, keep, seconds, names or [*LANDSCAPES])
    for name, found in rows.items():
        print(_row(name, found))
    every = _together([*rows.values()])
    print(f'\nTogether: wrong {every.wrong} of {every.claimed}; false "faster" {every.false_faster}; ', end="")
    print(f"covered {_share(every.covered, every.intervals)}, by t {_share(every.covered_by_t, every.by_t)}.")


def _share(count: int, of: int) -> str:
    return f"{count} of {of} ({count / of:.1%})" if of else "none"


def _row(name: str, found: Tally) -> str:
    wrong = f"{found.wrong} of {found.claimed}" if found.claimed else "none"
    limit = f"{upper_limit(found.wrong, found.claimed):.1%}" if found.claimed else ""
    missed = f"{found.missed} of {found.gains}" if found.gains else ""
    covered = f"{found.covered} of {found.intervals}" if found.intervals else ""
    by_t = f"{found.covered_by_t} of {found.by_t}" if found.by_t else ""
    return (
        f"| {name} | {found.races} | {wrong} | {limit} | {found.faster} | {found.false_faster} | {missed} "
        f"| {found.undecided} | {covered} | {by_t} | {found.led} | {found.launches / found.races:.0f} "
        f"| {found.fresh / found.races:.0f} |"
    )
