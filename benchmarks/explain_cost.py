# SPDX-License-Identifier: Apache-2.0
"""What the profiler of explain costs a program: scripts/bench explain_cost [--pairs 15], on a quiet machine.

Every pair is one launch with the profiler and one without, in random order. Prints a Markdown table of the ratios with
their 95% signed-rank intervals; the goal is below 5%.
"""

import argparse
import random

from corescale import native
from corescale.conclude.stats import ratio_interval
from corescale.declare.factors import Launch
from corescale.observe import profiler
from corescale.observe.spawn import Spawner, SpawnRequest

SEED = 1
THREADS = 2
LOADS = {
    "4 million allocations/s in each thread": ("allocations", "threads"),
    "1 million locks/s in each thread": ("locks", "threads"),
    "10,000 parallel regions/s": ("forks", "openmp"),
}


def seconds(argv: tuple[str, ...], *, profiled: bool) -> float:
    plain = SpawnRequest(argv)
    report = profiler.profiled(Launch(argv), THREADS).report if profiled else Spawner().spawn(plain)
    assert report.status == "ok"
    return report.wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    arguments = parser.parse_args()
    order, program = random.Random(SEED), str(native.find("known_truth"))
    print("| program | with the profiler / without |\n|---|---|")
    for name, words in LOADS.items():
        argv = (program, *words, str(THREADS), "1")
        times: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(arguments.pairs):
            for with_it in order.sample((True, False), 2):
                times[with_it].append(seconds(argv, profiled=with_it))
        found = ratio_interval(times[True], times[False])
        low, high = found.low or 0.0, found.high or 0.0
        print(f"| {name} | {found.estimate:.3f} [{low:.3f}, {high:.3f}] |", flush=True)


if __name__ == "__main__":
    main()
