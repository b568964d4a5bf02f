# SPDX-License-Identifier: Apache-2.0
"""parallel_for beside its peers: scripts/bench runtime/parallel_for [--rounds 11] [--threads 2] [--peers FOLDER].

Every contender is a program of its own, linked here with the same loops (benchmarks/runtime/parallel_for): those of
Debian always, header libraries and dispenso where `--peers` has a folder OWNER+NAME or NAME of their sources. A round
runs each once, in random order; within a program each way of looping takes turns with the serial loop, slice by slice.
A round in which other programs used more than 5% of a core is flagged; all rounds and unflagged ones are shown.
Prints Markdown: time over the serial loop's, and the ratio of every default to ours with its 95% signed-rank interval;
and the same by the least disturbed slices, for a machine that is shared.
"""

import argparse
import json
import math
import os
import random
import resource
import subprocess
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _parallel_for_peers import PEERS, build, build_loops

from corescale.conclude.stats import ratio_interval
from corescale.machine import Machine

SEED = 2021
OURS = ("corescale", "auto")
STATIC = ("corescale", "static")
BY_ONE = ("corescale", "fixed 1")
BY_ONE_EACH = ("corescale", "a counter each, block 1")
TINY = "tiny, n = 1e6"
FLAGGED_ABOVE = 0.05
"""cores that others used while a round ran"""


Times = dict[tuple[str, str], dict[str, list[float]]]
"""(contender, way) -> loop -> time over the serial loop's, one per round"""


@dataclass
class Race:
    """What all rounds gave."""

    ratios: Times
    """ratios by the median slices of 200 us"""
    quiet_ratios: Times
    """ratios by the slices that were disturbed least, the second percentile of each side"""
    first_ns: Times
    ns: Times
    """time of a call, by the median slices"""
    others: list[float]
    """cores that other programs used, per round"""

    def unflagged(self) -> list[int]:
        """Rounds that nobody disturbed."""
        return [index for index, cores in enumerate(self.others) if cores <= FLAGGED_ABOVE]


class Others:
    """Cores that other programs use, from its making on."""

    def __init__(self) -> None:
        self._start, self._busy, self._own = time.monotonic(), self._machine(), self._ours()

    def cores(self) -> float:
        """Their mean."""
        taken = (self._machine() - self._busy) - (self._ours() - self._own)
        return max(0.0, taken / (time.monotonic() - self._start))

    @staticmethod
    def _machine() -> float:
        """CPU seconds that were not idle, steal by the hypervisor included."""
        user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
        return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _ours() -> float:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in used)


def launch(program: Path, threads: int, seconds: float, *ways: str, **variables: str) -> "subprocess.Popen[str]":
    """One contender, started."""
    argv = [str(program), str(threads), str(seconds), *ways]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables})


def rows_of(launched: "subprocess.Popen[str]") -> list[dict[str, Any]]:
    """What it printed, once it has ended."""
    output, _ = launched.communicate(timeout=1800)
    if launched.returncode != 0:
        raise RuntimeError(f"{launched.args!r} ended with {launched.returncode}")
    return [json.loads(line) for line in output.splitlines()]


def run(programs: dict[str, Path], rounds: int, threads: int, seconds: float, ways: dict[str, list[str]]) -> Race:
    """Every program once a round, in random order; of those named in `ways` only these ways."""
    draw = random.Random(SEED)
    ratios, quiet, first, ns = (defaultdict[tuple[str, str], Any](lambda: defaultdict(list)) for _ in range(4))
    race = Race(ratios, quiet, first, ns, [])
    for _ in range(rounds):
        others = Others()
        for name in draw.sample(sorted(programs), len(programs)):
            for row in rows_of(launch(programs[name], threads, seconds, *ways.get(name, []))):
                key = (name, row["way"])
                race.ratios[key][row["loop"]].append(row["ns"] / row["serial_ns"])
                race.quiet_ratios[key][row["loop"]].append(row["quiet_ns"] / row["quiet_serial_ns"])
                race.first_ns[key][row["loop"]].append(row["first_ns"])
                race.ns[key][row["loop"]].append(row["ns"])
        race.others.append(others.cores())
    return race


def defaults(times: Times) -> list[tuple[str, str]]:
    """Each contender with its default way, ours first."""
    return [(peer.name, peer.default) for peer in PEERS if (peer.name, peer.default) in times]


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive values."""
    return math.exp(float(np.mean(np.log(values))))


def two_at_once(programs: dict[str, Path], threads: int, seconds: float, rounds: int) -> str:
    """Two processes on the same cores, oversubscribed twice: ours over libgomp that waits passively."""
    if "libgomp" not in programs:
        return "Two processes at once: libgomp is absent."
    ns: dict[str, dict[str, list[float]]] = {"corescale": defaultdict(list), "libgomp": defaultdict(list)}
    for _ in range(rounds):
        for name, way in (("corescale", "auto"), ("libgomp", "static")):
            both = [launch(programs[name], threads, seconds, way, OMP_WAIT_POLICY="passive") for _ in range(2)]
            for first, second in zip(*map(rows_of, both), strict=True):
                ns[name][first["loop"]].append((first["ns"] + second["ns"]) / 2)
    heads = ["Two processes at once, oversubscribed 2x:\n", "| loop | ours over libgomp static passive |", "|---|---|"]
    return "\n".join(
        heads + [f"| {loop} | {ratio_text(ours, ns['libgomp'][loop])} |" for loop, ours in ns["corescale"].items()]
    )


def ratio_text(a: Sequence[float], b: Sequence[float]) -> str:
    """`1.02 [0.99, 1.05]`, without the interval where there are too few rounds for one."""
    ratio = ratio_interval(a, b)
    bounds = "" if ratio.low is None or ratio.high is None else f" [{ratio.low:.2f}, {ratio.high:.2f}]"
    return f"{ratio.estimate:.2f}{bounds}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def middle(ratios: Times, key: tuple[str, str], loop: str, rounds: Sequence[int]) -> float:
    """Median over the rounds."""
    return float(np.median([ratios[key][loop][index] for index in rounds]))


def best_fixed(ratios: Times, loop: str, rounds: Sequence[int]) -> tuple[str, str] | None:
    """The fixed block with the least median; a block beyond the loop is not run, and takes no time."""
    fixed = [key for key in ratios if key[1].startswith("fixed") and middle(ratios, key, loop, rounds) > 0.1]
    return min(fixed, key=lambda key: middle(ratios, key, loop, rounds), default=None)


def common(race: Race) -> list[str]:
    """The loops that a mean is taken over."""
    return [loop for loop in race.ratios[OURS] if not loop.startswith("empty") and not has_a_state(loop)]


def has_a_state(loop: str) -> bool:
    """Whether its time depends on what the threads did before, or on what they do to each other."""
    return loop.startswith(("vectors", "shared")) or ", after " in loop


def states(race: Race, rounds: Sequence[int]) -> str:
    """Milliseconds of the loops whose time depends on the state of the threads, as may the serial loop's."""
    loops = [loop for loop in race.ns[OURS] if has_a_state(loop)]
    keys = [STATIC, *defaults(race.ns)]
    rows = [[" ".join(key), *(f"{middle(race.ns, key, loop, rounds) / 1e6:.2f}" for loop in loops)] for key in keys]
    return "\n\n".join([markdown(["ms", *loops], rows), against(race.ns, rounds, loops)])


def table(ratios: Times, rounds: Sequence[int], loops: Sequence[str]) -> str:
    """Median time over the serial loop's, for every way but the fixed blocks, and the best fixed block."""
    rows = []
    for key in (key for key in ratios if not key[1].startswith("fixed")):
        values = [middle(ratios, key, loop, rounds) for loop in loops]
        rows.append([" ".join(key), *(f"{value:.2f}" for value in values), f"{geometric_mean(values):.3f}"])
    best = {loop: block for loop in loops if (block := best_fixed(ratios, loop, rounds))}
    if best:
        values = [middle(ratios, best[loop], loop, rounds) for loop in loops]
        cells = [f"{value:.2f} ({best[loop][1]})" for loop, value in zip(loops, values, strict=True)]
        rows.append(["corescale, best fixed block", *cells, f"{geometric_mean(values):.3f}"])
    return markdown(["time over serial", *loops, "geometric mean"], rows)


def against(times: Times, rounds: Sequence[int], loops: Sequence[str]) -> str:
    """Each peer's default and the best fixed block over ours, with intervals; above 1 where ours is faster."""
    rows = []
    best = {loop: block for loop in loops if (block := best_fixed(times, loop, rounds))}
    if best:
        pairs = [(times[best[loop]][loop], times[OURS][loop]) for loop in loops]
        cells = [ratio_text([a[i] for i in rounds], [b[i] for i in rounds]) for a, b in pairs]
        rows.append(["corescale, best fixed block", *cells])
    for key in defaults(times):
        if key == OURS:
            continue
        cells = []
        for loop in loops:
            theirs, ours = ([times[who][loop][index] for index in rounds] for who in (key, OURS))
            cells.append(ratio_text(theirs, ours))
        rows.append([" ".join(key), *cells])
    return markdown(["default over ours", *loops], rows)


def first_calls(race: Race) -> str:
    """Median of the first call at a place, us."""
    loops = list(race.first_ns[OURS])
    rows = [
        [" ".join(key), *(f"{float(np.median(race.first_ns[key][loop])) / 1e3:.0f}" for loop in loops)]
        for key in defaults(race.ns)
    ]
    return markdown(["first call, us", *loops], rows)


def claims(race: Race) -> str:
    """What an iteration of the tiny loop takes where each is claimed by itself."""
    one, each = (float(np.median(race.ns[key][TINY])) / 1e6 for key in (BY_ONE, BY_ONE_EACH))
    return f"{TINY}, one iteration at a time: {one:.1f} ns each from one counter, {each:.1f} from a counter a thread."


def empty_loop(race: Race) -> str:
    """What a call without work takes, over our plan that forks it even so, and over our default, which does not."""
    loop = next(loop for loop in race.ns[OURS] if loop.startswith("empty"))
    marks = {key: f"over {' '.join(key)}" for key in (STATIC, OURS) if key in race.ns}
    rows = []
    for key in dict.fromkeys([*defaults(race.ns), *marks]):
        ratios = [ratio_text(race.ns[key][loop], race.ns[mark][loop]) for mark in marks]
        rows.append([" ".join(key), f"{np.median(race.ns[key][loop]):.0f}", *ratios])
    return markdown([loop, "ns a call", *marks.values()], rows)


def report(race: Race, threads: int) -> str:
    """The whole note."""
    machine, quiet, loops = Machine.here(), race.unflagged(), common(race)
    everything = list(range(len(race.others)))
    parts = [
        f"{machine.in_words}; {threads} threads{', oversubscribed' if threads > machine.default_max_threads else ''}; "
        f"{len(race.others)} rounds, of which {len(quiet)} undisturbed; others used "
        f"{float(np.median(race.others)):.2f} cores (median).",
        "## All rounds",
        table(race.ratios, everything, loops),
        against(race.ratios, everything, loops),
        "## Vectors, awake and after a sleep; loops after an OpenMP region, whose threads spin; loops that share data",
        states(race, everything),
        "## All rounds, by their least disturbed slices",
        table(race.quiet_ratios, everything, loops),
    ]
    if quiet and len(quiet) < len(everything):
        parts += ["## Undisturbed rounds", table(race.ratios, quiet, loops), against(race.ratios, quiet, loops)]
    if BY_ONE in race.ns:
        parts += ["## Claims", claims(race)]
    return "\n\n".join([*parts, "## An empty loop", empty_loop(race), "## First calls", first_calls(race)])


def main() -> None:
    """Builds, races, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.05, help="per loop and way, in each round")
    parser.add_argument(
        "--defaults", action="store_true", help="of each contender its default way of looping, and our static"
    )
    parser.add_argument("--only", nargs="*", metavar="NAME", help="these contenders beside corescale, or none")
    parser.add_argument("--peers", type=Path, help="folder of sources, each named OWNER+NAME or NAME")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    into = Path("build/peers")
    into.mkdir(parents=True, exist_ok=True)
    wanted = [peer for peer in PEERS if asked.only is None or peer.name in ("corescale", *asked.only)]
    loops = build_loops(into)
    built = {peer.name: build(peer, asked.peers, into, loops) for peer in wanted}
    programs = {name: path for name, path in built.items() if path}
    ways = {peer.name: [peer.default] for peer in PEERS} | {OURS[0]: [OURS[1], STATIC[1]]} if asked.defaults else {}
    race = run(programs, asked.rounds, asked.threads, asked.seconds, ways)
    pairs = two_at_once(programs, asked.threads, asked.seconds, asked.rounds)
    note = report(race, asked.threads) + "\n\n" + pairs
    print(note)
    if asked.out:
        asked.out.write_text(note + "\n")


if __name__ == "__main__":
    main()
