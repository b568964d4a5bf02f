# SPDX-License-Identifier: Apache-2.0
"""Charts of a study: one for each level of `each`, and panels that share a range show all of it."""

from dataclasses import replace

from corescale.declare.outputs import Chart
from corescale.show import charts
from corescale.show.charts import static
from support import samples


def bars(**changes: object) -> Chart:
    values: dict[str, object] = {"name": "times", "kind": "bars", "title": "Times", "x": "allocator", "y": "time"}
    return Chart.model_validate(values | changes)


def of(chart: Chart) -> tuple[charts.Chart, ...]:
    rows, experiment = samples.grid_frame(), samples.RESULTS["grid"]().experiment
    return charts.of_declared(rows, experiment.model_copy(update={"outputs": (chart,)}))


def test_each_level_has_a_chart_of_its_own_rows() -> None:
    rows = samples.grid_frame()
    made = of(bars(each="load", facet=("threads",)))
    assert [chart.name for chart in made] == [f"times-load-{load}" for load in sorted(rows["load"].unique())]
    assert all(chart.title.startswith("Times; load ") for chart in made)
    (largest,) = of(bars(where={"load": "max"}, facet=("threads",)))
    assert replace(made[-1], name="", title="") == replace(largest, name="", title="")


def test_panels_that_share_a_range_cut_no_bar() -> None:
    (chart,) = of(bars(facet=("load", "threads")))
    figure = static._figure(replace(chart, own_y=False))
    seen = [axes for axes in figure.axes if axes.get_visible()]
    assert len(seen) == 4
    for axes in seen:
        low, high = axes.get_ylim()
        assert low == 0 and all(patch.get_height() <= high for patch in axes.patches)  # type: ignore[attr-defined]
