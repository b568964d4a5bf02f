# SPDX-License-Identifier: Apache-2.0
"""Judges claims by intervals, or says why it cannot. A claim is about a ratio, every level, several or their mean."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from corescale.conclude.frame import selected
from corescale.conclude.stats import Interval
from corescale.declare.claimed_range import Claim, equal
from corescale.declare.outputs import Finding, Selection

if TYPE_CHECKING:
    import pandas as pd


Verdict = Literal["holds", "equal", "does not hold", "open", "not on this machine"]


def judged(finding: Finding, ratio: Interval, cells: Sequence[Interval], shared: Sequence[Interval]) -> Verdict:
    """The verdict of a finding. `ratio` is of the mean. `cells` are of the levels, each at its own confidence. `shared`
    are of the levels, at a confidence that holds for all together."""
    if finding.general:
        return judge(ratio, finding)
    if finding.several:
        return _several([judge(each, finding) for each in cells], [judge(each, finding) for each in shared], finding)
    return _all(*([judge(each, finding) for each in intervals] for intervals in (cells, [ratio, *shared])))


def _several(cells: Sequence[Verdict], shared: Sequence[Verdict], finding: Finding) -> Verdict:
    """`holds` if enough of `shared` hold for the claim, `does not hold` if too few of `cells` can still hold."""
    if shared.count("holds") >= finding.several:
        return "holds"
    return "does not hold" if len(cells) - cells.count("does not hold") < finding.several else "open"


def _all(cells: Sequence[Verdict], shared: Sequence[Verdict]) -> Verdict:
    """The verdict on a claim about every level. If each of `cells` holds or is equal, it is the weakest of them.

    It is `does not hold` if the mean is outside the claim. It is the same if one of `shared` is outside.
    """
    if set(cells) <= {"holds", "equal"}:
        return "equal" if "equal" in cells else "holds"
    return "does not hold" if "does not hold" in shared else "open"


def deciding(
    finding: Finding, cells: Mapping[str, Interval], shared: Sequence[Interval]
) -> tuple[str, Interval] | None:
    """Of several levels of a claim about each, the one that decides against it: the farthest of those outside, or else
    of those not shown to be within. None if all are within."""
    if finding.general or finding.several or len(cells) < 2:
        return None
    claim = Claim.parse(finding.claim)
    outside = [at for at, each in zip(cells, shared, strict=True) if judge(each, finding) == "does not hold"]
    against = outside or [at for at, each in cells.items() if judge(each, finding) != "holds"]
    found = [(at, cells[at]) for at in against]
    return max(found, key=lambda one: max(claim.low - one[1].estimate, one[1].estimate - claim.high), default=None)


def judge(ratio: Interval, finding: Finding) -> Verdict:
    """`holds` if the whole interval lies within the claim, `does not hold` if none of it does.

    `equal` if neither is so, and the interval shows that the two sides differ by less than the margin.
    """
    claim = Claim.parse(finding.claim)
    if ratio.low is None or ratio.high is None:
        return "open"
    if claim.low <= ratio.low and ratio.high <= claim.high:
        return "holds"
    if ratio.high < claim.low or ratio.low > claim.high:
        return "does not hold"
    least, most = equal(finding.margin, difference=finding.difference)
    return "equal" if least <= ratio.low and ratio.high <= most else "open"


LEFT_OUT = "left out of this run"
"""the beginning of the reason if the run has no such level"""


def lacking(rows: "pd.DataFrame", needs: Mapping[str, int]) -> str:
    """What the claim needs and these launches lack, if anything. Oversubscribed launches do not count."""
    able = rows[~rows["oversubscribed"].astype(bool)]
    for name, least in needs.items():
        words = any(isinstance(level, str) for level in rows[name])
        most = able[name].nunique() if words else able[name].max() if len(able) else 0
        if len(able) and able[name].isna().all():
            return f"the claim needs {name} >= {least}, and no launch has a value of {name}"
        if not most >= least:
            return f"the claim needs {name} >= {least}, and {most:.6g} is the most here that is not oversubscribed"
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
    """The levels of the first column that no launch has. If only the combination is missing, all levels."""
    alone = ({name: of} for name, of in levels.items())
    return said(next((one for one in alone if found[selected(found, one)].empty), levels))


def said(selection: Selection) -> str:
    """The selection in words, for example `threads=2 size=100,200`."""
    each = ((name, levels if isinstance(levels, tuple) else (levels,)) for name, levels in selection.items())
    return " ".join(f"{name}={','.join(map(str, levels))}" for name, levels in each)
