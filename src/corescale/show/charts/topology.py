# SPDX-License-Identifier: Apache-2.0
"""A drawing of which CPUs share which caches and memory: boxes within boxes."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from corescale.machine import format_cpu_list
from corescale.show.charts.drawing import save
from corescale.show.charts.look import INK, MUTED, PAPER, SERIES
from corescale.show.doctor import named, topology
from corescale.topology import Part

LEAF, LABEL, GAP = (1.5, 0.8), 0.4, 0.12
"""width and height of a core, height of a label, and distance between boxes, in units of the drawing"""
WIDEST = 14.0
"""inches"""
COLOURS = {"core": PAPER, "NUMA node": SERIES[4].colour, "socket": MUTED} | {
    f"L{level}{kind}": SERIES[slot].colour
    for level, slot in ((1, 5), (2, 0), (3, 2), (4, 3))
    for kind in ("", "d", "i")
}


class Box(NamedTuple):
    """A part, its size, and the boxes inside it with their upper left corners."""

    part: Part
    width: float
    height: float
    inside: tuple[tuple[float, float, "Box"], ...] = ()


def write(parts: Sequence[Part], title: str, folder: Path) -> tuple[Path, Path]:
    """topology.png and topology.svg; raises UsageError if they cannot be written."""
    return save("topology", "; ".join(topology(parts)), lambda: _figure(parts, title), folder)


def _figure(parts: Sequence[Part], title: str) -> Figure:
    whole = _within(Part(title, (), 0, tuple(parts)))
    scale = min(0.8, WIDEST / whole.width)
    figure = Figure(figsize=(whole.width * scale, whole.height * scale))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-GAP / 4, whole.width + GAP / 4), ylim=(whole.height + GAP / 4, -GAP / 4))
    axes.axis("off")
    _draw(axes, whole, 0, 0, 14 * scale)
    return figure


def _within(part: Part) -> Box:
    """Arranges the boxes inside a part, in as many columns as make it about twice as wide as high."""
    boxes = [_within(one) if one.parts else Box(one, *LEAF) for one in part.parts]
    wide, high = max(box.width for box in boxes) + GAP, max(box.height for box in boxes) + GAP
    columns = min(range(1, len(boxes) + 1), key=lambda n: abs(math.log(n * wide / (2 * high * -(-len(boxes) // n)))))
    rows = -(-len(boxes) // columns)
    placed = tuple((GAP + k % columns * wide, LABEL + GAP + k // columns * high, box) for k, box in enumerate(boxes))
    return Box(part, columns * wide + GAP, LABEL + rows * high + GAP, placed)


def _draw(axes: Axes, box: Box, x: float, y: float, size: float) -> None:
    colour = COLOURS.get(box.part.kind, PAPER)
    axes.add_patch(Rectangle((x, y), box.width, box.height, facecolor=colour, alpha=0.16, linewidth=0))
    axes.add_patch(Rectangle((x, y), box.width, box.height, fill=False, edgecolor=INK, linewidth=0.06 * size))
    if box.inside:
        axes.text(x + GAP, y + GAP / 2, named(box.part), fontsize=size, va="top")
    else:
        said = f"core\nCPU {format_cpu_list(box.part.cpus)}"
        axes.text(x + box.width / 2, y + box.height / 2, said, fontsize=size, ha="center", va="center")
    for right, down, one in box.inside:
        _draw(axes, one, x + right, y + down, size)
