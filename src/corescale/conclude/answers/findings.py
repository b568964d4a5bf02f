# SPDX-License-Identifier: Apache-2.0
"""Whether a declared statement holds: the ratio y(a) / y(b) within blocks, or the difference, from one interval.

In each block, at each level of every factor that neither side names, the sides differ by their mean logarithms; these
differences are averaged. So each block gives one number, with the signed-rank interval of docs/measuring.md. Levels of
`samples` take the place of blocks, with a t interval: random draws need not be symmetric.

The mean over those levels is shown, but it proves nothing about each level. What intervals prove is in
claim_verdicts.py. Findings along a factor are in thresholds.py.

If b is the best of several levels, it is chosen for each block from the other blocks. If the same launches were used to
choose and to compare, noise alone would make the best of many look better than it is.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corescale.conclude import stats
from corescale.conclude.answers.claim_verdicts import Verdict, absent, deciding, judged, lacking, said
from corescale.conclude.frame import selected
from corescale.conclude.stats import Floats, Interval
from corescale.declare.experiment import Experiment
from corescale.declare.outputs import Finding, Normalise, Selection
from corescale.errors import UsageError
from corescale.records import Level

if TYPE_CHECKING:
    import pandas as pd  # frame.py loads it if there is something to conclude

BLOCK = ["machine", "replicate"]
"""columns that name a block"""

MOSTLY = 0.5
"""A level is left out if more than this share of the blocks lack a side there; then blocks without one of the other
levels are left out. If launches failed at such a level, the finding cannot hold, because it may fail there."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one finding says at one combination of the levels of `each`."""

    finding: Finding
    at: Mapping[str, Level]
    """the levels of `each`, and the machine if there are several"""
    ratio: Interval
    """y(a) / y(b), or their difference; for a finding along a factor the ratio of its levels; without b, y(a)"""
    verdict: Verdict
    extremes: tuple[tuple[str, float], ...] = ()
    """the levels with the smallest and the largest ratio, each with its estimate; () if there is one level"""
    against: tuple[str, Interval] | None = None
    """the level that decides against the claim, with its interval: see `deciding`"""
    oversubscribed: tuple[int, ...] = ()
    """each p that was compared and is more than may run at once"""
    failed: tuple[str, ...] = ()
    """the levels that were left out because launches failed there"""
    why: str = ""
    """what is missing, if nothing could be compared"""
    chosen: str = ""
    """the level that was chosen as best most often, with its column and the number of blocks that chose it"""
    reached: tuple[tuple[str, Interval], ...] = ()
    """for a finding along a factor: for each side, the level from which on y is small"""
    rows: frozenset[int] = frozenset()
    """places in the frame of the launches that it compares"""
    scatter: float = math.nan
    """largest standard deviation over blocks, among the levels, of the log-ratio or difference"""


def answers(found: "pd.DataFrame", experiment: Experiment, finding: Finding) -> tuple[Answer, ...]:
    """One for each combination of levels of `each`, in their order; intervals at the declared confidence.

    Levels whose launches all failed, or are all oversubscribed where the finding wants none, have no verdict.
    """
    for side in finding.sides.values():
        if name := next((name for name in side if name in BLOCK), ""):
            raise UsageError(f"{name} cannot be compared within a block", where=f"finding {finding.name}")
    marked = _marked(found, experiment, finding)
    lost = {tuple(at.items()): rows for at, rows in groups(marked, finding.each, finding.where, failed=True)}
    crowded = {name: of for name, of in finding.where.items() if name != "oversubscribed"}
    every = dict.fromkeys(tuple(at.items()) for at, _ in groups(marked, finding.each, crowded))
    by = references(marked, finding)
    made = {
        (key := tuple(at.items())): _answer(rows, marked, by, lost.get(key, marked[:0]), experiment, finding, at)
        for at, rows in groups(marked, finding.each, finding.where)
    }
    for at in (at for at in every | lost if at not in made):
        made[at] = missing(finding, dict(at), absent(found, {**finding.where, **dict(at)}))
    return tuple(made.values()) or (missing(finding, {}, absent(found, finding.where)),)


def _marked(found: "pd.DataFrame", experiment: Experiment, finding: Finding) -> "pd.DataFrame":
    """The columns that the finding reads, and what its answers are made from.

    Of a launch that succeeded, `_log` and `_y`, the value that is averaged for each side. `_a` and `_b`: whether the
    launch is of this side. `_block` and `_cell` number its block and its levels of the factors that neither side names,
    and `_at` names those that vary. One pass over all launches is far cheaper than one for each answer.
    """
    reads = {*BLOCK, "status", "oversubscribed", "p", "bandwidth", *finding.used()}
    apart = {*finding.a, *(finding.b or ()), *finding.each, *BLOCK, experiment.study.samples}
    cell = [factor.name for factor in experiment.factors if factor.name not in apart]
    marked = found[[name for name in found if name in reads or name in cell]]
    good = marked[marked["status"] == "ok"]
    logs = logarithms(good, finding)
    among = found[selected(found, {name: of for name, of in finding.where.items() if name == "oversubscribed"})]
    cells = marked.groupby(cell).ngroup() if cell else 0
    marked = marked.assign(_log=logs, _y=_compared(good, logs, finding), _cell=cells)
    first = marked[["_cell", *cell]].drop_duplicates("_cell")
    varied = ["_cell", *(name for name in cell if first[name].nunique() > 1)]
    named = {
        k: " ".join(f"{name}={level}" for name, level in zip(varied[1:], levels, strict=True))
        for k, *levels in first[varied].itertuples(index=False, name=None)
    }
    sides = {f"_{name}": selected(marked, side, among) for name, side in finding.sides.items()}
    return marked.assign(_block=marked.groupby(BLOCK).ngroup(), _at=marked["_cell"].map(named), **sides)


def groups(
    found: "pd.DataFrame", each: Sequence[str], where: Selection, *, failed: bool = False
) -> Iterable[tuple[Mapping[str, Level], "pd.DataFrame"]]:
    """The launches that succeeded, or failed, for each combination of levels of `each`, and for each machine."""
    rows = found[(found["status"] != "ok") == failed]
    machines = ["machine"] if found["machine"].nunique() > 1 else []
    by = [*machines, *(name for name in each if name != "machine")]
    asked = rows[selected(rows, where, found)]
    if asked.empty:
        return
    parts: Iterable[tuple[Any, pd.DataFrame]] = asked.groupby(by) if by else [((), asked)]
    for levels, of in parts:
        plain = (level.item() if isinstance(level, np.generic) else level for level in levels)
        yield dict(zip(by, plain, strict=True)), of


def _answer(
    rows: "pd.DataFrame",
    marked: "pd.DataFrame",
    by: "pd.DataFrame",
    failed: "pd.DataFrame",
    experiment: Experiment,
    finding: Finding,
    at: Mapping[str, Level],
) -> Answer:
    """The answer at these levels, from `rows` that succeeded and `failed` ones. `by`: the rows they are divided by."""
    sides = {name: rows[rows[f"_{name}"]] for name in finding.sides}
    for name, side in finding.sides.items():
        if not sides[name]["_log"].notna().any():
            return missing(finding, at, _unmeasured(finding, marked, sides[name], {**finding.where, **at, **side}))
    compared, chosen = rows[rows["_a"] | rows["_b"]] if "b" in sides else sides["a"], ""
    same = f"{said(finding.a)} and {said(finding.b or {})} are the same launches here"
    if why := same if "b" in sides and rows["_a"].equals(rows["_b"]) else off_line(compared):
        return missing(finding, at, why)
    if finding.best:
        sides["b"], chosen = best(sides["b"], finding.best)
    shape = int(rows["_cell"].max()) + 1, int(rows["_block"].max()) + 1
    differences = _within(sides["a"], shape) - (_within(sides["b"], shape) if "b" in sides else 0)
    known = ~np.isnan(differences)
    if not known.any():
        return missing(finding, at, "the two sides were never measured in the same block")
    mostly = known[:, known.any(axis=0)].mean(axis=1) > MOSTLY
    cells, table = mostly.nonzero()[0].tolist(), differences[mostly]
    table = table[:, ~np.isnan(table).any(axis=0)]
    if not table.size:
        return missing(finding, at, "too many launches failed")
    few = f"the claim needs {finding.several} levels, and {len(cells)} of them are here"
    if why := lacking(rows[rows["_cell"].isin(cells)], finding.needs) or few * (len(cells) < finding.several):
        return missing(finding, at, why)
    lost = _left_out(failed, finding, cells)
    confidence = experiment.stop.confidence
    shown = float if finding.difference else math.exp
    named = dict(zip(compared["_cell"], compared["_at"], strict=True))
    interval = stats.mean_interval if experiment.study.samples else stats.hodges_lehmann
    ratio = interval(table.mean(axis=0), confidence).map(shown)
    found = {named[k]: interval(row, confidence).map(shown) for k, row in zip(cells, table, strict=True)}
    shared = [interval(row, 1 - (1 - confidence) / len(table)).map(shown) for row in table]
    verdict = judged(finding, ratio, list(found.values()), shared)
    scattered = table.mean(axis=0, keepdims=True) if finding.general else table
    return Answer(
        finding,
        at,
        ratio,
        "open" if lost and verdict == "holds" else verdict,
        _extremes(found),
        deciding(finding, found, shared),
        tuple(sorted(int(p) for p in compared[compared["oversubscribed"]]["p"].unique())),
        failed=lost,
        chosen=chosen,
        rows=launched(compared, by, finding),
        scatter=float(scattered.std(axis=1, ddof=1).max()) if table.shape[1] > 1 else math.nan,
    )


def _left_out(failed: "pd.DataFrame", finding: Finding, cells: Sequence[int]) -> tuple[str, ...]:
    """The levels that are not among these cells and at which launches of a side failed."""
    sides = [failed[failed[f"_{name}"] & ~failed["_cell"].isin([-1, *cells])] for name in finding.sides]
    return tuple(dict.fromkeys(at for side in sides for at in side.sort_values("_cell")["_at"]))


def best(rows: "pd.DataFrame", column: str) -> tuple["pd.DataFrame", str]:
    """The rows of each block at the level with the least y in all other blocks, and the most frequent such level."""
    logs = rows.groupby([column, *BLOCK])["_log"].mean().unstack(column).dropna()
    others = (logs.sum() - logs) / (len(logs) - 1) if len(logs) > 1 else logs
    chosen = others.idxmin(axis="columns")
    if chosen.empty:
        return rows, ""
    mostly, times = chosen.value_counts().index[0], int(chosen.value_counts().iloc[0])
    at = rows.join(chosen.rename("_best"), on=BLOCK)["_best"]
    said = f"{column}={mostly}" + ("" if times == len(chosen) else f" in {times} of {len(chosen)} blocks")
    return rows[rows[column] == at], said


def logarithms(rows: "pd.DataFrame", finding: Finding) -> "pd.Series":
    """log y; if the finding normalises, minus the log y of the row's reference in its block."""
    values = rows[finding.y].astype("float64")
    logs = values.where(values > 0).apply(np.log)
    if finding.normalise is None:
        return logs
    relative = logs - _reference(rows.assign(_log=logs), finding.normalise, finding.where)
    return -relative if finding.normalise.inverse else relative


def off_line(rows: "pd.DataFrame") -> str:
    """Why these rows have no ratio to a straight line: it is not above 0 in some blocks. Empty if it is in all."""
    lost = rows[np.isinf(rows["_log"])]
    of, without = (len(each[BLOCK].drop_duplicates()) for each in (rows, lost))
    return f"its straight line is not above 0 at these levels, in {without} of {of} blocks" if without else ""


def _compared(rows: "pd.DataFrame", logs: "pd.Series", finding: Finding) -> "pd.Series":
    """The values that are averaged for each side: logarithms, or y itself if the claim is about a difference."""
    if not finding.difference:
        return logs
    if finding.normalise is None or not finding.normalise.subtract:
        return logs.map(np.exp, na_action="ignore")
    plain = logarithms(rows, finding.model_copy(update={"normalise": None}))
    return plain.map(np.exp, na_action="ignore") - (plain - logs).map(np.exp, na_action="ignore")


def _reference(rows: "pd.DataFrame", normalise: Normalise, where: Selection) -> "pd.Series":
    """The references: launches as in `where`, but with the levels of `to`, or the straight line through two of them
    (minus infinity where it is not above 0)."""
    if normalise.line is None:
        return _means(rows, normalise, {**where, **normalise.to})
    name, *ends = normalise.line
    first, last = (_means(rows, normalise, {**where, **normalise.to, name: end}).map(np.exp) for end in ends)
    share = (rows[name].astype("float64") - ends[0]) / (ends[1] - ends[0])
    with np.errstate(divide="ignore"):
        return (first + (last - first) * share).clip(lower=0).map(np.log, na_action="ignore")


def _means(rows: "pd.DataFrame", normalise: Normalise, chosen: Selection) -> "pd.Series":
    """For each row, the mean logarithm of the chosen launches of its block that are equal in the columns `within`."""
    keys = [*BLOCK, *normalise.within]
    means = rows[selected(rows, chosen)].groupby(keys)["_log"].mean().rename("_reference")
    return rows.join(means, on=keys)["_reference"]


def _within(rows: "pd.DataFrame", shape: tuple[int, int]) -> Floats:
    """The mean of the compared values, by cell and block; NaN if there are none."""
    known = rows[rows["_y"].notna() & (rows["_cell"] >= 0)]
    places = np.ravel_multi_index((known["_cell"].to_numpy(), known["_block"].to_numpy()), shape)
    sums, counts = (np.bincount(places, of, math.prod(shape)) for of in (known["_y"].to_numpy(), None))
    with np.errstate(invalid="ignore"):
        return np.reshape(sums / counts, shape)


def _extremes(cells: Mapping[str, Interval]) -> tuple[tuple[str, float], ...]:
    estimates = {at: found.estimate for at, found in cells.items()}
    ends = (min(estimates, key=estimates.__getitem__), max(estimates, key=estimates.__getitem__))
    return tuple((at, estimates[at]) for at in ends) if len(cells) > 1 else ()


def _unmeasured(finding: Finding, found: "pd.DataFrame", side: "pd.DataFrame", wanted: Selection) -> str:
    if "bandwidth" in found and found["bandwidth"].isna().all() and not side.empty and finding.y != "time":
        return f"{finding.y} has no value: was this machine calibrated (corescale calibrate)?"
    to = finding.normalise.to if finding.normalise and not side.empty else {}
    return absent(found, {**wanted, **to})


def references(found: "pd.DataFrame", finding: Finding) -> "pd.DataFrame":
    """The launches by which others are divided: what names their block, by their places."""
    if finding.normalise is None:
        return found[BLOCK][:0]
    return found.loc[selected(found, {**finding.where, **finding.normalise.to}), [*BLOCK, *finding.normalise.within]]


def launched(compared: "pd.DataFrame", by: "pd.DataFrame", finding: Finding) -> frozenset[int]:
    """Places among the references: of the launches that are compared, and of those by which they are divided."""
    places = {int(place) for place in compared.index}
    if finding.normalise is None:
        return frozenset(places)
    wanted = set(compared[[*by.columns]].itertuples(index=False, name=None))
    return frozenset(places | {int(k) for k, *of in by.itertuples(name=None) if tuple(of) in wanted})


def missing(finding: Finding, at: Mapping[str, Level], why: str) -> Answer:
    """An answer without a verdict."""
    return Answer(finding, at, Interval(math.nan, None, None, None, 0), "not on this machine", why=why)
