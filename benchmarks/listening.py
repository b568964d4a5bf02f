# SPDX-License-Identifier: Apache-2.0
"""What `tune --explain` saves and loses: the same races with and without it.

scripts/bench listening [--races N] [--programs NAME ...]. Simulated races have a planted ledger: gains within what the
rows say, or, to see what a wrong ledger costs, a gain of 10% by an allocator although nothing is allocated. Real
programs are raced by the code of `tune`, without a named factor, and their answers compared in fresh pairs.
"""

import argparse
import math
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from race_programs import PROGRAMS, log_file, measured, records_of, words

from corescale import native
from corescale.api import explaining
from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.answers.verdict import compare
from corescale.conclude.explain import ROWS, chances
from corescale.conclude.policy import Uniform
from corescale.conclude.race.race import Race
from corescale.declare import command_line, plan
from corescale.declare.catalogue import space
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configuration, configurations
from corescale.declare.request import TuneRequest
from corescale.declare.stop import Stop
from corescale.machine import Machine
from corescale.records import Configuration, Record

NOISE, BUDGETS = 0.02, ("100x", "none")
Truth = Callable[[Configuration], float]


def planted(kind: str, seed: int) -> tuple[Mapping[str, float], Truth]:
    """Shares of rows, and times that go with them: each factor gives back at most what its rows have."""
    drawn = random.Random(f"{kind} {seed}")
    few, many = (0.0, 0.009), (0.03, 0.4)
    allocating = drawn.uniform(*(many if kind in ("allocating", "both") else few))
    waiting = drawn.uniform(*(many if kind in ("waiting", "both") else few)) * 0.5
    shares = dict.fromkeys(ROWS, 0.0) | {"allocating": allocating, "barrier and join wait": waiting}
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


def raced(experiment: Experiment, truth: Truth, seed: int) -> list[Record]:
    """A race without launches."""
    race, rng = Race(experiment), np.random.default_rng(seed)
    records: list[Record] = []
    while (block := race.next_block()) is not None:
        now, number = baseline(experiment), len({r.block for r in records})
        since = plan.since_baseline(records, now) if experiment.baseline.returns else None
        for one in plan.invocations(block, number, 0, now, int(rng.integers(1 << 62)), since):
            wall = truth(one.configuration) * math.exp(NOISE * rng.standard_normal())
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
            lost = int(((regrets[:, 1] > 0.02) & (regrets[:, 0] <= 0.02)).sum())
            saved = 1 - launches[1] / launches[0]
            print(
                f"| {kind} | {budget} | {launches[0]:.0f} | {launches[1]:.0f} | {saved:.0%} "
                f"| {regrets[:, 0].mean():.1%} | {regrets[:, 1].mean():.1%} | {lost} of {races} |",
                flush=True,
            )


SMALL: dict[str, tuple[tuple[str, ...], Callable[[Path], None]]] = {
    "pigz": (("pigz", "-1", "-c", "-p", "{threads}", "{file}"), log_file(20_000_000)),
    "xz": (("xz", "-0", "-c", "-T{threads}", "{file}"), log_file(5_000_000)),
    "sort": (("sort", "--parallel={threads}", "{file}"), words(200_000)),
    "jq": (PROGRAMS["jq"].argv, records_of(15_000)),
    "ant_colony": (PROGRAMS["ant_colony"].argv, lambda file: None),
    "numpy": (PROGRAMS["numpy"].argv, lambda file: None),
}


def programs(names: list[str], budget: str) -> None:
    """A row for each program: launches, answers, and the answer with --explain over the other, in fresh pairs."""
    machine = Machine.here()
    print("| program | configurations | with --explain | launches | with --explain | answers, with over without |")
    print("|" + "---|" * 6)
    for name in names:
        given, generate = SMALL[name]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "input"
            generate(file)
            argv = [word.replace("{file}", str(file)) for word in given]
            argv[0] = str(native.find(argv[0])) if argv[0] == "ant_colony" else argv[0]
            request = TuneRequest(budget=budget, out=folder)
            whole = command_line.tune(request, argv, machine)
            unlikely = explaining.unlikely(request, argv, machine, lambda said: None)
            some = command_line.tune(request, argv, machine, unlikely=unlikely)
            answers, counts = [], []
            for experiment in (whole, some):
                records = measured(experiment, Race(experiment), machine)
                levels = dict(baseline(whole).levels)
                levels |= {
                    name: level for name, level in recommend(records, experiment).chosen.levels if name in levels
                }
                answers.append(configuration(whole, levels))
                counts.append(len(records))
            ratio = "the same" if answers[0] == answers[1] else _paired(whole, answers, machine)
            sizes = [len(configurations(each)) for each in (whole, some)]
            print(f"| {name} | {sizes[0]} | {sizes[1]} | {counts[0]} | {counts[1]} + 2 | {ratio} |", flush=True)


def _paired(whole: Experiment, answers: list[Configuration], machine: Machine) -> str:
    stop = Stop(rule="replicates", min_blocks=12, max_blocks=12)
    levels = tuple(dict(answers[0].levels).items())
    named = whole.baseline.model_copy(update={"levels": levels, "as_typed": (), "returns": False})
    pairs = whole.model_copy(update={"stop": stop, "baseline": named, "verb": "compare"})

    class Two(Uniform):
        def wanted(self) -> tuple[Configuration, ...]:
            return tuple(answers)

    records = measured(pairs, Two(pairs), machine)
    ratio = compare(records, pairs)[0].ratio if records else None
    return "-" if ratio is None else f"{ratio.estimate:.2f} [{ratio.low or math.nan:.2f}, {ratio.high or math.nan:.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--races", type=int, default=0, help="simulated ones of each kind and budget")
    parser.add_argument("--programs", nargs="*", choices=list(SMALL), default=[])
    parser.add_argument("--budget", default="20s")
    given = parser.parse_args()
    started = time.monotonic()
    if given.races:
        simulated(given.races)
    if given.programs:
        programs(given.programs, given.budget)
    print(f"\n{time.monotonic() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
