# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: what every kind of declared chart shares)
"""Charts of a study: what a declaration asks for is what is drawn."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.transforms import Bbox
from pydantic import ValidationError

from corescale.declare.outputs import Chart
from corescale.errors import UsageError
from corescale.show import charts
from corescale.show.charts import drawing, look
from corescale.show.charts.model import binary, decades, doubling
from support import samples


def bars(**changes: object) -> Chart:
    values: dict[str, object] = {"name": "times", "kind": "bars", "title": "Times", "x": "allocator", "y": "time"}
    return Chart.model_validate(values | changes)


def lines(**changes: object) -> Chart:
    return bars(**({"kind": "lines", "x": "threads", "colour": "load"} | changes))


def of(chart: Chart) -> tuple[charts.Chart, ...]:
    rows, experiment = samples.grid_frame(), samples.RESULTS["grid"]().experiment
    return charts.of_declared(rows, samples.shown_by(experiment, outputs=(chart,)))


def test_each_level_has_a_chart_of_its_own_rows() -> None:
    rows = samples.grid_frame()
    made = of(bars(each="load", facet=("threads",)))
    assert [chart.name for chart in made] == [f"times-load-{load}" for load in sorted(rows["load"].unique())]
    assert all(chart.title.startswith("Times; load ") for chart in made)
    (largest,) = of(bars(where={"load": "max"}, facet=("threads",)))
    assert replace(made[-1], name="", title="") == replace(largest, name="", title="")


def test_each_level_that_is_a_path_has_a_file_of_its_own() -> None:
    rows = pd.DataFrame({"allocator": ["/a/b", "/a-b", "-a/b", f"/{'x' * 300}/a", f"/{'x' * 300}/b"]})
    names = [chart.name for chart in charts._each(bars(each="allocator"), rows)]
    assert len(set(names)) == len(names) == len(rows)
    assert all("/" not in name and len(name) < 200 for name in names)


def test_panels_that_share_a_range_cut_no_bar() -> None:
    (chart,) = of(bars(facet=("load", "threads")))
    figure = drawing._figure(replace(chart, own_y=False))
    seen = [axes for axes in figure.axes if axes.get_visible()]
    assert len(seen) == 4
    for axes in seen:
        low, high = axes.get_ylim()
        assert low == 0 and all(patch.get_height() <= high for patch in axes.patches)  # type: ignore[attr-defined]


def test_a_single_panel_says_of_which_levels_it_is() -> None:
    (chart,) = of(lines(facet=("load", "allocator"), where={"load": "max", "allocator": "system"}))
    assert len(chart.panels) == 1 and "load=16 · system" in re.findall(r">([^<>]+)<", drawing.svg(chart))


def test_launches_without_what_x_counts_stand_at_0_of_every_panel() -> None:
    rows = samples.grid_frame()
    (chart,) = of(lines(facet=("allocator",), at_zero={"allocator": "system"}))
    (panel,) = chart.panels
    assert panel.column == "mimalloc"
    for series, load in zip(panel.series, sorted(rows["load"].unique()), strict=True):
        assert [mark.x for mark in series.marks] == [0, 1, 4]
        system = rows[(rows["allocator"] == "system") & (rows["load"] == load)]
        assert series.marks[0].y == pytest.approx(system["time"].mean())
    assert "At 0: allocator system." in chart.caption


def test_a_second_column_is_a_line_style_in_every_colour() -> None:
    (chart,) = of(lines(style="allocator"))
    assert {series.label: (series.slot, series.style) for series in chart.legend} == {
        "load=1, system": (0, 0), "load=1, mimalloc": (0, 1), "load=16, system": (1, 0), "load=16, mimalloc": (1, 1)
    }  # fmt: skip
    assert chart.wide, "a legend of so many entries would leave a narrow figure no room for its axes"
    drawn = drawing._figure(chart).axes[0]
    assert {line.get_linestyle() for line in drawn.get_lines()} == {"-", "--"} and not drawn.patches
    with pytest.raises(ValidationError, match="`style` is for a chart of lines, and this is one of bars"):
        bars(style="load")


def test_only_levels_that_are_drawn_have_a_place_at_0() -> None:
    (chart,) = of(lines(at_zero={"load": 1}, where={"load": (1, 16), "threads": 4}))
    assert [series.label for series in chart.series] == ["load=16"]
    assert [mark.x for mark in chart.series[0].marks] == [0, 4]


def test_a_speed_is_the_inverse_of_a_relative_time() -> None:
    chart = lines(where={"load": 1, "allocator": "mimalloc"}, normalise={"to": {"threads": 1}})
    assert chart.normalise is not None
    (time,) = of(chart)
    (speed,) = of(chart.model_copy(update={"normalise": chart.normalise.model_copy(update={"inverse": True})}))
    assert speed.y.title == "speed, relative to threads 1" and time.y.title == "time, relative to threads 1"
    (labelled,) = of(chart.model_copy(update={"label": "efficiency"}))
    assert labelled.y.title == "efficiency" and "1 is threads 1." in labelled.caption
    rows = samples.grid_frame()
    rows = rows[(rows["load"] == 1) & (rows["allocator"] == "mimalloc")]
    one, four = (rows.loc[rows["threads"] == threads, "time"].to_numpy() for threads in (1, 4))
    assert [mark.y for mark in time.series[0].marks] == pytest.approx([1, np.mean(four) / np.mean(one)])
    assert [mark.y for mark in speed.series[0].marks] == pytest.approx([1, np.mean(one) / np.mean(four)])
    ends = [(mark.low, mark.high) for mark in speed.series[0].marks]
    assert ends[0] == pytest.approx((1, 1)), "the reference has no scatter relative to itself"
    slow = time.series[0].marks[1]
    assert slow.low and slow.high and ends[1] == pytest.approx((1 / slow.high, 1 / slow.low))


def test_a_relative_interval_has_the_scatter_of_its_reference() -> None:
    """Equal launches, of which only the reference varies: without its scatter, the interval has no width."""
    times = samples.grid_frame()["replicate"].nunique()
    varied = {block: 0.5 + block / times for block in range(1, times + 1)}
    rows = samples.grid_frame()
    rows = rows.assign(time=[1.0 if threads == 4 else varied[block] for threads, block in
                             zip(rows["threads"], rows["replicate"], strict=True)])  # fmt: skip
    chart = lines(where={"load": 1, "allocator": "mimalloc"}, normalise={"to": {"threads": 1}})
    shown = samples.shown_by(samples.RESULTS["grid"]().experiment, outputs=(chart,))
    (drawn,) = charts.of_declared(rows, shown)
    one, four = drawn.series[0].marks
    assert (one.low, one.high) == pytest.approx((1, 1))
    assert four.low and four.high and four.low < float(four.y) / 1.05 and four.high > 1.05 * float(four.y)


def test_an_overhead_is_a_ratio_less_one() -> None:
    chart = bars(where={"load": 1, "threads": 4}, normalise={"to": {"threads": 1}})
    assert chart.normalise is not None
    less = chart.model_copy(update={"normalise": chart.normalise.model_copy(update={"less_one": True})})
    (ratio,), (overhead,) = of(chart), of(less)
    pairs = [(mark, less) for one, other in zip(ratio.series, overhead.series, strict=True)
             for mark, less in zip(one.marks, other.marks, strict=True)]  # fmt: skip
    assert pairs and all(less.y == pytest.approx(float(mark.y) - 1) for mark, less in pairs)
    assert all(less.low == pytest.approx(mark.low - 1) for mark, less in pairs if mark.low is not None)
    assert (overhead.y.title, overhead.y.format) == ("time, relative to threads 1, less 1", "number")
    with pytest.raises(ValidationError, match="`less_one` is for bars, lines and heat, and this is one of forest"):
        bars(kind="forest", normalise={"to": {"threads": 1}, "less_one": True})


def test_a_straight_line_goes_through_two_numbers_and_is_for_findings() -> None:
    with pytest.raises(ValidationError, match="a straight line in `to` is for a finding"):
        lines(normalise={"to": {"threads": [1, 4]}})
    for ends in ([1], [1, 1], [1, 2, 4], ["min", "max"]):
        with pytest.raises(ValidationError, match="goes through two numbers of one column"):
            lines(normalise={"to": {"threads": ends}})


def test_both_axes_are_logarithmic_where_that_is_asked_for() -> None:
    (chart,) = of(lines(x="load", colour="threads", log=("x", "y")))
    assert chart.x.log and chart.y.log
    assert chart.y.ticks == doubling(0.3, 6) and chart.x.ticks == (1, 16)
    assert [drawing.WRITERS["number"](value) for value in (0.0005, 0.001, 200, 20_000)] == [
        "0.0005",
        "0.001",
        "200",
        "20k",
    ]
    assert decades(0.002, 8) == (0.001, 0.01, 0.1, 1, 10)
    assert decades(0.3, 6) == (0.2, 0.5, 1, 2, 5, 10) and 0.015625 not in doubling(0.015625, 0.9)
    figure = drawing._figure(chart)
    assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"
    (plain,) = of(lines(x="load", colour="threads"))
    assert not plain.x.log and not plain.y.log
    with pytest.raises(UsageError, match="log has 'x', and 'allocator' has values that are no positive numbers"):
        of(lines(x="allocator", log=("x",)))


def test_steps_of_a_ladder_add_up() -> None:
    """Four threads cost, an allocator gains: each bar begins where the one before ended, and factors multiply."""
    steps = ({"threads": 1, "allocator": "system"}, {"threads": 4}, {"allocator": "mimalloc"})
    (chart,) = of(Chart.model_validate(
        {"name": "l", "kind": "ladder", "title": "Steps", "where": {"load": 16}, "steps": steps}
    ))  # fmt: skip
    marks = {str(mark.x): mark for mark in chart.marks()}
    assert {*marks} == {*chart.x.categories}
    first, slower, faster = (marks[name] for name in chart.x.categories)
    assert first.y == first.begins == 1 and slower.begins == first.y and faster.begins == slower.y
    rows = samples.grid_frame()
    times = rows[rows["load"] == 16].groupby(["threads", "allocator"])["time"].median()
    assert slower.y == pytest.approx(times[1, "system"] / times[4, "system"], rel=0.02)
    assert faster.y == pytest.approx(times[1, "system"] / times[4, "mimalloc"], rel=0.02)
    assert {series.label: len(series.marks) for series in chart.series} == {"faster": 2, "slower": 1}


def test_a_rung_is_the_best_of_its_levels_where_the_ladder_asks_for_it() -> None:
    rows = samples.grid_frame()
    times = rows[rows["load"] == 16].groupby(["allocator", "threads"])["time"].median()
    steps = ({"threads": 1, "allocator": "system"}, {"threads": 4, "allocator": ("system", "mimalloc")})
    asked = {"name": "l", "kind": "ladder", "title": "Steps", "where": {"load": 16}, "steps": steps}

    def gained(**more: str) -> float:
        (chart,) = of(Chart.model_validate(asked | more))
        return float(max(chart.marks(), key=lambda mark: str(mark.x) == chart.x.categories[1]).y)

    assert gained(best="allocator") == pytest.approx(times["system", 1] / times["mimalloc", 4], rel=0.02)
    assert gained() < 0.97 * gained(best="allocator"), "the mean of both is slower than the best"


def test_a_rung_that_was_not_measured_is_named() -> None:
    def ladder(*steps: dict[str, object]) -> charts.Chart:
        return of(Chart.model_validate({"name": "l", "kind": "ladder", "title": "x", "steps": steps}))[0]

    made = ladder({"threads": "min"}, {"threads": 9}, {"threads": 4})
    assert made.x.categories == ("fewest threads", "+ threads=4") and "Not measured: + threads=9." in made.caption
    with pytest.raises(UsageError, match="no launch is the rung"):
        ladder({"threads": 9})


def test_three_commands_are_a_ladder_and_two_are_none() -> None:
    def drawn(*names: str) -> set[str]:
        return {chart.name for chart in charts.of(samples.compare_result(9, names, 0.8), None)}

    assert "ladder" in drawn("plain", "vector", "allocator") and "ladder" not in drawn("plain", "vector")


def test_memory_has_round_ticks() -> None:
    assert binary(0, 5.4 * 2**30) == tuple(k * 2.0**30 for k in range(0, 7, 2))
    assert binary(3.1 * 2**20, 4 * 2**20)[1] == 3.2 * 2**20
    assert drawing.WRITERS["bytes"](1.5 * 2**30) == "1.5 GiB" and drawing.WRITERS["number"](2e6) == "2M"


def test_the_title_the_legend_and_the_panels_have_places_of_their_own() -> None:
    (chart,) = of(lines(facet=("allocator",)))
    figure = drawing._titled(chart)
    figure.draw_without_rendering()
    boxes = [*(text.get_window_extent() for text in figure.texts), *(one.get_window_extent() for one in figure.legends)]
    boxes += [box for axes in figure.axes if (box := axes.get_tightbbox()) is not None]
    assert len(boxes) == 5  # the notice of oversubscribed launches is one
    pairs = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i]]
    assert all(Bbox.intersection(a, b) is None for a, b in pairs)


def test_an_upright_title_ends_where_its_panel_does() -> None:
    """Panels beneath each other: a title of two lines lies on nobody else's."""
    (chart,) = of(bars(facet=("load", "threads"), normalise={"to": {"threads": "min"}}))
    figure = drawing._titled(chart)
    figure.draw_without_rendering()
    shown = [axes for axes in figure.axes if axes.get_visible() and axes.yaxis.label.get_visible()]
    titles = [axes.yaxis.label.get_window_extent() for axes in shown]
    assert len(titles) > 1 and all("relative to" in axes.get_ylabel().replace("\n", " ") for axes in shown)
    assert all(Bbox.intersection(a, b) is None for i, a in enumerate(titles) for b in titles[:i])
    boxes = [axes.get_tightbbox() for axes in shown]
    assert all(box and title.height <= box.height for title, box in zip(titles, boxes, strict=True))


def test_launches_that_count_as_1_have_a_panel_and_panels_with_a_reference_share_a_range() -> None:
    relative: dict[str, object] = {"to": {"threads": "min"}, "within": ["allocator", "load"]}
    (chart,) = of(bars(facet=("load", "threads"), normalise=relative, reference=1))
    assert chart.columns == ("threads=1", "threads=4") and not chart.own_y
    serial = [mark for panel in chart.panels if panel.column == "threads=1" for s in panel.series for mark in s.marks]
    assert [mark.y for mark in serial] == pytest.approx([1] * len(serial))
    assert all((mark.low, mark.high) == pytest.approx((1, 1)) for mark in serial)


def test_nine_names_below_each_of_three_panels_do_not_overlap() -> None:
    names = ("system", "corescale", "mimalloc", "jemalloc", "tcmalloc", "tbbmalloc", "snmalloc", "scudo", "hoard")
    rows = pd.concat(samples.grid_frame().assign(allocator=name, load=load) for name in names for load in (1, 4, 16))
    shown = samples.shown_by(samples.RESULTS["grid"]().experiment, outputs=(bars(facet=("threads", "load")),))
    (chart,) = charts.of_declared(rows, shown)
    figure = drawing._titled(chart)
    figure.draw_without_rendering()
    below = [axes for axes in figure.axes if axes.get_xticklabels()]
    assert len(below) == 3
    for axes in below:
        label, places = axes.get_xticklabels()[0], axes.transData.transform([(0, 0), (1, 0)])
        apart = (places[1][0] - places[0][0]) * math.sin(math.radians(label.get_rotation()))
        label.set_rotation(0)
        assert apart > label.get_window_extent().height


def test_a_long_name_among_short_ones_lies_on_no_neighbour() -> None:
    """Fifteen names of the block-size study: together they are short enough, but the longest ones are not."""
    names = [f"{kind}_{size}" for kind in ("c", "read", "write") for size in (1, 2, 3, 4)] + ["real_2_10", "write_4096"]
    rows = pd.concat(samples.grid_frame().assign(allocator=name) for name in names)
    shown = samples.shown_by(samples.RESULTS["grid"]().experiment, outputs=(bars(),))
    (chart,) = charts.of_declared(rows, shown)
    assert sum(len(name) + 2 for name in names) <= chart.letters < 12 * len(names) and chart.crowded


def test_no_two_of_many_series_look_alike() -> None:
    """Once the colours are taken, bars have lines across them, and points other shapes."""
    seen = [look.of(slot) for slot in range(3 * len(look.SERIES))]
    assert (
        len({(one.colour, one.hatch) for one in seen}) == len({(one.colour, one.marker) for one in seen}) == len(seen)
    )
    names = ("system", "corescale", "mimalloc", "jemalloc", "tcmalloc", "tbbmalloc", "snmalloc", "scudo", "hoard")
    rows = pd.concat(samples.grid_frame().assign(allocator=name) for name in names)
    shown = samples.shown_by(
        samples.RESULTS["grid"]().experiment, outputs=(bars(colour="allocator", where={"threads": 1}),)
    )
    (chart,) = charts.of_declared(rows, shown)
    drawn = drawing._figure(chart).axes[0].patches
    assert len({(bar.get_facecolor(), bar.get_hatch()) for bar in drawn}) == len(names)


def test_layouts_are_labelled_as_threads_x_ranks() -> None:
    """Two layouts of the same p are two bars, each by its layout."""
    rows = samples.grid_frame()
    rows["layout"] = rows["threads"].map({1: "2x4", 4: "4x2"})
    (made,) = charts.of_declared(
        rows, samples.shown_by(samples.RESULTS["grid"]().experiment, outputs=(bars(x="layout"),))
    )
    assert made.x.categories == ("2x4", "4x2")
    assert {"2x4", "4x2"} <= set(re.findall(r">([^<>]+)<", drawing.svg(made)))
