# SPDX-License-Identifier: Apache-2.0
"""Tables of a calibration: each constant, its purpose, and the limit that it implies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from corescale.calibration import CONSTANTS, Calibration

if TYPE_CHECKING:
    from corescale.conclude.block_size.columns import Column
    from corescale.conclude.block_size.scoring import Scores  # takes half a second to load


SENTENCE = 40
"""columns of a sentence in a table; a longer sentence is folded"""


def table(calibration: Calibration) -> Table:
    """A row for each measured constant, with its spread."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("constant", "value", "spread"):
        shown.add_column(name, justify="left" if name == "constant" else "right")
    for name in ("what it is", "so"):
        shown.add_column(name, max_width=SENTENCE)
    for constant in CONSTANTS:
        value = calibration.values.get(constant.name)
        if value is not None:
            loops = "" if constant.loops else " *"
            spread = calibration.spreads.get(constant.name)
            said = "" if spread is None else f"{spread:.0%}"
            shown.add_row(
                constant.name + loops, f"{value:.3g} {constant.unit}", said, constant.meaning, constant.limit(value)
            )
    shown.caption = (
        "* not read by loops; models and the simulator use it. A value is the lower quartile of its runs,\n"
        "and spread is how far the middle half of them differ."
    )
    return shown


def loops(columns: Sequence[Column]) -> Table:
    """A program's own loops: the best block of each, and how much slower the worst tried block is."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"{len(columns)} loops of the program")
    for name in ("place", "iterations", "threads", "iteration", "best block", "worst block", "loses"):
        shown.add_column(name, justify="left" if name == "place" else "right", overflow="fold")
    for one in columns:
        worst = one.blocks[one.times.index(max(one.times))]
        numbers = (one.case.iterations, one.case.threads, f"{one.case.iteration_ns:.3g} ns", one.best, worst)
        lost = max(one.times) / min(one.times) - 1
        shown.add_row(escape(one.platform), *map(str, numbers), f"{lost:.0%}")
    return shown


def scores(found: Scores) -> Table:
    """The loss of each model: geometric mean and worst case, in per cent of the time of the best fixed block."""
    shown = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, title=f"time lost against the best fixed block, {found.cases} cases"
    )
    for name in ("model", "judged", "mean", "worst"):
        shown.add_column(name, justify="right" if name in ("mean", "worst") else "left")
    noise = {} if found.noise is None else {"best block of the other launches": found.noise}
    for judged, some in (
        ("by its own launches", found.launched),
        ("held out by case", found.held_out),
        ("noise floor", noise),
    ):
        for name, score in some.items():
            shown.add_row(name, judged, f"{score.mean:.1%}", f"{score.worst:.0%}")
    return shown


def fitted(found: Scores, calibrated: Mapping[str, float]) -> Table:
    """The constants from a fit to all cases, next to the constants that calibrate measured directly."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="constants of loop time, fitted to all cases")
    shown.caption = (
        "Constants that no loop here determines are left out. A fitted one is chosen to match loop times,\n"
        "so it has other costs, too; a calibrated one was measured by itself."
    )
    for name in ("constant", "fitted", "calibrated", "fitted / calibrated"):
        shown.add_column(name, justify="left" if name == "constant" else "right")
    for name, value in found.fitted.items():
        unit = "" if name == "uneven" else " ns"
        beside = calibrated.get(name)
        said = ("", "") if beside is None else (f"{beside:.3g} ns", f"{value / beside:.2g}")
        shown.add_row(name, f"{value:.3g}{unit}", *said)
    return shown
