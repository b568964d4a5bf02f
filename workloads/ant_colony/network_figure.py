# SPDX-License-Identifier: Apache-2.0
"""The picture of a month: warehouses, ports and lanes, joined by lines as wide as what they carry."""

from collections import defaultdict
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from network_plan import Lane, Month

from corescale.show import text
from corescale.show.charts.look import GRID, INK, MUTED, PAPER, SERIES

MOST = 120
"""lanes drawn, the heaviest first; the caption counts all"""
WIDEST = 11.0
"""points, of the line that carries most"""
COLOURS = {"AIR": SERIES[0].colour, "GROUND": SERIES[1].colour}
LINK = SERIES[2].colour


@dataclass(frozen=True)
class Places:
    """Heights of everything, from the top."""

    warehouses: dict[str, float]
    ports: dict[str, float]
    lanes: dict[Lane, float]


def drawn(month: Month, titled: bool = False) -> Figure:
    """The picture, for a page; titled: with its title inside, for where none stands beside it."""
    places = _places(month)
    figure = Figure(
        figsize=(10.4, 1.2 + 0.128 * max(len(places.lanes), 2 * len(places.warehouses))), layout="constrained"
    )
    axes = figure.subplots()
    axes.set(xlim=(-0.36, 2.62), ylim=(max(len(places.lanes), 2) + 0.5, -3.2))
    axes.set_axis_off()
    if titled:
        axes.set_title(month.title, loc="left", fontsize=13)
    _lines(axes, month, places)
    _names(axes, month, places)
    handles = [Line2D([], [], color=colour, linewidth=4, label=label) for label, colour in _legend(month).items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=9.5)
    return figure


def _legend(month: Month) -> dict[str, str]:
    modes = {"AIR": "lane by air", "GROUND": "lane on the ground"}
    used = {lane.mode for lane in month.loads}
    shown = {label: COLOURS[mode] for mode, label in modes.items() if mode in used}
    return {"from warehouse to port": LINK, **shown, "carries nothing": GRID}


def _places(month: Month) -> Places:
    """Lanes beneath one another by their ports; ports amid their lanes; warehouses by the ports that they send to."""
    loads = month.loads
    shown = sorted(month.lanes, key=lambda lane: -loads.get(lane, 0.0))[:MOST]
    lanes = {lane: float(k) for k, lane in
             enumerate(sorted(shown, key=lambda lane: (lane.origin, -loads.get(lane, 0.0), lane.words)))}  # fmt: skip
    of_port: dict[str, list[float]] = defaultdict(list)
    for lane, height in lanes.items():
        of_port[lane.origin].append(height)
    for port in sorted({port for _, port in (*month.linked, *month.links)} - set(of_port)):
        of_port[port] = [len(lanes) + 2.0 * sum(1 for heights in of_port.values() if heights[0] >= len(lanes))]
    ports = {port: sum(heights) / len(heights) for port, heights in of_port.items()}
    return Places(_spread(month, ports, max(ports.values(), default=1.0)), ports, lanes)


def _spread(month: Month, ports: dict[str, float], lowest: float) -> dict[str, float]:
    """Warehouses at equal distances, in the order of the middle of what they send."""
    middle = {}
    for name in month.capacity:
        sent = [(weight, ports[port]) for (warehouse, port), weight in month.links.items() if warehouse == name]
        sent = sent or [(1.0, ports[port]) for warehouse, port in month.linked if warehouse == name and port in ports]
        total = sum(weight for weight, _ in sent)
        middle[name] = sum(weight * height for weight, height in sent) / total if total else lowest
    order = sorted(middle, key=lambda name: (middle[name], name))
    return {name: lowest * (k + 0.5) / len(order) for k, name in enumerate(order)}


def _lines(axes: Axes, month: Month, places: Places) -> None:
    loads, links = month.loads, month.links
    most = max((*loads.values(), *links.values()), default=1.0)
    for warehouse, port in month.linked:
        if warehouse in places.warehouses and (warehouse, port) not in links:
            _curve(axes, (0, places.warehouses[warehouse]), (1, places.ports[port]), GRID, 0.8)
    for lane, height in places.lanes.items():
        if lane not in loads:
            _curve(axes, (1, places.ports[lane.origin]), (2, height), GRID, 0.8)
    for (warehouse, port), weight in links.items():
        start, end = (0, places.warehouses[warehouse]), (1, places.ports[port])
        _curve(axes, start, end, LINK, 0.8 + WIDEST * weight / most)
    for lane, weight in loads.items():
        if lane in places.lanes:
            start, end = (1, places.ports[lane.origin]), (2, places.lanes[lane])
            _curve(axes, start, end, COLOURS.get(lane.mode, INK), 0.8 + WIDEST * weight / most)


def _curve(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str, width: float) -> None:
    middle = (start[0] + end[0]) / 2
    path = Path([start, (middle, start[1]), (middle, end[1]), end], [Path.MOVETO, *[Path.CURVE4] * 3])
    used = colour != GRID
    axes.add_patch(PathPatch(path, facecolor="none", edgecolor=colour, linewidth=width, alpha=0.62 if used else 1,
                             capstyle="butt", zorder=2 if used else 1))  # fmt: skip


def _names(axes: Axes, month: Month, places: Places) -> None:
    loads, sent = month.loads, defaultdict[str, int](int)
    fetched: dict[str, float] = defaultdict(float)
    for route in month.routes:
        sent[route.warehouse] += route.orders
        if route.lane is None:
            fetched[route.port] += route.weight
    for name, height in places.warehouses.items():
        said = f"{name}  {sent[name]} / {month.capacity[name]}"
        _label(axes, -0.02, height, said, "right", INK if sent[name] else MUTED)
    for name, height in places.ports.items():
        said = f"{name}, {fetched[name]:,.0f} kg fetched" if name in fetched else name
        _label(axes, 1, height, said, "center", INK, boxed=True)
    for lane, height in places.lanes.items():
        if lane in loads:
            _label(axes, 2.02, height, f"{loads[lane]:,.0f} kg  {lane.words}", "left", INK, size=7)
    ends = ", ".join(sorted({lane.destination for lane in places.lanes})) or "nowhere"
    for x, said, side in ((0, "warehouses: orders / capacity", "right"), (1, "ports", "center"),
                          (2, f"lanes to {ends}" if len(ends) < 40 else "lanes", "left")):  # fmt: skip
        _label(axes, x, -2.4, said, side, MUTED, size=10)


def _label(
    axes: Axes, x: float, y: float, said: str, side: str, colour: str, size: float = 8, *, boxed: bool = False
) -> None:
    box = {"facecolor": PAPER, "edgecolor": MUTED, "linewidth": 0.6, "boxstyle": "round,pad=0.25"} if boxed else None
    axes.text(x, y, text.clean(said), ha=side, va="center", color=colour, fontsize=size, bbox=box, zorder=4)
