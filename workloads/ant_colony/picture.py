# SPDX-License-Identifier: Apache-2.0
"""Draws what `ant_colony --problem network` found: a month's routes on the network, and each month's cost and gap.

    ant_colony --problem network --write-data tables
    ant_colony --problem network --data tables --solution plan.csv >result.json
    python workloads/ant_colony/picture.py tables plan.csv result.json --month 3 --into corescale-runs/.../report.html

network, cost and gap as PNG and SVG, beside the plan or in --out FOLDER; --into adds them to a report of corescale,
with a table of the heaviest routes. Needs corescale installed.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from markupsafe import Markup
from network_figure import drawn
from network_plan import Month, PlanError, Route, read_month

from corescale.errors import CorescaleError
from corescale.show import charts, files, html
from corescale.show.charts import drawing, model

HEAVIEST = 20
"""routes in the table of the report, at most"""


def result(file: Path) -> dict[str, Any]:
    """What the program printed."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or "month_1_gap" not in found:
            raise ValueError
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not what ant_colony --problem network prints"
        raise PlanError(f"{file}: {why}; keep its standard output") from None
    for month in range(1, _whole(found.get("months")) + 1):
        if not all(isinstance(found.get(f"month_{month}_{name}"), int | float) for name in ("cost", "gap")):
            raise PlanError(f"{file}: month {month} has no plan; draw a result of which every month has one")
    if not isinstance(found.get("cost"), int | float) or not isinstance(found.get("gap"), int | float):
        raise PlanError(f"{file}: no cost and gap of all months; keep the program's standard output whole")
    return found


def _whole(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 1


def months(said: dict[str, Any]) -> list[tuple[int, float, float]]:
    """Number, cost in dollars and gap to the lower bound of each month."""
    numbers = range(1, int(said["months"]) + 1)
    return [(m, float(said[f"month_{m}_cost"]), float(said[f"month_{m}_gap"])) for m in numbers]


def by_month(said: dict[str, Any]) -> tuple[model.Chart, model.Chart]:
    """The charts of cost and gap."""
    found = months(said)
    whole = f"{len(found)} months: {said['cost']:,.0f} dollars, {said['gap']:.1%} above the bound."
    names = tuple(str(m) for m, _, _ in found)
    words = [f"month {m}: {cost:,.0f} dollars, {gap:.2%} above the bound" for m, cost, gap in found]

    def bars(name: str, title: str, axis: model.Axis, values: Sequence[float]) -> model.Chart:
        marks = tuple(model.Mark(*one) for one in zip(names, values, words, strict=True))
        panel = model.Panel((model.Series("bars", name, marks),))
        return model.Chart(name, title, whole, f"{title}. {'; '.join(words)}.",
                           model.Axis("month", categories=names), axis, (panel,))  # fmt: skip

    dollars, above = model.Axis("thousand dollars", zero=True), model.Axis("above the bound", "percent", zero=True)
    return (
        bars("cost", "Cost of each month", dollars, [cost / 1e3 for _, cost, _ in found]),
        bars("gap", "Each month's gap to its lower bound", above, [gap for _, _, gap in found]),
    )


def line(route: Route) -> tuple[str, ...]:
    """A row of the table of routes."""
    way = f"{route.warehouse} → {route.port}" + (f" → {route.lane.words}" if route.lane else ", fetched")
    return way, f"{route.orders}", f"{route.weight:,.0f}", f"{route.cost:,.0f}"


def add(report: Path, month: Month, made: Sequence[model.Chart]) -> None:
    """The network, the charts and the heaviest routes into a report; raises UsageError."""
    inline = drawing.inline("network", month.words, lambda: drawn(month))
    network = {"name": "network", "wide": True, "title": month.title, "caption": month.words,
               "picture": Markup(inline)}  # fmt: skip
    heaviest = sorted(month.routes, key=lambda route: -route.weight)[:HEAVIEST]
    head = (f"heaviest {len(heaviest)} of {len(month.routes)} routes", "orders", "kg", "dollars")
    figures = [network, *map(html.figure, made)]
    try:
        text = report.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise PlanError(f"{report}: is no UTF-8; give the report.html of a run") from None
    page = html.added(text, "network", "The network of transport", figures, head, [*map(line, heaviest)])
    files.write(str(report), page)


def main(given: argparse.Namespace) -> None:
    """Writes the pictures."""
    made = by_month(result(given.result))
    month = read_month(given.tables, given.plan, given.month)
    folder = given.out or given.plan.parent
    charts.write(made, folder)
    drawing.save("network", month.words, lambda: drawn(month, titled=True), folder)
    if given.into:
        add(given.into, month, made)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tables", type=Path, help="folder of the network's CSV files: --write-data, or your own")
    parser.add_argument("plan", type=Path, help="what --solution wrote")
    parser.add_argument("result", type=Path, help="what the program printed")
    parser.add_argument("--month", type=int, default=1)
    parser.add_argument("--out", type=Path, metavar="FOLDER")
    parser.add_argument("--into", type=Path, metavar="report.html")
    given = parser.parse_args()
    try:
        main(given)
    except (PlanError, CorescaleError, OSError) as error:
        said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        sys.exit(print(f"picture.py: {said}", file=sys.stderr) or 2)
