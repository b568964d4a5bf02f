# SPDX-License-Identifier: Apache-2.0
"""A calibration on a terminal: each constant, what it is for, and the limit that it implies."""

from rich import box
from rich.table import Table

from corescale.conclude.calibration import CONSTANTS, Calibration


def table(calibration: Calibration) -> Table:
    """A row for each constant that was measured."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, justify in (("constant", "left"), ("value", "right"), ("what it is", "left"), ("so", "left")):
        shown.add_column(name, justify="right" if justify == "right" else "left")
    for constant in CONSTANTS:
        value = calibration.values.get(constant.name)
        if value is not None:
            loops = "" if constant.read_by_loops else " *"
            limit = constant.limit(value)
            shown.add_row(constant.name + loops, f"{value:.3g} {constant.unit}", constant.meaning, limit)
    shown.caption = "* loops do not read it; laws, the simulator and you may"
    return shown
