# SPDX-License-Identifier: Apache-2.0
"""Debian's chromium, driven by Playwright."""

import contextlib
import importlib.util
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
PATIENCE = 60_000
"""milliseconds: machines that run tests may be busy"""
AXE = importlib.util.find_spec("axe_playwright_python")
BROKEN = """async () => (await axe.run({resultTypes: ["violations"]})).violations.map((one) =>
  `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" | ")}`)"""
WAYS: Mapping[str, Any] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}},
}
"""how a page may be looked at"""


def chromium() -> list[pytest.MarkDecorator]:
    """The marks of a file that needs a browser."""
    absent = importlib.util.find_spec("playwright") is None
    return [
        pytest.mark.skipif(absent, reason="playwright is not installed (pip install playwright)"),
        pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (package chromium)"),
        pytest.mark.skipif(AXE is None, reason="axe-playwright-python is not installed"),
    ]


def broken(page: Any) -> list[str]:
    """The rules of axe-core, by which accessibility is checked, that the page breaks."""
    assert AXE is not None and AXE.origin is not None
    page.evaluate(Path(AXE.origin).with_name("axe.min.js").read_text(encoding="utf-8"))
    found: list[str] = page.evaluate(BROKEN)
    return found


@contextlib.contextmanager
def launched() -> Iterator[Any]:
    """A browser, until the end."""
    from playwright import sync_api  # noqa: PLC0415

    with sync_api.sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE)
        yield browser
        browser.close()
