# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: every chart's values read off it, that it loads nothing, and that it fits its window.

Debian's chromium, driven by Playwright. Values are read twice over: from what a mark tells a screen reader, and from
where it is drawn, in the order of the values.
"""

import functools
import itertools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))
from corescale.show import charts, headline, html
from corescale.show.charts import drawing, model
from support import samples
from support.browser import PATIENCE, chromium, launched

pytestmark = chromium()

SEEN = """() => ({
  headline: document.querySelector("h1").innerText, line: document.querySelector("#line")?.innerText ?? null,
  measured: JSON.parse(document.getElementById("measured").textContent).blocks.length,
  rows: [...document.querySelectorAll("#configurations tbody tr")].map((row) => [...row.cells].map((c) => c.innerText)),
  figures: [...document.querySelectorAll("figure")].map((figure) => {
    const shown = [...figure.querySelectorAll("svg")].filter((svg) => svg.checkVisibility());
    return {id: figure.id, shown: shown.length,
            width: shown[0].getBoundingClientRect().width, room: figure.clientWidth};
  }),
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  bold: document.querySelectorAll("b").length,
  ink: getComputedStyle([...document.querySelectorAll("#chart-order svg text")].find((t) => t.checkVisibility())).fill,
})"""

MARKS = """(id) => {
  const svg = document.querySelector(`#${CSS.escape(id)} svg`);
  const box = (one) => {
    const {x, y, width, height} = one.getBoundingClientRect();
    return {text: one.textContent, x, y, width, height};
  };
  const marks = [...svg.querySelectorAll("[role=graphics-symbol]")].map((one) => {
    const drawn = one.querySelector("use, path"), style = getComputedStyle(drawn);
    return {says: one.getAttribute("aria-label"), fill: style.fill, ...box(drawn)};
  });
  const texts = [...svg.querySelectorAll("text")].map(box).filter((one) => one.text.trim() && one.width);
  return {marks, told: marks.map((mark) => mark.says), texts, box: box(svg), shown: svg.parentElement.clientWidth,
          size: Math.min(...[...svg.querySelectorAll("text")].map((one) => one.getBoundingClientRect().height))};
}"""


class Look:
    """Pages in one browser, with what they asked of the network and wrote to the console."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.browser, self.folder = browser, folder

    def open(self, text: str, width: int = 1200, **options: Any) -> Any:
        file = self.folder / "report.html"
        file.write_text(text, encoding="utf-8")
        page = self.browser.new_page(viewport={"width": width, "height": 900}, **options)
        page.asked, page.said = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(file.as_uri(), timeout=PATIENCE)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("body[data-charts=ready]", timeout=PATIENCE)
            assert page.said == []
            assert [url for url in page.asked if url != file.as_uri()] == []
        return page

    def see(self, text: str, width: int = 1200, **options: Any) -> dict[str, Any]:
        page = self.open(text, width, **options)
        found: dict[str, Any] = page.evaluate(SEEN)
        page.close()
        return found


@pytest.fixture(scope="module")
def look(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Look]:
    with launched() as browser:
        yield Look(browser, tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def grid(look: Look) -> Iterator[Any]:
    """The page with a chart of every kind."""
    page = look.open(samples.page("grid"))
    yield page
    page.close()


NAMES = [*(chart.name for chart in samples.grid_charts()), "order"]


@functools.cache
def every() -> Mapping[str, charts.Chart]:
    """The charts of NAMES; not concluded before a test asks for them."""
    result = samples.grid_result()
    return {chart.name: chart for chart in charts.of(result, html.curves_of(result))}


@pytest.mark.parametrize("name", NAMES)
def test_values_can_be_read_off_every_chart(name: str, grid: Any) -> None:
    chart = every()[name]
    seen = grid.evaluate(MARKS, f"chart-{name}")
    expected = [mark for panel in chart.panels for series in panel.series for mark in series.marks
                if series.kind not in ("dashed", "dotted")]  # fmt: skip
    assert sorted(seen["told"]) == sorted(mark.says for mark in expected)
    box, by_words = seen["box"], {mark["says"]: mark for mark in seen["marks"]}
    for mark in seen["marks"]:
        assert box["x"] - 1 <= mark["x"] and mark["x"] + mark["width"] <= box["x"] + box["width"] + 1, mark
        assert box["y"] - 1 <= mark["y"] and mark["y"] + mark["height"] <= box["y"] + box["height"] + 1, mark
    if len(chart.panels) == 1 and not chart.cells and {series.kind for series in chart.series} <= {"curve", "points"}:
        at = "x" if chart.turned else "y"
        places = [by_words[mark.says][at] for mark in sorted(expected, key=lambda one: float(one.y))]
        apart = [later - earlier for earlier, later in itertools.pairwise(places)]
        assert all(step >= -4 if chart.turned else step <= 4 for step in apart), "a larger value is higher"
    if chart.cells:
        assert len({by_words[mark.says]["fill"] for mark in expected}) == len({mark.value for mark in expected})


@pytest.mark.parametrize("name", NAMES)
def test_no_text_is_cut_or_covers_another(name: str, grid: Any) -> None:
    seen = grid.evaluate(MARKS, f"chart-{name}")
    box, slanted = seen["box"], every()[name].crowded
    assert len(seen["texts"]) > 3
    for one in seen["texts"]:
        assert one["x"] >= box["x"] - 1 and one["x"] + one["width"] <= box["x"] + box["width"] + 1, one
        assert one["y"] >= box["y"] - 1 and one["y"] + one["height"] <= box["y"] + box["height"] + 1, one
    for k, one in enumerate(seen["texts"]):
        for other in [] if slanted else seen["texts"][k + 1 :]:
            assert not _overlap(one, other), (one, other)


def _overlap(a: dict[str, float], b: dict[str, float], slack: float = 3) -> bool:
    """Whether two boxes share more than their rims; a line of text has air above and below."""
    across = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
    down = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
    return across > slack and down > slack + 2


def test_the_text_of_a_mark_is_its_value(grid: Any) -> None:
    """The words come from the records, not from the chart: a mean recomputed here."""
    frame = samples.grid_frame()
    cell = frame[(frame["allocator"] == "mimalloc") & (frame["load"] == 16) & (frame["threads"] == 4)]["time"]
    told = grid.evaluate(MARKS, "chart-bars")["told"]
    said = next(one for one in told if one.startswith("load=16, threads=4, mimalloc"))
    assert float(said.split(": ")[1].split()[0]) == pytest.approx(cell.mean(), rel=0.01)
    assert "n = 8" in said and "oversubscribed" in said


def test_pointing_at_a_mark_shows_its_value(grid: Any) -> None:
    mark = grid.locator("#chart-efficiency [role=graphics-symbol]").last  # the one on top
    mark.hover(timeout=PATIENCE, force=True)
    tip = grid.locator("#tip:not([hidden])")
    tip.wait_for(timeout=PATIENCE)
    assert mark.get_attribute("aria-label") in tip.inner_text()


def test_every_chart_of_a_tune_is_seen(look: Look) -> None:
    result = samples.RESULTS["tune"]()
    seen = look.see(samples.page("tune"))
    said = headline.headline(result)
    assert seen["headline"].split("[")[0].lower() == said.split("[")[0].lower()
    assert seen["line"] == "env LD_PRELOAD=/usr/lib/libmimalloc.so ./solver -t 8"
    assert seen["measured"] == result.blocks
    assert len(seen["rows"]) == 8 and seen["rows"][0][0].startswith("threads=8 allocator=mimalloc")
    names = ["forest", "order", "scaling", "efficiency", "overhead"]  # what a tune is about comes first
    assert [figure["id"] for figure in seen["figures"]] == [f"chart-{name}" for name in names]
    assert all(figure["shown"] == 1 and figure["width"] > 300 for figure in seen["figures"])


def test_the_launch_line_can_be_copied(look: Look) -> None:
    page = look.open(samples.page("tune"), permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for(timeout=PATIENCE)
    assert page.evaluate("navigator.clipboard.readText()") == page.inner_text("#line")
    page.close()


def test_without_scripts_the_pictures_show(look: Look) -> None:
    page = look.open(samples.page("tune"), java_script_enabled=False)
    assert page.locator("figure svg").count() == 5
    assert all(page.locator("figure .picture").nth(k).is_visible() for k in range(5))
    page.close()


def test_a_page_is_printed_with_its_pictures(look: Look) -> None:
    page = look.open(samples.page("scan"))
    page.emulate_media(media="print")
    assert all(page.locator("figure .picture").nth(k).is_visible() for k in range(5))
    page.close()


def test_hostile_output_stays_text(look: Look) -> None:
    seen = look.see(samples.page("failing tune"))
    assert seen["bold"] == 0
    assert "</script><b>&\\x07 end" in seen["rows"][-1][-1]


@pytest.fixture(scope="module")
def phone(look: Look) -> Iterator[Any]:
    """The same page as wide as a phone."""
    page = look.open(samples.page("grid"), 390)
    yield page
    page.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_phone_shows_every_chart_whole(name: str, phone: Any) -> None:
    """The legend is whole and letters are large enough; a wide chart is scrolled within its figure."""
    chart, seen = every()[name], phone.evaluate(MARKS, f"chart-{name}")
    texts = [one["text"] for one in seen["texts"]]
    assert seen["box"]["x"] >= 0 and seen["shown"] <= 390 and (chart.wide or seen["box"]["width"] <= seen["shown"] + 1)
    assert len(texts) > 3 and seen["size"] >= 8
    assert {series.label for series in chart.legend} <= set(texts)


@pytest.mark.parametrize("name", ["tune", "compare", "weak"])
def test_a_phone_shows_every_page_whole(name: str, look: Look) -> None:
    text = samples.page(name) if name in samples.RESULTS else html.report(samples.weak_result())
    assert look.see(text, 390)["overflow"] <= 0


def test_a_dark_screen_is_printed_dark_on_light(look: Look) -> None:
    page = look.open(samples.page("scan"), color_scheme="dark")
    page.emulate_media(media="print")
    ink, paper = page.evaluate(
        "() => [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    page.close()
    assert ink == "rgb(27, 31, 36)" and paper == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [390, 520, 800, 1600])
def test_no_sideways_scrolling(width: int, look: Look) -> None:
    assert look.see(samples.page("two curves"), width)["overflow"] <= 0


def test_dark_pages_have_light_charts(look: Look) -> None:
    light = look.see(samples.page("scan"))["ink"]
    dark = look.see(samples.page("scan"), color_scheme="dark")["ink"]
    assert (light, dark) == ("rgb(27, 31, 36)", "rgb(231, 235, 240)")


def test_a_network_that_was_added_is_seen(look: Look) -> None:
    """Its picture is as wide as the page, and its charts are as the page's own."""
    cost = next(chart for chart in every().values() if chart.name == "bars")
    picture = {"name": "network", "wide": True, "title": "Network", "caption": "all of it",
               "picture": Markup(drawing.svg(cost))}  # fmt: skip
    page = samples.page("tune")
    own = replace(cost, name="cost")
    file = look.folder / "added.html"
    file.write_text(
        html.added(page, "network", "Routes", [picture, html.figure(own)], ("route", "kg"), [("a <b>", "3")])
    )
    seen = look.browser.new_page(viewport={"width": 1200, "height": 900})
    seen.goto(file.as_uri(), timeout=PATIENCE)
    seen.wait_for_selector("body[data-charts=ready]", timeout=PATIENCE)
    shown = {figure["id"]: figure for figure in seen.evaluate(SEEN)["figures"]}
    assert shown["chart-network"]["width"] > 800
    assert shown["chart-network"]["shown"] == shown["chart-cost"]["shown"] == 1
    assert seen.locator("td", has_text="a <b>").count() == 1
    assert seen.evaluate("document.documentElement.scrollWidth") <= 1200
    seen.close()


def test_every_kind_of_mark_was_looked_at() -> None:
    assert [*every()] == NAMES
    kinds = {series.kind for chart in every().values() for series in chart.series}
    assert kinds >= {"curve", "points", "bars", "cells", "dashed"} and isinstance(every()["bars"], model.Chart)
