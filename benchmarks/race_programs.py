# SPDX-License-Identifier: Apache-2.0
"""The race on real programs, against the truth of exhaustive blocks and of fresh ones.

scripts/bench race programs [--programs NAME ...] [--blocks N]. A program is raced first, by the code of `tune` within
BUDGET; then every configuration is launched in every one of N blocks (30). The fastest of many blocks is fast by
luck as well, and a race's answer that is the fastest would be compared with itself: so the answer and the RIVALS that
were fastest beside it are launched in FRESH further blocks, and regret is by these alone, with the bound that holds for
all of them together.
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
from corescale.conclude.policy import Uniform
from corescale.conclude.race.race import Race
from corescale.conclude.response import table
from corescale.declare import command_line
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.plan import Block
from corescale.declare.request import TuneRequest
from corescale.declare.stop import Stop
from corescale.machine import Machine
from corescale.observe import run as loop
from corescale.observe import store
from corescale.observe.launchers.direct import Direct
from corescale.records import Configuration, Record
from corescale.show.headline import recommendation

BUDGET = "60s"
FULL = 30
"""exhaustive blocks that the race is compared with, whatever number was made"""
FRESH, RIVALS = 10, 3
USEFUL = 0.05
"""a leader this near to the fastest is a useful answer"""
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
    """Lines as a server writes them: compressible, not trivial, none written again as a copy. `size` in bytes."""

    def generate(file: Path) -> None:
        drawn = random.Random(1)
        hosts = [f"10.{drawn.randrange(256)}.{drawn.randrange(256)}.{drawn.randrange(256)}" for _ in range(200)]
        with file.open("wb") as out:
            while out.tell() < size:
                lines = zip(drawn.choices(hosts, k=40_000), drawn.choices(range(10**6), k=40_000), strict=True)
                out.write(
                    "".join(
                        f"{host} GET /item/{item} {404 if item % 4 == 0 else 200}\n" for host, item in lines
                    ).encode()
                )
            out.truncate(size)

    return generate


def words(count: int) -> Callable[[Path], None]:
    """Lines in random order, none twice."""

    def generate(file: Path) -> None:
        drawn = random.Random(2)
        with file.open("w") as out:
            out.writelines(f"{drawn.getrandbits(64):016x} {k}\n" for k in range(count))

    return generate


def records_of(count: int) -> Callable[[Path], None]:
    """JSON, a line a record."""

    def generate(file: Path) -> None:
        drawn = random.Random(3)
        lines = (
            json.dumps({"id": k, "user": f"u{drawn.randrange(5000)}", "tags": [f"t{drawn.randrange(99)}"] * 3,
                        "size": drawn.random()})
            for k in range(count)
        )  # fmt: skip
        file.write_text("\n".join(lines) + "\n")

    return generate


def source(classes: int) -> Callable[[Path], None]:
    """C++ that includes the standard library and has many templates to instantiate."""

    def generate(file: Path) -> None:
        text = "#include <map>\n#include <string>\n#include <vector>\n" + "".join(
            f"struct S{k} {{ int v; bool operator<(const S{k}& o) const {{ return v < o.v; }} }};\nint f{k}() {{"
            f' std::map<S{k}, std::vector<std::string>> m; m[S{k}{{1}}].push_back("a"); return m.size(); }}\n'
            for k in range(classes)
        )
        file.with_suffix(".cpp").write_text(text)

    return generate


PRODUCT = "import numpy; a = numpy.random.default_rng(1).random((800, 800)); [a @ a for _ in range(5)]"

COUNT = "while (<>) { $n{$_}++ for /\\w+/g } print scalar(keys %n), qq(\\n)"
QUERY = (
    "CREATE TABLE t(a, b TEXT); WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 150000) "
    "INSERT INTO t SELECT x * 7919 % 150000, hex(x) FROM n; CREATE INDEX i ON t(b); "
    "SELECT count(*), max(l) FROM (SELECT group_concat(b) AS l FROM t GROUP BY a % 20000);"
)

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
    "xz": Program(("xz", "-1", "-c", "-T{threads}", "--block-size={block}", "{file}"), ("block=1MiB,4MiB,16MiB",),
                  log_file(25_000_000)),
    "jq": Program(("jq", "-c", "[.user, .tags, .size * 2]", "{file}"), (), records_of(60_000), "1", "auto"),
    "perl": Program(("perl", "-e", COUNT, "{file}"), (), records_of(150_000), "1", "auto"),
    "sqlite3": Program(("sqlite3", ":memory:", "PRAGMA cache_size={cache};" + QUERY), ("cache=-200,-2000,-64000",),
                       threads="1", allocators="auto"),
    "g++": Program(("g++", "-O1", "-c", "-o", "/dev/null", "{file}.cpp"), (), source(15), "1", "auto"),
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What came of one program; times are of launches, in seconds."""

    configurations: int
    spread: float
    """slowest over fastest, less 1, by the exhaustive blocks"""
    noise: float
    """median of the standard deviations of log time within blocks"""
    answer: str
    fastest: str
    said: str
    regret: float
    """regret of the answer, by fresh blocks, compared with the configurations that were fastest"""
    bound: float
    launches: int
    seconds: float
    """race and confirmation together"""
    useful_launches: int
    useful_seconds: float
    """until the leader is, and stays, near the fastest; NaN if it never is"""
    full_launches: int
    full_seconds: float
    """launches and seconds of FULL exhaustive blocks, estimated from those that were made"""


def measured(experiment: Experiment, policy: loop.Policy, machine: Machine) -> list[Record]:
    return list(loop.run(experiment, store.Memory(), Direct(experiment, machine), policy))


def compare(program: Program, machine: Machine, blocks: int) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "input"
        program.generate(file)
        argv = [word.replace("{file}", str(file)) for word in program.argv]
        if argv[0] == "ant_colony":
            argv[0] = str(native.find(argv[0]))
        options = {"factor": list(program.factors), "threads": program.threads, "allocators": program.allocators}
        racing = command_line.tune(TuneRequest(**options, budget=BUDGET), argv, machine)  # type: ignore[arg-type]
        raced = measured(racing, Race(racing), machine)
        everything = racing.model_copy(update={"stop": Stop(rule="replicates", min_blocks=blocks, max_blocks=blocks)})
        full = measured(everything, Uniform(everything), machine)
        chosen = recommend(raced, racing).chosen
        fresh = measured(everything, Repeated(everything, [chosen, *fastest(full, chosen)]), machine)
    return _found(racing, raced, full, fresh)


def typical(full: list[Record]) -> dict[Configuration, float]:
    """Log time of each configuration beside the others of its block."""
    truth = table(full, "wall")
    logs = np.log(truth.values)
    means = np.nanmedian(logs - np.nanmean(logs, axis=1, keepdims=True), axis=0)
    return dict(zip(truth.configurations, means.tolist(), strict=True))


def fastest(full: list[Record], chosen: Configuration) -> list[Configuration]:
    """The rivals of the answer."""
    times = typical(full)
    return sorted((c for c in times if c != chosen), key=lambda c: times[c])[:RIVALS]


class Repeated(Uniform):
    """FRESH blocks of some configurations."""

    def __init__(self, experiment: Experiment, some: list[Configuration]) -> None:
        super().__init__(experiment)
        self._some = some

    def next_block(self) -> Block | None:
        """See Policy."""
        return Block("measure", tuple(self._some)) if len({r.block for r in self.records}) < FRESH else None


def useful(raced: list[Record], racing: Experiment, full: list[Record]) -> tuple[int, float]:
    """Launches, and seconds of launches, from which on the leader of every completed block is near the fastest."""
    times, since = typical(full), None
    least = min(times.values())
    ends = [k for k in range(1, len(raced) + 1) if k == len(raced) or raced[k].block != raced[k - 1].block]
    for end in ends:
        near = times[Race.of(raced[:end], racing).leader()] - least <= math.log1p(USEFUL)
        since = (since or end) if near else None
    return (0, math.nan) if since is None else (since, sum(record.wall for record in raced[:since]))


def _regret(fresh: list[Record], chosen: Configuration) -> tuple[float, float]:
    """Estimate and bound (Hsu 1981), by the fresh blocks; the baseline, which is now and then in them, is no rival."""
    times = table(fresh, "wall")
    others = [c for c in times.configurations if c != chosen and np.isfinite(times.column(c)).all()]
    count = stats.tail_count(len(times.blocks), 0.05 / max(len(others), 1))
    found = stats.walsh_bounds(np.array([times.log_ratio(chosen, c) for c in others]), count)
    estimate, bound = (math.expm1(float(each.max(initial=0.0))) for each in (found[0], found[2]))
    return estimate, math.nan if count < 0 else bound


def _found(racing: Experiment, raced: list[Record], full: list[Record], fresh: list[Record]) -> Found:
    answer, times = recommend(raced, racing), typical(full)
    logs = np.log(table(full, "wall").values)
    centred = logs - np.nanmean(logs, axis=1, keepdims=True)
    share = FULL / len({record.block for record in full if record.phase == "measure"})
    regret, bound = _regret(fresh, answer.chosen)
    launches, seconds = useful(raced, racing, full)
    return Found(
        configurations=len(configurations(racing)),
        spread=math.expm1(max(times.values()) - min(times.values())),
        noise=float(np.nanmedian(np.nanstd(centred, axis=0, ddof=1))),
        answer=answer.chosen.label,
        fastest=min(times, key=lambda c: times[c]).label,
        said=recommendation(answer),
        regret=regret,
        bound=bound,
        launches=len(raced),
        seconds=sum(record.wall for record in raced),
        useful_launches=launches,
        useful_seconds=seconds,
        full_launches=round(share * len(full)),
        full_seconds=share * sum(record.wall for record in full),
    )


def _after(found: Found) -> str:
    return f"{found.useful_launches} ({found.useful_seconds:.1f} s)" if found.useful_launches else "never"


def main(names: list[str], keep: Path | None, blocks: int = FULL) -> None:
    """Print the table."""
    machine = Machine.here()
    print(f"{machine.in_words}\n")
    print(
        "| program | configurations | spread | noise | answer | fastest | regret, fresh [bound] | launches | time ",
        end="",
    )
    print(f"| useful after | {FULL} blocks | time |\n|" + "---|" * 12)
    said = []
    for name in names:
        kept = keep / f"program-{name}.json" if keep else None
        if kept is not None and kept.exists():
            found = Found(**json.loads(kept.read_text()))
        else:
            found = compare(PROGRAMS[name], machine, blocks)
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(asdict(found)))
        said.append(f"{name}: {found.said}")
        print(
            f"| {name} | {found.configurations} | {found.spread:.0%} | {found.noise:.1%} | {found.answer} "
            f"| {found.fastest} | {found.regret:.1%} [{found.bound:.1%}] "
            f"| {found.launches} | {found.seconds:.0f} s | {_after(found)} "
            f"| {found.full_launches} | {found.full_seconds:.0f} s |",
            flush=True,
        )
    print("\n" + "\n".join(f"* {line}" for line in said))
