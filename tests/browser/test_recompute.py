# SPDX-License-Identifier: Apache-2.0
"""What the page works out again: by every baseline, confidence and choice of blocks the numbers of Python, to 1e-9."""

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))
from corescale.conclude import stats
from corescale.conclude.answers import scaling, verdict
from corescale.conclude.response import table
from corescale.conclude.warnings import warnings
from corescale.declare.experiment import Command, Experiment, Factor, Scaling, Weak
from corescale.declare.stop import Stop
from corescale.records import Configuration, Noise, Record
from corescale.show import columns, html
from corescale.show.charts import drawing
from corescale.show.result import Result
from support import samples
from support.browser import PATIENCE, chromium, launched

pytestmark = chromium()
Rows = list[dict[str, Any]]
Numbers = dict[str, stats.Interval]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Its pages have no pictures, which take longer to draw than all that is looked at here."""
    with pytest.MonkeyPatch.context() as patch, launched() as found:
        patch.setattr(drawing, "svg", lambda _: "<svg></svg>")
        yield found


def opened(browser: Any, result: Result, folder: Path, **options: Any) -> Any:
    file = folder / "report.html"
    file.write_text(html.report(result), encoding="utf-8")
    page = browser.new_page(**options)
    page.said = []
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("console", lambda message: page.said.append(message.text))
    page.goto(file.as_uri(), timeout=PATIENCE)
    page.wait_for_selector("body[data-charts=ready]", timeout=PATIENCE)
    assert page.said == []
    return page


def disturbed(c: Configuration, block: int) -> dict[str, Any]:
    """Steal in every launch of three blocks, and a launch that failed."""
    found: dict[str, Any] = {"noise": Noise(steal=50.0)} if block in (2, 5, 7) else {}
    return found | ({"status": "failed", "exit_code": 1} if block == 4 and c.layout.p == 4 else {})


def width(result: Result) -> Result:
    """The same, read as one that a width stopped."""
    stop = Stop(rule="width", min_blocks=8, max_blocks=40)
    return samples.result(result.experiment.model_copy(update={"stop": stop}), result.records)


def gate() -> Result:
    """A comparison that undisturbed blocks alone decided, at one of two looks."""
    found = samples.compare_result(24, step=1.03, change=disturbed)
    stop = Stop(rule="calm", min_blocks=12, max_blocks=24, confidence=0.98)
    return samples.result(found.experiment.model_copy(update={"stop": stop}), found.records)


def weak() -> Result:
    experiment = samples.scan_experiment(9).model_copy(update={"scaling": Scaling(weak=Weak())})
    factors = (*experiment.factors, Factor(name="load", kind="parameter", levels=(1, 4)))
    experiment = experiment.model_copy(update={"factors": factors, "derived": {"work": "p * load"}})
    return samples.result(experiment, samples.records(experiment, lambda c: 0.3 + 0.1 * float(c["load"]), 9))


def coarse(result: Result) -> Result:
    """Times as a program would print them, with two decimals."""
    made = [replace(record, wall=round(record.wall, 2)) for record in result.records]
    return samples.result(result.experiment, made)


CASES: Mapping[str, Callable[[], Result]] = {
    "scan": lambda: samples.scan_result(12, change=disturbed),
    "scan of few blocks": lambda: samples.scan_result(5),
    "scan by width": lambda: width(samples.scan_result(14, change=disturbed)),
    "scan of coarse times": lambda: coarse(samples.scan_result(9, noise=1e-5)),
    "two curves": samples.two_curves,
    "weak": weak,
    "compare": lambda: samples.compare_result(11, ("old", "new", "newer"), 0.97, change=disturbed),
    "gate": gate,
    "compare by width": lambda: width(samples.compare_result(9)),
    "compare of 230 blocks": lambda: samples.compare_result(230, step=0.999),
    "tune": lambda: samples.tune_result(12, change=disturbed),
}


@pytest.mark.parametrize("name", CASES)
def test_the_page_says_what_python_says(name: str, browser: Any, tmp_path: Path) -> None:
    result = CASES[name]()
    page = opened(browser, result, tmp_path)
    times = table(result.records, result.experiment.response)
    bases = (None, *range(len(times.configurations)))
    choices = [*itertools.product(bases, (0.8, 0.95, 0.99), (False, True))]
    every = "(all) => all.map((choice) => document.getElementById('again').again(...choice))"
    seen = page.evaluate(every, choices)
    page.close()
    compared = [
        _equal(rows, _by_python(result, base, confidence, calm=calm))
        for rows, (base, confidence, calm) in zip(seen, choices, strict=True)
    ]
    assert len(compared) == len(choices) and sum(compared) > 50


def _equal(rows: Rows, expected: list[Numbers]) -> int:
    assert len(rows) == len(expected)
    ends = 0
    for row, numbers in zip(rows, expected, strict=True):
        for kind, interval in numbers.items():
            for end in ("estimate", "low", "high"):
                mine, theirs = row[kind][end], getattr(interval, end)
                if theirs is None or math.isnan(theirs):
                    assert mine is None or math.isnan(mine), (row["name"], kind, end)
                else:
                    assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-12), (row["name"], kind, end)
                    ends += 1
    return ends


def _by_python(result: Result, base: int | None, confidence: float, *, calm: bool) -> list[Numbers]:
    experiment = result.experiment
    experiment = experiment.model_copy(update={"stop": experiment.stop.model_copy(update={"confidence": confidence})})
    records = warnings(result.records, result.experiment).undisturbed if calm else tuple(result.records)
    order = tuple(columns.of(result).rows)
    if isinstance(result.conclusion, tuple):
        return _compared(records, experiment, order, base)
    times = table(records, experiment.response)
    if not isinstance(result.conclusion, scaling.Scan):
        return [_tuned(result, times, c, order, base, confidence) for c in order]
    reference = {row.configuration: row.reference for row in result.conclusion.rows}
    seen = scaling.Seen.of(records, times, experiment)
    rows = [scaling.row(seen, c, reference[c] if base is None else order[base]) for c in order]
    return [{"time": r.time, "speedup": r.speedup, "efficiency": r.efficiency, "overhead": r.overhead} for r in rows]


def _tuned(result: Result, times: Any, c: Configuration, order: Any, base: int | None, confidence: float) -> Numbers:
    now: Any = result.conclusion
    against = now.baseline if base is None else order[base]
    ratio = stats.ratio_interval(times.column(against), times.column(c), confidence)
    return {"time": stats.median_interval(times.column(c), confidence), "ratio": ratio}


def _compared(records: tuple[Record, ...], experiment: Experiment, order: Any, base: int | None) -> list[Numbers]:
    """By `compare`, with the command that is the baseline first on its line."""
    names = [str(c["command"]) for c in order]
    first = names[base or 0]
    commands = sorted(experiment.commands, key=lambda one: one.name != first)
    factor = Factor(name="command", kind="command", levels=tuple(one.name for one in commands))
    found = verdict.compare(records, experiment.model_copy(update={"commands": tuple(commands), "factors": (factor,)}))
    rows = {str(one.other["command"]): one for one in found}
    numbers = {name: {"time": one.time, "ratio": one.ratio, "mean": one.mean_ratio} for name, one in rows.items()}
    own = {"time": found[0].reference_time, "ratio": verdict.ITSELF, "mean": verdict.ITSELF}
    return [numbers.get(name, own) for name in names]


def test_controls_change_what_is_shown(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, CASES["scan"](), tmp_path)

    def seen(kind: str = "speedup") -> list[str]:
        found: list[str] = page.eval_on_selector_all(
            f"#again-rows td[data-kind={kind}]", "cells => cells.map(cell => cell.innerText)"
        )
        return found

    before = seen()
    assert before[0].startswith("1x") and "12 of 12 blocks" in page.inner_text("#again-says")
    page.select_option("#again-baseline", label="threads=8")
    other = seen()
    assert other[3].startswith("1x") and other[0] != before[0]
    page.get_by_label("Confidence").select_option(label="99%")
    assert "99% intervals" in page.inner_text("#again-says") and seen() != other
    page.get_by_label("without the 3 disturbed blocks").check()
    assert "9 of 12 blocks" in page.inner_text("#again-says")
    page.get_by_role("button", name="Reset").click()
    assert seen() == before
    page.close()


def test_a_gate_opens_with_the_blocks_that_decided_it(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, gate(), tmp_path)
    begins = page.inner_text("#again-says")
    assert "21 of 24 blocks, 98% intervals" in begins
    page.get_by_label("without the 3 disturbed blocks").uncheck()
    page.get_by_role("button", name="Reset").click()
    assert page.inner_text("#again-says") == begins
    page.close()


def test_the_keyboard_reaches_every_control(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, CASES["scan"](), tmp_path)
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    wanted = ["again-baseline", "again-confidence", "again-calm", "again-reset"]
    assert [one for one in reached if one in wanted][:4] == wanted
    page.focus("#again-baseline")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.getElementById('again-baseline').value") == "0"
    page.close()


def test_a_phone_shows_the_controls_whole(browser: Any, tmp_path: Path) -> None:
    long = "x" * 10_000
    experiment = samples.scan_experiment(8).model_copy(
        update={"commands": (Command(name="main", argv=("./p", "<script>alert(1)</script>", long, "{threads}")),)}
    )
    result = samples.result(experiment, samples.records(experiment, samples.amdahl(), 8))
    page = opened(browser, result, tmp_path, viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator("#again-baseline").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    page.close()


def test_a_long_command_is_folded(browser: Any, tmp_path: Path) -> None:
    old, new = (name * 5_000 for name in ("o ", "n "))
    page = opened(browser, samples.compare_result(9, (f"{old}old", f"{new}new")), tmp_path)
    facts, table = (page.locator(one).first.bounding_box() for one in (".facts", "#configurations"))
    assert facts["y"] < 400 and table["width"] < 1280 and table["height"] < 600
    assert "new is 1.25" in page.inner_text("#headline")
    for row in ("#configurations tbody tr", "#again-rows tr"):
        folded = page.locator(f"{row} details").first
        assert len(folded.inner_text()) < 300
        folded.locator("summary").click()
        assert old.strip() in folded.inner_text()
    page.close()


def test_without_a_disturbed_block_nothing_can_be_dropped(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, CASES["two curves"](), tmp_path)
    assert page.locator("#again-calm").is_disabled()
    page.close()
