# SPDX-License-Identifier: Apache-2.0
"""The report: complete, self-contained, and undetectable to what programs printed."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from corescale.conclude.response import table
from corescale.show import charts, headline, html
from corescale.show.charts import drawing, look
from corescale.show.html import sections
from corescale.show.result import Result
from support import samples


class Page(HTMLParser):
    """Elements, text, and scripts of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.texts: list[str] = []
        self.inside = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = (dict(attrs).get("id") or tag) if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.scripts[self.inside] = self.scripts.get(self.inside, "") + data
        else:
            self.texts.append(data)


@pytest.mark.parametrize("name", samples.RESULTS)
def test_the_page_loads_nothing(name: str) -> None:
    page = Page(samples.page(name))
    addresses = [
        value
        for _, attributes in page.tags
        for key, value in attributes.items()
        if key in ("src", "href", "xlink:href", "action", "data") and not (value or "").startswith("#")
    ]
    assert addresses == [] and any(tag == "script" for tag, _ in page.tags)
    assert not re.search(r"url\((?!#)|@import", page.scripts["style"])


@pytest.mark.parametrize("name", samples.RESULTS)
def test_the_page_carries_what_it_works_out_again(name: str) -> None:
    result: Result = samples.RESULTS[name]()
    page = Page(samples.page(name))
    times = table(result.records, result.experiment.response)
    if len(times.configurations) > 1:
        told = json.loads(page.scripts["measured"])
        carried = [value for row in told["values"] for value in row if value is not None]
        assert sorted(carried) == sorted(times.values[np.isfinite(times.values)].tolist())
        assert len(told["names"]) == len(set(told["names"])) == len(times.configurations)
    assert json.loads(page.scripts["result"])["headline"] == headline.headline(result)


def test_program_output_cannot_become_markup() -> None:
    page = Page(samples.page("failing tune"))
    assert "b" not in {tag for tag, _ in page.tags}
    assert any("</script><b>&\\x07 end" in piece for piece in page.texts)
    assert not any(c in "".join(page.texts) for c in "\x1b\x07")


def test_every_chart_says_what_it_shows() -> None:
    page = Page(samples.page("tune"))
    drawn = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len(drawn) == 5
    assert all(one["role"] == "graphics-document" and len(one["aria-label"] or "") > 60 for one in drawn)
    forest = next(a["aria-label"] or "" for a in drawn if "T(baseline)" in (a["aria-label"] or ""))
    assert "confirmed: threads=8 allocator=mimalloc" in forest


def test_identifiers_are_unique() -> None:
    names = [a["id"] for _, a in Page(samples.page("two curves")).tags if a.get("id")]
    assert {"headline", "configurations", "measured", "result"} <= set(names) and len(names) == len(set(names))


def test_colours_are_the_pages() -> None:
    made = charts.of(samples.RESULTS["scan"](), None)
    assert [chart.name for chart in made] == ["forest", "order"]
    for chart in made:
        drawn = drawing.svg(chart)
        assert not [colour for colour in look.VARIABLES if colour in drawn]
        assert "var(--ink)" in drawn and "<text" in drawn


def test_every_colour_has_its_variable_on_light_and_dark_pages() -> None:
    style = Page(samples.page("scan")).scripts["style"]
    for name in look.VARIABLES.values():
        assert style.count(f"{name}:") >= 2


def test_what_was_not_measured_says_so_on_every_chart() -> None:
    made = charts.of(samples.RESULTS["scan"](), None)
    assert len(made) == 2
    for chart in made:
        assert "(fake)" in chart.title and ">fake<" in drawing.svg(chart) and chart.alternative.startswith("fake: ")


def test_the_same_result_gives_the_same_page() -> None:
    assert html.report(samples.RESULTS["scan"]()) == samples.page("scan")


@pytest.mark.usefixtures("undrawn")
def test_lone_surrogates_and_separators_survive() -> None:
    tail = "bad \ud800 \u2028 name"
    made = samples.records(
        samples.scan_experiment(6), samples.amdahl(), 6,
        change=lambda c, b: {"status": "failed", "exit_code": 1, "tail": tail} if c.layout.p == 2 else {},
    )  # fmt: skip
    page = html.report(samples.scan_result(6, made=made))
    page.encode("utf-8")
    assert json.loads(Page(page).scripts["measured"])["blocks"] == [*range(6)]


def test_where_it_was_measured_is_in_words() -> None:
    stored = {
        "machine": {
            "cpus": [{"cpu": 0, "core": 0, "numa_node": 0}, {"cpu": 1, "core": 0, "numa_node": 0}],
            "turbo": None,
        },
        "description": {"memory_bytes": 2**30, "governor": ""},
        "subject": {
            "programs": {"gzip": {"path": "/bin/gzip", "sha256": "ab12", "size": 2048}},
            "sources": [],
            "landscape": {"failures": [{"exit_code": 1}], "own": []},
        },
        "variables": {"OMP_NUM_THREADS": "2"},
    }
    found = {part["name"]: (part["value"], part["small"]) for part in sections.environment(stored)}
    assert found == {
        "CPUs": ("2 CPUs, 1 core, 1 NUMA node", ""),
        "memory": ("1.0 GiB", ""),
        "OMP_NUM_THREADS": ("2", ""),
        "landscape failures 1 exit code": ("1", ""),
        "program gzip": ("/bin/gzip", "2.0 KiB, SHA-256 ab12"),
    }
