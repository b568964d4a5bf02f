# SPDX-License-Identifier: Apache-2.0
"""Pages by axe-core, the rules that accessibility is checked by: light, dark and on a phone, none is broken."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))
import corescale
from corescale import native
from corescale.show import html
from corescale.show.result import Result
from support import samples
from support.browser import PATIENCE, WAYS, broken, chromium, launched

pytestmark = chromium()

PAGES: dict[str, Callable[[], Result]] = {
    "scan": samples.scan_result,
    "tune": samples.failing_tune,
    "ladder": lambda: samples.compare_result(9, ("plain", "vector", "allocator"), 0.8),
}
LONG = "std::map<" + "std::pair<long, double>, " * 400 + ">::insert at solver.cpp:7"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.mark.parametrize("name", PAGES)
def test_no_rule_of_accessibility_is_broken(name: str, browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(html.report(PAGES[name]()), encoding="utf-8")
    found = {}
    for way, options in WAYS.items():
        page = browser.new_page(**options)
        page.goto(file.as_uri(), timeout=PATIENCE)
        page.wait_for_selector("body[data-charts=ready]", timeout=PATIENCE)
        found[way] = broken(page)
        page.close()
    assert not any(found.values()), found


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a real explain, whose functions then have names as templates of C++ have."""
    folder = tmp_path_factory.mktemp("explain")
    line = [str(native.find("known_truth")), "serial", "openmp", "{threads}", "0.1"]
    shown = corescale.explain(line, threads=[2], swap=False, out=folder).to_dict()
    sites = [site for row in shown["rows"].values() for site in row["sites"]]
    for one in (*sites, *shown["hotspots"], *shown["serial_stretches"], *shown["regions"]):
        one["place"] = LONG
    file = folder / "report.html"
    file.write_text(html.explained(shown), encoding="utf-8")
    return file


@pytest.mark.parametrize("way", WAYS)
def test_a_page_of_explain_is_whole_whatever_names_are_in_it(way: str, browser: Any, explained: Path) -> None:
    page, said, asked = browser.new_page(**WAYS[way]), list[str](), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(explained.as_uri(), timeout=PATIENCE)
    assert (said, asked) == ([], [explained.as_uri()])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.wait_for_selector("body[data-charts=ready]", timeout=PATIENCE)
    assert said == [] and page.locator("figure svg:visible").count() == 7
    for picture in page.locator("figure svg:visible").all():
        inside, shown = picture.bounding_box(), picture.locator("xpath=..").bounding_box()
        assert inside["height"] > 40
        assert inside["width"] <= shown["width"] + 1 or (way == "phone" and shown["width"] < 390), "or it is scrolled"
    for table in page.locator("table").all():
        assert table.bounding_box()["width"] < 1500, "a long name is folded"
    folded = page.locator("#hotspots td details").first
    folded.locator("summary").click()
    assert LONG in folded.inner_text()
    assert broken(page) == []
    page.close()
