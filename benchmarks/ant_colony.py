# SPDX-License-Identifier: Apache-2.0
"""The ant colony on a network, as the study has it and as we have it: scripts/bench ant_colony, on a quiet machine.

One run: in each block every program is launched once, in random order; a ratio is the pseudomedian of the blocks'
ratios with its signed-rank interval (docs/measuring.md). All have two threads or two ranks unless said. Shares of the
time in malloc are sampled by the program itself (--account): within operator new and delete, one thread.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from corescale import native
from corescale.conclude.stats import Interval, ratio_interval
from corescale.declare.catalogue import allocators

BASELINE, OURS, ALONE = "baseline: openmp", "fourth build: corescale", "fourth build on one thread"
PLAIN = Path("build/release/benchmarks/bench_ant_colony_plain")
PRELOADED = ("tbbmalloc", "mimalloc", "jemalloc", "tcmalloc")
RANKS = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "-n", "2"]
GOALS = {OURS: "at least 5 times the baseline"}
Facts = Mapping[str, float]


def colony(iterations: int, *options: str, program: str = "ant_colony") -> list[str]:
    """A launch of the workload."""
    argv = [str(native.find(program)), "--problem", "network", "--iterations", str(iterations)]
    return [*argv, "--ants", "2", "--cycles", "2", "--seed", "1", *options]


def settings(threads: int, **more: str) -> list[str]:
    return ["env", f"OMP_NUM_THREADS={threads}", *(f"{name}={value}" for name, value in more.items())]


def preloads() -> Iterator[tuple[str, str]]:
    """Allocators that are here, with their libraries."""
    for name in PRELOADED:
        if (library := allocators.find(name)) is not None:
            yield name, str(library)
        else:
            print(f"{name} is not installed: left out")


def launches(iterations: int) -> dict[str, list[str]]:
    """Every program of the table by its row."""
    hybrid = colony(iterations, "--parallel", "hybrid")
    ours = colony(iterations, "--parallel", "corescale")
    linked = colony(iterations, "--parallel", "hybrid", program="ant_colony_tbbmalloc")
    made = {
        "plain split: std::thread, std::map by std::string": [*settings(2), str(PLAIN), str(iterations), "2"],
        BASELINE: [*settings(2), *colony(iterations)],
        "hybrid: 2 ranks x 1 thread": [*RANKS, *settings(1), *hybrid],
        "hybrid, MALLOC_ARENA_MAX=1": [*RANKS, *settings(1, MALLOC_ARENA_MAX="1"), *hybrid],
        "hybrid, scalable_allocator": [*RANKS, *settings(1), *hybrid, "--heap", "scalable"],
        "hybrid, cache_aligned_allocator": [*RANKS, *settings(1), *hybrid, "--heap", "cache-aligned"],
        "hybrid, tbbmalloc linked": [*RANKS, *settings(1), *linked],
    }
    for name, library in preloads():
        made[f"hybrid, {name} preloaded"] = [*RANKS, *settings(1, LD_PRELOAD=library), *hybrid]
    return made | {OURS: [*settings(2), *ours], ALONE: [*settings(1), *ours]}


def said(argv: list[str]) -> Facts:
    """What a program printed."""
    return dict(json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout))


def measured(rows: Mapping[str, list[str]], blocks: int) -> dict[str, list[Facts]]:
    """What each row's program printed in each block, all of one cost."""
    found: dict[str, list[Facts]] = {row: [] for row in rows}
    for _ in range(blocks):
        for row in random.sample([*rows], len(rows)):
            found[row].append(said(rows[row]))
    costs = {facts["cost"] for one in found.values() for facts in one}
    if max(costs) / min(costs) > 1 + 1e-12:
        raise SystemExit(f"the plans cost different sums: {sorted(costs)}")
    return found


def rates(found: list[Facts]) -> list[float]:
    return [facts["iterations_per_second"] for facts in found]


def written(ratio: Interval) -> str:
    return f"{ratio.estimate:.3f}" + ("" if ratio.low is None else f" [{ratio.low:.3f}, {ratio.high:.3f}]")


def table(found: Mapping[str, list[Facts]]) -> None:
    """Iterations a second, and how many times the baseline's that is."""
    print("| program | iterations a second | times the baseline | goal |\n|---|---|---|---|")
    for row, facts in found.items():
        ratio = ratio_interval(rates(facts), rates(found[BASELINE]))
        print(f"| {row} | {statistics.median(rates(facts)):.1f} | {written(ratio)} | {GOALS.get(row, 'printed')} |")
    halves = [rate / 2 for rate in rates(found[OURS])]
    print(f"\nefficiency 1 -> 2 threads of the fourth build: {written(ratio_interval(halves, rates(found[ALONE])))};")
    print("    goal at least 0.97")
    for row in (BASELINE, "hybrid: 2 ranks x 1 thread", OURS):
        shares = ", ".join(
            f"{name.partition('_')[0]} {max(facts[name] for facts in found[row]):.4%}"
            for name in ("merge_share", "serialise_share", "output_share")
        )
        print(f"largest share of the time, {row}: {shares}; goal of the merge at most 1%")


def malloc_shares(iterations: int, repeats: int) -> None:
    """What --account says, before and after."""
    print("\n| time in malloc, one thread | share | allocations an iteration |\n|---|---|---|")
    rows: dict[str, tuple[str, dict[str, str]]]
    rows = {f"baseline, --look {look}": (look, {}) for look in ("buffer", "key", "measures")}
    rows |= {f"baseline, --look key, {name} preloaded": ("key", {"LD_PRELOAD": at}) for name, at in preloads()}
    for row, (look, preload) in rows.items():
        argv = [*settings(1, **preload), *colony(iterations, "--months", "3", "--look", look, "--account")]
        found = [said(argv) for _ in range(repeats)]
        shares = sorted(facts["malloc_share"] for facts in found)
        middle, count = statistics.median(shares), found[0]["allocations_per_iteration"]
        print(f"| {row} | {middle:.1%} [{shares[0]:.1%}, {shares[-1]:.1%}] | {count:,.0f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=12, help="of a month; 1000 in the study")
    given = parser.parse_args()
    print(f"{os.cpu_count()} logical processors; {given.iterations} iterations a month, {given.blocks} blocks\n")
    table(measured(launches(given.iterations), given.blocks))
    malloc_shares(24, 3)
