# SPDX-License-Identifier: Apache-2.0
"""What intervals say of a claim: of one, of every level, of several levels, of the mean over them."""

from collections.abc import Sequence
from typing import Literal

from corescale.conclude.stats import Interval
from corescale.declare.claim import Claim
from corescale.declare.outputs import Finding

Verdict = Literal["holds", "does not hold", "open", "not measured"]


def judged(
    finding: Finding, ratio: Interval, cells: Sequence[Interval], shared: Sequence[Interval], claim: Claim
) -> Verdict:
    """Of the mean, of the levels and of the levels with the confidence shared among them, as the finding claims."""
    if finding.general:
        return judge(ratio, claim)
    if finding.several:
        return judge_several(finding.several, cells, shared, claim)
    return judge_all(ratio, cells, shared, claim)


def judge_several(several: int, cells: Sequence[Interval], shared: Sequence[Interval], claim: Claim) -> Verdict:
    """Of `several` levels: `holds` where so many intervals of `shared` are within the claim; `does not hold` where too
    few of `cells` are not outside it.
    """
    if sum(judge(each, claim) == "holds" for each in shared) >= several:
        return "holds"
    left = sum(judge(each, claim) != "does not hold" for each in cells)
    return "does not hold" if left < several else "open"


def judge_all(mean: Interval, cells: Sequence[Interval], shared: Sequence[Interval], claim: Claim) -> Verdict:
    """Of every level: `holds` where each interval of `cells` is within the claim; `does not hold` where that of the
    mean is outside it, or one of `shared`, whose confidence is that of all together.
    """
    if all(judge(each, claim) == "holds" for each in cells):
        return "holds"
    refuted = any(judge(each, claim) == "does not hold" for each in (mean, *shared))
    return "does not hold" if refuted else "open"


def judge(ratio: Interval, claim: Claim) -> Verdict:
    """`holds` where the whole interval lies within the claim, `does not hold` where none of it does."""
    if ratio.low is None or ratio.high is None:
        return "open"
    if claim.low <= ratio.low and ratio.high <= claim.high:
        return "holds"
    return "does not hold" if ratio.high < claim.low or ratio.low > claim.high else "open"
