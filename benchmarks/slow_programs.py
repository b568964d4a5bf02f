# SPDX-License-Identifier: Apache-2.0
"""Does tune beat an expert, who has ten launches, on programs of 8 to 30 s: scripts/bench slow_programs [NAME...].

Three programs of Debian, about 8 minutes each. A program is tuned as `corescale tune` does it. The expert has ten
launches: the baseline, then single changes, of allocator and threads first, then the best level of each together, then
the best of all again; of these, the fastest on average wins. The answer and the expert's choice are then launched in
six blocks, beside each other.
"""

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from race_programs import log_file, words

from corescale.conclude import stats
from corescale.conclude.answers.recommendation import recommend
from corescale.conclude.policy import Uniform
from corescale.conclude.race.race import Race
from corescale.conclude.response import table
from corescale.declare import command_line
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configuration, configurations
from corescale.declare.plan import Block
from corescale.declare.request import TuneRequest
from corescale.declare.stop import Stop
from corescale.machine import Machine
from corescale.observe import run as loop
from corescale.observe import store
from corescale.observe.launchers.direct import Direct
from corescale.records import Configuration, Record
from corescale.show import text
from corescale.show.headline import recommendation
from corescale.show.naming import label

LAUNCHES, BLOCKS = 10, 6
"""launches of the expert; blocks of the duel, the fewest for an interval at 95%"""

FUNCTION = """
struct sK { int a; };
int fK(std::vector<std::string>& v) {
  std::map<std::string, std::vector<sK>> m;
  for (auto& x : v) m[x].push_back({K});
  std::function<int(int)> g = [&](int i) { return i + int(m.size()); };
  std::sort(v.begin(), v.end(), [](auto& a, auto& b) { return a.size() + K < b.size(); });
  return g(K);
}
"""


def templates(functions: int) -> Callable[[Path], None]:
    """A C++ file of that many functions, each with containers of a type of its own."""

    def generate(file: Path) -> None:
        heads = "".join(f"#include <{name}>\n" for name in ("algorithm", "functional", "map", "string", "vector"))
        file.write_text(heads + "".join(FUNCTION.replace("K", str(k)) for k in range(functions)))

    return generate


@dataclass(frozen=True)
class Program:
    """`argv` names the {file} that `generate` writes; `options` are those of tune."""

    argv: str
    generate: Callable[[Path], None]
    options: TuneRequest


PROGRAMS = {
    "clang++": Program("clang++ -O2 -c -x c++ -o /dev/null {file}", templates(40), TuneRequest()),
    "zstd": Program(
        "zstd -T{threads} -9 -q -c {file}", log_file(500_000_000), TuneRequest(threads="1,2", baseline="threads=1")
    ),
    "sort": Program(
        "sort --parallel={threads} {file}",
        words(10_000_000),
        TuneRequest(threads="1,2", baseline="threads=1", factor=["LC_ALL=C.UTF-8,C"]),
    ),
}


def launched(experiment: Experiment, policy: loop.Policy, machine: Machine) -> list[Record]:
    return list(loop.run(experiment, store.Memory(), Direct(experiment, machine), policy, began=time.monotonic()))


class InTurn(Uniform):
    """These blocks, and no more."""

    def __init__(self, experiment: Experiment, blocks: Sequence[Sequence[Configuration]]) -> None:
        super().__init__(experiment)
        self._blocks = blocks

    def next_block(self) -> Block | None:
        """See Policy."""
        made = len({record.block for record in self.records if record.phase == "measure"})
        return Block("measure", tuple(self._blocks[made])) if made < len(self._blocks) else None


TRIED = 6
"""how many of the expert's launches, at most, try something else; the best of all are launched again"""


def single_changes(experiment: Experiment) -> list[Configuration]:
    """The baseline with one level changed: of allocator and threads first."""
    now, known = baseline(experiment), {*configurations(experiment)}
    levels = dict(now.levels)
    first = sorted(experiment.factors, key=lambda factor: (not factor.how.preloads, not factor.how.makes))
    others = [
        configuration(experiment, levels | {factor.name: level})
        for factor in first
        for level in (factor.levels[::-1] if factor.how.makes else factor.levels)
    ]
    return [one for one in dict.fromkeys(others) if one in known and one != now]


def together(experiment: Experiment, walls: Mapping[Configuration, Sequence[float]]) -> list[Configuration]:
    """The best single changes at once, where that is a launch of its own."""
    now = baseline(experiment)
    levels = dict(now.levels)
    for factor in experiment.factors:
        changed = [one for one in walls if one[factor.name] != dict(now.levels)[factor.name]]
        best = min(changed, key=lambda one: walls[one][0], default=now)
        if walls[best][0] < walls[now][0]:
            levels[factor.name] = best[factor.name]
    made = configuration(experiment, levels)
    return [made] if made in configurations(experiment) and made not in walls else []


def experts(experiment: Experiment, machine: Machine) -> tuple[Configuration, list[Record]]:
    """What an expert chooses after ten launches."""
    walls: dict[Configuration, list[float]] = {}
    made: list[Record] = []

    def launch(chosen: Sequence[Configuration]) -> None:
        for each in launched(experiment, InTurn(experiment, [[one] for one in chosen]), machine) if chosen else ():
            made.append(each)
            if each.ok:
                walls.setdefault(each.configuration, []).append(each.wall)

    launch([baseline(experiment), *single_changes(experiment)][:TRIED])
    launch(together(experiment, walls))
    best = sorted(walls, key=lambda each: walls[each][0])[:3]
    launch([best[k % len(best)] for k in range(LAUNCHES - len(made))])
    return min(best, key=lambda each: statistics.fmean(walls[each])), made


def duel(experiment: Experiment, ours: Configuration, theirs: Configuration, machine: Machine) -> str:
    """T(expert's) / T(answer), with its interval."""
    if ours == theirs:
        return "the same"
    times = table(launched(experiment, InTurn(experiment, [[ours, theirs]] * BLOCKS), machine), "wall")
    return text.join(text.times(stats.hodges_lehmann(times.log_ratio(theirs, ours)).map(math.exp)))


def row(name: str, program: Program, budget: str, machine: Machine) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "input"
        program.generate(file)
        argv = program.argv.replace("{file}", str(file)).split()
        experiment = command_line.tune(replace(program.options, budget=budget), argv, machine)
        began = time.monotonic()
        raced = launched(experiment, Race(experiment), machine)
        seconds, found = time.monotonic() - began, recommend(raced, experiment)
        measuring = experiment.model_copy(update={"stop": Stop(rule="replicates", min_blocks=1, max_blocks=1)})
        theirs, tried = experts(measuring, machine)
        against = duel(measuring, found.chosen, theirs, machine)
    now = statistics.median(each.wall for each in raced if each.configuration == baseline(experiment))
    return " | ".join([
        f"| {name}", f"{now:.1f} s", f"{len(configurations(experiment))}",
        f"{len(raced)}", f"{seconds:.0f} s", recommendation(found), label(found.chosen),
        f"{label(theirs)} ({len(tried)} launches)", f"{against} |",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PROGRAMS)}")
    parser.add_argument("--budget", default="5m")
    asked = parser.parse_args()
    machine = Machine.here()
    print(f"{machine.in_words}\n")
    print("| program | the baseline | configurations | launches | time | what tune said | answer ", end="")
    print("| the expert's choice | T(expert's) / T(answer) |\n|" + "---|" * 9)
    for name in asked.names or PROGRAMS:
        print(row(name, PROGRAMS[name], asked.budget, machine), flush=True)


if __name__ == "__main__":
    main()
