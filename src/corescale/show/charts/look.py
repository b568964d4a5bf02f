# SPDX-License-Identifier: Apache-2.0
"""Colours and shapes of every chart.

The palette follows Okabe and Ito's, which colour-blind people can distinguish. Shapes differ too, so that no meaning
depends on colour alone. In a page each colour is a CSS variable (html/templates/report.css), so that there can be a
dark page.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib import colors

from corescale.show.charts.model import Mark


@dataclass(frozen=True, slots=True)
class Look:
    """How one series is drawn: a colour, and its shape as matplotlib names it."""

    colour: str
    marker: str
    hatch: str = ""
    """lines across its bars, in the colour of the paper"""


SERIES = (
    Look("#0072b2", "o"),
    Look("#d55e00", "s"),
    Look("#009e73", "^"),
    Look("#aa4499", "D"),
    Look("#b07d00", "v"),
    Look("#3a9bd1", "P"),
    Look("#3f4854", ">"),
    Look("#7a3b12", "<"),
)
INK, MUTED, GRID, ALARM, PAPER = "#1b1f24", "#68717d", "#dfe3e8", "#c23b00", "#ffffff"
REST = (Look(ALARM, "X"), Look(MUTED, "o"), Look(GRID, "o"))
"""looks of the slots -1, -2 and -3"""
NOISY = -1
"""slot of launches that are flagged as noisy"""

VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--grid", ALARM: "--alarm", PAPER: "--paper"} | {
    look.colour: f"--series-{k + 1}" for k, look in enumerate(SERIES)
}
"""Each colour drawn, and the CSS variable that replaces it in a page."""


def of(slot: int) -> Look:
    """The look of a series by its slot. Once all colours are taken, they come again with other shapes."""
    if slot < 0:
        return REST[-slot - 1]
    again, place = divmod(slot, len(SERIES))
    return Look(SERIES[place].colour, SERIES[(place + again) % len(SERIES)].marker, "/" * (3 * again))


@functools.cache
def shades() -> Sequence[tuple[str, str]]:
    """256 colours from low to high and the ink readable on each: cividis, made for colour-blind readers."""
    table = mpl.colormaps["cividis"](range(256))
    return [(colors.to_hex(shade), "#000000" if _light(*shade[:3]) else PAPER) for shade in table]


def _light(red: float, green: float, blue: float) -> bool:
    """Whether black is the more readable of black and white on it (WCAG relative luminance)."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179


def shaded(marks: Sequence[Mark]) -> dict[Mark, tuple[str, str]]:
    """Colour and ink of every cell, from the smallest value to the largest."""
    values = {mark: mark.value for mark in marks if mark.value is not None}
    low, span = min(values.values()), max(values.values()) - min(values.values())
    return {mark: shades()[round(255 * (value - low) / span) if span else 128] for mark, value in values.items()}
