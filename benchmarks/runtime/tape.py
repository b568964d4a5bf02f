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
}
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
        "What one recording of two-body RK4 with its sweep back adds to the memory of a process at its largest, "
        "adjoints included: pages touched, in a process of its own. What a library writes to files is not in it."
    )
    return "\n\n".join(["## Memory: bytes per operation", said, "\n".join(rows)])


def report(lines: Lines, blocks: int, where: str) -> str:
    """The whole page."""
    values = grouped(lines)
    head = (
        f"{where} {blocks} randomised blocks of all libraries in one process; median ns of processor "
        "time per operation of the differentiated program, and in brackets how many times ours that is, within blocks, "
        "with its 95% interval. `limit` is a bare loop: the mathematics, 16 bytes written for each operation, one pass "
        "back over them that waits for nothing. Printed by `scripts/bench runtime/tape`."
    )
    tables = [table(title, values[task]) for task, title in TITLES.items() if OURS in values[task]]
    return "\n\n".join(["# What a derivative costs", head, *tables, memory(lines)])


if __name__ == "__main__":
    print_page(__doc__, PROGRAM, report)
