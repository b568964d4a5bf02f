# SPDX-License-Identifier: Apache-2.0
"""Every launch in the order it was made, against the median of its configuration; what noise flagged stands out."""

from collections.abc import Sequence
from dataclasses import dataclass

from corescale.show.charts.model import Axis, Chart, Mark, Panel, Series

CAPTION = "Time against the median of the same configuration. A trend or runs of slow launches mean a restless machine."
FLAGGED = "flagged as noisy"


@dataclass(frozen=True, slots=True)
class Point:
    """One launch: its place from 1, what it is called, and value / median - 1."""

    place: int
    label: str
    change: float
    group: str
    noisy: bool
    oversubscribed: bool = False


def order(name: str, title: str, caption: str, points: Sequence[Point]) -> Chart:
    """`points` in the order made; at least one."""
    groups = list(dict.fromkeys(point.group for point in points))
    series = [
        Series("points", group, _marks([x for x in points if x.group == group and not x.noisy]), 2 * k)
        for k, group in enumerate(groups)
    ]
    flagged = Series("points", FLAGGED, _marks([x for x in points if x.noisy]), None)
    worst = max(abs(point.change) for point in points)
    noisy = sum(point.noisy for point in points)
    return Chart(
        name=name,
        title=title,
        caption=caption or CAPTION,
        alternative=f"{len(points)} launches, {noisy} flagged as noisy; "
        f"the farthest is {100 * worst:.1f}% from its median.",
        x=Axis("launch, in the order made"),
        y=Axis("", "change"),
        panels=(Panel(tuple(one for one in (*series, flagged) if one.marks)),),
        references=(0.0,),
        wide=True,
        height=2.4,
    )


def _marks(points: Sequence[Point]) -> tuple[Mark, ...]:
    return tuple(
        Mark(
            point.place,
            point.change,
            f"launch {point.place}, {point.label}: {100 * point.change:+.1f}%"
            + (", flagged as noisy" if point.noisy else "")
            + (", oversubscribed" if point.oversubscribed else ""),
            hollow=point.oversubscribed,
        )
        for point in points
    )
