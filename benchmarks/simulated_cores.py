# SPDX-License-Identifier: Apache-2.0
"""Programs behind one lock or one shared line, on the many cores of the published studies, simulated.

scripts/bench simulated_cores. Prints Markdown, the content of docs/results/simulated_cores.md. The claim simulator's
counter stands for whatever serves one thread at a time: an allocator's lock, or a line that is falsely shared. What a
thread does between two visits was counted on one thread here; a line's travel is that of this machine's calibration,
else the shipped constants. Every speedup is simulated.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from _claim_simulator import times

from corescale import calibration
from corescale.machine import Machine

VISITS = 200_000
"""visits to the server that are simulated, over all threads"""


@dataclass(frozen=True)
class Program:
    """What one thread does between two calls of the allocator, and the machine of the study."""

    between_ns: float
    threads: tuple[int, ...]
    group: int
    """threads that share an L3 there"""
    counted: str
    published: str


PROGRAMS: Mapping[str, Program] = {
    "Multi-Newton, 48 threads": Program(
        780,
        (1, 2, 4, 8, 16, 24, 48),
        6,
        "1.02 million calls of malloc and free in 0.79 s: study's tape, system's allocator, N = 1000, one thread",
        "curves are drawn without numbers; in words, 2011_0 (the system's allocator) is slower than both 2012 versions",
    ),
    "ant colony's network, 192 threads": Program(
        105,
        (1, 2, 4, 8, 24, 48, 96, 192),
        48,
        "168 thousand calls of malloc and free in an iteration of 17.7 ms: the study's program, one thread",
        "in words, the baseline did not scale beyond 48 cores; 64 ranks of 3 threads were 5.3 times as fast in the end",
    ),
}
SERVERS: Mapping[str, tuple[float, str]] = {
    "one line falsely shared": (1, "policy"),
    "one lock for all": (2, "policy"),
    "a lock for each core group": (2, "group"),
}
"""lines that travel for a visit (of a lock: its own, and the list behind it), and how many servers there are"""


def speedups(program: Program, lines: float, counters: str, near: float, far: float) -> list[float]:
    cases = [
        {
            "policy": "fixed",
            "block": 1,
            "counters": counters,
            "n": VISITS,
            "iteration-ns": program.between_ns,
            "variation": 1,
            "threads": threads,
            "core-groups": math.ceil(threads / program.group),
            "placement": "compact",
            "line-near": lines * near,
            "line-far": lines * far,
        }
        for threads in program.threads
    ]
    found = times(cases)
    return [float(found[0] / one) for one in found]


def main() -> None:
    known, missing = calibration.of_machine(Machine.here().fingerprint())
    values = known.values if known else {}
    near, far = values.get("line_near", 80.0), values.get("line_far", 200.0)
    print("# One server and many cores, simulated\n")
    print("From `scripts/bench simulated_cores`. No such machine was there.\n")
    whose = missing or "this machine"
    print(f"A line travels in {near:.3g} ns within a core group, {far:.3g} ns between groups: {whose}.")
    for name, program in PROGRAMS.items():
        print(f"\n## {name}\n\nA visit each {program.between_ns:.0f} ns: {program.counted}.")
        print(f"Published: {program.published}.\n")
        print(f"| simulated speedup | {' | '.join(map(str, program.threads))} |\n|---|{'---|' * len(program.threads)}")
        for server, (lines, counters) in SERVERS.items():
            cells = speedups(program, lines, counters, near, far)
            print(f"| {server} | {' | '.join(f'{cell:.2g}' for cell in cells)} |")


if __name__ == "__main__":
    main()
