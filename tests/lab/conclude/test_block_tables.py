# SPDX-License-Identifier: Apache-2.0
"""The paper's tables beside this machine's, from made launches: layout, preferred blocks, Taskflow or its absence."""

import csv
import runpy
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
TABLES = runpy.run_path(str(BENCHMARKS / "block_size_tables.py"))
HEADS = TABLES["NEEDED"]
BODY = {"read": 1024, "write": 1024, "operations": 1024, "compute": "published", "n": 1024, "machine": "made"}


def row(policy: str, block: int, clocks: float, at_once: float | str = "") -> dict[str, object]:
    return BODY | {"threads": 2, "policy": policy, "block": block, "at_once": at_once, "clocks": clocks}


def written(path: Path, rows: list[dict[str, object]], heads: tuple[str, ...] = HEADS) -> Path:
    with (path / "launches.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, heads, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)
    return path / "launches.csv"


SWEEP = [row("fixed", block, clocks, block) for block, clocks in ((1, 900), (1, 880), (1, 5000), (16, 700), (256, 950))]
OURS = [*SWEEP, row("published_cost_model", 0, 770, 125), row("taskflow_guided", 0, 1000, 256)]


def printed(path: Path, rows: list[dict[str, object]], capsys: pytest.CaptureFixture[str]) -> str:
    here = TABLES["launches"](written(path, rows))
    TABLES["published_tables"](
        here, TABLES["columns"](csv.DictReader((BENCHMARKS.parent / "data/faa/tables.csv").open()))
    )
    TABLES["chosen_tables"](here)
    TABLES["comparison"](here)
    return capsys.readouterr().out


def test_the_median_of_launches_stands_beside_the_published_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(tmp_path, OURS, capsys).splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("| block sizes"))
    assert lines[first].endswith("| W-3225R, 8 threads | here, 2 threads |")
    assert lines[first + 2] == "| 1 | 1394900 | 957700 | 569100 | 900 |"
    assert lines[first + 4] == "| 4 | 1240400 | 706200 | **430200** |  |"
    assert "| 4 | 1048400 | 692200 | 4132000 (doubtful) |" in lines
    assert lines[first + 6] == "| 16 | 1078100 | 646900 | 437200 | **700** |"


def test_each_choice_stands_beside_the_measured_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "| R 1024, W 1024, C 1024^1 | 16 | 700 | 125: 1.10 | absent |" in printed(tmp_path, OURS, capsys)


def test_the_row_says_that_taskflow_is_absent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "| 1024 | absent: built without Taskflow | 770 | 125 | 1000 |" in printed(tmp_path, OURS, capsys)


def test_its_gain_is_that_of_threads_times_that_of_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(tmp_path, [*OURS, row("taskflow", 0, 1540)], capsys)
    assert "| 1024 | 1540 | 770 | 125 | 1000 | 2.00 | 1.54 | 1.30 |" in said
    assert "over 1 rows: gain 2.00, threads 1.54, blocks 1.30." in said


@pytest.mark.parametrize(
    ("heads", "rows", "said"),
    [
        (HEADS[:-2], OURS, "launches.csv:2: 'clocks'; the columns needed are read, "),
        (HEADS, [row("fixed", 1, 5) | {"n": "x"}], "launches.csv:2: could not convert"),
        (HEADS, [], "launches.csv: has no launches; let the study run"),
    ],
)
def test_another_table_is_one_line(
    tmp_path: Path, heads: tuple[str, ...], rows: list[dict[str, object]], said: str
) -> None:
    with pytest.raises(SystemExit) as refused:
        TABLES["launches"](written(tmp_path, rows, heads))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="cannot be read"):
        TABLES["launches"](tmp_path / "nowhere.csv")


def test_the_simulators_comparison_names_a_bad_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    runs = runpy.run_path(str(BENCHMARKS / "simulated_runs.py"))
    path = written(tmp_path, OURS)
    with pytest.raises(SystemExit, match=r"launches\.csv:2: 'time'; give the launches\.csv"):
        runs["launches"](path)
