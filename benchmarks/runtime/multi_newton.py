# SPDX-License-Identifier: Apache-2.0
"""Multi-Newton by our tape beside CppAD: scripts/bench runtime/multi_newton [--blocks 15] [--out FILE], quietly.

The study's problem with N = 1000: 10,638 recordings of 2,001 operations a repeat. CppAD is found as by runtime/tape.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np
from _one_program import Lines, print_page

from corescale.conclude.stats import Interval, ratio_interval

PROGRAM = Path("build/release/benchmarks/runtime/multi_newton/bench_multi_newton")
OURS, PEER = "corescale", "CppAD"
Seconds = dict[tuple[str, int], list[float]]
"""library and threads -> seconds of a repeat, one per block"""


def grouped(lines: Lines) -> tuple[Seconds, int]:
    """The seconds, and how many operations a repeat differentiates."""
    seconds: Seconds = defaultdict(list)
    operations = 0
    for line in lines:
        seconds[line["library"], line["threads"]].append(float(line["seconds"]))
        operations = line["evaluations"] * (2 * line["terms"] + 1)
    return seconds, operations


def interval(ratio: Interval, scale: float = 1) -> str:
    """An estimate, with its interval where there are blocks enough for one."""
    ends = "" if ratio.low is None or ratio.high is None else f" [{scale * ratio.low:.3f}, {scale * ratio.high:.3f}]"
    return f"{scale * ratio.estimate:.3f}{ends}"


def row(seconds: Seconds, library: str, threads: int, operations: int) -> str:
    """One library on some threads."""
    mine = seconds[library, threads]
    median = float(np.median(mine))
    cells = [library, str(threads), f"{1e3 * median:.1f}", f"{1e9 * median * threads / operations:.2f}"]
    peer = seconds.get((PEER, threads))
    cells.append(interval(ratio_interval(mine, peer)) if peer and library != PEER else "")
    cells.append(interval(ratio_interval(seconds[library, 1], mine), 1 / threads) if threads > 1 else "")
    return " | ".join(cells)


def verdict(ratio: Interval, goal: float, most: bool) -> str:
    """Whether a goal is met: `most` says that the ratio is to be below it."""
    if ratio.low is None or ratio.high is None:
        return "not decided: too few blocks"
    if (ratio.high <= goal) if most else (ratio.low >= goal):
        return "met"
    return "missed" if (ratio.low > goal if most else ratio.high < goal) else "not decided"


def goals(seconds: Seconds) -> str:
    """The two goals, and what their limits say."""
    lines = ["## The goals"]
    if (PEER, 1) in seconds:
        third = ratio_interval(seconds[OURS, 1], seconds[PEER, 1])
        bare = ratio_interval(seconds["limit", 1], seconds[PEER, 1])
        lines.append(
            f"- A third of CppAD's time on one thread: {interval(third)}, {verdict(third, 1 / 3, True)}. The sines and "
            f"cosines alone take {interval(bare)} of it. Both libraries call those of glibc."
        )
    pair = [ratio_interval(seconds[name, 1], [2 * one for one in seconds[name, 2]]) for name in (OURS, "limit")]
    lines.append(
        f"- Efficiency 0.97 at two threads: {interval(pair[0])}, {verdict(pair[0], 0.97, False)}. The bare loop, which "
        f"shares nothing, has {interval(pair[1])} at the same time."
    )
    return "\n".join([lines[0], "", *lines[1:]])


def report(lines: Lines, blocks: int, where: str) -> str:
    """The whole page."""
    seconds, operations = grouped(lines)
    head = (
        f"{where} {blocks} randomised blocks in one process; each block has a repeat of {operations:,} recorded "
        'operations. "ms" is the median of a repeat, "ns an operation" that of one thread. Ratios are within '
        "blocks, with 95% intervals. `limit` is a bare loop of the same sines and cosines, half a sincos() for each "
        "operation. Efficiency is the time on one thread, divided by the product of the threads and their time. "
        "Printed by `scripts/bench runtime/multi_newton`."
    )
    table = ["library | threads | ms | ns an operation | time over CppAD's | efficiency", " | ".join(["---"] * 6)]
    order = sorted(seconds, key=lambda one: (one[1], one[0] != OURS, one[0]))
    table += [row(seconds, library, threads, operations) for library, threads in order]
    rows = "\n".join(f"| {line} |" for line in table)
    return "\n\n".join(["# Multi-Newton beside CppAD", head, rows, goals(seconds)])


if __name__ == "__main__":
    print_page(__doc__, PROGRAM, report)
