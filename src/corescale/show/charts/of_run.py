# SPDX-License-Identifier: Apache-2.0
"""The charts of every run, from its conclusion: scaling, efficiency, overhead, ratios, order of time."""

from collections.abc import Mapping, Sequence

import numpy as np

from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Scan
from corescale.conclude.frame import frame
from corescale.conclude.response import median, table
from corescale.declare import outputs
from corescale.records import Configuration, Record
from corescale.show import text
from corescale.show.charts import curves
from corescale.show.charts.curves import Words
from corescale.show.charts.declared import declared
from corescale.show.charts.forest import Groups, forest
from corescale.show.charts.ladder import FEWEST, ladder, rungs
from corescale.show.charts.model import Chart
from corescale.show.charts.order import Point, order
from corescale.show.naming import label, raw
from corescale.show.result import Result

CONFIRMED = "confirmed:"
MOST_CURVES, MOST_ROWS = 8, 40
"""A chart of more curves, or rows, than this can no longer be read; a study declares what it wants to see of them."""
FASTEST = 30
"""configurations of a tune, and the baseline"""
GROUPS = {"measure": "measuring", "confirm": "confirming"}


def of_run(result: Result, scan: Scan | None) -> tuple[Chart, ...]:
    """Every chart that the records allow, the verb's own first. `scan` is None where no parallelism was varied."""
    found = [chart for chart in (_ladder(result), _forest(result), _order(result)) if chart is not None]
    if scan is not None and scan.weak is not None:
        found = [*_weak(result), *found]
    if scan is not None and len({row.p for row in scan.rows if row.speedup.estimate > 0}) > 1:
        drawn = _curves(result, scan) if len(scan.curves) <= MOST_CURVES else []
        found = [*found, *drawn] if isinstance(result.conclusion, Recommendation) else [*drawn, *found]
    return tuple(chart.labelled(result.origins) for chart in found)


def _curves(result: Result, scan: Scan) -> list[Chart]:
    lines = curves.lines_of(scan)
    speedup = (
        f"Speedup 1 is {text.clean(scan.baseline)}. Bands and whiskers: {text.percent(result.confidence)} intervals."
    )
    share = "The share of the cores' time that went into speedup; 100% is ideal."
    cost = "Overhead f = 1/e - 1: core time beyond what the reference needs, as a share of that; 0% is ideal."
    return [
        curves.scaling(Words("scaling", "Scaling", speedup), lines, scan.p_ref),
        curves.efficiency(Words("efficiency", "Efficiency", share), lines),
        curves.overhead(Words("overhead", "Overhead", cost), lines),
    ]


def _weak(result: Result) -> list[Chart]:
    """Time over work at each p, a panel for each level of up to two other factors."""
    experiment = result.experiment
    if experiment.scaling.weak is None or not result.timed:
        return []
    apart = {*experiment.makes_p, experiment.scaling.weak.load, experiment.scaling.weak.work}
    others = [factor.name for factor in experiment.factors if factor.name not in apart and len(factor.levels) > 1]
    asked = outputs.Chart(name="weak", kind="weak", title="Time over work", x=experiment.scaling.weak.work, colour="p",
                          facet=tuple(others[:2]))  # fmt: skip
    made = declared(asked, frame(result.records, experiment), experiment)
    return [] if made is None else [made]


def _forest(result: Result) -> Chart | None:
    """Every paired ratio with its interval, the confirmed gain above them; the dashed line is "no difference"."""
    name, _ = result.ratios
    groups = _ratios(result)
    if not 0 < sum(len(rows) for _, rows in groups) <= MOST_ROWS:
        return None
    left = len(result.ratios[1]) - len(groups[-1][1])
    fewer = f" The fastest of them: {left} more are in the table." if left and len(groups[-1][1]) >= FASTEST else ""
    intervals = f"{text.percent(result.confidence)} intervals"
    caption = f"Ratios within blocks, with {intervals}; the dashed line is no difference.{fewer}"
    behind = {_label(c): f" ({values})" for c in result.ratios[1] if (values := raw(c))}
    return forest("forest", f"Ratios: {name}", caption, name, groups, aside=behind)


def _ladder(result: Result) -> Chart | None:
    """The commands of a comparison, as steps in the order typed."""
    if not isinstance(result.conclusion, tuple) or not result.conclusion:
        return None
    times, confidence = table(result.records, result.experiment.response), result.conclusion[0].confidence
    order = [
        c
        for c in (result.conclusion[0].reference, *(one.other for one in result.conclusion))
        if c in times.configurations
    ]
    if not FEWEST <= len(order) <= MOST_ROWS:
        return None
    logs = np.log(np.column_stack([times.column(c) for c in order]))
    over = ["oversubscribed" in result.labels(c) for c in order]
    steps = list(rungs([_label(c) for c in order], logs, over, confidence))
    return ladder("ladder", "Step by step", "", confidence, steps)


def _ratios(result: Result) -> Groups:
    found = result.conclusion
    confirmed = []
    if isinstance(found, Recommendation) and found.gain:
        over = "oversubscribed" in result.labels(found.winner)
        confirmed = [(f"{CONFIRMED} {_label(found.winner)}", found.gain, over)]
    shown = [(c, ratio) for c, ratio in result.ratios[1].items() if ratio.estimate > 0]
    if isinstance(found, Recommendation):  # fastest first
        shown = [*shown[:FASTEST], *(pair for pair in shown[FASTEST:] if pair[0] == found.baseline)]
    measured = [(_label(c), ratio, "oversubscribed" in result.labels(c)) for c, ratio in shown]
    return [("confirmed", confirmed), ("measured", measured)] if confirmed else [("measured", measured)]


def _order(result: Result) -> Chart | None:
    """Every launch that succeeded but the warm-ups."""
    name = result.experiment.response
    launches = [(k, record) for k, record in enumerate(result.records) if record.timed and record.ok]
    usual = _medians([record for _, record in launches], name)
    points = [
        Point(k + 1, _label(record.configuration), record.response(name) / usual[record.configuration] - 1,
              GROUPS[record.phase], k in result.noisy, record.oversubscribed)
        for k, record in launches
        if usual.get(record.configuration, 0) > 0
    ]  # fmt: skip
    return order("order", "In order of time", "", points) if points else None


def _medians(records: Sequence[Record], name: str) -> Mapping[Configuration, float]:
    kinds = dict.fromkeys(record.configuration for record in records)
    return {c: median([record.response(name) for record in records if record.configuration == c]) for c in kinds}


def _label(configuration: Configuration) -> str:
    return label(configuration).removeprefix("command=")
