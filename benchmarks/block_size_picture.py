# SPDX-License-Identifier: Apache-2.0
"""The paper's 15 tables as one picture in its layout: scripts/bench block_size_picture FILE.png [LAUNCHES.csv].

A panel is a table: a row for each block, a column for each number of threads, thousands of clocks in the cells. The
darker a cell, the longer it takes against the best of its column, which is framed. A time with a question mark is the
mean of its neighbours, because the printed one is doubtful. LAUNCHES.csv, the table that
studies/block_size.toml writes, adds this machine's columns to the tables whose body it has: one for each number of
threads, as in the paper.
"""

import csv
import math
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from _block_size_launches import launches
from _block_size_models import columns
from block_size_tables import DATA, doubtful, printed_table
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from corescale.conclude.block_size.columns import Column

ACROSS = 5
SIGNS = """\
Box: the best block of its column. Grey: the darker, the longer a block takes against the best. ?: the mean of its
neighbours, because the printed time is doubtful. here: this machine, where N is 512 for each thread or fewer. The
paper's N fits 4096. So compare blocks within a column only."""
DARKEST = 1.0
"""log of the time over the best time from which cells are equally dark"""

Sweep = Mapping[int, float]
"""clocks by block"""


def picture(published: Sequence[Column], here: Mapping[tuple[int, int, float], Mapping[str, Sweep]]) -> Figure:
    """A panel for each table. `here`: this machine's columns by bytes read, bytes written and computation."""
    tables, suspect = list(dict.fromkeys(map(printed_table, published))), doubtful()
    down = math.ceil(len(tables) / ACROSS)
    figure = Figure(figsize=(3.4 * ACROSS, 3.1 * down), layout="constrained")
    axes = figure.subplots(down, ACROSS, squeeze=False).ravel()
    for axis, which in zip(axes, tables, strict=False):
        platform, read, write, computation = which
        of = [column for column in published if printed_table(column) == which]
        sweeps = {f"{c.case.threads} threads": dict(zip(c.blocks, c.times, strict=True)) for c in of}
        odd = {
            (f"{c.case.threads} threads", block)
            for c in of
            for block in c.blocks
            if (platform, c.case.threads, read, write, computation, block) in suspect
        }
        panel(axis, sweeps | dict(here.get((read, write, computation), {})), odd)
        body = f"unit read {read}, unit write {write}, unit comp 1024^{computation:g}"
        axis.set_title(f"{platform}, thousands of clocks\n{body}", fontsize=8)
        axis.set_ylabel("block sizes", fontsize=7)
    for axis in axes[len(tables) :]:
        axis.set_visible(False)
    figure.supxlabel(SIGNS, fontsize=10)
    return figure


def panel(axis: Axes, sweeps: Mapping[str, Sweep], odd: Collection[tuple[str, int]]) -> None:
    """`odd`: cells that are marked as doubtful."""
    blocks = sorted({block for sweep in sweeps.values() for block in sweep})
    least = {name: min(sweep.values()) for name, sweep in sweeps.items()}
    lost = [[math.log(sweep.get(block, math.nan) / least[name]) for name, sweep in sweeps.items()] for block in blocks]
    axis.imshow(lost, cmap="Greys", vmin=0, vmax=DARKEST * 1.4, aspect="auto")
    for across, (name, sweep) in enumerate(sweeps.items()):
        for down, block in enumerate(blocks):
            if block in sweep:
                best = sweep[block] == least[name]
                dark = lost[down][across] > DARKEST * 0.8
                said = f"{sweep[block] / 1000:.0f}" + "?" * ((name, block) in odd)
                axis.text(across, down, said, ha="center", va="center", fontsize=7,
                          weight="bold" if best else "normal", color="white" if dark else "black",
                          bbox={"fill": False, "pad": 1.5} if best else None)  # fmt: skip
    axis.set_xticks(range(len(sweeps)), [name.replace(" threads", "\nthreads") for name in sweeps], fontsize=7)
    axis.set_yticks(range(len(blocks)), [str(block) for block in blocks], fontsize=7)
    axis.tick_params(length=0, labelbottom=False, labeltop=True)


def measured(path: Path) -> dict[tuple[int, int, float], dict[str, Sweep]]:
    """This machine's columns, by the body and then by the threads."""
    here = launches(path)
    return {
        (read, write, math.log(operations, 1024)): {
            f"here, {count}": sweep
            for count in here.threads
            if (sweep := here.sweep((read, write, operations, compute), count))
        }
        for read, write, operations, compute in here.shares
        if compute == "published"
    }


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit("scripts/bench block_size_picture FILE.png [LAUNCHES.csv] (of study run block_size)")
    with (DATA / "tables.csv").open(newline="") as file:
        published = columns(csv.DictReader(file))
    picture(published, measured(Path(sys.argv[2])) if len(sys.argv) == 3 else {}).savefig(sys.argv[1], dpi=110)


if __name__ == "__main__":
    main()
