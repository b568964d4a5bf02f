# SPDX-License-Identifier: Apache-2.0
"""`import corescale`: the verbs as functions, what they return, and how they end."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

import corescale as lab
from corescale.api import options
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Scan
from corescale.conclude.answers.study import Study
from corescale.declare import grid
from corescale.declare.request import CompareRequest, ExplainRequest, RunRequest, ScanRequest, TuneRequest
from corescale.errors import ProgramError, StoreError, UsageError
from corescale.observe import store
from corescale.show import exchange
from support import samples
from support.commands import ROOT, corescale
from support.runs import FIXTURES

TRUTH = """
seed = 3
serial = 0.1
[times.level]
1 = 1.0
6 = 3.0
[noise]
size = 0.01
"""

KINDS = [
    (ScanRequest, options.ScanOptions),
    (TuneRequest, options.TuneOptions),
    (CompareRequest, options.CompareOptions),
    (ExplainRequest, options.ExplainOptions),
]

ONLY_TYPED = {
    *("dry_run", "json", "verbose", "quiet", "report", "outputs", "model", "more", "no_shell", "against", "before"),
    *("parameter_list", "parameter_scan", "parameter_step"),
    *(f"export_{name}" for name in exchange.EXPORTERS),
}
"""Options of the command line alone: a Run prints and exports, and a mapping has levels."""


@pytest.fixture
def fake(tmp_path: Path) -> dict[str, Any]:
    """Options of a run on a known truth, in which nothing is launched."""
    (tmp_path / "truth.toml").write_text(TRUTH)
    return {"on": "fake", "landscape": tmp_path / "truth.toml", "out": tmp_path / "runs"}


def test_the_import_waits_for_nothing() -> None:
    slow = {"numpy", "pandas", "pydantic", "matplotlib", "scipy", "rich"}
    code = f"import sys, corescale; print(*{slow} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src", capture_output=True, text=True, check=True)
    assert not done.stdout.strip()
    assert {*lab.__all__} <= {*dir(lab)} and all(getattr(lab, name) for name in lab.__all__)
    with pytest.raises(AttributeError):
        lab.nothing  # noqa: B018


@pytest.mark.parametrize(("kind", "keywords"), KINDS)
def test_every_option_is_a_keyword(kind: type[RunRequest | ExplainRequest], keywords: type) -> None:
    fields = {field.name for field in dataclasses.fields(kind)}
    assert {*get_type_hints(keywords)} == fields - ONLY_TYPED


def test_values_are_what_the_command_line_has() -> None:
    made = options.request(
        TuneRequest,
        options.TuneOptions,
        options.TuneOptions(
            threads=range(1, 4), factor={"level": [1, 6], "bind": "auto"}, budget=90, within=0.05, out=Path("here"),
            max_runs=7, baseline={"level": 6}, subject_to=["b<=1"], metric={"b": "cpu-time"},
        ),
    )  # fmt: skip
    assert made == TuneRequest(
        threads="1,2,3", factor=["level=1,6", "bind=auto"], budget="90", within="0.05", out="here", max_runs=7,
        baseline="level=6", subject_to=["b<=1"], metric=["b=cpu-time"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "named"),
    [({"thread": 2}, "threads"), ({"runs": "6"}, "runs"), ({"metric": "a"}, "metric"), ({"threads": ["1,2"]}, "1,2")],
)
def test_what_no_option_takes_is_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        lab.scan("true", **given)


def test_a_scan_is_that_of_the_command_line(fake: dict[str, Any], tmp_path: Path) -> None:
    run = lab.scan("x {threads} {level}", threads=[1, 2, 4], factor={"level": [1, 6]}, runs=8, **fake)
    typed = corescale(
        "scan", "-q", "-r", "8", "-t", "1,2,4", "-f", "level=1,6", "--on", "fake", "--landscape", "truth.toml",
        "--out", "typed", "--", "x {threads} {level}", cwd=tmp_path,
    )  # fmt: skip
    assert typed.returncode == 0, typed.stderr
    (folder,) = (tmp_path / "typed").glob("scan-*/1")
    assert folder.parent.name == run.folder.parent.name
    said = corescale("report", "--json", str(run.folder), cwd=tmp_path)
    assert json.loads(said.stdout) == json.loads(json.dumps(run.to_dict()))
    assert isinstance(run.answer, Scan) and len(run.records) == 48
    assert run.records.groupby("level")["time"].median()[6] > 2.5 * run.records.groupby("level")["time"].median()[1]
    again = lab.load(run.folder)
    assert again.to_dict() == run.to_dict() and again.records.equals(run.records)


def test_a_tune_has_its_confirmation_pairs_among_the_records(fake: dict[str, Any]) -> None:
    run = lab.tune("x {level}", threads=1, factor={"level": [6, 1]}, **fake)
    assert isinstance(run.answer, Recommendation) and run.answer.chosen.get("level") == 1
    assert {*run.records["phase"]} == {"measure", "confirm"}
    assert sum(run.records["phase"] == "confirm") == 2 * run.result.confirmations


def test_only_what_is_launched_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of thousands of levels, those that a budget does not pay for cost nothing before, between and after launches."""
    built, make = list[object](), grid.launch
    monkeypatch.setattr(grid, "launch", lambda *given: built.append(given) or make(*given))  # type: ignore[func-returns-value]
    run = lab.tune(["true", "{n}"], threads=[1, 2], factor={"n": [*range(3000)]}, budget="20x", out=tmp_path)
    assert len(run.result.records) <= 20 and len(grid.configurations(run.result.experiment)) == 6000
    assert str(run) and len(built) < 100


def test_a_comparison_has_its_gate(tmp_path: Path) -> None:
    run = lab.compare("true", "sleep 0.02", name=["a", "b"], runs=6, gate=0.05, out=tmp_path)
    assert run.answer[0].gate == "failed" and run.answer[0].ratio.estimate > 2
    assert "b" in run.headline


def test_progress_is_reported(fake: dict[str, Any]) -> None:
    seen: list[lab.Progress] = []
    run = lab.scan("x {level}", threads=[1, 2], factor={"level": 1}, runs=4, progress=seen.append, **fake)
    assert len([now for now in seen if now.record]) == len(run.records) == 8
    assert [now.blocks for now in seen if not now.record and not now.note] == [1, 2, 3, 4]
    assert seen[-1].done == 1 and "threads=2" in seen[-1].best and str(seen[-1]).startswith("8 launches; ")


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_ends_a_run_keeps_its_blocks(error: type[BaseException], fake: dict[str, Any]) -> None:
    def after_two(now: lab.Progress) -> None:
        if now.blocks == 2:
            raise error

    asked: dict[str, Any] = {"threads": [1, 2], "factor": {"level": 1}, "runs": 4, **fake}
    with pytest.raises(error):
        lab.scan("x {level}", progress=after_two, **asked)
    (begun,) = fake["out"].glob("*/1")
    assert len(store.load(begun).records) == 4
    run = lab.scan("x {level}", **asked)
    assert run.folder == begun and len(run.records) == 8


def test_errors_are_those_of_the_library(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="no-such-program"):
        lab.scan("no-such-program", out=tmp_path)
    with pytest.raises(StoreError):
        lab.load(tmp_path / "nothing")
    assert issubclass(ProgramError, lab.CorescaleError)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("folder", FIXTURES.values(), ids=FIXTURES)
def test_every_run_is_shown(folder: Path, tmp_path: Path) -> None:
    run = lab.load(folder)
    assert run.headline in repr(run) and run.headline in run._repr_html_().replace("&#39;", "'")
    assert str(run).startswith(run.headline[:40])
    for name in run.charts:
        assert isinstance(run.plot(name), Axes)
    pyplot.close("all")
    page = run.report(tmp_path / "page.html")
    assert "corescale" in page.read_text()[:2000]
    assert all(run.export(name) for name in exchange.EXPORTERS)
    with pytest.raises(UsageError, match="no format"):
        run.export("nothing")
    assert run.records["time"].notna().any()
    assert isinstance(run.answer, Scan | Recommendation | Study | tuple)


def test_a_chart_is_drawn_on_given_axes() -> None:
    run = lab.load(FIXTURES["scan"])
    figure, (left, right) = pyplot.subplots(1, 2)
    assert run.plot("efficiency", ax=left) is left and run.plot(ax=right) is right
    assert left.get_ylabel() and left.lines and left.get_ylim()[0] == 0
    with pytest.raises(UsageError, match="efficiency"):
        run.plot("nothing")
    pyplot.close(figure)


def test_a_cell_of_a_notebook_is_safe(tmp_path: Path) -> None:
    result = samples.compare_result(names=("<script>alert(1)</script>", "b&c"))
    shown = lab.Run(tmp_path, result)._repr_html_()
    assert "<table" in shown and "&lt;script&gt;" in shown
    assert "<script" not in shown
