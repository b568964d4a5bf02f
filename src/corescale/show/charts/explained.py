# SPDX-License-Identifier: Apache-2.0
"""The views of explain as pictures: rows of the ledger, time lines, CPUs in use, parallel regions."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from corescale.conclude.explain import ROWS
from corescale.show import exchange
from corescale.show.charts import static
from corescale.show.charts.look import ALARM, GRID, INK, MUTED, SERIES
from corescale.show.explain import LETTERS, SHOWN, Shown, brief

COLOURS = dict(zip(ROWS, [*(look.colour for look in SERIES), ALARM, MUTED, GRID], strict=True))
"""one for each row, the same in every picture"""
SITES = 60
"""characters of a place in a picture"""


@dataclass(frozen=True, slots=True)
class Picture:
    """One view: its name, what stands above it, and what draws it on axes."""

    name: str
    title: str
    alternative: str
    height: float
    """inches"""
    draw: Callable[[Axes], None]
    legend: tuple[str, ...] = ()
    """rows whose colours it has"""

    def figure(self) -> Figure:
        """The picture, with its title inside."""
        made = self.bare()
        made.axes[0].set_title(self.title, loc="left", fontsize=12, fontweight="bold")
        return made

    def bare(self) -> Figure:
        """The picture alone, for a page that has the title."""
        made = Figure(figsize=(9, self.height), layout="constrained")
        self.draw(made.add_subplot())
        if self.legend:
            handles = [Patch(color=COLOURS[row], label=row) for row in ROWS if row in self.legend]
            made.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)
        return made

    @property
    def svg(self) -> str:
        """An inline element for a page."""
        return static.inline(f"explain-{self.name}", self.alternative, self.bare)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """PNG and SVG in a folder."""
        return static.save(f"explain-{self.name}", self.alternative, self.figure, folder)


def pictures(shown: Shown) -> tuple[Picture, ...]:
    """Those that the result has something for."""
    return tuple(_pictures(shown))


def _pictures(shown: Shown) -> Iterator[Picture]:
    rows = {row: found for row, found in shown["rows"].items() if found["share"] >= SHOWN}
    if rows:
        said = ", ".join(f"{row} {found['share']:.1%}" for row, found in rows.items())
        title = f"Where {shown['thread_seconds']:.3g} thread-seconds went"
        yield Picture("ledger", title, said, 0.9 + 0.34 * len(rows), lambda axes: _ledger(axes, rows))
    if lines := shown["time_lines"]:
        said = f"time lines of {len(lines)} threads over {shown['wall']:.3g} s"
        height = 1.4 + max(0.12, min(0.4, 8 / len(lines))) * len(lines)
        seen = {letter for line in lines for letter in line["rows"]}
        legend = tuple(row for row, letter in LETTERS.items() if letter in seen)
        yield Picture("time-line", "What each thread did", said, height, lambda axes: _lines(axes, shown), legend)
    if shown["cpus_in_use"]:
        said = ", ".join(f"{cpus} CPUs {share:.0%}" for cpus, share in shown["cpus_in_use"].items())
        yield Picture("cpus", "CPUs in use, share of the time", said, 3.0, lambda axes: _cpus(axes, shown))
    if shown["cpus_over_time"]:
        said = f"{min(shown['cpus_over_time']):.2g} to {max(shown['cpus_over_time']):.2g} CPUs"
        yield Picture("cpus-over-time", "CPUs in use over the time", said, 2.6, lambda axes: _over_time(axes, shown))
    if spots := shown["hotspots"]:
        said = ", ".join(f"{brief(one['place'])} {one['seconds']:.2g} s" for one in spots)
        yield Picture("hotspots", "Hotspots: CPU time by place", said, 1.3 + 0.34 * len(spots),
                      lambda axes: _hotspots(axes, spots), ("computing", "allocating"))  # fmt: skip
    if pairs := [one for one in shown.get("messages", ()) if one["partner"] is not None and one["partner"] >= 0]:
        ranks = 1 + max(max(one["rank"], one["partner"]) for one in pairs)
        said = ", ".join(f"{one['rank']} with {one['partner']} {one['seconds']:.2g} s" for one in pairs[:8])
        yield Picture("messages", "Seconds in MPI, by rank and partner", said, 2.4 + min(4.0, 0.3 * ranks),
                      lambda axes: _messages(axes, pairs, ranks))  # fmt: skip
    if shown["regions"]:
        said = ", ".join(f"{one['place']} {one['load_balance']:.2f}" for one in shown["regions"][:8])
        height = 1.3 + 0.34 * len(shown["regions"][:8])
        yield Picture("regions", "Parallel regions: computing and waiting", said, height,
                      lambda axes: _regions(axes, shown), ("computing", "barrier and join wait"))  # fmt: skip


def write(shown: Shown, folder: Path) -> None:
    """Every picture as PNG and SVG; raises CorescaleError for a folder that cannot be made."""
    exchange.make_folder(folder)
    for picture in pictures(shown):
        picture.write(folder)


def _bars(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("thread-seconds")
    axes.grid(axis="x")


def _ledger(axes: Axes, rows: Shown) -> None:
    longest = max(found["seconds"] for found in rows.values())
    for number, (row, found) in enumerate(rows.items()):
        axes.barh(number, found["seconds"], color=COLOURS[row], height=0.72)
        top = f"   {brief(found['sites'][0]['place'])[:SITES]}" if found["sites"] else ""
        axes.text(found["seconds"] + longest / 100, number, f"{found['share']:.1%}{top}", va="center", fontsize=9)
    _bars(axes, list(rows))
    axes.set_xlim(0, 1.6 * longest)


def _lines(axes: Axes, shown: Shown) -> None:
    named = {letter: row for row, letter in LETTERS.items() if row}
    lines = shown["time_lines"]
    each = shown["wall"] / len(lines[0]["rows"])
    for number, line in enumerate(lines):
        at = 0
        for letter, group in itertools.groupby(line["rows"]):
            count = len(list(group))
            if letter in named:
                colour = COLOURS[named[letter]]
                axes.broken_barh([(at * each, count * each)], (number - 0.4, 0.8), facecolors=colour)
            at += count
    axes.set_yticks(range(len(lines)), [str(line["thread"]) for line in lines])
    axes.invert_yaxis()
    axes.set_xlim(0, shown["wall"])
    axes.set_xlabel("seconds; blank: not on a CPU")
    axes.set_ylabel("thread")


def _hotspots(axes: Axes, spots: Sequence[Shown]) -> None:
    for number, one in enumerate(spots):
        rest = one["seconds"] - one["allocating"]
        axes.barh(number, rest, color=COLOURS["computing"], height=0.72)
        axes.barh(number, one["allocating"], left=rest, color=COLOURS["allocating"], height=0.72)
    _bars(axes, [brief(one["place"])[:SITES] for one in spots])
    axes.set_xlabel("CPU seconds")


def _messages(axes: Axes, pairs: Sequence[Shown], ranks: int) -> None:
    seconds = [[0.0] * ranks for _ in range(ranks)]
    for one in pairs:
        seconds[one["rank"]][one["partner"]] += one["seconds"]
    drawn = axes.imshow(seconds, cmap="Blues", vmin=0.0)
    cast("Figure", axes.figure).colorbar(drawn, ax=axes, label="seconds")
    axes.set_xticks(range(ranks))
    axes.set_yticks(range(ranks))
    axes.set_xlabel("partner")
    axes.set_ylabel("rank")


def _cpus(axes: Axes, shown: Shown) -> None:
    shares = {int(cpus): share for cpus, share in shown["cpus_in_use"].items()}
    bars = axes.bar(list(shares), list(shares.values()), color=SERIES[0].colour, width=0.8)
    axes.bar_label(bars, [f"{share:.0%}" for share in shares.values()], fontsize=9)
    axes.axvline(shown["cores_used"], color=INK, linestyle=(0, (5, 4)), linewidth=1)
    axes.text(shown["cores_used"], max(shares.values()) * 1.12, f" mean {shown['cores_used']:.2f}", fontsize=9)
    axes.set_ylim(0, max(shares.values()) * 1.25)
    axes.set_xticks(range(max(shown["threads"], *shares) + 1))
    axes.set_xlabel("CPUs in use")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.grid(axis="y")


def _over_time(axes: Axes, shown: Shown) -> None:
    cpus = shown["cpus_over_time"]
    ends = [shown["wall"] * part / len(cpus) for part in range(len(cpus) + 1)]
    axes.stairs(cpus, ends, fill=True, color=SERIES[0].colour, linewidth=0)
    axes.axhline(shown["threads"], color=INK, linestyle=(0, (5, 4)), linewidth=1)
    axes.set_xlim(0, shown["wall"])
    axes.set_ylim(0, 1.1 * max(shown["threads"], *cpus))
    axes.set_xlabel("seconds")
    axes.set_ylabel("CPUs")
    axes.grid(axis="y")


def _regions(axes: Axes, shown: Shown) -> None:
    for number, one in enumerate(shown["regions"][:8]):
        computed = one["wall"] * one["threads"] - one["waited"]
        axes.barh(number, computed, color=COLOURS["computing"], height=0.72)
        axes.barh(number, one["waited"], left=computed, color=COLOURS["barrier and join wait"], height=0.72)
        axes.text(
            computed + one["waited"], number, f"  load balance {one['load_balance']:.2f}", va="center", fontsize=9
        )
    _bars(axes, [brief(one["place"])[:SITES] for one in shown["regions"][:8]])
    axes.set_xlim(0, 1.3 * max(one["wall"] * one["threads"] for one in shown["regions"][:8]))
