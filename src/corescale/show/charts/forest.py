# SPDX-License-Identifier: Apache-2.0
"""The forest plot: each row has an estimate with its interval, and the numbers next to it."""

import types
from collections.abc import Callable, Mapping, Sequence

from corescale.conclude.stats import Interval
from corescale.show import text
from corescale.show.charts.model import Axis, Chart, Format, Mark, Panel, Series, doubling, finite_ends

WIDE_RANGE = 2.5
"""Ratio of the largest to the smallest estimate above which the axis is logarithmic."""

Groups = Sequence[tuple[str, Sequence[tuple[str, Interval, bool]]]]
"""name of a series, and its rows: name, estimate, whether oversubscribed"""


def forest(
    name: str,
    title: str,
    caption: str,
    what: str,
    groups: Groups,
    *,
    shown: Callable[[Interval], text.Shown] = text.times,
    format: Format = "times",  # noqa: A002
    reference: float | None = 1.0,
    aside: Mapping[str, str] = types.MappingProxyType({}),
) -> Chart:
    """A forest with rows of unique names in the given order. `aside`: text that a hover adds to a name."""
    rows = [(label, row) for label, group in groups for row in group]
    values = [row[1].estimate for _, row in rows]
    log = format == "times" and min(values) > 0 and max(values) > WIDE_RANGE * min(values)
    series = tuple(
        Series("points", label, tuple(_mark(row[0] + aside.get(row[0], ""), *row, shown) for row in group), k)
        for k, (label, group) in enumerate(groups)
        if group
    )
    said = "; ".join(f"{row[0]}: {text.join(shown(row[1]))}" for _, row in rows)
    ends = [end for _, row in rows for end in (row[1].estimate, *finite_ends(row[1])) if end is not None]
    return Chart(
        name=name,
        title=title,
        caption=caption,
        alternative=text.clean(f"{what}. {said}."),
        x=Axis("", categories=tuple(row[0] for _, row in rows)),
        y=Axis(what, format, log=log, ticks=doubling(min(ends), max(ends)) if log else ()),
        panels=(Panel(series),),
        references=() if reference is None else (reference,),
        turned=True,
        wide=True,
        height=0.32 * len(rows) + 1.0,
    )


def _mark(name: str, row: str, found: Interval, oversubscribed: bool, shown: Callable[[Interval], text.Shown]) -> Mark:
    written = text.join(shown(found))
    said = f"{name}: {written}" + (", oversubscribed" if oversubscribed else "")
    return Mark(row, found.estimate, said, *finite_ends(found), written=written, hollow=oversubscribed)
