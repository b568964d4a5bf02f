# SPDX-License-Identifier: Apache-2.0
"""Charts: the numbers of every kind against the records, what is said beside them, and what is refused."""

import functools
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

from corescale.conclude.answers.scaling import scan
from corescale.conclude.percentiles import bootstrapped
from corescale.declare import outputs
from corescale.declare.outputs import ChartKind, Normalise
from corescale.errors import UsageError
from corescale.show import charts, text
from corescale.show.charts import drawing, look, model
from corescale.show.charts.declared import KINDS
from support import samples

DECLARED = samples.grid_charts()
NAMES = [chart.name for chart in DECLARED]


@functools.cache
def drawn(name: str) -> charts.Chart:
    found = next(chart for chart in samples.RESULTS["grid"]().experiment.study.outputs if chart.name == name)
    assert isinstance(found, outputs.Chart)
    made = charts.declared(found, rows(), samples.RESULTS["grid"]().experiment)
    assert made is not None
    return made


@functools.cache
def picture(name: str) -> str:
    return drawing.svg(drawn(name))


def rows() -> pd.DataFrame:
    return samples.grid_frame()


def good(**levels: Any) -> pd.DataFrame:
    found = rows()[rows()["status"] == "ok"]
    for name, level in levels.items():
        found = found[found[name] == level]
    return found


def marks(chart: charts.Chart, panel: int = 0) -> Mapping[tuple[str, model.Place], model.Mark]:
    return {(series.label, mark.x): mark for series in chart.panels[panel].series for mark in series.marks}


def test_there_is_a_sample_of_every_kind() -> None:
    assert {chart.kind for chart in DECLARED} == {*get_args(ChartKind)} == {*KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_in_the_guide(kind: str) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "output.md").read_text()
    kinds = guide[guide.index("by `kind`") :]
    assert re.search(rf"^\| [^|]*`{kind}`", kinds, re.MULTILINE)


def test_bars_are_the_means_of_their_launches() -> None:
    chart = drawn("bars")
    assert (
        len(chart.panels) == 4 and chart.rows == ("load=1", "load=16") and chart.columns == ("threads=1", "threads=4")
    )
    times = good(load=16, threads=4, allocator="mimalloc")["time"]
    mark = next(marks(chart, 3)[key] for key in marks(chart, 3) if key[0] == "mimalloc")
    assert mark.y == pytest.approx(times.mean())
    found = bootstrapped(times)
    assert found.low is not None and found.high is not None and (mark.low, mark.high) == (found.low, found.high)
    assert times.min() <= found.low < found.high <= times.max()
    assert "too narrow" in chart.caption and chart.own_y and "own range" in chart.caption


def test_normalised_lines_start_at_one() -> None:
    chart = drawn("lines")
    for allocator in ("system", "mimalloc"):
        base = good(allocator=allocator, load=1, threads=1)["time"].mean()
        there = good(allocator=allocator, load=1, threads=4)["time"].mean()
        assert marks(chart)[allocator, 1.0].y == pytest.approx(1)
        assert marks(chart)[allocator, 4.0].y == pytest.approx(there / base)
    assert chart.references == (1.0,)


def test_scaling_pairs_launches_of_a_block() -> None:
    speedup, efficiency, overhead = drawn("scaling"), drawn("efficiency"), drawn("overhead")
    one, four = (good(allocator="system", load=16, threads=t).set_index("replicate")["time"] for t in (1, 4))
    logs = np.log(one / four)
    walsh = [(a + b) / 2 for i, a in enumerate(logs) for b in logs[i:]]
    expected = math.exp(float(np.median(walsh)))
    of = [
        next(s for s in chart.panels[1].series if s.label == "system").marks[1]
        for chart in (speedup, efficiency, overhead)
    ]
    assert [mark.y for mark in of] == pytest.approx([expected, expected / 4, 4 / expected - 1])
    assert "Ideal is p / 1" in speedup.alternative and speedup.series[0].kind == "dashed"


def test_a_heat_map_has_a_cell_a_pair() -> None:
    chart = drawn("heat")
    assert len(chart.cells) == 4
    assert [text.brief(value) for value in (0.012345, 128, 15940, 2.5e6)] == ["0.0123", "128", "15.9k", "2.5M"]
    for mark in chart.cells:
        assert mark.value == pytest.approx(good(allocator=mark.y, threads=int(str(mark.x)))["time"].median())
    slowest = max(chart.cells, key=lambda mark: mark.value or 0)
    assert look.shaded(chart.cells)[slowest][0] == look.shades()[255][0]


def test_the_forest_compares_with_the_default() -> None:
    chart = drawn("forest")
    assert chart.turned and chart.references == (1.0,)
    ratios = []
    for load in (1, 16):
        for threads in (1, 4):
            base = good(allocator="system", load=load, threads=threads)["time"].mean()
            ratios.append(good(allocator="mimalloc", load=load, threads=threads)["time"] / base)
    assert marks(chart)["mimalloc", "mimalloc"].y == pytest.approx(float(np.concatenate(ratios).mean()))


def test_time_order_flags_what_noise_flagged() -> None:
    chart = drawn("order-of-grid")
    flagged = next(series for series in chart.series if series.slot == look.NOISY)
    frame = rows()
    assert [mark.x for mark in flagged.marks] == list(frame["order"][frame["noisy"] & (frame["status"] == "ok")]) != []
    first = chart.panels[0].series[0].marks[0]
    launch = frame[frame["order"] == first.x].iloc[0]
    usual = good(allocator=launch["allocator"], load=launch["load"], threads=launch["threads"])["time"].median()
    assert first.y == pytest.approx(launch["time"] / usual - 1)


def test_weak_scaling_has_its_line() -> None:
    """T = 0.05 + 0.3 load at one thread, in the geometric mean of both allocators; work is load there."""
    chart = drawn("weak")
    line = next(series for series in chart.series if series.kind == "dotted" and series.slot == 0)
    assert line.label == "T = a + b work" and chart.series[-1].name == "dotted 1"
    ends = {mark.x: float(mark.y) for mark in line.marks}
    assert ends[1.0] == pytest.approx(0.35 * math.sqrt(0.85), rel=0.03)
    assert ends[16.0] == pytest.approx(4.85 * math.sqrt(0.85), rel=0.03)
    assert "T = a + b work: threads=1: a = " in chart.caption and "Averaged over every allocator." in chart.caption


def test_a_weak_scan_draws_its_line_unasked() -> None:
    result = samples.weak_result()
    made = charts.of(result, scan(result.records, result.experiment))
    assert [chart.name for chart in made] == ["scaling", "efficiency", "overhead", "weak", "forest", "order"]
    assert made[3].title == "Time over work (fake)" and made[3].alternative.count("fake") == 1


def test_a_chart_of_too_much_is_left_out() -> None:
    result = samples.many_curves()
    assert [chart.name for chart in charts.of(result, scan(result.records, result.experiment))] == ["order"]


def test_oversubscribed_launches_are_hollow_and_said() -> None:
    for name in NAMES:
        chart = drawn(name)
        assert any(mark.hollow for mark in chart.marks()), name
        assert any("oversubscribed" in notice for notice in chart.notices)
        assert "oversubscribed" in picture(name)


def test_failed_launches_are_counted() -> None:
    assert "1 launches without a value" in drawn("bars").caption


@pytest.mark.parametrize("name", NAMES)
def test_it_is_drawn_with_the_words_of_each_mark(name: str, tmp_path: Path) -> None:
    chart = drawn(name)
    png, svg = drawing.write(chart, tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    root = ElementTree.fromstring(svg.read_text())
    assert root.get("aria-label") == chart.alternative and "var(" not in svg.read_text()
    said = [one.get("aria-label", "") for one in root.iter() if one.get("role") == "graphics-symbol"]
    assert sorted(said) == sorted(
        mark.says
        for panel in chart.panels
        for series in panel.series
        for mark in series.marks
        if series.kind not in ("dashed", "dotted")
    )
    assert all(said)
    assert drawing.svg(chart) == picture(name), "equal charts are equal bytes"


@pytest.mark.parametrize("name", ["scan", "two curves", "tune", "failing tune", "compare", "few blocks", "one block"])
def test_a_result_has_a_forest_and_an_order(name: str) -> None:
    result = samples.RESULTS[name]()
    found = scan(result.records, result.experiment) if name != "compare" else None
    made = charts.of(result, found)
    own = made[:2] if "tune" in name else made[-2:]
    assert [chart.name for chart in own] == ["forest", "order"]


def test_nothing_is_drawn_of_nothing() -> None:
    assert charts.of(samples.RESULTS["all failed"](), None) == ()


def test_a_declared_chart_takes_the_place_of_its_namesake() -> None:
    result = samples.RESULTS["grid"]()
    names = [chart.name for chart in charts.of(result, scan(result.records, result.experiment))]
    assert names == [*NAMES, "order"]


@pytest.mark.parametrize(
    ("chart", "said"),
    [
        ({"x": "alocator"}, "chart c: no column 'alocator'; did you mean allocator?"),
        ({"x": "zzz"}, "chart c: no column 'zzz'; columns here: threads, load,"),
        ({"x": "allocator", "kind": "weak"}, "chart c: x = 'allocator' has no numbers; weak needs them"),
        ({"x": "load", "facet": ("thread",)}, "no column 'thread'; did you mean threads?"),
        ({"x": "load", "normalise": Normalise(to={"trheads": 1})}, "no column 'trheads'; did you mean threads?"),
        ({"x": "load", "normalise": Normalise(to={"threads": 3})}, "is relative to threads=3, and no launch has that"),
    ],
)
def test_what_is_not_there_is_one_clear_line(chart: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)) as caught:
        asked = outputs.Chart(**({"name": "c", "kind": "bars", "title": "C"} | chart))
        charts.declared(asked, rows(), samples.RESULTS["grid"]().experiment)
    assert "\n" not in str(caught.value)


def test_min_and_max_name_levels_measured() -> None:
    lowest = outputs.Chart(name="c", kind="lines", title="C", x="threads", colour="allocator",
                           normalise=Normalise(to={"threads": "min"}, within=("allocator", "load")))  # fmt: skip
    made = charts.declared(lowest, rows(), samples.RESULTS["grid"]().experiment)
    assert made is not None and marks(made)["system", 1.0].y == pytest.approx(1)


def test_what_a_chart_leaves_out_may_still_be_what_it_is_normalised_by() -> None:
    above = outputs.Chart(name="c", kind="bars", title="C", x="threads", colour="allocator",
                          where={"threads": "above min", "load": 1},
                          normalise=Normalise(to={"threads": 1}, within=("allocator", "load")))  # fmt: skip
    made = charts.declared(above, rows(), samples.RESULTS["grid"]().experiment)
    base, there = (good(allocator="system", load=1, threads=threads)["time"].mean() for threads in (1, 4))
    assert made is not None
    found = [mark for panel in made.panels for series in panel.series for mark in series.marks]
    assert len(found) == 2 and found[0].y == pytest.approx(there / base)


def test_bootstrap_intervals_cover_about_as_often_as_they_say() -> None:
    drawn = np.random.default_rng(3).lognormal(sigma=0.2, size=(300, 40))
    truth = math.exp(0.02)
    found = [bootstrapped(sample) for sample in drawn]
    assert 0.88 < sum(one.covers(truth) for one in found) / len(found) < 0.99


def test_a_bootstrap_needs_two_values() -> None:
    assert bootstrapped([1.0]).low is None and bootstrapped([1.0, math.nan]).n == 1
    assert math.isnan(bootstrapped([]).estimate)
    found = bootstrapped([1.0, 2.0, 9.0], "median")
    assert found.estimate == 2 and (found.low, found.high) == (1, 9)


@pytest.mark.parametrize(("low", "high"), [(1, 8), (0.9, 1.4), (1, 1024), (1, 1.0001), (0.25, 1.1), (3, 3)])
def test_ticks_of_an_axis_to_base_2_surround_what_is_shown(low: float, high: float) -> None:
    ticks = model.doubling(low, high)
    assert 2 <= len(ticks) <= 12 or low == high
    assert list(ticks) == sorted(set(ticks)) and min(ticks) <= low * 1.01 and max(ticks) >= high * 0.99


def test_numbers_of_a_logarithmic_axis_do_not_overlap() -> None:
    assert model.legible((1, 2, 4, 8, 10, 15, 16, 24)) == (1, 2, 4, 8, 10, 15, 24)
    assert model.legible((100, 200, 400, 800)) == (100, 200, 400, 800)


def test_inks_can_be_read() -> None:
    for colour, ink in look.shades():
        lights = sorted(_luminance(one) for one in (colour, ink))
        assert (lights[1] + 0.05) / (lights[0] + 0.05) > 4.5


def _luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
