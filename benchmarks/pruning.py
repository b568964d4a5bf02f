# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: races of planted truths, and of real programs)
"""What `tune --explain` saves and loses: the same races with and without it.

scripts/bench pruning [--races N] [--kinds KIND ...] [--programs NAME ...]. Simulated races have a planted ledger: gains
within what the rows say, rows without a gain, and gains that no row has. A real program's configurations are all
launched in some blocks (--steps measure), and it is explained (explain). Races without a named factor are then made of
these times and their noise (race), and the usual answers are compared in fresh pairs of launches (pairs). Counted are
the launches until the leader is, and stays, within 5% of the best of everything, and until the race ends by itself.
"""

import argparse
import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from race_programs import PROGRAMS, QUERY, USEFUL, log_file, measured, records_of, source, words

from corescale import native
from corescale.api import pruning
from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.answers.verdict import compare
from corescale.conclude.explain.changes import chances
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.policy import Uniform
from corescale.conclude.race.race import Race
from corescale.conclude.response import table
from corescale.declare import command_line, plan
from corescale.declare.catalogue import space
from corescale.declare.equivalent import detected, distinguishable
from corescale.declare.experiment import Experiment, Factor
from corescale.declare.grid import baseline, configuration, configurations
from corescale.declare.plan import Block
from corescale.declare.request import TuneRequest
from corescale.machine import Machine
from corescale.records import Configuration, Level, Record

NOISE, BUDGETS = 0.02, ("100x", "none")
RACES, PAIRS = 10, 12
HIDDEN = 0.1
"""share of the time that a factor gives back although the ledger does not show it"""
LOST = 0.02
"""share by which one answer may be slower than the other"""
FOLDER = Path("build/pruning")
"""the folder of inputs, times and answers of real programs"""
STEPS = ("measure", "explain", "race", "pairs")
Truth = Callable[[Configuration], float]


@dataclass(frozen=True)
class Kind:
    """How races of one kind are planted: ranges of shares, and what the ledger does not know."""

    allocating: tuple[float, float] = (0.0, 0.009)
    waiting: tuple[float, float] = (0.0, 0.0045)
    hidden: str = ""
    """factor that gives back 10% although the ledger has nothing in its rows"""
    once: bool = False
    """whether one level alone gives that back"""
    empty: bool = False
    """whether nothing gives anything back, whatever the rows have"""


MUCH, AROUND = (0.03, 0.4), (0.0, 0.05)
KINDS = {
    "nothing": Kind(),
    "allocating": Kind(allocating=MUCH),
    "waiting": Kind(waiting=(0.015, 0.2)),
    "both": Kind(allocating=MUCH, waiting=(0.015, 0.2)),
    "around 1%": Kind(allocating=AROUND, waiting=AROUND),
    "rows, no gain": Kind(allocating=MUCH, waiting=MUCH, empty=True),
    "gain of every allocator, no row": Kind(hidden="allocator"),
    "gain of one allocator, no row": Kind(hidden="allocator", once=True),
    "gain of every placement, no row": Kind(hidden="bind"),
    "gain of one wait policy, no row": Kind(hidden="OMP_WAIT_POLICY", once=True),
}
TICKS = (50, 400)
"""range of the ticks from which the ledger knows what is allocating: 0.5 to 4 s of CPU time"""


def planted(kind: Kind, seed: int, whole: Experiment) -> tuple[Mapping[str, float], Truth]:
    """Shares of rows as the ledger sees them, and times: each factor gives back at most what its rows have, but for
    what the kind hides."""
    drawn = random.Random(f"{kind} {seed}")
    allocating, waiting = drawn.uniform(*kind.allocating), drawn.uniform(*kind.waiting)
    ticks = drawn.randint(*TICKS)
    seen = sum(drawn.random() < allocating for _ in range(ticks)) / ticks
    shares = dict.fromkeys(LedgerRow, 0.0) | {"allocating": seen, "barrier and join wait": waiting}
    effects: dict[tuple[str, object], float] = {}
    others = [level for factor in whole.factors if factor.name == kind.hidden for level in _others(factor, whole)]
    hidden = drawn.choice(others) if kind.once else None

    def effect(name: str, level: object, most: float) -> float:
        return effects.setdefault((name, level), drawn.uniform(-most, most))

    def truth(c: Configuration) -> float:
        levels = dict(c.levels)
        found = levels.get(kind.hidden) if kind.hidden else None
        gain = HIDDEN if found in others and found == (hidden or found) else 0.0
        if kind.empty:
            return (1.6 if c.layout.p == 1 else 1.0) * (1 - gain)
        if levels["allocator"] != "inherited" and levels["allocator"] != "system":
            gain += effect("allocator", levels["allocator"], allocating * 0.7)
        gain += sum(effect(name, level, allocating / 10) for name, level in c.levels
                    if name.startswith(("GLIBC", "MI", "MALLOC", "TC", "TBB")) and level != "inherited")  # fmt: skip
        gain += effect("wait", levels.get("OMP_WAIT_POLICY"), waiting) if "OMP_WAIT_POLICY" in levels else 0.0
        return (1.6 if c.layout.p == 1 else 1.0) * (1 - gain)

    return shares, truth


def _others(factor: Factor, whole: Experiment) -> list[Level]:
    """Its levels that differ from the baseline."""
    return [level for level in factor.levels if level != dict(baseline(whole).levels)[factor.name]]


Leaders = list[tuple[int, Configuration]]
"""After how many launches which one led, at the end of each block."""


def raced(
    experiment: Experiment, truth: Truth, seed: int, noise: float = NOISE, reads: Sequence[str] | None = None
) -> tuple[list[Record], Leaders]:
    """A race without launches. `reads`: the known variables that the program reads, if launches have shown them."""
    race, rng = Race(experiment), np.random.default_rng(seed)
    records: list[Record] = []
    leaders: Leaders = []
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
                reads=None if reads is None else tuple(reads),
            )  # fmt: skip
            records.append(record)
            race.add(record)
        leaders.append((len(records), race.leader()))
    return records, leaders


def simulated(races: int, kinds: Sequence[str], budgets: Sequence[str]) -> None:
    """A row for each kind of ledger and budget: launches, and how much slower than the best of everything."""
    machine, argv = Machine.here(), [str(native.find("ant_colony"))]
    of_two = " | ".join(f"{what} | with --explain" for what in ("launches", "regret"))
    print(f"| ledger | budget | {of_two} | lost by --explain | lost without |")
    print("|" + "---|" * 8)
    for kind in kinds:
        for budget in budgets:
            request = TuneRequest(budget=budget)
            whole = command_line.tune(request, argv, machine)
            made = []
            for seed in range(races):
                shares, truth = planted(KINDS[kind], seed, whole)
                unlikely = {c.factor: c.why for c in chances(space.USUAL, shares, compared=True) if not c.likely}
                some = command_line.tune(request, argv, machine, unlikely=unlikely)
                best = min(truth(c) for c in configurations(whole))
                both = []
                for experiment in (whole, some):
                    records, _ = raced(experiment, truth, seed)
                    chosen = recommend(records, experiment).chosen
                    both.append((len(records) + 2 * (experiment is some), truth(chosen) / best - 1))
                made.append(both)
            launches = np.array([[one[0] for one in both] for both in made]).mean(axis=0)
            regrets = np.array([[one[1] for one in both] for both in made])
            late = (1 + regrets[:, 1]) / (1 + regrets[:, 0]) - 1
            print(
                f"| {kind} | {budget} | {launches[0]:.0f} | {launches[1]:.0f} "
                f"| {regrets[:, 0].mean():.1%} | {regrets[:, 1].mean():.1%} "
                f"| {int((late > LOST).sum())} of {races} | {int((late < -LOST).sum())} of {races} |",
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


def programs(names: list[str], blocks: int, races: int, steps: Sequence[str]) -> None:
    """What is measured of each program is kept in FOLDER; a row for each of those that are raced."""
    machine = Machine.here()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if "race" in steps:
        of_two = " | ".join(f"{what} | with --explain" for what in ("configurations", "useful", "to the end"))
        print(f"| program | noise | {of_two} | saved | lost |\n|" + "---|" * 10)
    for name in names:
        given, generate = SMALL[name]
        file, kept = FOLDER / f"{name}-input", FOLDER / f"{name}.json"
        if not any(FOLDER.glob(f"{name}-input*")):
            generate(file)
        argv = [word.replace("{file}", str(file)) for word in given]
        argv[0] = str(native.find(argv[0])) if argv[0] == "ant_colony" else argv[0]
        request = TuneRequest(out=str(FOLDER))
        found = json.loads(kept.read_text()) if kept.exists() else {}
        if "measure" in steps:
            found |= _measured(command_line.tune(request, argv, machine), machine, blocks)
        if "explain" in steps:
            found["unlikely"] = dict(pruning.unlikely(replace(request, fresh=True), argv, machine, print))
        if "race" in steps:
            print(_row(name, found, request, argv, machine, races), flush=True)
        kept.write_text(json.dumps(found))
        if "pairs" in steps:
            whole = command_line.tune(request, argv, machine)
            both = [configurations(whole)[place] for place in found["answers"]]
            print(f"{name}: {'the same' if both[0] == both[1] else _paired(whole, both, machine)}", flush=True)


def _measured(whole: Experiment, machine: Machine, blocks: int) -> dict[str, Any]:
    """Wall times of all configurations in some blocks, None for a launch that failed; and what the program reads."""
    records = measured(whole, Blocks(whole, configurations(whole), blocks), machine)
    walls, reads = table(records, "wall"), detected(records)
    every = np.stack([walls.column(c) for c in configurations(whole)], axis=1)
    times = [[float(one) if np.isfinite(one) else None for one in row] for row in every]
    return {"walls": times, "reads": None if reads is None else sorted(reads)}


def _truth(walls: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], float]:
    """A time for each configuration, and the noise of one.

    A difference from the others that is within the error of its mean counts as none: else the best is the luckiest.
    """
    logs = np.log(walls)
    logs -= np.nanmedian(logs, axis=1, keepdims=True)
    noise = float(np.nanmedian(np.nanstd(logs, axis=0, ddof=1)))
    off = np.nanmean(logs, axis=0)
    off *= np.maximum(0.0, 1 - noise**2 / len(walls) / np.maximum(off**2, 1e-12))
    off = np.where(np.isfinite(off), off, np.nanmax(off))
    return np.exp(off) * float(np.nanmedian(walls)), noise


def _row(name: str, found: dict[str, Any], request: TuneRequest, argv: list[str], machine: Machine, races: int) -> str:
    whole = command_line.tune(request, argv, machine)
    everything = configurations(whole)
    times, noise = _truth(np.array(found["walls"], dtype=float))
    truth = dict(zip(everything, times.tolist(), strict=True))
    near = {c for c, time in truth.items() if time <= min(truth.values()) * (1 + USEFUL)}
    counts = np.zeros((races, 2, 2))  # until useful, and of all of the race; without, with
    answers: list[list[Configuration]] = [[], []]
    sizes = [0, 0]
    for seed in range(races):
        for which, unlikely in enumerate(({}, found["unlikely"])):
            experiment = command_line.tune(request, argv, machine, unlikely=unlikely)
            made, leaders = raced(experiment, lambda c: truth[_in(whole, c)], seed, noise, found.get("reads"))
            useful = [_in(whole, leader) in near for _, leader in leaders]
            since = len(useful) - next((k for k, one in enumerate(reversed(useful)) if not one), len(useful))
            counts[seed, :, which] = leaders[min(since, len(leaders) - 1)][0] + 2 * which, len(made) + 2 * which
            answers[which].append(_in(whole, recommend(made, experiment).chosen))
            sizes[which] = len(distinguishable(experiment, found.get("reads")))
    lost = sum(truth[late] > truth[early] * (1 + USEFUL) for early, late in zip(*answers, strict=True))
    found["answers"] = [everything.index(Counter(each).most_common(1)[0][0]) for each in answers]
    mean = counts.mean(axis=0)
    pairs = " | ".join(f"{without:.0f} | {with_:.0f}" for without, with_ in [sizes, *mean.tolist()])
    without, with_ = mean[1].tolist()
    return f"| {name} | {noise:.1%} | {pairs} | {1 - with_ / without:.0%} | {lost} of {races} |"


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
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS), help="of simulated races")
    parser.add_argument("--budgets", nargs="*", choices=BUDGETS, default=list(BUDGETS), help="of simulated races")
    parser.add_argument("--blocks", type=int, default=3, help="of every configuration of a program")
    parser.add_argument("--steps", nargs="*", choices=STEPS, default=STEPS, help="without one, inputs alone")
    given = parser.parse_args()
    started = time.monotonic()
    if not given.programs:
        simulated(given.races, given.kinds, given.budgets)
    if given.programs:
        programs(given.programs, given.blocks, given.races, given.steps)
    print(f"\n{time.monotonic() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
