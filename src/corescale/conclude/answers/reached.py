# SPDX-License-Identifier: Apache-2.0
"""From which level of a factor on y is at most a bound, and how many times larger that level is on one side.

The size from which on a matrix product is 90% efficient is such a level. Between two levels y is taken as a straight
line of logarithms. The interval of each level of the factor is that of its blocks; where the lower and the upper ends
of these intervals cross the bound are the ends of the level's interval. The sides share no block where they are
machines, so the ratio's interval has the ends that are farthest apart, each side at half of the error allowed.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from corescale.conclude import stats
from corescale.conclude.answers.findings import BLOCK, Answer, absent, groups, logarithms, missing, said
from corescale.conclude.answers.judging import judge
from corescale.conclude.frame import selected
from corescale.conclude.stats import Interval
from corescale.declare.claim import Claim
from corescale.declare.experiment import Experiment
from corescale.declare.outputs import Finding
from corescale.records import Level

if TYPE_CHECKING:
    import pandas as pd

Ends = tuple[float, float]
"""The least and the largest level that it may be; they differ where no measured level shows it."""


def answers(found: "pd.DataFrame", experiment: Experiment, finding: Finding) -> tuple[Answer, ...]:
    """One for each combination of levels of `each`, and of machine unless the sides are machines."""
    names_machines = any("machine" in side for side in finding.sides.values())
    found = found.assign(_log=logarithms(found, finding))
    rows = found.assign(_machine=found["machine"], machine="") if names_machines else found
    made = [_answer(of, experiment, finding, at) for at, of in groups(rows, finding.each, finding.where)]
    return tuple(made) or (missing(finding, {}, absent(found, finding.where)),)


def _answer(rows: "pd.DataFrame", experiment: Experiment, finding: Finding, at: Mapping[str, Level]) -> Answer:
    rows = rows.assign(machine=rows["_machine"]) if "_machine" in rows else rows
    confidence = 1 - (1 - experiment.stop.confidence) / 2
    levels: list[tuple[str, Interval]] = []
    for side in (finding.a, finding.b or {}):
        of_side = rows[selected(rows, side) & rows["_log"].notna()]
        if of_side.empty:
            return missing(finding, at, f"nothing was measured at {said(side)}")
        levels.append((said(side), _level(of_side, finding, confidence)))
    (_, a), (_, b) = levels
    ratio = _ratio(a, b, experiment.stop.confidence)
    over = tuple(sorted(int(p) for p in rows[rows["oversubscribed"]]["p"].unique()))
    verdict = judge(ratio, Claim.parse(finding.claim))
    return Answer(finding, at, ratio, verdict, oversubscribed=over, reached=tuple(levels))


def _level(rows: "pd.DataFrame", finding: Finding, confidence: float) -> Interval:
    """The level from which on y is at most the bound: 0 or infinity for an end that is beyond what was measured."""
    logs = rows.groupby([finding.along, *BLOCK])["_log"].mean().unstack(BLOCK).sort_index()
    intervals = [stats.hodges_lehmann(row, confidence) for row in logs.to_numpy()]
    levels, bound = [float(level) for level in logs.index], math.log(finding.at_most or 1)
    blocks = min(one.n for one in intervals)
    least, most = crossing(levels, [one.estimate for one in intervals], bound)
    estimate = most if math.isfinite(most) else least
    lows = [one.low for one in intervals if one.low is not None]
    highs = [one.high for one in intervals if one.high is not None]
    if len(lows) < len(levels):
        return Interval(estimate, None, None, None, blocks)
    low, high = crossing(levels, lows, bound)[0], crossing(levels, highs, bound)[1]
    return Interval(estimate, low, high, confidence, blocks)


def crossing(levels: Sequence[float], logs: Sequence[float], bound: float) -> Ends:
    """Where y comes to the bound for good; levels ascend. Below the first level, or above the last, it is unknown."""
    above = [k for k, value in enumerate(logs) if value > bound]
    if not above:
        return 0.0, levels[0]
    k = above[-1]
    if k + 1 == len(levels):
        return levels[-1], math.inf
    share = (logs[k] - bound) / (logs[k] - logs[k + 1])
    there = math.exp(math.log(levels[k]) + share * math.log(levels[k + 1] / levels[k]))
    return there, there


def _ratio(a: Interval, b: Interval, confidence: float) -> Interval:
    estimate, blocks = a.estimate / b.estimate, min(a.n, b.n)
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Interval(estimate, None, None, None, blocks)
    low = 0.0 if math.isinf(b.high) else a.low / b.high
    return Interval(estimate, low, math.inf if b.low == 0 else a.high / b.low, confidence, blocks)
