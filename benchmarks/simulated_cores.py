# SPDX-License-Identifier: Apache-2.0
"""Programs behind one lock or one shared line, on the many cores of the published studies, simulated.

scripts/bench simulated_cores. Prints Markdown, the content of docs/results/simulated_cores.md. The claim simulator's
counter stands for whatever serves one thread at a time: an allocator's lock, or a line that is falsely shared. What a
thread does between two visits was counted on one thread here; a line's travel and a fork are those of this machine's
calibration, else the shipped constants. Every speedup is simulated.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from _claim_simulator import Case, times

from corescale import calibration
from corescale.machine import Machine

MOST_VISITS = 200_000
"""visits to the server that are simulated of a repeat, over all threads"""
SELDOM = 0.01
"""share of a repeat below which a server that is busy so long is none to speak of"""
SHIPPED = {"line_near": 80.0, "line_far": 200.0, "fork_hot": 300.0, "fork_thread": 60.0}
"""ns: the library's own"""
TAPE = "study's tape, system's allocator"


@dataclass(frozen=True)
class Program:
    """A repeat of a program on one thread here, and the machine of the study."""

    seconds: float
    visits: int
    """calls of malloc and free"""
    threads: tuple[int, ...]
    group: int
    """threads that share an L3 there"""
    counted: str
    published: str
    parts: int = 0
    """equal ones that are divided over the threads; 0: not known"""

    @property
    def between_ns(self) -> float:
        """From one visit to the next."""
        return 1e9 * self.seconds / self.visits


def newton(seconds: float, visits: int, counted: str, published: str) -> Program:
    """A repeat on 5000 sub-intervals, and the 48 cores of the study's Opteron 6180 SE, six to an L3."""
    return Program(seconds, visits, (1, 2, 4, 8, 10, 15, 24, 48), 6, counted, published, parts=5000)


PROGRAMS: Mapping[str, Program] = {
    "Multi-Newton, figure 1: by hand, N = 10,000": newton(
        0.0882,
        192,
        "by hand, those of its start among them",
        "the text says nothing of several threads, and on one it calls all nearly equal",
    ),
    "Multi-Newton, figure 3: by hand, N = 1000": newton(
        0.00923,
        192,
        "by hand, those of its start among them",
        "POSIX and Boost threads get slower from 15 threads on, and OpenMP is the best",
    ),
    "Multi-Newton, figure 4: with AD, N = 100": newton(
        0.0511,
        297_864,
        TAPE,
        "slower with more than 10 threads; 2011_0, the system's allocator, is the slowest",
    ),
    "Multi-Newton, figure 5: with AD, N = 1000": newton(
        0.471, 510_624, TAPE, "2011_0, the system's allocator, is slower than both 2012 versions"
    ),
    "ant colony's network, 192 threads": Program(
        0.0177,
        168_000,
        (1, 2, 4, 8, 24, 48, 96, 192),
        48,
        "the study's program, an iteration",
        "the baseline did not scale beyond 48 cores; 64 ranks of 3 threads were 5.3 times as fast in the end",
    ),
}
SERVERS: Mapping[str, tuple[float, str]] = {
    "one line falsely shared": (1, "policy"),
    "one lock for all": (2, "policy"),
    "a lock for each L3 domain": (2, "group"),
}
"""lines that travel for a visit (of a lock: its own, and the list behind it), and how many servers there are"""


def speedups(program: Program, changes: Case, constants: Mapping[str, float]) -> list[float]:
    """Over one thread, at each number of threads."""
    cases = [
        {
            "threads": threads,
            "l3-domains": math.ceil(threads / program.group),
            "placement": "compact",
            "fork-hot": constants["fork_hot"],
            "fork-thread": constants["fork_thread"],
        }
        | changes
        for threads in program.threads
    ]
    found = times(cases)
    return [float(found[0] / one) for one in found]


def nothing_shared(program: Program) -> Case:
    """Each thread runs its share of the parts, which are alike; then all meet."""
    part = 1e9 * program.seconds / program.parts
    return {"policy": "static", "n": program.parts, "iteration-ns": part, "variation": 0.1}


def server(program: Program, lines: float, counters: str, constants: Mapping[str, float]) -> Case:
    """Each visit is served one after the other; what lies between has an exponential's variation."""
    return {
        "policy": "fixed",
        "block": 1,
        "counters": counters,
        "n": min(program.visits, MOST_VISITS),
        "iteration-ns": program.between_ns,
        "variation": 1,
        "line-near": lines * constants["line_near"],
        "line-far": lines * constants["line_far"],
    }


def row(said: str, threads: Sequence[int], cells: Sequence[float]) -> None:
    best = max(range(len(cells)), key=lambda k: cells[k])
    print(f"| {said} | {' | '.join(f'{cell:.2g}' for cell in cells)} | {threads[best]} |")


def report(name: str, program: Program, constants: Mapping[str, float]) -> None:
    busy = program.visits * 2 * constants["line_near"] / (1e9 * program.seconds)
    print(f"\n## {name}\n\nOne thread here: {program.seconds * 1e3:.3g} ms, {program.visits} calls of malloc and free")
    print(f"({program.counted}). A lock would be busy for {busy:.1%} of that. The curves are published without")
    print(f"numbers; in words: {program.published}.\n")
    print(f"| simulated speedup | {' | '.join(map(str, program.threads))} | fastest at |")
    print(f"|---|{'---|' * len(program.threads)}---|")
    if program.parts:
        row("nothing shared but fork and join", program.threads, speedups(program, nothing_shared(program), constants))
    for said, (lines, counters) in SERVERS.items() if busy > SELDOM else ():
        row(said, program.threads, speedups(program, server(program, lines, counters, constants), constants))


def main() -> None:
    known, missing = calibration.of_machine(Machine.here().fingerprint())
    values = dict(known.values) if known else {}
    near = values.get("line_near", SHIPPED["line_near"])
    far = near * SHIPPED["line_far"] / SHIPPED["line_near"]  # where there is one group, as many times as is shipped
    constants = SHIPPED | {"line_near": near, "line_far": far} | {k: v for k, v in values.items() if k in SHIPPED}
    warning = f" ({known.warning} while it was calibrated)" if known and known.warning else ""
    print(
        "# One server and many cores, simulated\n\n"
        "From `scripts/bench simulated_cores`. All machines are simulated; none was available.\n"
    )
    said = ", ".join(f"{name} {value:.3g}" for name, value in constants.items())
    typical = ", ".join(name for name in constants if name not in values)
    print(f"The constants in ns, {missing or f'of this machine{warning}'}, are {said}.")
    print(f"Not measured, but typical, are: {typical or 'none'}.")
    for name, program in PROGRAMS.items():
        report(name, program, constants)


if __name__ == "__main__":
    main()
