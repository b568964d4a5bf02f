# SPDX-License-Identifier: Apache-2.0
"""Multi-Newton by our tape beside CppAD: scripts/bench runtime/multi_newton [--blocks 15] [--out FILE], quietly.

The study's problem with N = 1000: 10,638 recordings of 2,001 operations a repeat. CppAD is found as by runtime/tape.
"""

import argparse
import json
import subprocess
from collections import defaultdict
from pathlib import Path

import numpy as np

from corescale.conclude.stats import Interval, ratio_interval
from corescale.machine import Machine

PROGRAM = Path("build/release/benchmarks/runtime/multi_newton/bench_multi_newton")
OURS, PEER = "corescale", "CppAD"
Seconds = dict[tuple[str, int], list[float]]
"""library and threads -> seconds of a repeat, one per block"""


def measure(program: Path, blocks: int) -> tuple[Seconds, int]:
    """Runs the program once; the seconds, and how many operations a repeat differentiates."""
    out = subprocess.run([str(program), str(blocks)], check=True, capture_output=True, text=True).stdout
    seconds: Seconds = defaultdict(list)
    operations = 0
    for line in map(json.loads, out.splitlines()):
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


def report(seconds: Seconds, operations: int, machine: Machine, note: str) -> str:
    """The whole page."""
    blocks = len(seconds[OURS, 1])
    head = (
        f"{machine.in_words}. {note}{blocks} randomised blocks in one process, a repeat of {operations:,} recorded "
        "operations each; median milliseconds of a repeat, and of a thread the nanoseconds per operation; ratios "
        "within blocks with their 95% intervals. `limit` is a bare loop of the same sines and cosines, half a "
        "sincos() for an operation; efficiency is the time on one thread over threads times that on them. Printed by "
        "`scripts/bench runtime/multi_newton`."
    )
    lines = ["library | threads | ms | ns an operation | time over CppAD's | efficiency", " | ".join(["---"] * 6)]
    order = sorted(seconds, key=lambda one: (one[1], one[0] != OURS, one[0]))
    lines += [row(seconds, library, threads, operations) for library, threads in order]
    return "\n\n".join(["# Multi-Newton beside CppAD", head, "\n".join(f"| {line} |" for line in lines)])


def main() -> None:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--note", default="", help="a sentence about the circumstances")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    note = f"{asked.note} " if asked.note else ""
    page = report(*measure(asked.program, asked.blocks), Machine.here(), note)
    print(page)
    if asked.out:
        asked.out.write_text(page + "\n")


if __name__ == "__main__":
    main()
