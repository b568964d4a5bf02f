# SPDX-License-Identifier: Apache-2.0
"""The paper's tables in its layout, this machine's beside each: scripts/bench block_size_tables LAUNCHES.csv.

LAUNCHES.csv is the table that studies/block_size.toml writes. Prints Markdown, docs/results/block_size/tables.md. A
time is the median over launches of a launch's fastest call; the preferred block of a column is bold.
"""

import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median

from corescale.conclude.block_size import Column, columns

DATA = Path(__file__).parents[1] / "data" / "faa"
NEEDED = ("read", "write", "operations", "compute", "n", "threads", "policy", "block", "at_once", "clocks", "machine")
WHOLE = ("read", "write", "operations", "n", "threads", "block")
Body = tuple[int, int, int, str]
"""bytes read, bytes written, operations, and how these are made"""
Rows = list[dict[str, str]]
NOTHING: Mapping[tuple[str, int], float] = {}
ABSENT = "absent: built without Taskflow"


@dataclass(frozen=True, slots=True)
class Cell:
    """A body on some threads under a policy; block 0 where the policy chooses."""

    body: Body
    threads: int
    policy: str
    block: int = 0


@dataclass(frozen=True)
class Launches:
    """What was measured here, in clocks."""

    times: Mapping[Cell, float]
    chosen: Mapping[Cell, float]
    """iterations at once"""
    shares: Mapping[Body, int]
    """iterations of a thread"""
    machine: str

    @property
    def threads(self) -> Sequence[int]:
        """Every number of them, ascending."""
        return sorted({cell.threads for cell in self.times})

    def sweep(self, body: Body, threads: int) -> dict[int, float]:
        """Time by fixed block."""
        return {
            cell.block: time
            for cell, time in sorted(self.times.items(), key=lambda item: item[0].block)
            if (cell.body, cell.threads, cell.policy) == (body, threads, "fixed")
        }


def launches(path: Path) -> Launches:
    """Ends with a line that names file, line and column for a table that is none of the study's."""
    times: dict[Cell, list[float]] = {}
    chosen, shares, machine = dict[Cell, float](), dict[Body, int](), ""
    try:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        sys.exit(f"{path}: cannot be read ({error.strerror}); name outputs/launches.csv of a run of block_size")
    for number, row in enumerate(rows, 2):
        try:
            values = [row[name] for name in NEEDED]
            read, write, operations, n, threads, block = (int(float(row[name])) for name in NEEDED if name in WHOLE)
            body, clocks, machine = (read, write, operations, row["compute"]), float(row["clocks"]), values[-1]
        except (KeyError, TypeError, ValueError) as error:
            sys.exit(f"{path}:{number}: {error}; the columns needed are {', '.join(NEEDED)}")
        cell = Cell(body, threads, row["policy"], block)
        times.setdefault(cell, []).append(clocks)
        shares[body] = n // threads
        if row["at_once"]:
            chosen[cell] = float(row["at_once"])
    if not times:
        sys.exit(f"{path}: has no launches; let the study run to its end")
    return Launches({cell: median(some) for cell, some in times.items()}, chosen, shares, machine)


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    print(f"\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for line in lines:
        print(f"| {' | '.join(line)} |")


def latencies(sweeps: Mapping[str, Mapping[int, float]], printed: Mapping[tuple[str, int], float] = NOTHING) -> None:
    """A column for each sweep, its least bold. `printed` has what the paper prints where that is doubtful."""
    blocks = sorted({block for sweep in sweeps.values() for block in sweep})
    best = {name: min(sweep, key=lambda block: sweep[block]) for name, sweep in sweeps.items() if sweep}

    def cell(name: str, block: int) -> str:
        if block not in sweeps[name]:
            return ""
        if (name, block) in printed:
            return f"{printed[name, block]:.0f} (doubtful)"
        said = f"{sweeps[name][block]:.0f}"
        return f"**{said}**" if block == best[name] else said

    table(("block sizes", *sweeps), [(str(block), *(cell(name, block) for name in sweeps)) for block in blocks])


def threads_of(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


def printed_table(column: Column) -> tuple[str, int, int, float]:
    """What the columns of one table share."""
    return column.platform, column.case.read, column.case.write, column.case.computation


def doubtful() -> dict[tuple[object, ...], float]:
    """Times as printed that data/faa calls suspect: by what their column has, and block."""
    with (DATA / "tables.csv").open(newline="") as file:
        return {
            (
                row["platform"],
                int(row["threads"]),
                int(row["unit_read"]),
                int(row["unit_write"]),
                float(row["unit_comp_log1024"]),
                int(row["block_size"]),
            ): float(row["clocks"])
            for row in csv.DictReader(file)
            if row["suspect"]
        }


def published_tables(here: Launches, published: Sequence[Column]) -> None:
    suspect = doubtful()
    print("\n## Latency against the block: published, and here")
    for which in dict.fromkeys(map(printed_table, published)):
        of = [column for column in published if printed_table(column) == which]
        case = of[0].case
        body: Body = (case.read, case.write, round(1024**case.computation), "published")
        said = f"unit read {case.read}, unit write {case.write}, unit comp 1024^{case.computation:g}"
        print(f"\n**{of[0].platform}**: {said}")
        theirs = {
            f"{of[0].platform}, {threads_of(c.case.threads)}": dict(zip(c.blocks, c.times, strict=True)) for c in of
        }
        ours = {f"here, {threads_of(count)}": here.sweep(body, count) for count in here.threads}
        odd = {
            (f"{c.platform}, {threads_of(c.case.threads)}", block): suspect[key]
            for c in of
            for block in c.blocks
            if (key := (c.platform, c.case.threads, c.case.read, c.case.write, c.case.computation, block)) in suspect
        }
        latencies(theirs | {name: sweep for name, sweep in ours.items() if sweep}, odd)


def real_tables(here: Launches) -> None:
    bodies = sorted({cell.body for cell in here.times if cell.body[3] == "real"}, key=lambda body: body[2])
    print("\n## Latency against the block: additions that are really made, here")
    print("\nUnit read 1024, unit write 1024; no table of the paper has them, as its compilers folded the loop away.")
    for count in here.threads:
        sweeps = {
            f"2^{body[2].bit_length() - 1} (share {here.shares[body]})": here.sweep(body, count) for body in bodies
        }
        print(f"\n{threads_of(count)}:")
        latencies({name: sweep for name, sweep in sweeps.items() if sweep})


def name_of(body: Body) -> str:
    read, write, operations, compute = body
    power = operations.bit_length() - 1
    return f"R {read}, W {write}, C {f'1024^{power // 10}' if compute == 'published' else f'2^{power}, real'}"


def chosen_tables(here: Launches) -> None:
    """The measured best block, and what each that chooses for itself chose and took."""
    count = here.threads[-1]
    policies = ("published_cost_model", "auto", "guided", "taskflow_guided", "static")
    print(f"\n## The formula's block, auto's, and the measured best: {threads_of(count)}")
    print(
        "\nEach as its iterations at once (the most of them, where blocks shrink), and its time over the best block's."
    )
    lines = []
    for body in here.shares:
        if not (sweep := here.sweep(body, count)):
            continue
        best = min(sweep, key=lambda block: sweep[block])
        cells = [Cell(body, count, policy) for policy in policies]
        said = [
            f"{here.chosen.get(cell, 0):.0f}: {here.times[cell] / sweep[best]:.2f}" if cell in here.times else "absent"
            for cell in cells
        ]
        lines.append((name_of(body), str(best), f"{sweep[best]:.0f}", *said))
    table(("body", "measured best", "clocks", *policies), lines)


def ratio(a: float | None, b: float | None) -> str:
    return f"{a / b:.2f}" if a and b else ""


def comparison(here: Launches) -> None:
    """Taskflow beside the formula, as the paper has it, and what of the difference is threads and what blocks."""
    with (DATA / "taskflow_and_cost_model.csv").open(newline="") as file:
        printed: Rows = list(csv.DictReader(file))
    count = here.threads[-1]
    print(f"\n## Taskflow beside the formula: {threads_of(count)} here, the printed gains beside")
    gains: dict[str, list[float]] = {"gain": [], "threads": [], "blocks": []}
    for varied in ("read", "write", "comp"):
        of = [row for row in printed if row["varied"] == varied]
        platforms = list(dict.fromkeys(row["platform"] for row in of))
        lines = []
        for row in (row for row in of if row["platform"] == platforms[0]):
            shape = (int(row["unit_read"]), int(row["unit_write"]), int(row["unit_comp"]))
            body: Body = (*shape, "published")
            same = [one for one in of if all(one[f"unit_{x}"] == row[f"unit_{x}"] for x in ("read", "write", "comp"))]
            printed_gains = [ratio(float(one["taskflow_clocks"]), float(one["costmodel_clocks"])) for one in same]
            level = str(shape[("read", "write", "comp").index(varied)])
            lines.append((level, *_compared(here, body, count, gains), *printed_gains))
        heads = (
            "Taskflow",
            "CostModel",
            "block sizes",
            "Taskflow's policy, our pool",
            "gain",
            "by threads",
            "by blocks",
        )
        table((f"unit_{varied}", *heads, *(f"printed gain, {one}" for one in platforms)), lines)
    print("\nGain: Taskflow over CostModel = by threads (Taskflow over its policy on our pool) times by blocks (that")
    print("policy over CostModel, both on our pool).")
    if gains["gain"]:
        said = ", ".join(f"{name} {geometric_mean(some):.2f}" for name, some in gains.items())
        print(f"Geometric means over {len(gains['gain'])} rows: {said}.")
        more, fifths, slower = (sum(map(test, gains["gain"])) for test in ((1.2).__lt__, (5.0).__lt__, (1.0).__gt__))
        print(f"Gains above 1.2: {more}; above 5: {fifths}; below 1: {slower}, at least {min(gains['gain']):.2f}.")


def _compared(here: Launches, body: Body, count: int, gains: Mapping[str, list[float]]) -> tuple[str, ...]:
    cells = {policy: Cell(body, count, policy) for policy in ("taskflow", "published_cost_model", "taskflow_guided")}
    theirs, formula, policy = (here.times.get(cell) for cell in cells.values())
    if theirs and formula and policy:
        for name, value in (("gain", theirs / formula), ("threads", theirs / policy), ("blocks", policy / formula)):
            gains[name].append(value)
    block = here.chosen.get(cells["published_cost_model"])
    times = [f"{time:.0f}" if time else "" for time in (formula, policy)]
    return (
        f"{theirs:.0f}" if theirs else ABSENT if formula else "not measured",
        times[0],
        f"{block:.0f}" if block else "",
        times[1],
        ratio(theirs, formula),
        ratio(theirs, policy),
        ratio(policy, formula),
    )


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("scripts/bench block_size_tables LAUNCHES.csv (of: corescale study run block_size)")
    here = launches(Path(sys.argv[1]))
    with (DATA / "tables.csv").open(newline="") as file:
        published = columns(csv.DictReader(file))
    print(
        "# The tables of the paper, and this machine's\n\nFrom `scripts/bench block_size_tables`. Times are clocks of a"
    )
    print(f"whole loop. Here: {here.machine}; clocks of its time stamp counter; the median over launches of a launch's")
    print("fastest call; a thread's share is 512 iterations, as of eight threads in the published tables.")
    print("The preferred block of each column is bold.")
    published_tables(here, published)
    real_tables(here)
    chosen_tables(here)
    comparison(here)


if __name__ == "__main__":
    main()
