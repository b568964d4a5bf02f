# SPDX-License-Identifier: Apache-2.0
"""Why a claim is not answered on this machine: what it needs or compares is not there."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from corescale.conclude.frame import selected
from corescale.declare.outputs import Selection

if TYPE_CHECKING:
    import pandas as pd

LEFT_OUT = "left out of this run"
"""the begin of what is said of levels that are not among the run's"""


def lacking(rows: "pd.DataFrame", needs: Mapping[str, int]) -> str:
    """What the claim needs and these launches do not have; empty for nothing. More threads than cores do not count."""
    able = rows[~rows["oversubscribed"].astype(bool)]
    for name, least in needs.items():
        words = any(isinstance(level, str) for level in rows[name])
        most = able[name].nunique() if words else able[name].max() if len(able) else 0
        if most < least:
            return f"the claim needs {name} >= {least}, and {most} is the most here that is not oversubscribed"
    return ""


def absent(found: "pd.DataFrame", wanted: Selection) -> str:
    """Why there is no time at these levels: the run has none of them, they are oversubscribed here, or all failed."""
    levels = {name: of for name, of in wanted.items() if name != "oversubscribed"}
    if found.empty:
        return "no launch was made"
    if found[selected(found, levels)].empty:
        return f"{LEFT_OUT}: {_first_absent(found, levels)}"
    if found[selected(found, wanted)].empty:
        return f"oversubscribed on this machine: {said(levels)}"
    return f"no launch succeeded at {said(wanted) or 'any level'}"


def _first_absent(found: "pd.DataFrame", levels: Selection) -> str:
    """The levels of one column that no launch has, or all where only their combination is missing."""
    alone = ({name: of} for name, of in levels.items())
    return said(next((one for one in alone if found[selected(found, one)].empty), levels))


def said(selection: Selection) -> str:
    """`threads=2 size=100,200`."""
    each = ((name, levels if isinstance(levels, tuple) else (levels,)) for name, levels in selection.items())
    return " ".join(f"{name}={','.join(map(str, levels))}" for name, levels in each)
