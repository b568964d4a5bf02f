# SPDX-License-Identifier: Apache-2.0
"""The content of a chart: marks, axes, panels, reference lines and words. drawing.py draws it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from corescale.conclude.stats import Interval

Place = float | str
"""A position: a number on a continuous axis, or a name on an axis of categories."""
Format = Literal["number", "times", "percent", "change", "seconds", "bytes"]
"""How an axis writes its numbers: 12, 1.5×, 50%, +5%, 0.2 s, 3.0 MiB. A percentage is stored as a share."""


SeriesKind = Literal["curve", "points", "bars", "cells", "spans", "steps", "dashed", "dotted"]


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing drawn, and its text for a reader who points at it or cannot see it."""

    x: Place
    y: Place
    says: str = ""
    low: float | None = None
    high: float | None = None
    value: float | None = None
    """the number that a cell's colour represents"""
    begins: float | None = None
    """where the bar of a span or a step starts"""
    written: str = ""
    """text of a cell (its number, with * if oversubscribed) or of a row of a forest or ladder (its interval)"""
    hollow: bool = False
    """whether more threads than cores were asked for"""


@dataclass(frozen=True, slots=True)
class Series:
    """Marks of one kind under one name.

    curve: points joined by lines, with a band and whiskers if there are intervals. points, bars: with whiskers. cells:
    a heat map. spans: horizontal bars, each from its own start. steps: the same, with whiskers, and each linked to the
    next. dashed: the ideal. dotted: a fitted model.
    """

    kind: SeriesKind
    label: str
    marks: tuple[Mark, ...]
    slot: int = 0
    """number of its look; negative numbers are grey or highlighted looks (look.REST)"""
    style: int = 0
    """number of the line style of a curve (drawing.LINES)"""

    @property
    def name(self) -> str:
        """Its label, or, for a series without a legend entry, another name."""
        return self.label or f"{self.kind} {self.slot}"


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis. `categories`: the names, in order, if the axis has no numbers."""

    title: str
    format: Format = "number"
    log: bool = False
    """whether it is logarithmic, to base 2"""
    zero: bool = False
    """whether it must show 0"""
    ticks: tuple[float, ...] = ()
    """empty: chosen by the renderer"""
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes; row and column say which levels it is for, empty if there is only one."""

    series: tuple[Series, ...]
    row: str = ""
    column: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its text. All panels have the axes `x` and `y`. If it is `turned`, x is the vertical axis."""

    name: str
    title: str
    caption: str
    alternative: str
    """the whole chart in words, for people who cannot see it"""
    x: Axis
    y: Axis
    panels: tuple[Panel, ...]
    references: tuple[float, ...] = ()
    """values of y at which reference lines are drawn"""
    turned: bool = False
    wide: bool = False
    height: float = 3.5
    """height of a panel in inches, at a width of 5, or 10.4 for a wide chart"""
    own_y: bool = False
    """whether each panel has its own range of y"""
    origins: tuple[str, ...] = ()
    """fake, simulated, extrapolated; printed on the chart itself"""

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows of panels, in order."""
        return tuple(dict.fromkeys(panel.row for panel in self.panels))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of panels, in order."""
        return tuple(dict.fromkeys(panel.column for panel in self.panels))

    @property
    def series(self) -> tuple[Series, ...]:
        """One series of each name, from the first panel that has it."""
        named: dict[str, Series] = {}
        for panel in self.panels:
            for series in panel.series:
                named.setdefault(series.name, series)
        return tuple(named.values())

    @property
    def legend(self) -> tuple[Series, ...]:
        """The series in the legend; none if there is only one."""
        named = tuple(series for series in self.series if series.label and series.kind != "cells")
        on_axis = {series.label for series in named} <= set(self.x.categories)
        return named if len(named) > 1 and not on_axis else ()

    @property
    def styled(self) -> bool:
        """Whether curves also differ in line style; if so, there are too many for bands."""
        return any(series.style for series in self.series)

    @property
    def dodged(self) -> bool:
        """Whether series share a category, so that their bars are side by side."""
        return any(
            len(set(places)) < len(places)
            for panel in self.panels
            if (places := [mark.x for series in panel.series if series.kind == "bars" for mark in series.marks])
        )

    @property
    def notices(self) -> tuple[str, ...]:
        """What must be read before the numbers: their origin, and what a hollow mark means."""
        marked = any(mark.hollow for mark in self.marks())
        sign = "*" if self.cells else "hollow"
        return (*self.origins, *([f"{sign}: oversubscribed"] if marked else []))

    @property
    def cells(self) -> tuple[Mark, ...]:
        """Every cell of a heat map; empty for other charts."""
        series = (series for panel in self.panels for series in panel.series if series.kind == "cells")
        return tuple(mark for one in series for mark in one.marks)

    @property
    def crowded(self) -> bool:
        """Whether the names below a panel need to be slanted: each has an equal place, however short it is."""
        longest = max(map(len, self.x.categories), default=0) + 2
        return not self.turned and longest * len(self.x.categories) > self.letters / len(self.columns)

    @property
    def letters(self) -> int:
        """About how many letters fit side by side."""
        return 136 if self.wide else 52

    @property
    def legend_columns(self) -> int:
        """How many entries of the legend fit side by side, and next to the notices if there are panels."""
        longest = max((len(series.label) for series in self.legend), default=1)
        taken = len(" · ".join(self.notices)) if len(self.panels) > 1 else 0
        return max(1, (self.letters - taken) // (longest + 7))

    def marks(self) -> Iterator[Mark]:
        """The marks of every series of every panel."""
        for panel in self.panels:
            for series in panel.series:
                yield from series.marks

    def labelled(self, origins: Sequence[str]) -> "Chart":
        """The chart, with the origin of its numbers in picture, title and words, unless they were measured."""
        if not origins or self.origins:
            return self
        said = ", ".join(origins)
        return replace(
            self,
            origins=tuple(origins),
            title=f"{self.title} ({said})",
            alternative=f"{said}: {self.alternative}",
        )


def finite_ends(found: Interval) -> tuple[float | None, float | None]:
    """The ends of an interval; None for an end that is not finite."""
    low, high = (end if end is not None and math.isfinite(end) else None for end in (found.low, found.high))
    return low, high


def doubling(low: float, high: float) -> tuple[float, ...]:
    """Ticks of an axis to base 2: powers of two from 1/2 on, or the ticks of decades() if there are too few."""
    first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
    powers = tuple(2.0**k for k in range(first, last + 1, max(1, math.ceil((last - first) / 8))))
    return powers if powers[0] >= 0.5 and sum(low <= power <= high for power in powers) > 2 else decades(low, high)


LEAST_APART = 0.03
"""part of a logarithmic axis that two ticks must be apart for their numbers not to overlap"""


def legible(ticks: Sequence[float]) -> tuple[float, ...]:
    """The ticks of a logarithmic axis whose numbers do not overlap the one before, as 16 does after 15."""
    whole, kept = math.log(max(ticks) / min(ticks)), list[float]()
    for tick in sorted(ticks):
        if not kept or math.log(tick / kept[-1]) >= LEAST_APART * whole:
            kept.append(tick)
    return tuple(kept)


MOST_TICKS = 8


def decades(low: float, high: float) -> tuple[float, ...]:
    """Ticks of a logarithmic axis: powers of ten; if too few, 1, 2 and 5 times these, or else equal steps."""
    lowest, highest = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for leading in ((1,), (1, 2, 5)):
        every = [float(f"{digit}e{k}") for k in range(lowest, highest + 1) for digit in leading]
        if sum(low <= tick <= high for tick in every) > 2:
            first = max(k for k, tick in enumerate(every) if tick <= low * 1.01)
            last = next((k for k, tick in enumerate(every) if tick >= high * 0.99), len(every) - 1)
            apart = math.ceil((last - first) / MOST_TICKS)
            return tuple(every[min(k, last)] for k in range(first, last + apart, apart))
    step = rounded((high - low) / 6)
    return tuple(round(k * step, 9) for k in range(max(1, math.floor(low / step)), math.ceil(high / step) + 1))


def binary(low: float, high: float) -> tuple[float, ...]:
    """Ticks of bytes: 1, 2 or 5 times a power of ten, in the largest unit of which there is a whole one."""
    unit = 1024.0 ** max(1, min(3, math.floor(math.log(max(high, 1.0), 1024))))
    step = rounded((high - low) / (5 * unit))
    first, last = math.floor(low / (step * unit)), math.ceil(high / (step * unit))
    return tuple(round(k * step, 9) * unit for k in range(first, last + 1))


def rounded(step: float) -> float:
    """`step`, rounded up to 1, 2 or 5 times a power of ten."""
    return next((found for k in range(-9, 12) for one in (1, 2, 5) if (found := one * 10.0**k) >= step), 0.0)
