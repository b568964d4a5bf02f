# SPDX-License-Identifier: Apache-2.0
"""The race on real programs: exhaustive truth (30 blocks of all configurations) against the race's answer.

scripts/bench race programs [--programs pigz zstd sort numpy ant_colony]. A program is raced first, by the code of
`corescale tune` within BUDGET; then every configuration is launched in every one of 30 blocks. Regret is the time of
the race's answer over that of the fastest in those blocks, less 1: the fastest of many is fast by luck as well, so a
regret whose interval has 0 in it is no loss shown.
"""

import json
import math
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from corescale import native
from corescale.conclude import stats
from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.policy import uniform
from corescale.conclude.race.race import race
from corescale.conclude.response import table
from corescale.declare import command_line
from corescale.declare.command_line.request import TuneRequest
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations, today
from corescale.machine import Machine
from corescale.observe import run as loop
from corescale.observe import store
from corescale.observe.launchers.direct import Direct
from corescale.records import Record
from corescale.show.headline import recommendation

BLOCKS = 30
BUDGET = "100s"
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Program:
    """`argv` may name the {file} that `generate` wrote; levels of every other placeholder come from `factors`."""

    argv: tuple[str, ...]
    factors: tuple[str, ...]
    generate: Callable[[Path], None] = lambda file: None
    threads: str = "1,2"
    allocators: str = ""


def log_file(size: int) -> Callable[[Path], None]:
    """Lines as a server writes them: compressible, not trivial. `size` in bytes."""

    def generate(file: Path) -> None:
        drawn = random.Random(1)
        hosts = [f"10.{drawn.randrange(256)}.{drawn.randrange(256)}.{drawn.randrange(256)}" for _ in range(200)]
        part = "".join(
            f"{drawn.choice(hosts)} GET /item/{drawn.randrange(10**6)} {drawn.choice((200, 200, 200, 404))}\n"
            for _ in range(40_000)
        ).encode()
        with file.open("wb") as out:
            for _ in range(-(-size // len(part))):
                out.write(part)
            out.truncate(size)

    return generate


def words(count: int) -> Callable[[Path], None]:
    """Lines in random order, none twice."""

    def generate(file: Path) -> None:
        drawn = random.Random(2)
        file.write_text("\n".join(f"{drawn.getrandbits(64):016x} {k}" for k in range(count)) + "\n")

    return generate


PRODUCT = "import numpy; a = numpy.random.default_rng(1).random((800, 800)); [a @ a for _ in range(5)]"

PROGRAMS: dict[str, Program] = {
    "pigz": Program(("pigz", "-1", "-c", "-p", "{threads}", "-b", "{block}", "{file}"), ("block=128,512,2048",),
                    log_file(100_000_000)),
    "zstd": Program(("zstd", "-3", "-q", "-c", "-T{threads}", "-B{block}", "{file}"), ("block=1MiB,4MiB,16MiB",),
                    log_file(100_000_000)),
    "sort": Program(("sort", "--parallel={threads}", "-S", "{buffer}", "{file}"),
                    ("buffer=2M,16M,128M", "LC_ALL=C"), words(600_000)),
    "numpy": Program((sys.executable, "-c", PRODUCT), ("OPENBLAS_CORETYPE=inherited,Haswell,Sandybridge",)),
    "ant_colony": Program(
        ("ant_colony", "--instance", str(ROOT / "data/tsplib/kroA100.tsp"), "--pheromone", "strings",
         "--colonies", "4", "--cycles", "12", "--seed", "1"), (), allocators="auto"),
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    configurations: int
    spread: float
    """slowest over fastest, less 1, by the exhaustive truth"""
    noise: float
    """median of the standard deviations of log time within blocks"""
    answer: str
    fastest: str
    said: str
    regret: float
    low: float
    high: float
    launches: int
    seconds: float
    """of launches; race and confirmation together"""
    exhaustive_launches: int
    exhaustive_seconds: float


def measured(experiment: Experiment, policy: Callable[..., object], machine: Machine) -> list[Record]:
    return list(loop.run(experiment, store.Memory(), Direct(experiment, machine), policy))  # type: ignore[arg-type]


def compare(program: Program, machine: Machine) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "input"
        program.generate(file)
        argv = [word.replace("{file}", str(file)) for word in program.argv]
        if "/" not in argv[0] and argv[0] == "ant_colony":
            argv[0] = str(native.find(argv[0]))
        options = {"factor": list(program.factors), "threads": program.threads, "allocators": program.allocators}
        racing = command_line.tune(TuneRequest(**options, budget=BUDGET), argv, machine)  # type: ignore[arg-type]
        raced = measured(racing, race(racing), machine)
        everything = command_line.tune(TuneRequest(**options, runs=BLOCKS, confirm=0), argv, machine)  # type: ignore[arg-type]
        full = measured(everything, uniform(everything), machine)
    return _found(racing, raced, full)


def _found(racing: Experiment, raced: list[Record], full: list[Record]) -> Found:
    answer = recommend(raced, racing)
    truth = table(full, "wall")
    logs = np.log(truth.values)
    centred = logs - np.nanmean(logs, axis=1, keepdims=True)
    means = np.nanmedian(centred, axis=0)
    best = truth.configurations[int(np.nanargmin(means))]
    chosen = answer.chosen
    regret = stats.hodges_lehmann(truth.log_ratio(chosen, best)).map(math.expm1)
    assert today(racing) in truth.configurations
    return Found(
        configurations=len(configurations(racing)),
        spread=math.expm1(float(np.nanmax(means) - np.nanmin(means))),
        noise=float(np.nanmedian(np.nanstd(centred, axis=0, ddof=1))),
        answer=chosen.label,
        fastest=best.label,
        said=recommendation(answer),
        regret=regret.estimate,
        low=regret.low if regret.low is not None else math.nan,
        high=regret.high if regret.high is not None else math.nan,
        launches=len(raced),
        seconds=sum(record.wall for record in raced),
        exhaustive_launches=len(full),
        exhaustive_seconds=sum(record.wall for record in full),
    )


def main(names: list[str], keep: Path | None) -> None:
    machine = Machine.here()
    print(f"{machine.in_words}\n")
    print("| program | configurations | spread | noise | answer | fastest | regret [95%] | launches | time ", end="")
    print("| exhaustive launches | time | ratio of launches |\n|" + "---|" * 12)
    said = []
    for name in names:
        kept = keep / f"program-{name}.json" if keep else None
        if kept is not None and kept.exists():
            found = Found(**json.loads(kept.read_text()))
        else:
            found = compare(PROGRAMS[name], machine)
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(asdict(found)))
        said.append(f"{name}: {found.said}")
        print(
            f"| {name} | {found.configurations} | {found.spread:.0%} | {found.noise:.1%} | {found.answer} "
            f"| {found.fastest} | {found.regret:.1%} [{found.low:.1%}, {found.high:.1%}] "
            f"| {found.launches} | {found.seconds:.0f} s | {found.exhaustive_launches} "
            f"| {found.exhaustive_seconds:.0f} s | {found.launches / found.exhaustive_launches:.2f} |",
            flush=True,
        )
    print("\n" + "\n".join(f"* {line}" for line in said))
