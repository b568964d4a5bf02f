# SPDX-License-Identifier: Apache-2.0
"""The digital evolution under every allocator here: scripts/bench digital_evolution, on a quiet machine.

Prints cell updates per second per allocator as ratios to the C library's own, and the efficiency from 1 to 2 threads,
from randomised blocks of corescale's own loop: first of every allocator on a middling grid, then of two allocators on a
large one. Every launch must end in the same state. Intervals are 95% signed-rank intervals within blocks.
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corescale import native
from corescale.api.measuring import measure
from corescale.conclude import response
from corescale.conclude.stats import Interval, efficiency, hodges_lehmann, ratio_interval
from corescale.declare import command_line
from corescale.declare.catalogue import allocators
from corescale.declare.request import ScanRequest
from corescale.machine import Machine

RATE = "cell_updates_per_second"


@dataclass(frozen=True)
class Case:
    """One grid: side x side cells for a number of generations."""

    side: int
    generations: int
    instructions: int

    @property
    def words(self) -> list[str]:
        """The launch."""
        options = {
            "width": self.side,
            "height": self.side,
            "generations": self.generations,
            "instructions-per-message": self.instructions,
        }
        return ["digital_evolution", *(word for name, value in options.items() for word in (f"--{name}", str(value)))]

    def printed(self, *more: str) -> dict[str, float | str]:
        """What one launch by itself prints."""
        argv = [str(native.find("digital_evolution")), *self.words[1:], *more]
        out = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
        return dict(json.loads(out))


Rates = dict[tuple[str, int], list[float]]
"""(allocator, threads) -> cell updates per second, one for each block"""


def rates(case: Case, names: Sequence[str], blocks: int, machine: Machine) -> Rates:
    """From a scan; a launch that ends in another state than the first fails."""
    words = [*case.words, "--expect-hash", str(case.printed()["state_hash"])]
    with tempfile.TemporaryDirectory() as out:
        request = ScanRequest(
            threads="1,2", allocators=",".join(names), runs=blocks, budget="none", out=out, quiet=True
        )
        experiment = command_line.scan(request, words, machine)
        records = measure(experiment, request, machine).records
    if failed := [record for record in records if not record.checks.get("state_hash_as_expected")]:
        raise SystemExit(f"a launch failed: {failed[0].configuration}: {failed[0].tail}")
    found = response.table(records, f"metric:{RATE}")
    columns = {c: found.column(c).tolist() for c in {record.configuration for record in records}}
    return {(str(c.get("allocator")), c.layout.p): column for c, column in columns.items()}


def written(interval: Interval) -> str:
    """`1.05 [1.02, 1.08]`."""
    if interval.low is None or interval.high is None:
        return f"{interval.estimate:.3f} (below 6 blocks: no interval)"
    return f"{interval.estimate:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def row(name: str, found: Rates) -> str:
    """Median rates, their ratios to the system's allocator, and the efficiency of two threads."""
    cells = [f"{name}"]
    for p in (1, 2):
        cells.append(f"{np.median(found[name, p]):,.0f}")
        cells.append(written(ratio_interval(found[name, p], found["system", p])))
    log_ratios = np.log(np.array(found[name, 2]) / np.array(found[name, 1]))
    cells.append(written(efficiency(hodges_lehmann(log_ratios), 1, 2)))
    return "| " + " | ".join(cells) + " |"


def table(case: Case, names: Sequence[str], blocks: int, machine: Machine) -> str:
    """One case in Markdown."""
    found = rates(case, names, blocks, machine)
    share = 100 * float(case.printed("--account")["malloc_share"])
    head = ["allocator", "per second, 1 thread", "ratio to system", "2 threads", "ratio to system", "efficiency 1 to 2"]
    return "\n".join(
        [
            f"`{' '.join(case.words)}`, {blocks} blocks; malloc's share under `system`: {share:.0f}%\n",
            "| " + " | ".join(head) + " |",
            "|---" * len(head) + "|",
            *(row(name, found) for name in names),
        ]
    )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=6, help="of the middling grid")
    parser.add_argument("--large-blocks", type=int, default=6, help="of the large grid")
    parser.add_argument("--middling", type=int, nargs=3, default=[40, 30, 400], help="side generations instructions")
    parser.add_argument("--large", type=int, nargs=3, default=[200, 8, 400], help="side generations instructions")
    asked = parser.parse_args()
    machine = Machine.here()
    present = [name for name in allocators.ALLOCATORS if name == "system" or allocators.find(name)]
    print(f"{machine.in_words}. Cell updates per second: medians, and ratios within blocks.\n")
    print(table(Case(*asked.middling), present, asked.blocks, machine), end="\n\n", flush=True)
    some = [name for name in ("system", "mimalloc") if name in present]
    print(table(Case(*asked.large), some, asked.large_blocks, machine))
    for name in allocators.ALLOCATORS:
        if name not in present:
            print(f"\nabsent: {allocators.absent(name)}")


if __name__ == "__main__":
    main()
