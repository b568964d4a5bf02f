# SPDX-License-Identifier: Apache-2.0
"""Pages can be read: links lead somewhere, and sentences have 18 words on average and at most 35.

The same holds for sentences of help texts and errors.

Counted are paragraphs and list items; headings, tables and code blocks are not. Inline code and a link's address count
as one word or none. A sentence of one or two words is a label.
"""

import ast
import itertools
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
import sentencex
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
MEAN, MOST = 18, 35
WORD = re.compile(r"\w[\w'’.,×%/-]*")
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "runtime/README.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))


def sentences(text: str) -> Iterator[tuple[str, int]]:
    for one in sentencex.segment("en", " ".join(text.replace("<", "").split())):  # it never ends a sentence with a <
        words = len(WORD.findall(one))
        if words > 2:
            yield one.strip(), words


def prose(page: str) -> Iterator[str]:
    """The text of each paragraph, those of list items included; code is one word."""
    tokens = MarkdownIt("commonmark").enable("table").parse(page)
    for before, token in itertools.pairwise(tokens):
        if token.type == "inline" and before.type == "paragraph_open":
            yield "".join(" code " if c.type == "code_inline" else c.content or " " for c in token.children or ())


def links(page: str) -> Iterator[str]:
    for token in MarkdownIt("commonmark").enable("table").parse(page):
        yield from (str(c.attrs["href"]) for c in token.children or () if c.type == "link_open")


def anchors(page: str) -> set[str]:
    """The names that GitHub gives to headings."""
    heads = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def messages(source: str) -> Iterator[str]:
    """Help texts, and the texts of errors that are raised; a value that is filled in is one word."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "help":
            yield from literals(node.value)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for said in (*node.exc.args, *(one.value for one in node.exc.keywords)):
                yield from literals(said)


def literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "value" for part in node.values)


def test_sentences_are_counted() -> None:
    page = "# A long heading\n\nOne two `a b` three. See [4](5.md).\n\n* six seven\n  eight\n\n|a b c|\n|---|\n"
    assert [words for text in prose(page) for _, words in sentences(text)] == [4, 3]
    source = 'raise UsageError(f"{x} is not {y}", remedy="type one of a, b or c")\noption(help="the first " "line")'
    assert {*messages(source)} == {"value is not value", "type one of a, b or c", "the first line"}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_of_a_page_are_short(page: Path) -> None:
    counted = [one for text in prose(page.read_text()) for one in sentences(text)]
    assert not [text for text, words in counted if words > MOST]
    if counted:
        assert statistics.mean(words for _, words in counted) <= MEAN, max(counted, key=lambda one: one[1])


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for link in links(page.read_text()):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert link.startswith("http") or target.exists(), link
        assert link.startswith("http") or not anchor or anchor in anchors(target.read_text()), link


def test_sentences_of_messages_are_short() -> None:
    said = [text for path in (ROOT / "src").rglob("*.py") for text in messages(path.read_text())]
    assert len(said) > 400
    counted = [one for text in said for one in sentences(text)]
    assert not [one for one, words in counted if words > MOST]
    assert statistics.mean(words for _, words in counted) <= MEAN
