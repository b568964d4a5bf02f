# SPDX-License-Identifier: Apache-2.0
"""Whether a declared sum of factors describes the overhead: fitted, compared with others, and judged.

It *holds* if four things are certain. Configurations that the fit has not seen are predicted within the declared error.
Every coefficient is above 0, because each stands for a cost. No other model predicts better by more than that error.
Each model with as many factors or fewer predicts worse: of two that the data do not distinguish, neither is shown. A
claim that the sum fails beyond some overhead *holds* if its error there certainly exceeds both the declared error and
its error below that overhead. A claim that another sum is no better fails only if the other sum's error is smaller by
more than the declared error.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from corescale.conclude import stats
from corescale.conclude.answers.claim_verdicts import Verdict, absent, lacking
from corescale.conclude.answers.findings import BLOCK, groups
from corescale.conclude.models import overhead_factors
from corescale.conclude.models.overhead_factors import Measured, OverheadChoice, OverheadFit, Reach
from corescale.conclude.stats import Floats, Interval
from corescale.declare.arithmetic import Expression
from corescale.declare.experiment import Experiment
from corescale.declare.outputs import Overheads, summands
from corescale.errors import UsageError
from corescale.records import Level

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """The overhead of one configuration that is not a reference."""

    size: Mapping[str, Level]
    """levels of the factors other than those that make up p"""
    p: int
    factors: Mapping[str, float]
    overhead: Interval
    oversubscribed: bool
    bar: Level = ""
    """what its bar is called, if the chart has bars"""


@dataclass(frozen=True, slots=True, eq=False)
class Configurations:
    """Configurations that share a fit."""

    measured: Measured
    factors: Mapping[str, Floats]
    """a value for each configuration"""
    rows: Sequence[Mapping[str, Level]]
    """the columns of a launch of each configuration"""
    apart: tuple[str, ...]
    """factors other than those that make up p; their levels are a problem size"""
    bars: str = ""
    """the column that names bars"""

    def points(self, confidence: float) -> tuple[Point, ...]:
        """The points of all configurations except the references; f with its signed-rank interval."""
        columns, overheads = self.measured.overheads()
        return tuple(
            Point(
                {name: self.rows[k][name] for name in self.apart},
                int(self.rows[k]["p"]),
                {name: float(values[k]) for name, values in self.factors.items()},
                stats.hodges_lehmann(np.log1p(found), confidence).map(math.expm1),
                bool(self.rows[k]["oversubscribed"]),
                self.rows[k][self.bars] if self.bars else "",
            )
            for k, found in zip(columns, overheads.T, strict=True)
        )


def configurations(
    rows: "pd.DataFrame",
    experiment: Experiment,
    y: str,
    formulas: Mapping[str, Expression],
    at: Mapping[str, Level],
    bars: str = "",
) -> Configurations:
    """The launches of these rows, all of which have the levels `at`; raises UsageError for a factor without a value."""
    names = [f.name for f in experiment.factors if f.name not in {*at, experiment.study.samples}]
    apart = tuple(name for name in names if name not in experiment.makes_p)
    values = rows[y].astype("float64")
    rows = rows.assign(_log=values.where(values > 0).map(np.log, na_action="ignore"))
    rows = rows.assign(_one=rows.groupby(names).ngroup() if names else 0)
    logs = rows.groupby([*BLOCK, "_one"])["_log"].mean().unstack("_one")
    each = [{str(k): v for k, v in row.items()} for row in rows.groupby("_one").first().to_dict("records")]
    sizes = [tuple(row[name] for name in apart) for row in each]
    factors = {name: np.array([float(one.value(row, name)) for row in each]) for name, one in formulas.items()}
    times = np.exp(logs.to_numpy(dtype=np.float64))
    return Configurations(
        Measured.of(times, np.array([float(row["p"]) for row in each]), sizes), factors, each, apart, bars
    )


@dataclass(frozen=True, slots=True)
class Modelled:
    """The answer to one statement about overhead at one combination of the levels of `each`."""

    finding: Overheads
    at: Mapping[str, Level]
    verdict: Verdict
    choice: OverheadChoice | None = None
    """every model's fit; None if nothing could be fitted"""
    why: str = ""
    """why the statement does not hold; empty if it holds"""
    oversubscribed: bool = False
    """whether launches with more threads than cores are among what was fitted"""
    reach: Reach | None = None
    """the model's error beyond some overhead, if the claim is that it fails there"""
    beside: OverheadFit | None = None
    """the fit to the other configurations, if the claim is that the model predicts worse here than there"""
    points: tuple[Point, ...] = ()
    """what was measured of every configuration but the references"""
    rows: frozenset[int] = frozenset()
    """places in the frame of the launches that it compares"""

    @property
    def claimed(self) -> OverheadFit | None:
        """The fit of the model that the statement claims."""
        return self.fit(self.finding.claim)

    def fit(self, model: str) -> OverheadFit | None:
        """The fit of one of the models; None if these configurations do not determine it."""
        wanted = summands(model)
        return next((one for one in self.choice.fits if one.factors == wanted), None) if self.choice else None


def overheads(found: "pd.DataFrame", experiment: Experiment, declared: Overheads) -> tuple[Modelled, ...]:
    """One for each combination of levels of `each`, at the declared confidence."""
    there = groups(found, declared.each, declared.worse_than) if declared.worse_than else ()
    beside = {tuple(at.items()): rows for at, rows in there}
    made = []
    for at, rows in groups(found, declared.each, declared.where):
        one = _asked(rows, beside.get(tuple(at.items())), experiment, declared, at)
        why = lacking(rows, declared.needs)  # if not empty, there is no verdict, but there are fits to draw
        made.append(replace(one, verdict="not on this machine", why=why) if why else one)
    return tuple(made) or (Modelled(declared, {}, "not on this machine", why=absent(found, declared.where)),)


def _asked(
    rows: "pd.DataFrame",
    others: "pd.DataFrame | None",
    experiment: Experiment,
    declared: Overheads,
    at: Mapping[str, Level],
) -> Modelled:
    """The answer at these levels. `others`: launches that the claim says are predicted better than these."""
    asked = Modelled(declared, at, "not on this machine")
    used, confidence = rows.index if others is None else rows.index.union(others.index), experiment.stop.confidence
    asked = replace(asked, rows=frozenset(int(place) for place in used))
    try:
        how = declared.y, declared.formulas(), at, declared.bars
        here = configurations(rows, experiment, *how)
        over = bool(rows["oversubscribed"].any()) or (others is not None and bool(others["oversubscribed"].any()))
        asked = replace(asked, oversubscribed=over, points=here.points(confidence))
        if not declared.worse_than:
            return (_judged if declared.fails_beyond is None else _failing)(asked, here, confidence)
        if others is None:
            raise UsageError("nothing was measured to compare with")
        return _compared(asked, here, configurations(others, experiment, *how), confidence)
    except UsageError as error:
        return replace(asked, why=error.what)


def _judged(asked: Modelled, found: Configurations, confidence: float) -> Modelled:
    models, limit = [summands(one) for one in asked.finding.models], asked.finding.up_to
    measured, factors = found.measured, found.factors
    if limit is not None:
        try:
            kept = measured.up_to(limit)
        except ValueError as error:
            raise UsageError(str(error)) from error
        measured, factors = measured.only(kept), {name: values[kept] for name, values in factors.items()}
    choice = overhead_factors.choose(measured, factors, models, confidence)
    if limit is not None:
        choice = replace(choice, statement=f"{choice.statement}; fitted where f is at most {limit:g}")
    made = replace(asked, choice=choice)
    verdict, why = _judge(made)
    return replace(made, verdict=verdict, why=why)


def _compared(asked: Modelled, here: Configurations, there: Configurations, confidence: float) -> Modelled:
    """Whether the claimed model predicts worse here than there."""
    names = [summands(asked.finding.claim)]
    first, second = (overhead_factors.choose(each.measured, each.factors, names, confidence) for each in (here, there))
    if first.best is None or second.best is None:
        raise UsageError((second if first.best else first).statement)
    verdict: Verdict = "open"
    if overhead_factors.surely_better_elsewhere(second.best, first.best):
        verdict = "holds"
    elif overhead_factors.surely_better_elsewhere(first.best, second.best):
        verdict = "does not hold"
    choice = replace(first, fits=(first.best, second.best))
    return replace(asked, verdict=verdict, choice=choice, beside=second.best)


def _failing(asked: Modelled, found: Configurations, confidence: float) -> Modelled:
    """Whether the claimed model fails beyond some overhead."""
    declared = asked.finding
    factors, limit = {name: found.factors[name] for name in summands(declared.claim)}, declared.fails_beyond or 0.0
    try:
        reached = overhead_factors.reach(found.measured, factors, limit, confidence)
    except ValueError as error:
        raise UsageError(str(error)) from error
    choice = OverheadChoice(reached.fit, (reached.fit,), f"fitted where f is at most {limit:g}")
    verdict, why = _judge_reach(reached, declared.within)
    return replace(asked, verdict=verdict, why=why, choice=choice, reach=reached)


def _judge_reach(found: Reach, allowed: float) -> tuple[Verdict, str]:
    near, far = found.near, found.far
    if found.fit.untested:
        return "not on this machine", found.fit.warning
    if near.low is None or near.high is None or far.low is None or far.high is None:
        return "open", "too few blocks to test it"
    if far.high <= allowed:
        return "does not hold", f"it is off by less than {allowed:.0%} of the time there too"
    if far.high < near.low:
        return "does not hold", "it is farther off where the overhead is small"
    if far.low <= max(allowed, near.high):
        return "open", f"it may be off by no more than {max(allowed, near.high):.0%} of the time there"
    return "holds", ""


def _judge(found: Modelled) -> tuple[Verdict, str]:
    claimed = found.claimed
    if claimed is None or found.choice is None:
        return "not on this machine", found.choice.statement if found.choice else ""
    allowed = found.finding.within * (claimed.typical if found.finding.relative else 1)
    if found.finding.no_better:
        return _no_better(found.fit(found.finding.no_better), claimed, allowed)
    others = [one for one in found.choice.fits if one is not claimed]
    if against := _against(claimed, others, allowed):
        return "does not hold", against
    if claimed.untested:
        return "not on this machine", claimed.warning
    if warning := _in_the_way(claimed, others, allowed):
        return "open", warning
    return "holds", ""


def _no_better(rival: OverheadFit | None, claimed: OverheadFit, allowed: float) -> tuple[Verdict, str]:
    if rival is None:
        return "not on this machine", "these configurations do not determine both sums"
    if rival.untested:
        return "not on this machine", rival.warning
    if overhead_factors.surely_better(rival, claimed, allowed):
        return "does not hold", f"{rival.model} surely predicts better, by more than {allowed:.3g}"
    if overhead_factors.surely_better(claimed, rival, -allowed):
        return "holds", ""
    return "open", claimed.warning or f"{rival.model} may predict better by more than {allowed:.3g}"


def _against(claimed: OverheadFit, others: Sequence[OverheadFit], allowed: float) -> str:
    """What certainly contradicts the claim; empty if nothing does."""
    if below := [name for name, value in claimed.coefficients.items() if value.high is not None and value.high < 0]:
        return f"{' and '.join(below)} would lower the overhead"
    if better := [one for one in others if overhead_factors.surely_better(one, claimed, allowed)]:
        return f"{better[0].model} surely predicts better, by more than {allowed:.3g}"
    return f"it is off by more than {allowed:.3g}" if claimed.excess > allowed else ""


def _in_the_way(claimed: OverheadFit, others: Sequence[OverheadFit], allowed: float) -> str:
    """Why the claim is not shown, although nothing contradicts it; empty if it is shown."""
    if claimed.held_out.high is None:
        return claimed.warning or "too few configurations to test it"
    if claimed.held_out.high > allowed:
        return f"it may be off by more than {allowed:.3g}"
    if unseen := [name for name, value in claimed.coefficients.items() if value.covers(0.0)]:
        return f"no overhead is shown that {' or '.join(unseen)} would describe"
    if claimed.typical <= allowed:
        return f"no overhead is large enough to decide: {claimed.typical:.2g} at the root mean square"
    rivals = [one for one in others if len(one.factors) <= len(claimed.factors)]
    equal = [one for one in rivals if not overhead_factors.surely_better(claimed, one)]
    return f"{equal[0].model} predicts as well" if equal else ""
