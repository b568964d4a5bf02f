# SPDX-License-Identifier: Apache-2.0
"""The allocator beside its peers: scripts/bench runtime/allocate [--blocks 15] [--out FILE], on a quiet machine.

Each peer is preloaded into the same program, which then calls malloc and free; a launch counts only if the program
itself found its malloc in the library that was asked for. One launch of each per block, in random order. Prints a
Markdown table: medians, and ratios within blocks to our default with their 95% signed-rank intervals.
"""

import argparse
import json
import os
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corescale.conclude.stats import Interval, ratio_interval
from corescale.declare.catalogue import allocators
from corescale.machine import Machine

SEED = 2012
PROGRAM = Path("build/release/benchmarks/runtime/bench_allocate")
OURS = "per_thread"
CALLS = {
    "pair_1": "pair, 1 thread",
    "pair_2": "2 threads",
    "register_1": "size in a register, 1 thread",
    "register_2": "2 threads",
    "hundred": "a hundred at once",
    "random": "random sizes and order",
}
PROGRAMS = {
    "cross": "return by another thread",
    "owners_1": "return to 1 owner",
    "owners_16": "to 16 owners",
    "first_us": "first request of a 1,000th thread, us",
    "strings": "a string of a million",
    "list": "a list node of a million",
    "list_mb": "the list, MB",
}
FIGURES = CALLS | PROGRAMS
LIMITS = ("hand-off", "touch")
PEERS = ("tcmalloc", "mimalloc", "jemalloc", "tbbmalloc")


@dataclass(frozen=True)
class Contender:
    """One row: which allocator of the program, and what is preloaded."""

    name: str
    allocator: str
    preload: str = ""
    program: Path | None = None

    def run(self, program: Path) -> dict[str, float] | None:
        """ns of each figure; None where the preloaded library is not there."""
        environment = {**os.environ, **({"LD_PRELOAD": self.preload} if self.preload else {})}
        argv = [str(self.program or program), self.allocator]
        out = subprocess.run(argv, env=environment, check=True, capture_output=True, text=True).stdout
        values = json.loads(out)
        found = Path(values.pop("malloc")).name
        if self.preload and found != Path(self.preload).name:
            return None
        return {name: float(value) for name, value in values.items()}


def installed() -> Iterator[Contender]:
    """The PEERS that are here; says which are not."""
    for name in PEERS:
        if library := allocators.find(name):
            yield Contender(name, "malloc", str(library))
        else:
            print(f"absent: {allocators.absent(name)}")


def contenders(extra: list[str]) -> list[Contender]:
    """All rows: ours, the system's allocator, the peers, and NAME=LIBRARY or NAME=PROGRAM given by hand."""
    ours = [Contender(name, name) for name in (OURS, *LIMITS)]
    peers = [Contender("glibc", "malloc"), *installed()]
    for name, _, path in (text.partition("=") for text in extra):
        is_library = ".so" in Path(path).name
        peers.append(Contender(name, "malloc", path) if is_library else Contender(name, "malloc", program=Path(path)))
    return ours + peers


def measure(rows: list[Contender], program: Path, blocks: int) -> dict[str, dict[str, list[float]]]:
    """Row -> figure -> one value per block."""
    draw = random.Random(SEED)
    present = [row for row in rows if row.run(program) is not None]  # warms up, too
    for row in rows:
        if row not in present:
            print(f"absent: {row.name}: {row.preload} was not loaded")
    values: dict[str, dict[str, list[float]]] = {row.name: {name: [] for name in FIGURES} for row in present}
    for _ in range(blocks):
        for row in draw.sample(present, len(present)):
            for figure, value in (row.run(program) or {}).items():
                values[row.name][figure].append(value)
    return values


def cell(values: list[float], ours: list[float]) -> str:
    """`16.7 (2.1 [2.0, 2.2])`: median ns, and the ratio to ours within blocks."""
    if not values:
        return "-"
    ratio = ratio_interval(values, ours)
    return f"{np.median(values):.1f} ({ratio.estimate:.2f}{bounds(ratio)})"


def bounds(ratio: Interval) -> str:
    """` [low, high]`, or that there are too few blocks for it."""
    return ", < 6 blocks" if ratio.low is None or ratio.high is None else f" [{ratio.low:.2f}, {ratio.high:.2f}]"


def table(values: dict[str, dict[str, list[float]]], columns: dict[str, str]) -> str:
    """The Markdown table of these figures, ours first."""
    head = ["ns", *columns.values()]
    lines = [" | ".join(head), "|".join(["---"] * len(head))]
    for name, figures in values.items():
        cells = [cell(figures[figure], values[OURS][figure]) for figure in columns]
        lines.append(" | ".join([f"`{name}`", *cells]))
    return "\n".join(f"| {line} |" for line in lines)


def report(values: dict[str, dict[str, list[float]]], blocks: int, machine: Machine) -> str:
    """The whole note."""
    return "\n\n".join(
        [
            "# What an allocation costs",
            f"{machine.in_words}. There are {blocks} randomised blocks. A block has one launch of each allocator. "
            "A cell has the median in ns, unless the heading has another unit. Brackets have the ratio to "
            f"`{OURS}` within blocks, with its 95% interval. `python "
            "benchmarks/runtime/allocate.py` printed the tables. Times are processor time of the thread, except for "
            "rows that wait (return by another thread, first request). `benchmarks/runtime/allocate.hpp` and "
            "`allocate_programs.hpp` define each figure.",
            'A pair allocates 200 bytes and returns them. In the columns "pair" the compiler cannot know '
            'the size from round to round. In "size in a register" the size stays in a register. The next column '
            "allocates a hundred blocks and then returns them. The last one keeps up to 1,024 blocks of 16 to 515 "
            "bytes. Each step picks one of 1,024 places at random: it allocates a block there, "
            "or returns the one that is there.",
            table(values, CALLS),
            "Return by another thread: one thread allocates and writes a stream of 192-byte objects, another reads and "
            "returns them. `hand-off` is the same stream without an allocator. No allocator can take less. "
            "Return to owners: a thread "
            "returns 3,200 blocks that 1 or 16 other threads allocated in turn. `touch` reads the word in front of "
            "each block, which its owner wrote, and keeps the block. It is the limit of an allocator whose blocks name "
            "their owner.",
            table(values, PROGRAMS),
        ]
    )


def main() -> None:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--also", action="append", default=[], metavar="NAME=FILE", help="a library, or such a program")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    values = measure(contenders(asked.also), asked.program, asked.blocks)
    note = report(values, asked.blocks, Machine.here())
    print(note)
    if asked.out:
        asked.out.write_text(note + "\n")


if __name__ == "__main__":
    main()
