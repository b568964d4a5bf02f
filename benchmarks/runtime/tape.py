# SPDX-License-Identifier: Apache-2.0
"""The tape beside its peers: scripts/bench runtime/tape [--blocks 15] [--out FILE], on a quiet machine.

Needs a build with -DCORESCALE_BENCHMARKS=ON, and the peers where -DCORESCALE_PEERS=FOLDER says: FOLDER/cppad and
FOLDER/xad installed there by their own CMake (coin-or/CppAD, auto-differentiation/xad); FOLDER/codipack and
FOLDER/adept the sources of SciCompKL/CoDiPack and rjhogan/Adept-2, the latter after its
include/create_adept_source_header; FOLDER/stan with include/ and lib/ out of the httpstan wheel. ADOL-C is the Debian
package libadolc-dev. A peer that is not there is left out. All run in one process, block by block in random order, and
must give the same derivatives first.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np
from _one_program import Lines, print_page

from corescale.conclude.stats import Interval, ratio_interval

PROGRAM = Path("build/release/benchmarks/runtime/tape/bench_tape")
OURS = "corescale"
TITLES = {
    "gradient": "Gradient: record, and one sweep back",
    "replayable": "Function: record so that it can be evaluated elsewhere, and one sweep back",
    "replay": "Function recorded before: evaluate anew, and one sweep back",
    "hessian_vector": "Hessian-vector product",
    "nested_hessian_vector": "Hessian-vector product, a recorded type in a recorded type",
    "replay_hessian_vector": "Function recorded before: Hessian-vector product",
}
GOALS = {
    ("gradient", "sum of sines"): 7.5,
    ("gradient", "product"): 12.0,
    ("gradient", "two-body RK4"): 5.0,
    ("replay", "sum of sines"): 7.5,
    ("replay", "product"): 13.5,
    ("replay", "two-body RK4"): 7.5,
    ("hessian_vector", "two-body RK4"): 8.5,
    ("nested_hessian_vector", "two-body RK4"): 25.0,
}
"""Task and kernel -> ns per operation that we want to take at most."""
BYTES = 24.0
"""Bytes per operation that we want to take at most."""
LIMITS = {"replay": "gradient", "nested_hessian_vector": "hessian_vector"}
"""Task -> the one whose bare loop is its limit, too: it asks for the same mathematics."""
REPLAYABLE = ("replayable", "replay", "replay_hessian_vector")
"""Tasks at which we want to be ahead of every peer."""
NOTES = """## Limits of these figures

- Sines: each library takes glibc's sine and cosine, which are most of the time. A tape adds only the difference
  to `limit`. All sines have one argument, so their branches are predicted equally for every library. The sweep back
  adds a thousand times to the adjoint of that argument, each time waiting for the last. A sine of our own would not
  have the values of <cmath> to the bit, which the tape promises.
- CoDiPack and corescale put a whole statement into one entry, by expression templates. corescale can evaluate its
  entries elsewhere.
- Every recording but a program's first finds its memory in the cache of its allocator. The first pays for its
  pages, as every peer's does.
- ADOL-C starts and ends a trace for each recording, which outweighs the sines; its authors record once. CppAD's
  recorded functions are not optimised by `optimize()`.
- XAD's figures differ from run to run more than the others'; its way of use here may not be its best."""
Values = dict[str, dict[str, dict[str, list[float]]]]
"""task -> library -> kernel -> ns per operation, one per block"""


def grouped(lines: Lines) -> Values:
    """By task, library and kernel."""
    values: Values = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for line in lines:
        if "ns" not in line:
            continue
        values[line["task"]][line["library"]][line["kernel"]].append(float(line["ns"]))
    return values


def bounds(ratio: Interval) -> str:
    """The interval, where there are blocks enough for one."""
    return "" if ratio.low is None or ratio.high is None else f" [{ratio.low:.2f}, {ratio.high:.2f}]"


def cell(values: list[float], ours: list[float]) -> str:
    """Median ns, and the ratio to ours."""
    if not values:
        return ""
    if values is ours:
        return f"**{np.median(values):.1f}**"
    ratio = ratio_interval(values, ours)
    return f"{np.median(values):.1f} ({ratio.estimate:.2f}{bounds(ratio)})"


def table(title: str, libraries: dict[str, dict[str, list[float]]]) -> str:
    """One task: a row a library, a column a kernel."""
    ours = libraries[OURS]
    kernels = list(ours)
    lines = [" | ".join(["", *kernels]), " | ".join(["---"] * (len(kernels) + 1))]
    for name in sorted(libraries, key=lambda library: (library != OURS, library != "limit", library)):
        cells = [cell(libraries[name].get(kernel, []), ours[kernel]) for kernel in kernels]
        lines.append(" | ".join([name, *cells]))
    return f"## {title}\n\n" + "\n".join(f"| {line} |" for line in lines)


def goals(values: Values, lines: Lines) -> str:
    """Each goal beside the median, and the limit of its row; memory; the nearest of the peers that replay."""
    rows = ["| row | goal | here | limit here |", "| --- | --- | --- | --- |"]
    for (task, kernel), goal in GOALS.items():
        if not (ours := values[task].get(OURS, {}).get(kernel)):
            continue
        median, limit = float(np.median(ours)), values[LIMITS.get(task, task)].get("limit", {}).get(kernel)
        beside = f"{np.median(limit):.1f} ns" if limit else ""
        rows.append(f"| {TITLES[task]}: {kernel} | {goal} ns | {median:.1f}: {met(median <= goal)} | {beside} |")
    rows += [ahead(task, kernel, values[task]) for task in REPLAYABLE for kernel in values[task].get(OURS, {})]
    taken = [float(line["bytes"]) for line in lines if "bytes" in line and line["library"] == OURS]
    said = "An operation of two-body RK4 with its adjoint"
    rows += [f"| {said} | {BYTES:.0f} bytes | {each:.0f}: {met(each <= BYTES)} | |" for each in taken[:1]]
    return "\n\n".join(["## The goals", "\n".join(rows)])


def met(reached: bool) -> str:
    """How a goal ended."""
    return "met" if reached else "missed"


def ahead(task: str, kernel: str, libraries: dict[str, dict[str, list[float]]]) -> str:
    """The peer that comes nearest, in times of ours."""
    ours = libraries[OURS][kernel]
    peers = {name: ratio_interval(of[kernel], ours) for name, of in libraries.items() if name != OURS and kernel in of}
    if not peers:
        return f"| {TITLES[task]}: {kernel} | ahead of every peer | no peer was here | |"
    name, ratio = min(peers.items(), key=lambda peer: peer[1].estimate)
    low = ratio.estimate if ratio.low is None else ratio.low
    said = f"{name} {ratio.estimate:.2f}{bounds(ratio)} of ours: {met(low > 1)}"
    return f"| {TITLES[task]}: {kernel} | ahead of every peer | {said} | |"


def memory(lines: Lines) -> str:
    """Bytes per operation: a row a library."""
    found = {(str(line["library"]), str(line["task"])): float(line["bytes"]) for line in lines if "bytes" in line}
    libraries = sorted({library for library, _ in found}, key=lambda library: (library != OURS, library))
    rows = ["| | gradient | function |", "| --- | --- | --- |"]
    for library in libraries:
        cells = [
            f"{found[library, task]:.0f}" if (library, task) in found else "" for task in ("gradient", "replayable")
        ]
        rows.append(f"| {' | '.join([library, *cells])} |")
    said = (
        "The table has what one recording of two-body RK4 with its sweep back adds to the peak memory of a process, "
        "adjoints included. Each library runs in a process of its own, and touched pages are counted. For a statement "
        "corescale takes 8 bytes for each number that it keeps, 4 for each operand and 8 for the adjoint. A row of "
        "statements of one type takes 16 more, and the last chunk has a rest. Files that a library writes (as ADOL-C "
        "does) are not counted."
    )
    return "\n\n".join(["## Memory: bytes per operation", said, "\n".join(rows)])


def report(lines: Lines, blocks: int, where: str) -> str:
    """The whole page."""
    values = grouped(lines)
    head = (
        f"{where} One process ran {blocks} randomised blocks of all libraries. A cell has the median processor time, "
        "in ns, for each operation of the differentiated program. Brackets have the ratio to corescale's time within "
        "blocks, with its 95% interval. `limit` is a bare loop: it does the mathematics, writes 16 bytes for each "
        "operation, and passes back over them without waiting for anything. A Hessian-vector product in series of "
        "order 1 writes 24 bytes. `scripts/bench runtime/tape` printed the tables."
    )
    tables = [table(title, values[task]) for task, title in TITLES.items() if OURS in values[task]]
    return "\n\n".join(["# What a derivative costs", head, *tables, memory(lines), goals(values, lines), NOTES])


if __name__ == "__main__":
    print_page(__doc__, PROGRAM, report)
