# SPDX-License-Identifier: Apache-2.0
"""What `tune --explain` saves and loses: the same races with and without it.

scripts/bench listening [--races N] [--programs NAME ...]. Simulated races have a planted ledger: gains within what the
rows say, or, to see what a wrong ledger costs, a gain of 10% by an allocator although nothing is allocated. A real
program is explained, and all its configurations are launched in some blocks. Races of 100 launches without a named
factor are then made of these times and their noise. Counted are the launches until the leader is, and stays, within 5%
of the best of everything; the usual answers are compared in fresh pairs of launches.
"""

import argparse
import math
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from race_programs import PROGRAMS, QUERY, USEFUL, log_file, measured, records_of, source, words

from corescale import native
from corescale.api import listening
from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.answers.verdict import compare
from corescale.conclude.explain.changes import chances
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.policy import Uniform
from corescale.conclude.race.race import Race
from corescale.conclude.response import table
from corescale.declare import command_line, plan
from corescale.declare.catalogue import space
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configuration, configurations
from corescale.declare.plan import Block
from corescale.declare.request import TuneRequest
from corescale.machine import Machine
from corescale.records import Configuration, Record

NOISE, BUDGETS = 0.02, ("100x", "none")
RACES, PAIRS = 10, 12
LOST = 0.02
"""by which an answer may be behind the other"""
Truth = Callable[[Configuration], float]


def planted(kind: str, seed: int) -> tuple[Mapping[str, float], Truth]:
    """Shares of rows, and times that go with them: each factor gives back at most what its rows have."""
    drawn = random.Random(f"{kind} {seed}")
    few, many = (0.0, 0.009), (0.03, 0.4)
    allocating = drawn.uniform(*(many if kind in ("allocating", "both") else few))
    waiting = drawn.uniform(*(many if kind in ("waiting", "both") else few)) * 0.5
    shares = dict.fromkeys(LedgerRow, 0.0) | {"allocating": allocating, "barrier and join wait": waiting}
    effects: dict[tuple[str, object], float] = {}

    def effect(name: str, level: object, most: float) -> float:
        return effects.setdefault((name, level), drawn.uniform(-most, most))

    wrong = 0.1 if kind == "wrong ledger" else 0.0

    def truth(c: Configuration) -> float:
        levels = dict(c.levels)
        gain = 0.0
        if levels["allocator"] != "inherited" and levels["allocator"] != "system":
            gain += effect("allocator", levels["allocator"], allocating * 0.7) + wrong
        gain += sum(effect(name, level, allocating / 10) for name, level in c.levels
                    if name.startswith(("GLIBC", "MI", "MALLOC", "TC", "TBB")) and level != "inherited")  # fmt: skip
        gain += effect("wait", levels.get("OMP_WAIT_POLICY"), waiting) if "OMP_WAIT_POLICY" in levels else 0.0
        return (1.6 if c.layout.p == 1 else 1.0) * (1 - gain)

    return shares, truth


def raced(experiment: Experiment, truth: Truth, seed: int, noise: float = NOISE) -> list[Record]:
    """A race without launches."""
    race, rng = Race(experiment), np.random.default_rng(seed)
    records: list[Record] = []
    while (block := race.next_block()) is not None:
        now, number = baseline(experiment), len({r.block for r in records})
        since = plan.since_baseline(records, now) if experiment.baseline.returns else None
        for one in plan.invocations(block, number, 0, now, int(rng.integers(1 << 62)), since):
            wall = truth(one.configuration) * math.exp(noise * rng.standard_normal())
            capped = one.cap is not None and wall > one.cap
            record = Record(
                plan="x", configuration=one.configuration, phase=block.phase, block=number, attempt=0, order=one.order,
                looks=one.looks, seed=1, started=0.0, wall=one.cap if capped and one.cap else wall, exit_code=0,
                status="capped" if capped else "ok", user=wall, origin="fake",
            )  # fmt: skip
            records.append(record)
            race.add(record)
    return records


def simulated(races: int) -> None:
    """A row for each kind of ledger and budget: launches, and how much slower than the best of everything."""
    machine, argv = Machine.here(), [str(native.find("ant_colony"))]
    print("| ledger | budget | launches | with --explain | saved | regret | with --explain | lost, of 2% |")
    print("|" + "---|" * 8)
    for kind in ("nothing", "allocating", "waiting", "both", "wrong ledger"):
        for budget in BUDGETS:
            request = TuneRequest(budget=budget)
            whole = command_line.tune(request, argv, machine)
            made = []
            for seed in range(races):
                shares, truth = planted(kind, seed)
                unlikely = {c.factor: c.why for c in chances(space.USUAL, shares, compared=True) if not c.likely}
                some = command_line.tune(request, argv, machine, unlikely=unlikely)
                best = min(truth(c) for c in configurations(whole))
                both = []
                for experiment in (whole, some):
                    records = raced(experiment, truth, seed)
                    chosen = recommend(records, experiment).chosen
                    both.append((len(records) + 2 * (experiment is some), truth(chosen) / best - 1))
                made.append(both)
            launches = np.array([[one[0] for one in both] for both in made]).mean(axis=0)
            regrets = np.array([[one[1] for one in both] for both in made])
            lost = int(((regrets[:, 1] > LOST) & (regrets[:, 0] <= LOST)).sum())
            saved = 1 - launches[1] / launches[0]
            print(
                f"| {kind} | {budget} | {launches[0]:.0f} | {launches[1]:.0f} | {saved:.0%} "
                f"| {regrets[:, 0].mean():.1%} | {regrets[:, 1].mean():.1%} | {lost} of {races} |",
                flush=True,
            )


SMALL: dict[str, tuple[tuple[str, ...], Callable[[Path], None]]] = {
    "pigz": (("pigz", "-1", "-c", "-p", "{threads}", "{file}"), log_file(20_000_000)),
    "zstd": (("zstd", "-3", "-q", "-c", "-T{threads}", "{file}"), log_file(20_000_000)),
    "xz": (("xz", "-0", "-c", "-T{threads}", "{file}"), log_file(5_000_000)),
    "sort": (("sort", "--parallel={threads}", "{file}"), words(200_000)),
    "numpy": (PROGRAMS["numpy"].argv, lambda file: None),
    "ant_colony": (PROGRAMS["ant_colony"].argv, lambda file: None),
    "jq": (PROGRAMS["jq"].argv, records_of(15_000)),
    "perl": (PROGRAMS["perl"].argv, records_of(30_000)),
    "sqlite3": (("sqlite3", ":memory:", QUERY), lambda file: None),
    "g++": (PROGRAMS["g++"].argv, source(1)),
}
"""Ten programs without a named factor, and their inputs: a launch takes a fraction of a second."""


class Blocks(Uniform):
    """So many blocks of some configurations, and nothing else."""

    def __init__(self, experiment: Experiment, some: Sequence[Configuration], blocks: int) -> None:
        super().__init__(experiment)
        self._some, self._blocks = tuple(some), blocks

    def next_block(self) -> Block | None:
        """See Policy."""
        made = {record.block for record in self.records if record.phase == "measure"}
        return Block("measure", self._some) if len(made) < self._blocks else None


def programs(names: list[str], blocks: int, races: int) -> None:
    """A row for each program: configurations, launches until a race has its answer, and both answers in fresh pairs."""
    machine = Machine.here()
    print(
        "| program | configurations | with --explain | noise | launches | with --explain | saved | lost ",
        end="",
    )
    print("| answers in fresh pairs |\n|" + "---|" * 9)
    for name in names:
        given, generate = SMALL[name]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "input"
            generate(file)
            argv = [word.replace("{file}", str(file)) for word in given]
            argv[0] = str(native.find(argv[0])) if argv[0] == "ant_colony" else argv[0]
            print(_row(name, argv, folder, machine, blocks, races), flush=True)


def _row(name: str, argv: list[str], folder: str, machine: Machine, blocks: int, races: int) -> str:
    request = TuneRequest(budget=BUDGETS[0], out=folder)
    whole = command_line.tune(request, argv, machine)
    unlikely = listening.unlikely(request, argv, machine, lambda said: None)
    some = command_line.tune(request, argv, machine, unlikely=unlikely)
    everything = configurations(whole)
    times = table(measured(whole, Blocks(whole, everything, blocks), machine), "wall")
    logs = np.log(np.stack([times.column(c) for c in everything], axis=1))
    logs -= np.nanmean(logs, axis=1, keepdims=True)
    truth = dict(zip(everything, np.nanmedian(logs, axis=0).tolist(), strict=True))
    noise = float(np.nanmedian(np.nanstd(logs, axis=0, ddof=1)))
    near = {c for c, time in truth.items() if time <= min(truth.values()) + math.log1p(USEFUL)}
    counts: list[list[int]] = [[], []]
    answers: list[list[Configuration]] = [[], []]
    for seed in range(races):
        for which, experiment in enumerate((whole, some)):
            made = raced(experiment, lambda c: math.exp(truth[_in(whole, c)]), seed, noise)
            counts[which].append(_until(made, experiment, lambda c: _in(whole, c) in near) + 2 * which)
            answers[which].append(_in(whole, recommend(made, experiment).chosen))
    lost = sum(truth[late] - truth[early] > math.log1p(USEFUL) for early, late in zip(*answers, strict=True))
    launches = [sum(each) / races for each in counts]
    usual = [Counter(each).most_common(1)[0][0] for each in answers]
    ratio = "the same" if usual[0] == usual[1] else _paired(whole, usual, machine)
    sizes = f"{len(everything)} | {len(configurations(some))}"
    return (
        f"| {name} | {sizes} | {noise:.1%} | {launches[0]:.0f} | {launches[1]:.0f} "
        f"| {1 - launches[1] / launches[0]:.0%} | {lost} of {races} | {ratio} |"
    )


def _until(made: list[Record], experiment: Experiment, near: Callable[[Configuration], bool]) -> int:
    """The launches from which on the leader of every completed block is near the best of everything; all if never."""
    ends = [k for k in range(1, len(made) + 1) if k == len(made) or made[k].block != made[k - 1].block]
    far = [end for end in ends if not near(Race.of(made[:end], experiment).leader())]
    return next((end for end in ends if not far or end > far[-1]), len(made))


def _in(whole: Experiment, chosen: Configuration) -> Configuration:
    """The same configuration, as one of everything that is tried."""
    levels = dict(baseline(whole).levels)
    return configuration(whole, levels | {name: level for name, level in chosen.levels if name in levels})


def _paired(whole: Experiment, answers: list[Configuration], machine: Machine) -> str:
    """Time of the second over that of the first, in fresh pairs."""
    levels = tuple(dict(answers[0].levels).items())
    named = whole.baseline.model_copy(update={"levels": levels, "as_typed": (), "returns": False})
    pairs = whole.model_copy(update={"baseline": named, "verb": "compare"})
    records = measured(pairs, Blocks(pairs, answers, PAIRS), machine)
    ratio = compare(records, pairs)[0].ratio if records else None
    return "-" if ratio is None else f"{ratio.estimate:.2f} [{ratio.low or math.nan:.2f}, {ratio.high or math.nan:.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--races", type=int, default=RACES, help="of each kind and budget, or of each program")
    parser.add_argument("--programs", nargs="*", choices=list(SMALL), default=[])
    parser.add_argument("--blocks", type=int, default=4, help="of every configuration of a program")
    given = parser.parse_args()
    started = time.monotonic()
    if not given.programs:
        simulated(given.races)
    if given.programs:
        programs(given.programs, given.blocks, given.races)
    print(f"\n{time.monotonic() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
