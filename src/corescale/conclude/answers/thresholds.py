# SPDX-License-Identifier: Apache-2.0
"""Thresholds: the level of a factor from which on y is at most a bound, and the ratio of that level on two sides.

An example is the size from which on a matrix product is 90% efficient. Between two levels, y is interpolated linearly
in logarithms, in each block. At each interpolated place the blocks give an interval of y. Where the lower and upper
ends of these intervals cross the bound, the level's interval ends. If the sides are machines, they share no block, so
the two sides' intervals are combined as independent errors.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from corescale.conclude import stats
from corescale.conclude.answers import findings
from corescale.conclude.answers.claim_verdicts import absent, judge, lacking, said
from corescale.conclude.answers.findings import BLOCK, Answer, groups, launched, logarithms, missing, references
from corescale.conclude.frame import selected
from corescale.conclude.stats import Floats, Interval
from corescale.declare.experiment import Experiment
from corescale.declare.outputs import Finding
from corescale.records import Level

if TYPE_CHECKING:
    import pandas as pd

STEPS = 8
"""Interpolated places from one level to the next, to find the ends of an interval."""

Ends = tuple[float, float]
"""The least and the largest possible level; they differ if no measured level decides it."""


def answers(found: "pd.DataFrame", experiment: Experiment, finding: Finding) -> tuple[Answer, ...]:
    """One for each combination of levels of `each`, and of machine unless the sides are machines."""
    names_machines = any("machine" in side for side in finding.sides.values())
    found = found.assign(_log=logarithms(found, finding))
    rows = found.assign(_machine=found["machine"], machine="") if names_machines else found
    made = [_answer(of, found, experiment, finding, at) for at, of in groups(rows, finding.each, finding.where)]
    return tuple(made) or (missing(finding, {}, absent(found, finding.where)),)


def _answer(
    rows: "pd.DataFrame", found: "pd.DataFrame", experiment: Experiment, finding: Finding, at: Mapping[str, Level]
) -> Answer:
    rows = rows.assign(machine=rows["_machine"]) if "_machine" in rows else rows
    if why := lacking(rows, finding.needs) or findings.off_line(rows):
        return missing(finding, at, why)
    confidence = experiment.stop.confidence
    levels: list[tuple[str, Interval]] = []
    for side in (finding.a, finding.b or {}):
        of_side = rows[selected(rows, side) & rows["_log"].notna()]
        if of_side.empty:
            return missing(finding, at, f"no launch of the run has {said(side)}")
        levels.append((said(side), _level(of_side, finding, confidence)))
    (_, a), (_, b) = levels
    ratio = _ratio(a, b)
    over = tuple(sorted(int(p) for p in rows[rows["oversubscribed"]]["p"].unique()))
    used = launched(rows, references(found, finding), finding)
    return Answer(finding, at, ratio, judge(ratio, finding), oversubscribed=over, reached=tuple(levels), rows=used)


def _level(rows: "pd.DataFrame", finding: Finding, confidence: float) -> Interval:
    """The level from which on y is at most the bound; an end beyond the measured levels is 0 or infinity."""
    logs = rows.groupby([finding.along, *BLOCK])["_log"].mean().unstack(BLOCK).sort_index()
    levels, values = _between([float(level) for level in logs.index], logs.to_numpy())
    intervals, bound = [stats.hodges_lehmann(row, confidence) for row in values], math.log(finding.at_most or 1)
    blocks = min(one.n for one in intervals)
    least, most = crossing(levels, [one.estimate for one in intervals], bound)
    estimate = most if math.isfinite(most) else least
    lows = [one.low for one in intervals if one.low is not None]
    highs = [one.high for one in intervals if one.high is not None]
    if len(lows) < len(levels):
        return Interval(estimate, None, None, None, blocks)
    low, high = crossing(levels, lows, bound)[0], crossing(levels, highs, bound)[1]
    return Interval(estimate, low, high, confidence, blocks)


def _between(levels: Sequence[float], logs: Floats) -> tuple[list[float], Floats]:
    """STEPS places to each level, where y of each block is a straight line of logarithms."""
    places, steps = np.log(levels), np.arange(STEPS * (len(levels) - 1) + 1) / STEPS
    fine = np.interp(steps, np.arange(len(levels)), places)
    found = np.exp(fine)
    found[::STEPS] = levels
    return [float(one) for one in found], np.column_stack([np.interp(fine, places, block) for block in logs.T])


def crossing(levels: Sequence[float], logs: Sequence[float], bound: float) -> Ends:
    """The level from which on y is within the bound, as a range, open beyond the measured levels; levels ascend."""
    above = [k for k, value in enumerate(logs) if value > bound]
    if not above:
        return 0.0, levels[0]
    k = above[-1]
    if k + 1 == len(levels):
        return levels[-1], math.inf
    share = (logs[k] - bound) / (logs[k] - logs[k + 1])
    there = math.exp(math.log(levels[k]) + share * math.log(levels[k + 1] / levels[k]))
    return there, there


def _ratio(a: Interval, b: Interval) -> Interval:
    """The distances of the ends from the estimates add up like independent errors (Zou & Donner 2008)."""
    estimate, blocks = a.estimate / b.estimate, min(a.n, b.n)
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Interval(estimate, None, None, None, blocks)
    low, high = _far(a.estimate, a.low, b.high, b.estimate), _far(a.high, a.estimate, b.estimate, b.low)
    return Interval(estimate, estimate / low, estimate * high, a.confidence, blocks)


def _far(above: float, a: float, over: float, b: float) -> float:
    """The factors `above` / `a` and `over` / `b`, combined."""
    if 0 in (a, b) or math.inf in (above, over):
        return math.inf
    return math.exp(math.hypot(math.log(above / a), math.log(over / b)))
