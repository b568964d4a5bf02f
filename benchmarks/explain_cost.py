# SPDX-License-Identifier: Apache-2.0
"""What the profiler of explain costs a program: scripts/bench explain_cost [--pairs 12] [LOAD ...], on a quiet machine.

Every pair is one launch with the profiler and one without, in random order. Prints a Markdown table of the ratios with
their 95% signed-rank intervals; the goal is below 5%.
"""

import argparse
import random
import statistics
from pathlib import Path

from corescale import native
from corescale.conclude.stats import ratio_interval
from corescale.declare.factors import Launch
from corescale.observe import profiled as launches
from corescale.observe.spawn import Spawner, SpawnRequest

SEED = 1
THREADS = 2
VARIABLES = {"OMP_NUM_THREADS": str(THREADS)}
CITIES = str(Path(__file__).parents[1] / "data/tsplib/kroA100.tsp")
LOADS = {
    "allocations": ("4 million allocations/s in each thread", "known_truth allocations threads 2 1"),
    "locks": ("1 million locks/s in each thread", "known_truth locks threads 2 1"),
    "regions": ("10,000 parallel regions/s", "known_truth forks openmp 2 1"),
    "evolution": ("digital evolution", "digital_evolution --generations 60"),
    "colony": (
        "ant colony, texts as keys",
        f"ant_colony --pheromone strings --instance {CITIES} --colonies 8 --cycles 80 --seed 1",
    ),
}
"""What each is, and its command."""


def seconds(argv: tuple[str, ...], *, profiled: bool) -> float:
    plain = SpawnRequest(argv, environment=VARIABLES)
    launch = Launch(argv, environment=VARIABLES)
    report = launches.profiled(launch, THREADS).report if profiled else Spawner().spawn(plain)
    assert report.status == "ok"
    return report.wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("loads", nargs="*", metavar="LOAD", help=f"of {', '.join(LOADS)} [all]")
    arguments = parser.parse_args()
    order = random.Random(SEED)
    print("| program | seconds without | with the profiler / without |\n|---|---|---|")
    for name in arguments.loads or LOADS:
        what, line = LOADS[name]
        program, *words = line.split()
        argv = (str(native.find(program)), *words)
        times: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(arguments.pairs):
            for with_it in order.sample((True, False), 2):
                times[with_it].append(seconds(argv, profiled=with_it))
        found = ratio_interval(times[True], times[False])
        low, high = found.low or 0.0, found.high or 0.0
        typical = statistics.median(times[False])
        print(f"| {what} | {typical:.2f} | {found.estimate:.3f} [{low:.3f}, {high:.3f}] |", flush=True)


if __name__ == "__main__":
    main()
