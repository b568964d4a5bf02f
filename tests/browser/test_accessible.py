# SPDX-License-Identifier: Apache-2.0
"""The report by axe-core, the rules that accessibility is checked by: light, dark and on a phone, none is broken."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))
from corescale.show import html
from corescale.show.result import Result
from support import samples
from support.browser import PATIENCE, chromium, launched

AXE = importlib.util.find_spec("axe_playwright_python")
pytestmark = [*chromium(), pytest.mark.skipif(AXE is None, reason="axe-playwright-python is not installed")]

PAGES: dict[str, Callable[[], Result]] = {
    "scan": samples.scan_result,
    "tune": samples.failing_tune,
    "ladder": lambda: samples.compare_result(9, ("plain", "vector", "allocator"), 0.8),
}
WAYS: dict[str, Any] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}},
}
BROKEN = """async () => (await axe.run()).violations.map((one) =>
  `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" | ")}`)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.mark.parametrize("name", PAGES)
def test_no_rule_of_accessibility_is_broken(name: str, browser: Any, tmp_path: Path) -> None:
    assert AXE is not None and AXE.origin is not None
    rules = Path(AXE.origin).with_name("axe.min.js").read_text(encoding="utf-8")
    file = tmp_path / "report.html"
    file.write_text(html.report(PAGES[name]()), encoding="utf-8")
    broken = {}
    for way, options in WAYS.items():
        page = browser.new_page(**options)
        page.goto(file.as_uri(), timeout=PATIENCE)
        page.wait_for_selector("body[data-charts=ready]", timeout=PATIENCE)
        page.evaluate(rules)
        broken[way] = page.evaluate(BROKEN)
        page.close()
    assert not any(broken.values()), broken
