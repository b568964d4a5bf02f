# SPDX-License-Identifier: Apache-2.0
"""A figure of matplotlib's in a page and as files: SVG that follows a page's colours or stands alone, and PNG."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from corescale.show import text
from corescale.show.charts import look
from corescale.show.charts.look import GRID, INK, MUTED, PAPER

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "corescale",
    "font.family": "sans-serif",
    "font.size": 10.5,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "text.parse_math": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}

Draw = Callable[[], Figure]
"""Called under STYLE."""


def inline(name: str, alternative: str, draw: Draw) -> str:
    """An SVG element for a page: text stays text, colours of look.py are the page's, identifiers begin with `name`.

    `alternative` is all of it in words, for who cannot see it.
    """
    drawn = re.sub(r'\b(id="|url\(#|xlink:href="#)', rf"\g<1>{name}-", _svg(alternative, draw, "none"))
    drawn = re.sub(
        "#[0-9a-f]{6}",
        lambda match: look.variable(match[0]) if match[0] in look.VARIABLES else match[0],
        drawn[drawn.index("<svg") :],
    )
    return re.sub(r"(font: [\d.]+px) [^;\"]*", r"\1 inherit", drawn)


def write(name: str, alternative: str, draw: Draw, folder: Path, dpi: int = 160) -> tuple[Path, Path]:
    """NAME.png and NAME.svg on white, for documents."""
    png, plain = folder / f"{name}.png", folder / f"{name}.svg"
    with mpl.rc_context(STYLE):
        draw().savefig(png, dpi=dpi, facecolor=PAPER, metadata={"Software": None, "Title": alternative})
    plain.write_text(_svg(alternative, draw, PAPER), encoding="utf-8")
    return png, plain


def _svg(alternative: str, draw: Draw, paper: str) -> str:
    """Without matplotlib's style element, which would hold for a whole page; its two lines are attributes here."""
    with mpl.rc_context(STYLE):
        file = io.StringIO()
        draw().savefig(file, format="svg", facecolor=paper, metadata={"Date": None, "Creator": None})
    drawn = re.sub(r"<(metadata|style)\b.*?</\1>", "", file.getvalue(), flags=re.DOTALL)
    label = text.attribute(alternative).replace("\\", r"\\")
    lines = 'stroke-linejoin="round" stroke-linecap="butt"'
    return re.sub(r"<svg ([^>]*)>", rf'<svg role="img" aria-label="{label}" {lines} \1>', drawn, count=1)
