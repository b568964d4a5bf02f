# SPDX-License-Identifier: Apache-2.0
"""Charts of answers: what was measured stands beside the sum that is claimed to describe it."""

from collections.abc import Mapping

import pytest

from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.study import Study, study
from corescale.declare.experiment import Command, Experiment, Factor, Presentation
from corescale.declare.outputs import Finding, Output, Overheads
from corescale.records import Configuration
from corescale.show import charts
from corescale.show.charts import drawing
from corescale.show.charts.model import Chart, Series
from corescale.show.charts.of_answers import of_answers
from support.samples import records, result

GRAIN, SQUARE = 60.0, 4.0
OVERHEADS = Overheads(
    name="grain",
    statement="One factor describes three sizes.",
    factors={"grain": "p / points", "square": "p * p / points"},
    models=("grain", "grain + square"),
    claim="grain",
    each=("threading",),
)
LARGER = Finding(
    name="larger", statement="Overhead of ports is larger.", y="processor_seconds", difference=True,
    a={"threading": "ports"}, b={"threading": "tbb"}, where={"threads": "max"}, each=("points",), claim="> 0",
    label="f of ports less f of tbb",
)  # fmt: skip


def experiment(*outputs: Output) -> Experiment:
    """Times in which f is GRAIN p / N with tbb; with ports p^2 / N comes to it."""
    return Experiment(
        verb="study",
        commands=(Command(name="main", argv=("cluster", "{threads}")),),
        factors=(
            Factor(name="threads", kind="threads", levels=(1, 2, 4, 8)),
            Factor(name="points", kind="parameter", levels=(1000, 1500, 3500)),
            Factor(name="threading", kind="parameter", levels=("tbb", "ports")),
        ),
        study=Presentation(columns={"processor_seconds": "time * p"}, outputs=outputs),
    )


def overhead(p: float, points: float, threading: object) -> float:
    return (GRAIN * p + (SQUARE * p * p if threading == "ports" else 0)) / points if p > 1 else 0.0


def seconds(c: Configuration) -> float:
    p, points = c.layout.p, float(c["points"])
    return 1e-6 * points**2 * (1 + overhead(p, points, c["threading"])) / p


def said(*outputs: Output) -> Study:
    made = experiment(*outputs)
    return study(records(made, seconds, 8, noise=0.002), made)


@pytest.fixture(scope="module")
def chart() -> Chart:
    (made,) = of_answers(said(OVERHEADS).answers)
    return made


def of(chart: Chart, panel: str) -> Mapping[str, Series]:
    return {series.label: series for one in chart.panels if one.column == panel for series in one.series}


@pytest.mark.parametrize("threading", ["tbb", "ports"])
def test_measured_overheads_stand_over_the_first_factor_that_is_claimed(chart: Chart, threading: str) -> None:
    for points in (1000, 1500, 3500):
        series = of(chart, threading)[f"points={points}"]
        assert series.kind == "points"
        assert [mark.x for mark in series.marks] == pytest.approx([p / points for p in (2, 4, 8)])
        for mark, p in zip(series.marks, (2, 4, 8), strict=True):
            assert mark.y == pytest.approx(overhead(p, points, threading), abs=0.01)
            assert mark.low is not None and mark.high is not None and mark.low < float(mark.y) < mark.high


def test_the_claimed_sum_is_a_line_from_no_overhead_through_what_it_describes(chart: Chart) -> None:
    (line,) = [series for series in of(chart, "tbb").values() if series.kind == "dotted"]
    assert (line.label, line.marks[0].x, line.marks[0].y) == ("grain", 0, 0)
    for mark in line.marks:
        assert mark.y == pytest.approx(GRAIN * float(mark.x), rel=0.05)


def test_the_sum_that_stands_is_beside_the_claimed_one(chart: Chart) -> None:
    series = of(chart, "ports")
    assert {name for name in series if name.startswith("grain")} == {
        "grain", "grain + square, p = 2", "grain + square, p = 4", "grain + square, p = 8"
    }  # fmt: skip
    for place, p in enumerate((2, 4, 8)):
        better = {mark.x: mark.y for mark in series[f"grain + square, p = {p}"].marks}
        for points in (1000, 1500, 3500):
            mark = series[f"points={points}"].marks[place]
            assert better[mark.x] == pytest.approx(float(mark.y), abs=0.03)


def test_a_fit_that_is_said_to_be_worse_than_elsewhere_has_that_one_beside_it() -> None:
    changed = {"models": ("grain",), "each": (), "where": {"threading": "ports"}, "worse_than": {"threading": "tbb"}}
    asked = OVERHEADS.model_copy(update=changed)
    (made,) = of_answers(said(asked).answers)
    lines = [series.label for panel in made.panels for series in panel.series if series.kind == "dotted"]
    assert lines == ["grain", "grain as fitted elsewhere"]


def test_a_difference_has_a_row_for_each_answer() -> None:
    (made,) = of_answers(said(LARGER).answers)
    (panel,) = made.panels
    marks = {str(mark.x): float(mark.y) for series in panel.series for mark in series.marks}
    assert made.references == (0.0,)
    for points in (1000, 1500, 3500):
        apart = overhead(8, points, "ports") - overhead(8, points, "tbb")
        assert 1e6 * marks[f"points={points}"] / points**2 == pytest.approx(apart, abs=0.03)


def test_differences_of_layouts_stand_by_their_numbers() -> None:
    made = experiment(LARGER.model_copy(update={"where": {"threads": "above min"}, "each": ("layout",)}))
    threads = made.factors[0].model_copy(update={"levels": (1, 2, 16)})
    made = made.model_copy(update={"factors": (threads, *made.factors[1:])})
    (drawn,) = of_answers(study(records(made, seconds, 8, noise=0.002), made).answers)
    assert drawn.x.categories == ("2x1x1", "16x1x1")


def test_differences_of_layouts_are_bars_with_a_series_for_each_other_level() -> None:
    asked = LARGER.model_copy(
        update={"where": {"threads": "above min"}, "each": ("points", "layout"), "bars": "layout"}
    )
    answers = [one for one in said(asked).answers if isinstance(one, Answer)]
    (drawn,) = of_answers(answers)
    assert drawn.title == f"{LARGER.statement} Verdicts: 9 are open." and drawn.y.title == LARGER.label
    assert not drawn.turned and drawn.x.categories == ("2x1x1", "4x1x1", "8x1x1")
    (panel,) = drawn.panels
    assert [series.label for series in panel.series] == ["points=1000", "points=1500", "points=3500"]
    bars = {(series.label, mark.x): mark.y for series in panel.series for mark in series.marks}
    assert {series.kind for series in panel.series} == {"bars"}
    assert bars == {(f"points={one.at['points']}", one.at["layout"]): one.ratio.estimate for one in answers}


def test_both_renderers_draw_them_and_a_report_has_them_under_their_names() -> None:
    made = experiment(OVERHEADS, LARGER)
    shown = result(made, records(made, seconds, 8, noise=0.002))
    drawn = {chart.name: chart for chart in charts.of_study(shown, None)}
    assert set(drawn) == {"grain", "larger"}
    for chart in drawn.values():
        assert drawing.svg(chart).startswith("<svg") and chart.origins == ("fake",)


def test_bars_stand_by_t_x_m_x_n_measured_next_to_every_model_with_a_panel_for_each_size() -> None:
    made = experiment(OVERHEADS.model_copy(update={"bars": "layout"}))
    (chart,) = charts.of_study(result(made, records(made, seconds, 8, noise=0.002)), None)
    assert chart.x.categories == ("2x1x1", "4x1x1", "8x1x1")
    assert [panel.row for panel in chart.panels] == ["points=1000", "points=1500", "points=3500"]
    for panel, points in zip(chart.panels, (1000, 1500, 3500), strict=True):
        bars = {series.label: {mark.x: mark.y for mark in series.marks} for series in panel.series}
        assert {series.kind for series in panel.series} == {"bars"}
        assert set(bars) == {f"{t}{w}" for t in ("tbb", "ports") for w in ("", ": grain", ": grain + square")}
        said = [mark.says.partition(": f =")[0] for series in panel.series for mark in series.marks]
        assert len(set(said)) == len(said) == 18 and f"tbb at 2x1x1 points={points}" in said
        for p in (2, 4, 8):
            for of in ("", ": grain"):
                assert bars[f"tbb{of}"][f"{p}x1x1"] == pytest.approx(overhead(p, points, "tbb"), abs=0.02)
    assert drawing.svg(chart).startswith("<svg") and chart.origins == ("fake",)


def test_a_level_that_all_bars_share_is_not_in_their_names() -> None:
    some = {"each": ("points", "threading"), "where": {"points": 1000}, "bars": "layout", "up_to": 0.3}
    made = experiment(OVERHEADS.model_copy(update=some))
    (chart,) = charts.of_study(result(made, records(made, seconds, 8, noise=0.002)), None)
    assert {series.label for panel in chart.panels for series in panel.series} >= {"tbb", "ports", "tbb: grain"}
    assert "points" not in " ".join(series.label for panel in chart.panels for series in panel.series)
    assert chart.caption.endswith("fitted where f is at most 0.3")
