# SPDX-License-Identifier: Apache-2.0
"""What intervals say of a claim: of one, of every level, of several levels, of the mean over them."""

from collections.abc import Sequence
from typing import Literal

from corescale.conclude.stats import Interval
from corescale.declare.claim import Claim, equal
from corescale.declare.outputs import Finding

Verdict = Literal["holds", "equal", "does not hold", "open", "not on this machine"]


def judged(finding: Finding, ratio: Interval, cells: Sequence[Interval], shared: Sequence[Interval]) -> Verdict:
    """The verdict of a finding by the mean, the levels, and the levels with the confidence shared among them."""
    if finding.general:
        return judge(ratio, finding)
    if finding.several:
        return _several([judge(each, finding) for each in cells], [judge(each, finding) for each in shared], finding)
    return _all(*([judge(each, finding) for each in intervals] for intervals in (cells, [ratio, *shared])))


def _several(cells: Sequence[Verdict], shared: Sequence[Verdict], finding: Finding) -> Verdict:
    """`holds` if that many of `shared` do; `does not hold` if too few of `cells` are left."""
    if shared.count("holds") >= finding.several:
        return "holds"
    return "does not hold" if len(cells) - cells.count("does not hold") < finding.several else "open"


def _all(cells: Sequence[Verdict], shared: Sequence[Verdict]) -> Verdict:
    """The verdict on every level: the weakest of `cells` if each holds or is equal.

    `does not hold` if the mean is outside the claim, or a level whose confidence is that of all together.
    """
    if set(cells) <= {"holds", "equal"}:
        return "equal" if "equal" in cells else "holds"
    return "does not hold" if "does not hold" in shared else "open"


def judge(ratio: Interval, finding: Finding) -> Verdict:
    """`holds` if the whole interval lies within the claim, `does not hold` if none of it does.

    `equal` if it lies across a bound of the claim, and shows that the two sides differ by less than the margin.
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
