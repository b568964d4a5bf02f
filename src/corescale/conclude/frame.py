# SPDX-License-Identifier: Apache-2.0
"""The frame has a row for each launch and a column for each known fact. Charts, tables and findings read only it."""

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from corescale.conclude.noise import flag_launches
from corescale.conclude.warnings import memory_kind
from corescale.declare import arithmetic
from corescale.declare.catalogue import allocators
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations, parameters
from corescale.declare.outputs import BUILT_IN, EXTREMES, Selection, extreme, listed
from corescale.errors import UsageError
from corescale.records import Configuration, Level, Phase, Record, Region

if TYPE_CHECKING:
    import pandas as pd  # takes a third of a second to load, which every verb would wait for


MEASURED: tuple[Phase, ...] = ("measure",)


def frame(
    records: Sequence[Record], experiment: Experiment, machine: str = "", phases: Collection[Phase] = MEASURED
) -> "pd.DataFrame":
    """Every launch of these phases in the order it was made.

    Columns: factors, outputs.BUILT_IN, derived parameters, metrics that the launches report, declared columns. `time`
    is the declared response, NaN if the launch failed; a declared column that has no value there is NaN too.
    """
    import pandas as pd  # noqa: PLC0415

    timed = [record for record in records if record.phase in phases]
    noisy, kind = {flag.launch for flag in flag_launches(timed) if timed[flag.launch].timed}, memory_kind(timed)
    blocks: dict[Level | None, dict[int, int]] = {}
    for record in timed:
        of_machine = blocks.setdefault(record.configuration.get("machine"), {})
        of_machine.setdefault(record.block, len(of_machine) + 1)
    known: dict[Configuration, Mapping[str, Level]] = {
        chosen: parameters(experiment, chosen) for chosen in dict.fromkeys(record.configuration for record in timed)
    }
    draws: dict[Level | None, int] = {level: k for f in experiment.factors if f.name == experiment.study.samples
             for k, level in enumerate(f.levels, 1)}  # fmt: skip
    rows = [
        dict(record.metrics)
        | dict(known[record.configuration])
        | {
            "layout": str(record.configuration.layout),
            "time": record.response(experiment.response),
            "peak_memory": (record.peak_memory if record.peak_memory_kind == kind else 0) or math.nan,
            "effective_cores": record.effective_cores,
            "replicate": draws.get(
                record.configuration.get(experiment.study.samples),
                blocks[record.configuration.get("machine")][record.block],
            ),
            "order": order,
            "machine": record.configuration.get("machine") or machine,
            "status": record.status,
            "noisy": order - 1 in noisy,
            "oversubscribed": record.oversubscribed,
            "origin": record.origin,
            "bandwidth": experiment.study.bandwidth.get(str(record.configuration.get("machine") or ""), math.nan),
        }
        for order, record in enumerate(timed, 1)
    ]
    given = [*(factor.name for factor in experiment.factors), *(along.name for along in experiment.along)]
    names = dict.fromkeys([*given, *experiment.derived, *BUILT_IN, *experiment.metrics])
    for row in rows:
        names.update(dict.fromkeys(row))
    found = pd.DataFrame(rows, columns=[*names])
    typical = found.groupby(["machine", *(factor.name for factor in experiment.factors)])["time"].transform("median")
    found["scatter"] = (found["time"] / typical - 1).abs()
    return _with_columns(found, experiment)


A_SECOND = 1.2345678
"""assumed value of a launch's time and metrics: an odd number, so that no formula is 0 by chance"""


def foreseen(experiment: Experiment, cores: int) -> "pd.DataFrame":
    """The frame known before any launch: one launch of each configuration, with A_SECOND for every number.

    `cores`: more threads than that on a node are oversubscribed.
    """
    source, _, key = experiment.response.partition(":")
    metrics = dict.fromkeys((*experiment.metrics, *((key,) if source == "metric" else ())), A_SECOND)
    regions = (Region(key, 0, 0, 1, A_SECOND),) if source == "region" else ()
    records = [
        Record(
            plan="", configuration=chosen, phase="measure", block=0, attempt=0, order=place, seed=0, started=0.0,
            wall=A_SECOND, status="ok", exit_code=0, user=A_SECOND, peak_memory=1, peak_memory_kind="process",
            threads_asked=chosen.layout.p, metrics=metrics, regions=regions,
            oversubscribed=chosen.layout.of_node > cores,
        )
        for place, chosen in enumerate(configurations(experiment))
    ]  # fmt: skip
    return frame(records, experiment)


def _with_columns(found: "pd.DataFrame", experiment: Experiment) -> "pd.DataFrame":
    formulas = {name: arithmetic.parse(text, f"columns.{name}") for name, text in experiment.study.columns.items()}
    for name in arithmetic.ordered(formulas, found.columns, "columns"):
        names = sorted(formulas[name].names)
        # Launches of one configuration share most inputs. Equal numbers of other types have other values: isqrt(1.0).
        cell = functools.lru_cache(maxsize=None, typed=True)(functools.partial(_cell, formulas[name], names))
        columns = [found[one].tolist() for one in names]
        found[name] = [cell(*row) for row in zip(*columns, strict=True)] if names else [cell()] * len(found)
    return found


def _cell(formula: arithmetic.Expression, names: Sequence[str], *row: Level) -> float:
    if not all(isinstance(value, int | float) for value in row):
        return math.nan
    try:
        return formula.value(dict(zip(names, row, strict=True)), "")
    except UsageError:
        return math.nan


def selected(rows: "pd.DataFrame", selection: Selection, among: "pd.DataFrame | None" = None) -> "pd.Series":
    """Which rows have these levels: a column of truth values.

    EXTREMES (such as max) are those of `among`, by default of `rows`; if the selection says so, oversubscribed rows are
    ignored.
    """
    chosen, levels_of = rows["status"].notna(), rows if among is None else among
    if "oversubscribed" in selection:
        levels_of = levels_of[levels_of["oversubscribed"].isin(listed(selection["oversubscribed"]))]
    for name, levels in selection.items():
        chosen &= rows[name].isin([level for one in listed(levels) for level in _meant(levels_of[name], one)])
    return chosen


def _meant(column: "pd.Series", level: Level) -> Sequence[Level]:
    """The levels of a column that a word matches: an allocator's name also matches its path."""
    if level in EXTREMES:
        return extreme(level, column)
    return [level, *(one for one in column.unique() if allocators.means(one, level))]
