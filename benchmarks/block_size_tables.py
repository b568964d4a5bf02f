# SPDX-License-Identifier: Apache-2.0
"""The paper's tables in its layout, this machine's beside each.

scripts/bench block_size_tables LAUNCHES.csv [TASKFLOW.csv]: the tables that studies/block_size.toml and
studies/block_size_taskflow.toml write. Prints Markdown, docs/results/block_size/tables.md. A time is the least over
launches of a launch's fastest call; the preferred block of a column is bold.
"""

import csv
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean

from _block_size_launches import POLICIES, Body, Cell, Comparison, Launches, Who, launches
from _block_size_launches import comparison as compared
from _block_size_models import Trained, columns

from corescale.conclude.block_size.columns import ITERATIONS, Case, Column
from corescale.conclude.block_size.loop_time import LoopTime

DATA = Path(__file__).parents[1] / "data" / "faa"
Rows = list[dict[str, str]]
NOTHING: Mapping[tuple[str, int], float] = {}
ABSENT = "absent: built without Taskflow"


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
        share = here.shares.get(body, 0)
        print(f"\n**{of[0].platform}**: {said}; N {ITERATIONS} there (inferred), {share} x threads here")
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
    print(
        "\nEach iteration reads 1024 bytes and writes 1024. No table of the paper has such additions, because its\n"
        "compilers removed the loop."
    )
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


def column_of(here: Launches, body: Body, folded: bool) -> Column:
    """The sweep of all threads, in ns. `folded`: additions of the published loop count as none, as g++ folds them."""
    read, write, operations, compute = body
    computation = -math.inf if folded and compute == "published" else math.log(operations, 1024)
    count, sweep = here.threads[-1], here.sweep(body, here.threads[-1])
    case = Case(count, 1, read, write, computation, here.shares[body] * count)
    return Column("here", case, tuple(sweep), tuple(here.ns * clocks for clocks in sweep.values()))


def fitted(here: Launches, bodies: Sequence[Body]) -> Mapping[str, Callable[[Body], tuple[float, float]]]:
    """Models fitted to the sweeps of these bodies: the block of one of them, and its time over the best block's."""
    folded, told = ({body: column_of(here, body, fold) for body in bodies} for fold in (True, False))
    models = {
        "the paper's form, fitted to these": (Trained("time").fit(tuple(told.values())), told),
        "loop time, fitted to these": (LoopTime(computes=True).fit(tuple(folded.values())), folded),
    }

    def chosen(name: str) -> Callable[[Body], tuple[float, float]]:
        choose, columns_ = models[name]

        def of(body: Body) -> tuple[float, float]:
            block = choose(columns_[body].case)
            return block, math.exp(columns_[body].lost(block))

        return of

    return {name: chosen(name) for name in models}


def chosen_tables(here: Launches) -> None:
    """The measured best block, and what each that chooses for itself chose and took."""
    count = here.threads[-1]
    print(f"\n## The formula's block, auto's, fitted ones, and the measured best: {threads_of(count)}")
    print(
        "\nA cell has the block in iterations, and its time divided by the best block's. If blocks shrink, it has the\n"
        "largest. Models are fitted to the bodies of this table; the times of their blocks are interpolated."
    )
    bodies = [body for body in here.shares if here.sweep(body, count)]
    models = fitted(here, bodies)
    lines = []
    for body in bodies:
        sweep = here.sweep(body, count)
        best = min(sweep, key=lambda block: sweep[block])
        cells = [Cell(body, count, policy) for policy in POLICIES]
        said = [f"{here.chosen[cell]:.0f}: {here.times[cell] / sweep[best]:.2f}" for cell in cells]
        said += [f"{block:.0f}: {lost:.2f}" for block, lost in (model(body) for model in models.values())]
        lines.append((name_of(body), str(best), f"{sweep[best]:.0f}", *said))
    table(("body", "measured best", "clocks", *POLICIES, *models), lines)


def power(value: int, base: int) -> str:
    """As the paper writes it: 2^6, 1024, 1024^2."""
    exponent = round(math.log(value, base))
    return f"{base}^{exponent}" if exponent > 1 else str(base)


def ratio(a: float | None, b: float | None) -> str:
    return f"{a / b:.2f}" if a and b else ""


PARTS = {
    "gain": ("taskflow", "formula"),
    "its own": ("taskflow", "policy_asleep"),
    "by sleep": ("policy_asleep", "policy"),
    "by blocks": ("policy", "formula"),
}
"""Who over whom; the first is the product of the others."""


def comparison(here: Comparison) -> None:
    """Taskflow beside the formula, as the paper has it, and what of the difference is threads and what blocks."""
    with (DATA / "taskflow_and_cost_model.csv").open(newline="") as file:
        printed: Rows = list(csv.DictReader(file))
    print(f"\n## Taskflow compared with the formula: {threads_of(here.threads)} here, next to the printed gains")
    bodies: list[Body] = []
    for varied in ("read", "write", "comp"):
        of = [row for row in printed if row["varied"] == varied]
        platforms = list(dict.fromkeys(row["platform"] for row in of))
        lines = []
        for row in (row for row in of if row["platform"] == platforms[0]):
            shape = (int(row["unit_read"]), int(row["unit_write"]), int(row["unit_comp"]))
            same = [one for one in of if all(one[f"unit_{x}"] == row[f"unit_{x}"] for x in ("read", "write", "comp"))]
            printed_gains = [ratio(float(one["taskflow_clocks"]), float(one["costmodel_clocks"])) for one in same]
            level = power(shape[("read", "write", "comp").index(varied)], 1024 if varied == "comp" else 2)
            bodies.append((*shape, "published"))
            lines.append((level, *_compared(here, bodies[-1]), *printed_gains))
        heads = ("Taskflow", "CostModel", "block sizes", *PARTS)
        table((f"unit_{varied}", *heads, *(f"printed gain, {one}" for one in platforms)), lines)
    print(
        "\nThe gain is Taskflow's time divided by CostModel's, and the product of three such ratios. 'Its own'\n"
        "compares Taskflow with its own policy on our threads, which sleep and are not pinned. 'By sleep' compares\n"
        "these threads with threads that spin, each pinned to its CPU. 'By blocks' compares Taskflow's policy with\n"
        "CostModel, both on threads that spin.\n"
    )
    said_of("The fastest call", here.clocks, bodies)
    said_of("The mean of all calls", here.means, bodies)
    said_of("The fastest call after a pause, in which all threads fall asleep", here.paused, bodies)


def _compared(here: Comparison, body: Body) -> tuple[str, ...]:
    def clocks(who: str) -> float | None:
        return here.clocks.get((body, who))

    theirs, formula, block = clocks("taskflow"), clocks("formula"), here.blocks.get(body)
    return (
        f"{theirs:.0f}" if theirs else ABSENT if formula else "not measured",
        f"{formula:.0f}" if formula else "",
        f"{block:.0f}" if block else "",
        *(ratio(clocks(a), clocks(b)) for a, b in PARTS.values()),
    )


def said_of(what: str, clocks: Mapping[Who, float], bodies: Sequence[Body]) -> None:
    """Geometric means over the rows that Taskflow has, and how many gains are large, or below 1."""
    known = [body for body in bodies if all((body, who) in clocks for pair in PARTS.values() for who in pair)]
    if not known:
        return
    parts = {name: [clocks[body, a] / clocks[body, b] for body in known] for name, (a, b) in PARTS.items()}
    said = ", ".join(f"{name} {geometric_mean(some):.2f}" for name, some in parts.items())
    more, fifths, slower = (sum(map(test, parts["gain"])) for test in ((1.2).__lt__, (5.0).__lt__, (1.0).__gt__))
    print(f"* {what}, geometric means over {len(known)} rows: {said}.")
    print(f"  Gains above 1.2: {more}; above 5: {fifths}; below 1: {slower}, at least {min(parts['gain']):.2f}.")


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit("scripts/bench block_size_tables LAUNCHES.csv [TASKFLOW.csv] (of study run block_size, and _taskflow)")
    here = launches(Path(sys.argv[1]))
    with (DATA / "tables.csv").open(newline="") as file:
        published = columns(csv.DictReader(file))
    print(
        "# The tables of the paper, and this machine's\n\nFrom `scripts/bench block_size_tables`. Times are clocks of a"
    )
    print(
        f"whole loop. 'Here' is {here.machine}, with clocks of their time stamp counter. A cell of ours has the\n"
        "fastest call of all launches, because disturbances only add time. It has no interval; findings.md has\n"
        "intervals. Loops here have a different N from the paper's, so columns are compared by their shape,\n"
        "not by their clocks. The best block of each column is bold; blocks within 1% of it are as good."
    )
    published_tables(here, published)
    real_tables(here)
    chosen_tables(here)
    if len(sys.argv) == 3:
        comparison(compared(Path(sys.argv[2])))


if __name__ == "__main__":
    main()
