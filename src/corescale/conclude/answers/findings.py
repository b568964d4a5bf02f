# SPDX-License-Identifier: Apache-2.0
"""Whether a declared statement holds: the ratio y(a) / y(b) within blocks, from one interval.

In each block, and at each level of every factor that neither side names, the sides are compared by the difference of
their mean logarithms; the differences of a block are averaged. What the blocks say is then one number each, and the
interval is that of docs/measuring.md: the pseudomedian of the blocks' log-ratios with the signed-rank interval.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from corescale.conclude import stats
from corescale.conclude.frame import selected
from corescale.conclude.stats import Interval
from corescale.declare.experiment import Experiment
from corescale.declare.outputs import Claim, Finding, Normalise, Selection
from corescale.errors import UsageError
from corescale.records import Level

if TYPE_CHECKING:
    import pandas as pd  # loaded by frame.py, where there is something to conclude

Verdict = Literal["holds", "does not hold", "open", "not measured"]
BLOCK = ["machine", "replicate"]
"""columns that name a block"""

MOSTLY = 0.5
"""Levels at which more of the blocks than this lack a side are left out, then blocks that lack one of the others."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one finding says at one combination of the levels of `each`."""

    finding: Finding
    at: Mapping[str, Level]
    """the levels of `each`, and of machine where there are several"""
    ratio: Interval
    """y(a) / y(b)"""
    verdict: Verdict
    extremes: tuple[tuple[str, float], ...] = ()
    """the levels where the ratio is smallest and where it is largest, each with its estimate; () for one"""
    why: str = ""
    """what is missing, where nothing could be compared"""


def answers(found: "pd.DataFrame", experiment: Experiment, finding: Finding) -> tuple[Answer, ...]:
    """One for each combination of levels of `each`, in their order; intervals at the declared confidence."""
    for name in (*finding.a, *finding.b):
        if name in BLOCK:
            raise UsageError(f"{name} cannot be compared within a block", where=f"finding {finding.name}")
    good = found[found["status"] == "ok"]
    made = [_answer(rows, good, experiment, finding, at) for at, rows in groups(found, finding.each, finding.where)]
    return tuple(made) or (_missing(finding, {}, f"no launch succeeded at {_said(finding.where) or 'any level'}"),)


def groups(
    found: "pd.DataFrame", each: Sequence[str], where: Selection
) -> Iterable[tuple[Mapping[str, Level], "pd.DataFrame"]]:
    """The launches that succeeded, for each combination of levels of `each`, and of machine where there are several."""
    machines = ["machine"] if found["machine"].nunique() > 1 else []
    by = [*machines, *(name for name in each if name != "machine")]
    good = found[found["status"] == "ok"]
    asked = good[selected(good, where)]
    if asked.empty:
        return
    for levels, rows in asked.groupby(by) if by else [((), asked)]:
        yield dict(zip(by, _plain(levels if by else ()), strict=True)), rows


def _answer(
    rows: "pd.DataFrame", every: "pd.DataFrame", experiment: Experiment, finding: Finding, at: Mapping[str, Level]
) -> Answer:
    rows = rows.assign(_log=_logarithms(every, finding))
    sides = {name: rows[selected(rows, side, every)] for name, side in (("a", finding.a), ("b", finding.b))}
    for name, side in (("a", finding.a), ("b", finding.b)):
        if sides[name]["_log"].notna().sum() == 0:
            return _missing(finding, at, f"nothing was measured at {_said(side)}")
    apart = {*finding.a, *finding.b, *at, *BLOCK}
    cell = [factor.name for factor in experiment.factors if factor.name not in apart]
    differences = _within(sides["a"], cell) - _within(sides["b"], cell)
    if (differences := differences.dropna()).empty:
        return _missing(finding, at, "the two sides were never measured in the same block")
    table = differences.unstack(BLOCK)
    table = table[table.notna().mean(axis=1) > MOSTLY].dropna(axis="columns")
    if table.empty:
        return _missing(finding, at, "too many launches failed")
    ratio = stats.hodges_lehmann(table.mean(axis=0).to_numpy(), experiment.stop.confidence).map(math.exp)
    claim = Claim.parse(finding.claim)
    return Answer(finding, at, ratio, judge(ratio, claim), tuple(_extremes(table, cell)))


def judge(ratio: Interval, claim: Claim) -> Verdict:
    """`holds` where the whole interval lies within the claim, `does not hold` where none of it does."""
    if ratio.low is None or ratio.high is None:
        return "open"
    if claim.low <= ratio.low and ratio.high <= claim.high:
        return "holds"
    return "does not hold" if ratio.high < claim.low or ratio.low > claim.high else "open"


def _logarithms(rows: "pd.DataFrame", finding: Finding) -> "pd.Series":
    """log y, less that of the row's reference within its block where the finding normalises."""
    values = rows[finding.y].astype("float64")
    logs = values.where(values > 0).map(np.log, na_action="ignore")
    return logs if finding.normalise is None else logs - _reference(rows.assign(_log=logs), finding.normalise)


def _reference(rows: "pd.DataFrame", normalise: Normalise) -> "pd.Series":
    keys = [*BLOCK, *normalise.within]
    means = rows[selected(rows, normalise.to)].groupby(keys)["_log"].mean().rename("_reference")
    return rows.join(means, on=keys)["_reference"]


def _within(rows: "pd.DataFrame", cell: Sequence[str]) -> "pd.Series":
    """Mean logarithm by cell and block."""
    return rows.assign(_all=0).groupby(["_all", *cell, *BLOCK])["_log"].mean()


def _extremes(table: "pd.DataFrame", cell: Sequence[str]) -> Iterable[tuple[str, float]]:
    if len(table) < 2:
        return
    typical = table.median(axis=1).to_numpy()
    for row in (int(typical.argmin()), int(typical.argmax())):
        levels = dict(zip(table.index.names, table.index[row], strict=True))
        yield " ".join(f"{name}={levels[name]}" for name in cell), math.exp(float(typical[row]))


def _missing(finding: Finding, at: Mapping[str, Level], why: str) -> Answer:
    return Answer(finding, at, Interval(math.nan, None, None, None, 0), "not measured", why=why)


def _said(selection: Selection) -> str:
    each = ((name, levels if isinstance(levels, tuple) else (levels,)) for name, levels in selection.items())
    return " ".join(f"{name}={','.join(map(str, levels))}" for name, levels in each)


def _plain(levels: object) -> Iterable[Level]:
    """Keys of pandas' groups as levels."""
    one = levels if isinstance(levels, tuple) else (levels,)
    return itertools.chain(level.item() if isinstance(level, np.generic) else level for level in one)
