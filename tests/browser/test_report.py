# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: what it shows, that it loads nothing, and that it fits narrow windows.

Chromium alone is needed: a script added to a copy of the page measures it, and --dump-dom gives back what it found.
"""

import json
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))
import samples

from corescale.show import headline, html
from corescale.show.result import Result

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (package chromium)")

MEASURE = """
<script>
const text = (where) => document.querySelector(where)?.innerText ?? null;
const seen = {
  headline: text("h1"), line: text("#line"),
  records: JSON.parse(document.getElementById("records").textContent).length,
  rows: [...document.querySelectorAll("#configurations tbody tr")].map((row) => [...row.cells].map((c) => c.innerText)),
  charts: [...document.querySelectorAll("figure svg")].map((svg) => svg.getBoundingClientRect().width),
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  loaded: performance.getEntriesByType("resource").length,
  bold: document.querySelectorAll("b").length,
  ink: getComputedStyle(document.querySelector("#order svg text")).fill,
};
const found = document.createElement("pre");
found.id = "seen"; found.textContent = JSON.stringify(seen); document.body.append(found);
</script></body>
"""


def look(result: Result, folder: Path, width: int = 1200, *options: str) -> dict[str, Any]:
    page = folder / "report.html"
    page.write_text(html.report(result).replace("</body>", MEASURE), encoding="utf-8")
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900",
        *options, "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    match = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(unescape(match[1]))
    return found


def test_a_recommendation_can_be_read_off_the_page(tmp_path: Path) -> None:
    result = samples.tune_result()
    seen = look(result, tmp_path)
    said = headline.headline(result)
    assert seen["headline"].split("[")[0].lower() == said.split("[")[0].lower()
    assert seen["line"] == "env LD_PRELOAD=/usr/lib/libmimalloc.so ./solver -t 8"
    assert seen["records"] == len(result.records)
    assert len(seen["rows"]) == 8 and seen["rows"][0][0].startswith("threads=8 allocator=mimalloc")
    assert len(seen["charts"]) == 4 and min(seen["charts"]) > 300
    assert seen["loaded"] == 0


def test_hostile_output_stays_text(tmp_path: Path) -> None:
    seen = look(samples.failing_tune(), tmp_path)
    assert seen["bold"] == 0
    assert "</script><b>&\\x07 end" in seen["rows"][-1][-1]


@pytest.mark.parametrize("width", [520, 800, 1600])
def test_no_sideways_scrolling(width: int, tmp_path: Path) -> None:
    assert look(samples.two_curves(), tmp_path, width)["overflow"] <= 0


def test_dark_pages_have_light_charts(tmp_path: Path) -> None:
    light = look(samples.scan_result(), tmp_path)["ink"]
    dark = look(samples.scan_result(), tmp_path, 1200, "--blink-settings=preferredColorScheme=0")["ink"]
    assert (light, dark) == ("rgb(27, 31, 36)", "rgb(231, 235, 240)")
