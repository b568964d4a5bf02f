# SPDX-License-Identifier: Apache-2.0
"""The documentation site: built from the pages of the repository, strictly, with everything that they have.

Strict: a link or an anchor that leads nowhere, or a page that the navigation forgets, ends the build.
"""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from support.commands import ROOT

CONFIG = ROOT / "packaging" / "site" / "mkdocs.yml"
COUNTED = {"table_open": "table", "fence": "pre", "code_block": "pre", "list_item_open": "li", "tr_open": "tr",
           "heading_open": "heading", "code_inline": "inline code"}  # fmt: skip


def build(config: Path, into: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        str(config),
        "--site-dir",
        str(into),
    ]
    own = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, env=own, capture_output=True, text=True, timeout=240, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    done = build(CONFIG, made)
    assert done.returncode == 0, done.stderr
    return made


class Content(HTMLParser):
    """How often each kind of element is in the article of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.counts, self.open = False, dict.fromkeys(COUNTED.values(), 0), list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "article":
            self.inside = True
        if not self.inside:
            return
        self.open.append(tag)
        kind = "heading" if re.fullmatch("h[1-6]", tag) else tag
        kind = ("inline code" if "pre" not in self.open else "") if tag == "code" else kind
        if kind in self.counts:
            self.counts[kind] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self.inside = False
        if tag in self.open:
            del self.open[len(self.open) - 1 - self.open[::-1].index(tag) :]


def content(page: Path) -> Content:
    found = Content()
    found.feed(page.read_text())
    return found


def pages() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if name.startswith("docs/") or "/" not in name]


def at(site: Path, name: str) -> Path:
    return site / "index.html" if name == "README.md" else site / name.removesuffix(".md") / "index.html"


def test_every_page_is_there_with_all_that_it_has(site: Path) -> None:
    """As many tables, rows, blocks, items and headings as GitHub would show: no block became text."""
    names, wrong = pages(), dict[str, tuple[int, int]]()
    assert len(names) > 60
    for name in names:
        expected = dict.fromkeys(COUNTED.values(), 0)
        for token in MarkdownIt("commonmark").enable("table").parse((ROOT / name).read_text()):
            for one in (token, *(token.children or ())):
                if kind := COUNTED.get(one.type):
                    expected[kind] += 1
        expected["heading"] = max(1, expected["heading"])  # a page without one gets its title
        found = content(at(site, name)).counts
        wrong |= {
            f"{name}: {kind}": (found[kind], expected[kind]) for kind in expected if found[kind] != expected[kind]
        }
    assert not wrong


def test_the_search_knows_every_page(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {at(Path(), name).parent.as_posix().strip(".") for name in pages()} <= {place.rstrip("/") for place in found}


def test_no_page_asks_another_host(site: Path) -> None:
    """Fonts, scripts and styles are the site's own."""
    asked = re.compile(r'<(?:script|link|img)[^>]*(?:src|href)="(?!https://OWNER)(https?:)?//')
    assert not [page for page in site.rglob("*.html") if asked.search(page.read_text())]


def test_a_link_that_leads_nowhere_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page, strict = (
        tmp_path / "docs" / "index.md",
        re.findall(r"^(?:strict|validation):.*$", CONFIG.read_text(), re.MULTILINE),
    )
    assert len(strict) == 2
    (tmp_path / "mkdocs.yml").write_text("\n".join(["site_name: x", *strict]))
    for text, code in (("[a](#b)\n\n# b", 0), ("[a](#c)\n\n# b", 1), ("[a](gone.md)", 1)):
        page.write_text(text)
        assert build(tmp_path / "mkdocs.yml", tmp_path / "site").returncode == code, text
