# SPDX-License-Identifier: Apache-2.0
"""The claim simulator beside launches of unit_task on this machine, at 1 and 2 threads and more.

scripts/bench simulated_runs LAUNCHES.csv, the table that studies/block_size_training.toml writes. An iteration's time
is that of one thread at its middle block; everything else comes from this machine's calibration, and nothing is
fitted to what is predicted; on one thread that predicts two blocks of a loop from a third, which is no test of the
simulator. Each loop's least time over its replicates counts, since disturbances only add.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from _claim_simulator import Case, median_error, pairs_in_order, times

from corescale import calibration
from corescale.conclude.stats import Floats
from corescale.machine import Machine

Loop = tuple[str, str, str, str]
MIDDLE = 64
"""a block at which claims cost one thread nothing"""
BLOCKS = (1, 4, 16, 64, 256, 1024)
LINES = ("claim_own", "line_near", "line_far", "fork_hot", "fork_thread", "fork_cold")


def launches(path: Path) -> dict[Loop, dict[tuple[int, int], float]]:
    """Nanoseconds by threads and block, of each loop: its read, write, operations and n."""
    found: dict[Loop, dict[tuple[int, int], float]] = {}
    with path.open(newline="") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            try:
                loop = (row["read"], row["write"], row["operations"], row["n"])
                cells, threads = found.setdefault(loop, {}), int(row["threads"])
                for block in BLOCKS:
                    seen = float(row[f"least_{block}"]) * 1e9
                    cells[threads, block] = min(cells.get((threads, block), np.inf), seen)
            except (KeyError, TypeError, ValueError) as error:
                sys.exit(f"{path}:{number}: {error}; give the launches.csv of a run of block_size_training")
    return found


def case(loop: Loop, threads: int, block: int, iteration_ns: float, constants: dict[str, float]) -> Case:
    lines = {name.replace("_", "-"): constants[name] for name in LINES if name in constants}
    fixed = {"policy": "fixed", "block": block, "threads": threads, "l3-domains": 1}
    return fixed | {"n": loop[3], "iteration-ns": iteration_ns} | lines


def compared(
    cells: dict[Loop, dict[tuple[int, int], float]], constants: dict[str, float]
) -> list[tuple[Loop, int, Floats, Floats]]:
    """Each loop at each number of threads: the fixed blocks' times as seen, and as said."""
    found = []
    for loop, of in cells.items():
        if (1, MIDDLE) not in of:
            continue
        iteration = of[1, MIDDLE] / int(loop[3])
        for threads in sorted({t for t, _ in of}):
            blocks = sorted(b for t, b in of if t == threads)
            said = times([case(loop, threads, block, iteration, constants) for block in blocks])
            found.append((loop, threads, np.array([of[threads, block] for block in blocks]), said))
    return found


def report(found: list[tuple[Loop, int, Floats, Floats]]) -> None:
    print("| threads | n | loops | median error | worst loop | order of blocks right | pairs |")
    print("|---|---|---|---|---|---|---|")
    for threads in sorted({threads for _, threads, _, _ in found}):
        for n in (*sorted({loop[3] for loop, *_ in found}, key=int), "all"):
            some = [(seen, said) for loop, t, seen, said in found if t == threads and n in (loop[3], "all")]
            pairs = [pairs_in_order(seen, said) for seen, said in some]
            right, clear = sum(one for one, _ in pairs), sum(all_ for _, all_ in pairs)
            errors = [median_error(seen, said) for seen, said in some]
            every = median_error(*(np.concatenate(parts) for parts in zip(*some, strict=True)))
            order = f"{right / clear:.0%}" if clear else "none differ"
            print(f"| {threads} | {n} | {len(some)} | {every:.1%} | {max(errors):.0%} | {order} | {clear} |")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("scripts/bench simulated_runs LAUNCHES.csv (of: corescale study run block_size_training)")
    machine = Machine.here()
    known, missing = calibration.of_machine(machine.fingerprint())
    print("# The claim simulator beside launches of unit_task\n")
    print(f"Machine: {machine.in_words}. Constants: {missing or 'of its calibration'}.\n")
    report(compared(launches(Path(sys.argv[1])), dict(known.values) if known else {}))


if __name__ == "__main__":
    main()
