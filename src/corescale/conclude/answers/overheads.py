# SPDX-License-Identifier: Apache-2.0
"""Whether a declared sum of factors describes the overhead: fitted, compared with others, and judged.

It *holds* where configurations that the fit has not seen are surely predicted within the declared error, every
coefficient surely differs from 0, no other model surely predicts better, and each simpler one surely predicts worse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corescale.conclude.answers.findings import BLOCK, Verdict, groups
from corescale.conclude.laws.overhead_factors import Measured, OverheadChoice, OverheadFit, choose, surely_better
from corescale.conclude.stats import Floats
from corescale.declare.experiment import Experiment
from corescale.declare.outputs import Overheads, summands
from corescale.errors import UsageError
from corescale.records import Level

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Modelled:
    """What one statement about overhead says at one combination of the levels of `each`."""

    finding: Overheads
    at: Mapping[str, Level]
    verdict: Verdict
    choice: OverheadChoice | None = None
    """every model's fit; None where nothing could be fitted"""
    why: str = ""
    """what keeps the statement from holding; empty where it holds"""
    oversubscribed: bool = False
    """whether launches with more threads than cores are among what was fitted"""

    @property
    def claimed(self) -> OverheadFit | None:
        """The fit of the model that the statement claims."""
        wanted = summands(self.finding.claim)
        return next((one for one in self.choice.fits if one.factors == wanted), None) if self.choice else None


def overheads(found: "pd.DataFrame", experiment: Experiment, declared: Overheads) -> tuple[Modelled, ...]:
    """One for each combination of levels of `each`, at the declared confidence."""
    made = [_modelled(rows, experiment, declared, at) for at, rows in groups(found, declared.each, declared.where)]
    return tuple(made) or (Modelled(declared, {}, "not measured", why="no launch succeeded"),)


def _modelled(rows: "pd.DataFrame", experiment: Experiment, declared: Overheads, at: Mapping[str, Level]) -> Modelled:
    try:
        measured, factors = fitted(rows, experiment, declared, at)
    except UsageError as error:
        return Modelled(declared, at, "not measured", why=error.what)
    choice = choose(measured, factors, [summands(one) for one in declared.models], experiment.stop.confidence)
    verdict, why = _judge(Modelled(declared, at, "open", choice))
    return Modelled(declared, at, verdict, choice, why, bool(rows["oversubscribed"].any()))


def fitted(
    rows: "pd.DataFrame", experiment: Experiment, declared: Overheads, at: Mapping[str, Level]
) -> tuple[Measured, Mapping[str, Floats]]:
    """Times as blocks x configurations, and the value of each factor for each configuration."""
    names = [factor.name for factor in experiment.factors if factor.name not in at]
    beside = [name for name in names if name not in experiment.makes_p]
    values = rows[declared.y].astype("float64")
    rows = rows.assign(_log=values.where(values > 0).map(np.log, na_action="ignore"))
    rows = rows.assign(_one=rows.groupby(names).ngroup() if names else 0)
    logs = rows.groupby([*BLOCK, "_one"])["_log"].mean().unstack("_one")
    each = [{str(k): v for k, v in row.items()} for row in rows.groupby("_one").first().to_dict("records")]
    sizes = [tuple(row[name] for name in beside) for row in each]
    factors = {
        name: np.array([float(formula.value(row, name)) for row in each])
        for name, formula in declared.formulas().items()
    }
    times = np.exp(logs.to_numpy(dtype=np.float64))
    return Measured.of(times, np.array([float(row["p"]) for row in each]), sizes), factors


def _judge(found: Modelled) -> tuple[Verdict, str]:
    claimed = found.claimed
    if claimed is None or found.choice is None:
        return "not measured", found.choice.statement if found.choice else ""
    others = [one for one in found.choice.fits if one is not claimed]
    if against := _against(claimed, others, found.finding.within):
        return "does not hold", against
    if doubt := _in_the_way(claimed, others, found.finding.within):
        return "open", doubt
    return "holds", ""


def _against(claimed: OverheadFit, others: Sequence[OverheadFit], allowed: float) -> str:
    """What surely speaks against the claim; empty for nothing."""
    if better := [one for one in others if surely_better(one, claimed)]:
        return f"{better[0].model} surely predicts better"
    low = claimed.held_out.low
    return f"it is off by more than {allowed:g}" if low is not None and low > allowed else ""


def _in_the_way(claimed: OverheadFit, others: Sequence[OverheadFit], allowed: float) -> str:
    """What keeps a claim that nothing speaks against from being shown; empty for nothing."""
    if claimed.held_out.high is None:
        return claimed.doubt or "too few configurations to test it"
    if claimed.held_out.high > allowed:
        return f"it may be off by more than {allowed:g}"
    if unseen := [name for name, value in claimed.coefficients.items() if value.covers(0.0)]:
        return f"no overhead is shown that {' or '.join(unseen)} would describe"
    simpler = [one for one in others if len(one.factors) < len(claimed.factors)]
    equal = [one for one in simpler if not surely_better(claimed, one)]
    return f"{equal[0].model} predicts as well" if equal else ""
