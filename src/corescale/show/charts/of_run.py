# SPDX-License-Identifier: Apache-2.0
"""The charts of every run, from its conclusion: scaling, efficiency, overhead, ratios, launches in order of time."""

from collections.abc import Mapping

import pandas as pd

from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Scan
from corescale.conclude.frame import frame
from corescale.declare import outputs
from corescale.records import COMMAND, Phase
from corescale.show import text
from corescale.show.charts import curves
from corescale.show.charts.declared import declared
from corescale.show.charts.forest import Groups, forest
from corescale.show.charts.model import Chart
from corescale.show.naming import label, raw
from corescale.show.result import Result

CONFIRMED = "confirmed:"
MOST_CURVES, MOST_ROWS = 8, 40
"""Most curves and rows of a readable chart. One with more is left out; a study can declare which to show."""
FASTEST = 30
"""The most configurations of a tune that are drawn; the baseline is drawn, too."""
FEWEST_STEPS = 2
"""The fewest comparisons of a ladder; a single one is just a ratio."""
GROUPS: Mapping[Phase, str] = {"measure": "measuring", "confirm": "confirming"}


def of_run(result: Result, scan: Scan | None) -> tuple[Chart, ...]:
    """Every chart that the records allow, the verb's own first. `scan` is None if no parallelism was varied."""
    if not result.timed:
        return ()
    rows = frame(result.timed, result.experiment, phases=(*GROUPS,))
    made = (_weak(result, rows), _ladder(result, rows), _forest(result), _order(result, rows))
    found = [chart for chart in made if chart is not None]
    if scan is not None and len({row.p for row in scan.rows if row.speedup.estimate > 0}) > 1:
        drawn = _curves(result, scan) if len(scan.curves) <= MOST_CURVES else []
        found = [*found, *drawn] if isinstance(result.conclusion, Recommendation) else [*drawn, *found]
    return tuple(chart.labelled(result.origins) for chart in found)


def _curves(result: Result, scan: Scan) -> list[Chart]:
    captions = {
        "scaling": f"Speedup 1 is {text.clean(scan.baseline)}. "
        f"Bands and whiskers: {text.percent(result.confidence)} intervals.",
        "efficiency": "The share of the cores' time that went into speedup; 100% is ideal.",
        "overhead": "Overhead f = 1/e - 1: core time beyond what the reference needs, as a share of that; 0% is ideal.",
    }
    lines = [("", "", [curves.line(curve) for curve in scan.curves])]
    return [
        curves.over_p(kind, kind, kind.capitalize(), caption, lines, scan.p_ref) for kind, caption in captions.items()
    ]


def _weak(result: Result, rows: pd.DataFrame) -> Chart | None:
    """Time over work at each p, with a panel for each level of up to two other factors."""
    experiment = result.experiment
    if experiment.scaling.weak is None:
        return None
    apart = {*experiment.makes_p, experiment.scaling.weak.load, experiment.scaling.weak.work}
    others = [factor.name for factor in experiment.factors if factor.name not in apart and len(factor.levels) > 1]
    asked = outputs.Chart(name="weak", kind="weak", title="Time over work", x=experiment.scaling.weak.work, colour="p",
                          facet=tuple(others[:2]))  # fmt: skip
    return declared(asked, rows, experiment)


def _ladder(result: Result, rows: pd.DataFrame) -> Chart | None:
    """The commands of a comparison, as steps in the order typed."""
    found = result.conclusion if isinstance(result.conclusion, tuple) else ()
    drawable = FEWEST_STEPS <= len(found) < MOST_ROWS and len(result.experiment.factors) == 1
    if not drawable or not all(one.ratio.estimate > 0 for one in found):
        return None
    asked = outputs.Chart(name="ladder", kind="ladder", title="Step by step", x=COMMAND)
    return declared(asked, rows, result.experiment)


def _forest(result: Result) -> Chart | None:
    """Every paired ratio with its interval, with the confirmed gain above them; the dashed line means no difference."""
    name, _ = result.ratios
    groups = _ratios(result)
    if not 0 < sum(len(rows) for _, rows in groups) <= MOST_ROWS:
        return None
    left = len(result.ratios[1]) - len(groups[-1][1])
    fewer = f" The fastest of them: {left} more are in the table." if left and len(groups[-1][1]) >= FASTEST else ""
    intervals = f"{text.percent(result.confidence)} intervals"
    caption = f"Ratios within blocks, with {intervals}; the dashed line is no difference.{fewer}"
    behind = {label(c): f" ({values})" for c in result.ratios[1] if (values := raw(c))}
    return forest("forest", f"Ratios: {name}", caption, name, groups, aside=behind)


def _ratios(result: Result) -> Groups:
    found = result.conclusion
    confirmed = []
    if isinstance(found, Recommendation) and found.gain:
        over = "oversubscribed" in result.qualifiers(found.winner)
        confirmed = [(f"{CONFIRMED} {label(found.winner)}", found.gain, over)]
    shown = [(c, ratio) for c, ratio in result.ratios[1].items() if ratio.estimate > 0]
    if isinstance(found, Recommendation):  # fastest first
        shown = [*shown[:FASTEST], *(pair for pair in shown[FASTEST:] if pair[0] == found.baseline)]
    measured = [(label(c), ratio, "oversubscribed" in result.qualifiers(c)) for c, ratio in shown]
    return [("confirmed", confirmed), ("measured", measured)] if confirmed else [("measured", measured)]


def _order(result: Result, rows: pd.DataFrame) -> Chart | None:
    """Every launch that succeeded, without the warm-ups."""
    asked = outputs.Chart(name="order", kind="time-order", title="In order of time", colour="launches")
    return declared(asked, rows.assign(launches=[GROUPS[one.phase] for one in result.timed]), result.experiment)
