# SPDX-License-Identifier: Apache-2.0
"""The charts of explain: rows in total and over time, timelines, CPUs in use, messages, parallel regions."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from corescale.conclude.explain.rows import LedgerRow
from corescale.show import charts, text
from corescale.show.charts.look import SERIES
from corescale.show.charts.model import Axis, Chart, Format, Mark, Panel, Series
from corescale.show.explain import SHOWN, Shown, brief, own_regions

SLOTS = {row: k if k < len(SERIES) else len(SERIES) - 1 - k for k, row in enumerate(LedgerRow)}
"""the look of each row, the same in every chart"""
SITES = 60
"""most characters of a place in a chart"""
MOST = 8
"""most regions in a chart"""


def views(shown: Shown) -> Iterator[Chart]:
    """The charts for which the result has data."""
    rows = {row: found for row, found in shown["rows"].items() if found["share"] >= SHOWN}
    if rows:
        title = f"Where {shown['thread_seconds']:.3g} thread-seconds went"
        yield _spans("ledger", title, "thread-seconds", list(rows), [_row(row, found) for row, found in rows.items()])
    if lines := shown["timelines"]:
        yield _timelines(lines, shown)
    if shares := shown["cpus_in_use"]:
        marks = [_span(cpus, 0.0, share, f"{cpus} CPUs", f"{share:.0%}") for cpus, share in shares.items()]
        title = f"CPUs in use, share of the time; {shown['cores_used']:.2f} in the mean"
        yield _spans("cpus", title, "share of the time", list(shares), [Series("spans", "", tuple(marks))], "percent")
    if shown["cpus_over_time"]:
        yield _over_time(shown)
    if shown.get("rows_over_time"):
        yield _rows_over_time(shown)
    if spots := shown["hotspots"]:
        parts = [(one["allocating"], one["seconds"], f"{one['seconds']:.3g} s") for one in spots]
        yield _stacked("hotspots", "Hotspots: CPU time by place", "CPU seconds", spots, LedgerRow.ALLOCATING, parts)
    if pairs := [one for one in shown.get("messages", ()) if one["partner"] is not None and one["partner"] >= 0]:
        yield _messages(pairs)
    if regions := shown["regions"][:MOST]:
        title = "Parallel regions: computing and waiting"
        parts = [(r["waited"], r["wall"] * r["threads"], f"load balance {r['load_balance']:.2f}") for r in regions]
        yield _stacked("regions", title, "thread-seconds", regions, LedgerRow.BARRIER, parts)


def write(shown: Shown, folder: Path) -> None:
    """Every chart as PNG and SVG; raises StoreError for a folder that cannot be made."""
    charts.write(tuple(replace(chart, name=f"explain-{chart.name}") for chart in views(shown)), folder)


def _spans(
    name: str, title: str, what: str, categories: Sequence[str], series: Sequence[Series],
    format: Format = "number", said: str = "",  # noqa: A002
) -> Chart:  # fmt: skip
    """Horizontal bars, the first on top."""
    said = said or "; ".join(f"{mark.says} {mark.written}".strip() for one in series for mark in one.marks if mark.says)
    return Chart(
        name=name,
        title=title,
        caption="",
        alternative=text.clean(f"{title}: {said}."),
        x=Axis("", categories=tuple(categories)),
        y=Axis(what, format, zero=True),
        panels=(Panel(tuple(one for one in series if one.marks)),),
        turned=True,
        wide=True,
        height=1.2 + 0.34 * len(categories),
    )


def _span(place: str, begins: float, ends: float, says: str, written: str = "") -> Mark:
    return Mark(place, ends, says, begins=begins, written=written)


def _row(row: str, found: Shown) -> Series:
    top = f"   {brief(found['sites'][0]['place'])[:SITES]}" if found["sites"] else ""
    return Series(
        "spans", row, (_span(row, 0.0, found["seconds"], row, f"{found['share']:.1%}{top}"),), SLOTS[LedgerRow(row)]
    )


def _stacked(
    name: str, title: str, what: str, places: Sequence[Shown], row: LedgerRow, parts: Sequence[tuple[float, float, str]]
) -> Chart:
    """A bar for each place: computing, then another row. `parts`: the other row's time, the total, a text."""
    names = [brief(one["place"])[:SITES] for one in places]
    names = [f"{each}{' ' * names[:k].count(each)}" for k, each in enumerate(names)]  # equal names must be two bars
    computing, rest = [], []
    for each, (part, whole, said) in zip(names, parts, strict=True):
        computing.append(_span(each, 0.0, whole - part, f"{each}: {whole - part:.3g} s computing"))
        rest.append(_span(each, whole - part, whole, f"{each}: {part:.3g} s {row}", said))
    series = {LedgerRow.COMPUTING: computing, row: rest}
    return _spans(name, title, what, names, [Series("spans", of, tuple(series[of]), SLOTS[of]) for of in series])


def _timelines(lines: Sequence[Shown], shown: Shown) -> Chart:
    """A line for each thread: the row with most of its time, or blank; below it, the program's own regions."""
    wall, categories, own = shown["wall"], list[str](), list[Mark]()
    several = len({line["process"] for line in lines}) > 1
    names = [f"{line['process']}/{line['thread']}" if several else str(line["thread"]) for line in lines]
    rows = {row.letter: row for row in LedgerRow if row.letter}
    found: dict[str, list[Mark]] = {letter: [] for letter in rows}
    for name, line in zip(names, lines, strict=True):
        categories.append(name)
        each, at = wall / len(line["rows"]), 0
        for letter, group in itertools.groupby(line["rows"]):
            begins, at = at, at + len(list(group))
            if letter in found:
                found[letter].append(_span(name, begins * each, at * each, f"{name}: {rows[letter]}"))
        for region in own_regions(line, shown):
            categories.append(f"{name} {region['region'][:SITES]}")
            own += [_span(categories[-1], begin, end, f"{name}: {region['region']}") for begin, end in region["spans"]]
    series = [Series("spans", rows[letter], tuple(marks), SLOTS[rows[letter]]) for letter, marks in found.items()]
    series.append(Series("spans", "the program's own region", tuple(own), SLOTS[LedgerRow.UNATTRIBUTED]))
    return _spans("timeline", "What each thread did", "time; blank: not on a CPU", categories, series, "seconds",
                  f"{len(names)} threads over {wall:.3g} s")  # fmt: skip


def _over_time(shown: Shown) -> Chart:
    cpus, wall = shown["cpus_over_time"], shown["wall"]
    marks = [Mark(wall * (k + 0.5) / len(cpus), one, f"{one:.3g} CPUs") for k, one in enumerate(cpus)]
    title = "CPUs in use over the time"
    return Chart("cpus-over-time", title, "The dashed line is the number of threads.",
                 f"{title}: {min(cpus):.2g} to {max(cpus):.2g} CPUs.", Axis("time", "seconds", zero=True),
                 Axis("CPUs", zero=True), (Panel((Series("curve", "", tuple(marks)),)),),
                 references=(float(shown["threads"]),), wide=True, height=2.6)  # fmt: skip


def _rows_over_time(shown: Shown) -> Chart:
    """A curve for each row that any thread was in."""
    rows, wall = shown["rows_over_time"], shown["wall"]
    series = [
        Series("curve", row, tuple(
            Mark(wall * (k + 0.5) / len(threads), one, f"{row}: {one:.3g} threads") for k, one in enumerate(threads)
        ), SLOTS[LedgerRow(row)]) for row, threads in rows.items()
    ]  # fmt: skip
    title = "What threads did over the time"
    means = "; ".join(f"{row} {sum(threads) / len(threads):.3g}" for row, threads in rows.items())
    return Chart("rows-over-time", title, "", f"{title}, in the mean: {means}.", Axis("time", "seconds", zero=True),
                 Axis("threads", zero=True), (Panel(tuple(series)),), wide=True, height=2.6)  # fmt: skip


def _messages(pairs: Sequence[Shown]) -> Chart:
    """The seconds of each rank with each partner."""
    seconds: dict[tuple[int, int], float] = {}
    for one in pairs:
        seconds[one["rank"], one["partner"]] = seconds.get((one["rank"], one["partner"]), 0.0) + one["seconds"]
    marks = [
        Mark(str(partner), str(rank), f"{rank} with {partner}: {one:.3g} s", value=one, written=f"{one:.2g}")
        for (rank, partner), one in seconds.items()
    ]
    ranks = tuple(map(str, range(1 + max(max(pair) for pair in seconds))))
    title = "Seconds in MPI, by rank and partner"
    said = "; ".join(mark.says for mark in marks[:MOST])
    return Chart("messages", title, "", f"{title}: {said}.", Axis("partner", categories=ranks),
                 Axis("rank", categories=ranks), (Panel((Series("cells", "", tuple(marks)),)),),
                 wide=len(ranks) > 6, height=1.8 + min(4.0, 0.4 * len(ranks)))  # fmt: skip
