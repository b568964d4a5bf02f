# SPDX-License-Identifier: Apache-2.0
"""explain's page and pictures of real launches, and what names of functions look like."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from PIL import Image

from corescale import Explained, native
from corescale.conclude.explain.changes import CHANGES
from corescale.declare.catalogue.settings import SETTINGS
from corescale.declare.factors import KINDS
from corescale.errors import ExitCode, UsageError
from corescale.show import explain
from corescale.show.charts import drawing, look, of_explain
from support import edits
from support.commands import ROOT, corescale, refused

KNOWN = str(native.find("known_truth"))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A launch of two threads, half of it serial and then in a parallel region."""
    folder = tmp_path_factory.mktemp("explain")
    line = (KNOWN, "serial", "openmp", "{threads}", "0.3")
    done = corescale("explain", "--no-swap", "-t", "2", "--outputs", "drawn", "--", *line, cwd=folder)
    assert done.returncode == ExitCode.OK, done.stderr
    (file,) = folder.glob("corescale-runs/explain-*/1.json")
    return file


@pytest.fixture(scope="module")
def shown(kept: Path) -> dict[str, Any]:
    return dict(json.loads(kept.read_text()))


def test_timelines_have_the_work_of_each_thread(shown: dict[str, Any]) -> None:
    first, second = (line["rows"] for line in shown["timelines"])
    half = len(first) // 2
    assert first.count("C") > 1.5 * second.count("C") > 0
    assert second[: half // 2].count("C") < half // 10


def test_the_serial_stretch_has_its_place(shown: dict[str, Any]) -> None:
    longest = max(shown["serial_stretches"], key=lambda one: float(one["length"]))
    assert longest["length"] > 0.1
    assert "grind" in longest["place"]


def test_a_result_that_an_earlier_version_kept_is_shown(shown: dict[str, Any]) -> None:
    old = {name: value for name, value in shown.items() if name not in ("serial", "rows_over_time")}
    added = ("sampled", "beyond_one_thread")
    old["rows"] = {
        row: {name: value for name, value in found.items() if name not in added} for row, found in shown["rows"].items()
    }
    old["efficiency"] = {name: value for name, value in shown["efficiency"].items() if name != "had_a_core"}
    assert len(list(explain.lines(old))) == len(list(explain.lines(shown))) - 1
    assert {chart.name for chart in of_explain.views(shown)} - {chart.name for chart in of_explain.views(old)} == {
        "rows-over-time"
    }


def test_threads_are_counted_by_row_over_the_time(shown: dict[str, Any]) -> None:
    """They compute for three times 0.3 s, on whatever cores."""
    computing = shown["rows_over_time"]["computing"]
    assert sum(computing) / len(computing) * shown["wall"] == pytest.approx(0.9, abs=0.1)
    (chart,) = (one for one in of_explain.views(shown) if one.name == "rows-over-time")
    assert {series.label for series in chart.series} == set(shown["rows_over_time"])


@pytest.mark.parametrize("of", ["folder", "file"])
def test_report_shows_a_kept_result_again(kept: Path, of: str, tmp_path: Path) -> None:
    place, views = (kept, ()) if of == "file" else (kept.parent, ("--outputs", "views"))
    done = corescale("report", str(place), *views, cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert done.stdout.splitlines() == list(explain.lines(json.loads(kept.read_text())))
    page = (tmp_path / "report.html").read_text()
    assert page.count("<figure") == page.count("<svg") == 7
    assert "src=" not in page and page.count('<div class="live"') in (0, 7)
    if not views:
        return
    drawn = kept.parents[2] / "drawn"
    assert {one.name for one in drawn.iterdir()} == {one.name for one in (tmp_path / "views").iterdir()}
    pictures = [*(tmp_path / "views").glob("*.png")]
    assert len(pictures) == 7
    for picture in pictures:
        assert cast("tuple[int, int]", Image.open(picture).convert("L").getextrema())[0] < 200


def test_an_edited_result_is_shown_or_refused(shown: dict[str, Any], tmp_path: Path) -> None:
    """Every value in turn put to something else: never a defect, and no line as long as a number can be."""
    lists: dict[str, Any] = {name: value[:2] for name, value in shown.items() if isinstance(value, list)}
    lists |= {"rows_over_time": {row: values[:2] for row, values in shown["rows_over_time"].items()}}
    file, faults = tmp_path / "edited.json", []
    for what, text in edits.edited(json.dumps(shown | lists, indent=2)):
        file.write_text(text)
        try:
            found = Explained.load(file)
            said = [*map(len, [*str(found).splitlines(), *explain.side_by_side(found.shown, shown)])]
            assert max(said) < 1000
            _ = [*of_explain.views(found.shown)], [*explain.tables(found.shown)]
        except UsageError:
            continue
        except Exception as error:
            faults.append(f"{what}: {error!r}")
    assert not faults, "\n".join(faults)


def test_a_page_is_safe_whatever_functions_are_called(shown: dict[str, Any]) -> None:
    from corescale.show import html  # noqa: PLC0415

    evil = shown | {"notes": ["</script><script>alert(1)</script>"], "command": ["<b>x</b>"]}
    page = html.explained(evil)
    assert "<script>alert" not in page and "<b>x</b>" not in page


def test_a_damaged_result_is_refused_in_a_line(kept: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(kept.read_text()[:-100])
    refused(corescale("report", "bad.json", cwd=tmp_path), ExitCode.USAGE, "bad.json")
    assert not (tmp_path / "report.html").exists()


def test_every_row_has_a_colour_of_its_own() -> None:
    assert len({look.of(slot).colour for slot in of_explain.SLOTS.values()}) == len(of_explain.SLOTS)


@pytest.mark.parametrize(("name", "short"), [
    ("ant_colony::Search ant_colony::search<ant_colony::StringTrail>(int const&) [clone ._omp_fn.0]",
     "ant_colony::search"),
    ("merge.cpp:15 merge(std::vector<int>&)", "merge.cpp:15 merge"),
    ("MPI_Recv at t.cpp:40 grow", "MPI_Recv at t.cpp:40 grow"),
    ("std::string std::operator+<char>(std::string const&, char const*)", "operator+"),
    ("known.cpp:42 (anonymous namespace)::grind(double) [clone .isra.0]", "known.cpp:42 grind"),
    ("operator new(unsigned long)", "operator new"),
    ("libz.so.1+0x2f10", "libz.so.1+0x2f10"),
    ("A::operator()(int) const", "operator()"),
    ("calls not watched", "calls not watched"),
])  # fmt: skip
def test_a_name_on_a_terminal_is_that_of_the_function(name: str, short: str) -> None:
    assert explain.brief(name) == short


def test_a_picture_has_a_place_for_every_row(shown: dict[str, Any]) -> None:
    for chart in of_explain.views(shown):
        if chart.turned:
            bottom, top = drawing.plotted([chart], "", None).get_ylim()
            assert top < 0 and bottom > len(chart.x.categories) - 1


@pytest.mark.parametrize("factor", CHANGES)
def test_each_change_is_a_factor_that_knows_its_levels_and_is_on_the_page(factor: str) -> None:
    assert factor in KINDS or factor in SETTINGS
    assert f" | {', '.join(CHANGES[factor].rows)} |" in (ROOT / "docs/explain.md").read_text()


def test_a_picture_has_every_pair_of_ranks(shown: dict[str, Any]) -> None:
    calls = [
        {"rank": rank, "call": "MPI_Recv", "partner": partner, "calls": 2, "seconds": 0.5}
        for rank, partner in ((1, 0), (2, 0), (2, None), (0, -1))
    ]
    (chart,) = (one for one in of_explain.views(shown | {"messages": calls}) if one.name == "messages")
    assert chart.x.categories == chart.y.categories == ("0", "1", "2")
    assert {(mark.y, mark.x): mark.value for mark in chart.cells} == {("1", "0"): 0.5, ("2", "0"): 0.5}
