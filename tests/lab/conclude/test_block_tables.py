# SPDX-License-Identifier: Apache-2.0
"""The paper's tables beside this machine's, from made launches: layout, preferred blocks, Taskflow or its absence."""

import csv
import runpy
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
TABLES = runpy.run_path(str(BENCHMARKS / "block_size_tables.py"))
READ = runpy.run_path(str(BENCHMARKS / "_block_size_launches.py"))
BODY = {
    "case": "c_1",
    "read": 1024,
    "write": 1024,
    "operations": 1024,
    "compute": "published",
    "n": 1024,
    "threads": 2,
    "machine": "made",
}
TIMES = {**{str(2**k): 800 for k in range(11)}, "16": 700, "256": 950}
OTHERS = {"published_cost_model": 770, "auto": 700, "guided": 710, "taskflow_guided": 1000, "static": 900}


def row(single: float, **changes: object) -> dict[str, object]:
    """A launch in which a clock is a microsecond."""
    times: Mapping[str, float] = TIMES | {"1": single} | OTHERS
    least = {f"least_{name}": clocks * 1e-6 for name, clocks in times.items()}
    at_once = {f"at_once_{name}": 125 for name in OTHERS}
    return BODY | least | at_once | {"ticks_per_second": 1e6} | changes


def written(path: Path, rows: Sequence[Mapping[str, object]], heads: Sequence[str] = READ["IN_TURN"]) -> Path:
    with (path / "launches.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, heads, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)
    return path / "launches.csv"


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


ROWS = [
    row(900),
    row(880),
    row(5000),
    row(1, n=4096, case="whole_1024"),
    row(900, read=64, write=64),
    row(900, read=4096, write=4096),
]


def test_the_least_of_launches_stands_beside_the_published_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published = TABLES["columns"](csv.DictReader((BENCHMARKS.parent / "data/faa/tables.csv").open()))
    TABLES["published_tables"](TABLES["launches"](written(tmp_path, ROWS)), published)
    said = lines(capsys)
    first = next(k for k, line in enumerate(said) if line.startswith("| block sizes"))
    assert said[first - 2].endswith("N 4096 there (inferred), 512 x threads here")
    assert said[first].endswith("| W-3225R, 8 threads | here, 2 threads |")
    assert said[first + 2] == "| 1 | 1394900 | 957700 | 569100 | 880 |"
    assert said[first + 4] == "| 4 | 1240400 | 706200 | **430200** | 800 |"
    assert any(line.startswith("| 4 | 1048400 | 692200 | 4132000 (doubtful) |") for line in said)
    assert said[first + 6] == "| 16 | 1078100 | 646900 | 437200 | **700** |"


def test_the_picture_has_a_panel_for_each_table_and_a_frame_for_each_column(tmp_path: Path) -> None:
    made = runpy.run_path(str(BENCHMARKS / "block_size_picture.py"))
    published = TABLES["columns"](csv.DictReader((BENCHMARKS.parent / "data/faa/tables.csv").open()))
    here = made["measured"](written(tmp_path, [*ROWS, row(1700, threads=1, n=512)]))
    assert here[1024, 1024, 1.0]["here, 2"][16] == 700
    panels = [axis for axis in made["picture"](published, here).axes if axis.get_visible()]
    assert len(panels) == 15
    framed = [[text.get_text() for text in axis.texts if text.get_weight() == "bold"] for axis in panels]
    assert sum(map(len, framed)) >= 45 + 2
    assert [text.get_text() for axis in panels for text in axis.texts if "?" in text.get_text()] == ["418?"]
    first = next(axis for axis in panels if axis.get_title().endswith("unit comp 1024^1"))
    assert [label.get_text() for label in first.get_xticklabels()][-2:] == ["here, 1", "here, 2"]
    assert framed[panels.index(first)][2:] == ["430", "1", "1"], "430,200 clocks at a block of 4; 700 of these at 16"


def test_each_choice_stands_beside_the_measured_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TABLES["chosen_tables"](TABLES["launches"](written(tmp_path, ROWS)))
    (said,) = [line for line in lines(capsys) if line.startswith("| R 1024, W 1024")]
    assert said.startswith("| R 1024, W 1024, C 1024^1 | 16 | 700 | 125: 1.10 | 125: 1.00 |")
    fitted = [cell.split(": ") for cell in said.strip("| ").split(" | ")[-2:]]
    assert all(1 <= float(block) <= 1024 and float(lost) >= 1 for block, lost in fitted)


WHO = {"formula": 770, "policy": 1000, "policy_asleep": 1250}


def launched(**clocks: float) -> list[dict[str, object]]:
    """Of each a launch whose mean is half as much again, and one that takes twice as long, behind pauses."""
    each = [BODY | {"who": who, "at_once": 125} for who in clocks]
    awake = [
        one | {"pause": 0, "clocks": clocks[str(one["who"])], "mean_clocks": 1.5 * clocks[str(one["who"])]}
        for one in each
    ]
    asleep = [one | {"pause": 4, "clocks": 2.0 * clocks[str(one["who"])], "mean_clocks": 9e9} for one in each]
    return awake + asleep


def test_the_row_says_that_taskflow_is_absent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TABLES["comparison"](TABLES["compared"](written(tmp_path, launched(**WHO), READ["ALONE"])))
    said = lines(capsys)
    assert any(line.startswith("| 1024 | absent: built without Taskflow | 770 | 125 |") for line in said)
    assert not any("geometric means" in line for line in said)


def test_its_gain_is_the_product_of_its_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TABLES["comparison"](TABLES["compared"](written(tmp_path, launched(taskflow=1540, **WHO), READ["ALONE"])))
    said = "\n".join(lines(capsys))
    assert "| 1024 | 1540 | 770 | 125 | 2.00 | 1.23 | 1.25 | 1.30 |" in said
    for what in (
        "The fastest call",
        "The mean of all calls",
        "The fastest call after a pause, in which all threads fall asleep",
    ):
        assert f"* {what}, geometric means over 1 rows: gain 2.00, its own 1.23, by sleep 1.25, by blocks 1.30." in said


@pytest.mark.parametrize(
    ("heads", "rows", "said"),
    [
        (READ["IN_TURN"][1:], ROWS, "launches.csv:2: 'read'; the columns needed are read, "),
        (READ["IN_TURN"], [row(5, n="x")], "launches.csv:2: could not convert"),
        (READ["IN_TURN"], [], "launches.csv: has no launches; let the study run"),
    ],
)
def test_another_table_is_one_line(tmp_path: Path, heads: Sequence[str], rows: list[Any], said: str) -> None:
    with pytest.raises(SystemExit) as refused:
        TABLES["launches"](written(tmp_path, rows, heads))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="cannot be read"):
        TABLES["launches"](tmp_path / "nowhere.csv")


def test_the_simulators_comparison_names_a_bad_row(tmp_path: Path) -> None:
    runs = runpy.run_path(str(BENCHMARKS / "simulated_runs.py"))
    path = written(tmp_path, ROWS, READ["SHAPE"])
    with pytest.raises(SystemExit, match=r"launches\.csv:2: 'least_1'; give the launches\.csv"):
        runs["launches"](path)
