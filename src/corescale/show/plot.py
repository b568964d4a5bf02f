# SPDX-License-Identifier: Apache-2.0
"""A text chart of speedup over p. Both axes are logarithmic, so that ideal scaling is a straight line."""

import math
from dataclasses import dataclass

from corescale.conclude.answers.scaling import Row, Scan
from corescale.show import text

HEIGHT = 12
"""lines of the plot area, without the axis"""
LEAST_WIDTH, MOST_WIDTH = 24, 64


MARKS, IDEAL, WHISKER, CORNER, HORIZONTAL = "●○■□▲△", "·", "│", "└", "─"
"""Curves differ by shape, so that no colour is needed."""
ASCII = str.maketrans(MARKS + IDEAL + WHISKER + CORNER + HORIZONTAL, "*o#+%x" + ".|+-")

Grid = list[list[str]]


def scaling(scan: Scan, width: int, ascii_only: bool = False) -> str:
    """The scaling curve with the ideal line and whiskers, `width` characters wide; empty below 2 points."""
    rows = [row for row in scan.rows if row.speedup.estimate > 0]
    ps = sorted({row.p for row in rows})
    if len(ps) < 2:
        return ""
    columns = max(LEAST_WIDTH, min(MOST_WIDTH, width - 8))
    ends = [value for row in rows for value in (row.speedup.low, row.speedup.high, row.speedup.estimate) if value]
    low, high = min([*ends, ps[0] / scan.p_ref]) / 1.05, max([*ends, ps[-1] / scan.p_ref]) * 1.05
    grid: Grid = [[" "] * columns for _ in range(HEIGHT)]
    place = _Scale(ps[0], ps[-1], low, high, columns)
    _draw_ideal(grid, place, scan.p_ref)
    for k, curve in enumerate(scan.curves):
        for row in curve.rows:
            _draw(grid, place, row, MARKS[k % len(MARKS)])
    drawn = "\n".join([*_with_axis(grid, place), *_below(ps, place), *_legend(scan)])
    return drawn.translate(ASCII) if ascii_only else drawn


@dataclass(frozen=True, slots=True)
class _Scale:
    """Converts p and speedup to column and line."""

    first: float
    last: float
    low: float
    high: float
    columns: int

    def column(self, p: float) -> int:
        return round(math.log(p / self.first) / math.log(self.last / self.first) * (self.columns - 1))

    def line(self, speedup: float) -> int:
        share = math.log(speedup / self.low) / math.log(self.high / self.low)
        return HEIGHT - 1 - round(min(max(share, 0.0), 1.0) * (HEIGHT - 1))


def _draw_ideal(grid: Grid, place: _Scale, p_ref: int) -> None:
    for column in range(place.columns):
        p = place.first * (place.last / place.first) ** (column / (place.columns - 1))
        grid[place.line(p / p_ref)][column] = IDEAL


def _draw(grid: Grid, place: _Scale, row: Row, mark: str) -> None:
    if not row.speedup.estimate > 0:
        return
    column = place.column(row.p)
    if row.speedup.low and row.speedup.high:
        for line in range(place.line(row.speedup.high), place.line(row.speedup.low) + 1):
            grid[line][column] = WHISKER
    grid[place.line(row.speedup.estimate)][column] = mark


def _with_axis(grid: Grid, place: _Scale) -> list[str]:
    ticks = {place.line(2.0**k): f"{2.0**k:5g}x" for k in range(-7, 14) if place.low <= 2.0**k <= place.high}
    heads = [ticks.get(line, " " * 6) for line in range(HEIGHT)]
    return [f"{head} {WHISKER}{''.join(line).rstrip()}" for head, line in zip(heads, grid, strict=True)]


def _below(ps: list[int], place: _Scale) -> list[str]:
    labels = [" "] * (place.columns + 3)
    for p in [ps[0], ps[-1], *ps[1:-1]]:
        start = min(place.column(p), place.columns - len(str(p)))
        around = labels[max(0, start - 1) : start + len(str(p)) + 1]
        if all(c == " " for c in around):
            labels[start : start + len(str(p))] = str(p)
    axis = f"{'':6} {CORNER}{HORIZONTAL * place.columns}"
    return [axis, f"{'':8}{''.join(labels).rstrip()}  p"]


def _legend(scan: Scan) -> list[str]:
    marks = [f"{MARKS[k % len(MARKS)]} {text.clean(curve.label) or 'speedup'}" for k, curve in enumerate(scan.curves)]
    return [f"{'':8}{entry}" for entry in [*marks, f"{IDEAL} ideal"]]
