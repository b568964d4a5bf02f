# SPDX-License-Identifier: Apache-2.0
"""Forecasts from a formula of the overhead f: one fit for all sizes, and T(p) = p_ref T(p_ref) (1 + f) / p for each.

The interval combines the half widths of f and of T(p_ref) as if they were independent. Like a scan's forecasts, these
can be scored: a forecast from a run's p <= P / 2 is compared with its measured time at P.
"""

import ast
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from corescale.conclude.answers.overheads import configurations
from corescale.conclude.forecast import Prediction, Scored, typical
from corescale.conclude.frame import frame
from corescale.conclude.models.fit import beyond
from corescale.conclude.models.overhead_factors import OverheadChoice, choose
from corescale.conclude.stats import Interval, median_interval
from corescale.declare import arithmetic
from corescale.declare.experiment import Experiment
from corescale.errors import UsageError
from corescale.records import Layout, Record

if TYPE_CHECKING:
    import pandas as pd

WHERE = "--overhead"


def split(model: str) -> tuple[str, ...]:
    """The terms of a sum: `p / points + p` has two. Sums in brackets are one term. Raises UsageError for none."""
    arithmetic.parse(model, WHERE)
    tree = ast.parse(model.strip(), mode="eval").body
    parts: list[str] = []
    while isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add):
        parts.append(ast.unparse(tree.right))
        tree = tree.left
    return (ast.unparse(tree), *reversed(parts))


def predict(records: Sequence[Record], experiment: Experiment, p: int, models: Sequence[str]) -> tuple[Prediction, ...]:
    """The time at p for every combination of the factors that do not determine p, by the model that predicts best.

    Sizes share a fit. A factor that is not a size, such as a threading system, has a fit for each level. If both
    threads and ranks determine p, each has a separate fit. Raises UsageError for a formula of something that p alone
    does not determine, such as `ranks`, or if nothing can be fitted.
    """
    rows, asked = _asked(records, experiment, models)
    return tuple(
        one for maker, group in _alike(rows, experiment) for one in _fitted(group, experiment, asked, p, maker)
    )


LAYOUT_SUMS = (
    "p - 1",
    "(threads - 1) + (ranks - 1)",
    "(threads - 1) + (ranks - 1) + (nodes - 1)",
    "(threads - 1) + (ranks * nodes - 1)",
)
"""formulas that are tried for layouts if none is given; each is 0 at 1x1x1"""
IN_LAYOUT = ("threads", "ranks", "nodes")


def of_layouts(
    records: Sequence[Record], experiment: Experiment, layouts: Sequence[Layout], models: Sequence[str]
) -> tuple[tuple[Layout, Prediction], ...]:
    """The time of each layout, for every combination of the factors that do not make p; all layouts share one fit.

    Raises UsageError as `predict`.
    """
    rows, asked = _asked(records, experiment, models or LAYOUT_SUMS, IN_LAYOUT)
    kinds = _kinds(experiment)
    made = []
    for _, group in rows.groupby(kinds) if kinds else [((), rows)]:
        choice = _chosen(group, experiment, asked)
        for layout in layouts:
            t, m, n = layout.threads_per_rank, layout.ranks_per_node, layout.nodes
            point = {"p": layout.p, "threads": t, "ranks": m, "nodes": n}
            measured = str(layout) in set(group["layout"])
            found = _forecasts(group, experiment, asked, choice, point, measured=measured)
            made += [(layout, one) for one in found]
    return tuple(made)


def held_back(records: Sequence[Record], experiment: Experiment, models: Sequence[str]) -> tuple[Scored, ...]:
    """For each set of launches that share a fit: its largest P, forecast only from the launches at p <= P / 2.

    Nothing if these determine no sum. Raises UsageError as `predict`.
    """
    rows, asked = _asked(records, experiment, models)
    return tuple(one for maker, group in _alike(rows, experiment) for one in _scored(group, experiment, asked, maker))


def _scored(rows: "pd.DataFrame", experiment: Experiment, asked: "Asked", maker: str) -> Iterator[Scored]:
    most = int(rows["p"].max())
    small = rows[2 * rows["p"] <= most]
    if small["p"].nunique() < 2:
        return
    measured = {
        _label(maker, name): typical(group["time"].to_numpy(dtype=np.float64))
        for name, group in _sizes(rows[rows["p"] == most], experiment)
    }
    for one in _fitted(small, experiment, asked, most, maker):
        if one.label in measured:
            yield Scored(one.label, most, one.seconds, measured[one.label], int(small["p"].max()))


@dataclass(frozen=True, slots=True)
class Asked:
    """Sums of formulas, and the formulas by their texts."""

    formulas: Mapping[str, arithmetic.Expression]
    sums: Sequence[Sequence[str]]


def _asked(
    records: Sequence[Record], experiment: Experiment, models: Sequence[str], known: Sequence[str] = ()
) -> tuple["pd.DataFrame", Asked]:
    """The launches on whole cores, and what is fitted to them. `known`: names in formulas besides p."""
    sums = [split(model) for model in models]
    formulas = {part: arithmetic.parse(part, WHERE) for one in sums for part in one}
    rows = frame(records, experiment)
    rows = rows[(rows["status"] == "ok") & ~rows["oversubscribed"].astype(bool)]
    _must_follow(formulas.values(), experiment, known)
    if rows.empty:
        raise UsageError("no launch on whole cores succeeded", where=WHERE)
    return rows, Asked(formulas, sums)


def _alike(rows: "pd.DataFrame", experiment: Experiment) -> Iterator[tuple[str, "pd.DataFrame"]]:
    """Sets of launches that share a fit, each with the name of the factor that makes p."""
    kinds = _kinds(experiment)
    for maker, of_one in _patterns(rows, experiment):
        for _, group in of_one.groupby(kinds) if kinds else [((), of_one)]:
            yield maker, group


def _kinds(experiment: Experiment) -> list[str]:
    """The factors that are not sizes: each of their levels has a fit of its own."""
    words = (f.name for f in experiment.factors if any(isinstance(level, str) for level in f.levels))
    return [name for name in words if name not in experiment.makes_p]


def _patterns(rows: "pd.DataFrame", experiment: Experiment) -> Iterator[tuple[str, "pd.DataFrame"]]:
    """The launches in which only one factor makes p; with its name if several factors do."""
    makers = [name for name in sorted(experiment.makes_p) if rows[name].nunique() > 1]
    if len(makers) < 2:
        yield "", rows
        return
    for maker in makers:
        others = [name for name in makers if name != maker]
        yield maker, rows[(rows[others] == rows[others].min()).all(axis=1)]


def _fitted(rows: "pd.DataFrame", experiment: Experiment, asked: Asked, p: int, maker: str) -> Iterator[Prediction]:
    choice = _chosen(rows, experiment, asked)
    measured = bool(rows["p"].min() <= p <= rows["p"].max())
    for one in _forecasts(rows, experiment, asked, choice, {"p": p}, measured=measured):
        yield replace(one, label=_label(maker, one.label))


def _chosen(rows: "pd.DataFrame", experiment: Experiment, asked: Asked) -> OverheadChoice:
    """The sum that predicts best; raises UsageError if none can be fitted."""
    try:
        found = configurations(rows, experiment, "time", asked.formulas, {})
    except UsageError as error:
        error.where = WHERE  # not the internal name of the formula
        raise
    choice = choose(found.measured, found.factors, asked.sums, experiment.stop.confidence)
    if choice.best is None:
        raise UsageError(choice.statement, where=WHERE, remedy="scan more levels, or write fewer factors")
    return choice


def _label(maker: str, size: str) -> str:
    return " ".join(filter(None, (f"by {maker}" if maker else "", size)))


def _sizes(rows: "pd.DataFrame", experiment: Experiment) -> Iterator[tuple[str, "pd.DataFrame"]]:
    """The launches of each combination of the factors that do not make p, with its label."""
    beside = [factor.name for factor in experiment.factors if factor.name not in experiment.makes_p]
    for levels, group in rows.groupby(beside) if beside else [((), rows)]:
        yield " ".join(f"{name}={level}" for name, level in zip(beside, levels, strict=True)), group


def _must_follow(formulas: Iterable[arithmetic.Expression], experiment: Experiment, also: Sequence[str]) -> None:
    beside = {f.name for f in experiment.factors if f.name not in experiment.makes_p}
    known = {"p", *also, *beside, *(along.name for along in experiment.along if along.factor in beside)}
    for formula in formulas:
        if unknown := sorted(formula.names - known):
            remedy = f"write it with {', '.join(sorted(known))}"
            raise UsageError(
                f"{formula.text!r} has {unknown[0]}, which p does not determine", where=WHERE, remedy=remedy
            )


def _forecasts(
    rows: "pd.DataFrame",
    experiment: Experiment,
    asked: Asked,
    choice: OverheadChoice,
    point: Mapping[str, int],
    *,
    measured: bool,
) -> Sequence[Prediction]:
    """The time at a point, for each combination of the other factors. `measured`: at or between measured ones."""
    best = choice.best
    assert best is not None, "refused above"
    made, p = [], point["p"]
    for label, group in _sizes(rows, experiment):
        reference = group[group["p"] == group["p"].min()]
        known = {str(k): v for k, v in reference.iloc[0].to_dict().items()} | dict(point)
        values = {text: float(formula.value(known, WHERE)) for text, formula in asked.formulas.items()}
        p_ref, base = float(reference["p"].iloc[0]), median_interval(reference["time"], best.confidence)
        seconds = _scattered(best.time(values, p, p_ref, base.estimate), base)
        levels = rows["p"].nunique()
        seconds = seconds if measured else beyond(seconds, levels)
        reach = (float(rows["p"].min()), float(rows["p"].max()))
        warning = "; ".join(filter(None, (best.warning, best.misfit)))
        here = group[(group[list(point)] == list(point.values())).all(axis=1)]
        there = median_interval(here["time"], best.confidence) if here["layout"].nunique() == 1 else None
        model = f"f = {best.model}"
        made.append(Prediction(label, p, seconds, model, choice.statement, warning, reach, levels, there))
    return made


def _scattered(seconds: Interval, reference: Interval) -> Interval:
    """An interval relative to a reference, widened by the reference's own interval, in logarithms."""
    ends = (seconds.low, reference.low), (seconds.high, reference.high)
    if any(one is None or other is None or not (one > 0 and other > 0) for one, other in ends):
        return seconds
    low, high = (
        math.hypot(math.log(one / seconds.estimate), math.log(other / reference.estimate))
        for one, other in ends
        if one is not None and other is not None
    )
    return replace(seconds, low=seconds.estimate * math.exp(-low), high=seconds.estimate * math.exp(high))
