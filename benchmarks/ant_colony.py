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
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from corescale import native
from corescale.conclude.stats import Interval, ratio_interval
from corescale.declare.catalogue import allocators

BASELINE, HYBRID = "baseline: openmp", "hybrid: 2 ranks x 1 thread"
OURS, ALONE = "fourth build: corescale", "fourth build on one thread"
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
            print(f"{name} is not installed: left out", file=sys.stderr)


def launches(iterations: int) -> dict[str, list[str]]:
    """Every program of the table by its row."""
    hybrid = colony(iterations, "--parallel", "hybrid")
    ours = colony(iterations, "--parallel", "corescale")
    linked = colony(iterations, "--parallel", "hybrid", program="ant_colony_tbbmalloc")
    made = {
        "plain split: std::thread, std::map by std::string": [*settings(2), str(PLAIN), str(iterations), "2"],
        BASELINE: [*settings(2), *colony(iterations)],
        f"{BASELINE}, MALLOC_ARENA_MAX=1": [*settings(2, MALLOC_ARENA_MAX="1"), *colony(iterations)],
        HYBRID: [*RANKS, *settings(1), *hybrid],
        "hybrid, scalable_allocator": [*RANKS, *settings(1), *hybrid, "--heap", "scalable"],
        "hybrid, cache_aligned_allocator": [*RANKS, *settings(1), *hybrid, "--heap", "cache-aligned"],
        "hybrid, tbbmalloc linked": [*RANKS, *settings(1), *linked],
    }
    for name, library in preloads():
        made[f"{BASELINE}, {name} preloaded"] = [*settings(2, LD_PRELOAD=library), *colony(iterations)]
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


def merges(facts: Facts) -> list[float]:
    """The merge's share of each month; empty where months overlap."""
    return [value for name, value in facts.items() if name.startswith("month_") and name.endswith("_merge_share")]


def written(ratio: Interval) -> str:
    return f"{ratio.estimate:.3f}" + ("" if ratio.low is None else f" [{ratio.low:.3f}, {ratio.high:.3f}]")


def table(found: Mapping[str, list[Facts]]) -> Iterator[str]:
    """Iterations a second, and how many times the baseline's that is."""
    yield "| program | iterations a second | times the baseline | goal |\n|---|---|---|---|"
    for row, facts in found.items():
        ratio = ratio_interval(rates(facts), rates(found[BASELINE]))
        yield f"| {row} | {statistics.median(rates(facts)):.1f} | {written(ratio)} | {GOALS.get(row, 'none')} |"


def efficiency(found: Mapping[str, list[Facts]]) -> str:
    halves = ratio_interval([rate / 2 for rate in rates(found[OURS])], rates(found[ALONE]))
    return f"\nEfficiency 1 -> 2 threads of the fourth build: {written(halves)}; goal at least 0.97."


def ends(found: Mapping[str, list[Facts]]) -> Iterator[str]:
    """What the end of a month takes."""
    names = ("serial", "wait", "merge", "serialise", "output")
    yield "\nShares of the time, median of the blocks; goal of the merge: at most 1%.\n"
    yield f"| program | {' | '.join(names)} | merge in the worst month of all blocks |\n|{'---|' * 7}"
    for row in (BASELINE, HYBRID, OURS):
        shares = (statistics.median(facts[f"{name}_share"] for facts in found[row]) for name in names)
        month = max((share for facts in found[row] for share in merges(facts)), default=0.0)
        yield f"| {row} | {' | '.join(f'{share:.3%}' for share in shares)} | {month:.3%} |"


def malloc_shares(iterations: int, repeats: int) -> Iterator[str]:
    """What --account says, before and after."""
    yield "\n| time in malloc, one thread | share | allocations an iteration |\n|---|---|---|"
    rows: dict[str, tuple[str, dict[str, str]]]
    rows = {f"baseline, --look {look}": (look, {}) for look in ("buffer", "key", "measures")}
    rows |= {f"baseline, --look key, {name} preloaded": ("key", {"LD_PRELOAD": at}) for name, at in preloads()}
    for row, (look, preload) in rows.items():
        argv = [*settings(1, **preload), *colony(iterations, "--months", "3", "--look", look, "--account")]
        found = [said(argv) for _ in range(repeats)]
        shares = sorted(facts["malloc_share"] for facts in found)
        middle, count = statistics.median(shares), found[0]["allocations_per_iteration"]
        yield f"| {row} | {middle:.1%} [{shares[0]:.1%}, {shares[-1]:.1%}] | {count:,.0f} |"


def page(iterations: int, blocks: int, note: str) -> Iterator[str]:
    """The whole of it, as Markdown."""
    yield "# The ant colony on a network of transport, side by side\n"
    yield f"{note} {os.cpu_count()} logical processors; {iterations} of 1000 iterations a month, {blocks} blocks."
    yield "Ratios within blocks with their 95% intervals. Printed by `scripts/bench ant_colony`.\n"
    found = measured(launches(iterations), blocks)
    yield from table(found)
    yield efficiency(found)
    yield from ends(found)
    yield from malloc_shares(24, 3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=12, help="of a month; 1000 in the study")
    parser.add_argument("--note", default="", help="a sentence on the machine")
    parser.add_argument("--out", type=Path, help="write the page there")
    given = parser.parse_args()
    text = "\n".join(page(given.iterations, given.blocks, given.note))
    given.out.write_text(f"{text}\n") if given.out else print(text)
