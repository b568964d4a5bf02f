# SPDX-License-Identifier: Apache-2.0
"""The picture of a month's routes: what the real program found is drawn, and added to a report, with its numbers."""

import csv
import json
import re
import subprocess
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path

import pytest

from corescale import native
from corescale.show import html
from corescale.show.charts import drawing
from support import samples
from support.scripts import script

SCRIPT = Path(__file__).parents[2] / "workloads" / "ant_colony" / "picture.py"
MONTH = "2"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, plan.csv and result.json of two small months."""
    folder = tmp_path_factory.mktemp("network")
    program = [str(native.find("ant_colony")), "--problem", "network", "--orders", "1200"]
    subprocess.run([*program, "--write-data", str(folder / "tables")], check=True, timeout=60)
    options = ["--data", str(folder / "tables"), "--months", "2", "--iterations", "1", "--parallel", "corescale"]
    with (folder / "result.json").open("w") as out:
        subprocess.run([*program, *options, "--solution", str(folder / "plan.csv")], stdout=out, check=True, timeout=60)
    return folder


def draw(folder: Path, *options: str, tables: str = "tables") -> "subprocess.CompletedProcess[str]":
    files = [str(folder / name) for name in (tables, "plan.csv", "result.json")]
    return script(SCRIPT, *files, "--month", MONTH, *options)


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


class Texts(HTMLParser):
    """The texts of a page, one after another."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.found += [data.strip()] if data.strip() else []


def test_warehouses_ports_and_lanes_are_drawn_with_what_they_carry(found: Path, tmp_path: Path) -> None:
    done = draw(found, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "network.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "network.svg").read_text()
    said = Texts(svg).found
    weights = {row["Order ID"]: float(row["Weight"]) for row in rows(found / "tables" / "OrderList.csv")}
    loads: dict[tuple[str, str, str], float] = defaultdict(float)
    for row in (row for row in rows(found / "plan.csv") if row["Month"] == MONTH and row["Mode"] != "CRF"):
        loads[row["Origin Port"], row["Carrier"], row["Service"]] += weights[row["Order ID"]]
    labels = [text for text in said if re.match(r"[\d,]+ kg  V", text)]
    assert sum(int(text.split(" kg")[0].replace(",", "")) for text in labels) == pytest.approx(
        sum(loads.values()), abs=len(labels)
    )
    for port, carrier, service in loads:
        assert any(text.startswith(port) for text in said) and any(f"{carrier} {service}," in text for text in labels)
    for row in rows(found / "tables" / "WhCapacities.csv"):
        used = sum(
            1 for one in rows(found / "plan.csv") if (one["Month"], one["Plant Code"]) == (MONTH, row["Plant ID"])
        )
        assert f"{row['Plant ID']}  {used} / {row['Daily Capacity']}" in said


def test_a_report_gets_the_picture_the_cost_and_the_gap_once(found: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text(html.report(samples.tune_result()))
    before = report.read_text()
    for _ in range(2):
        done = draw(found, "--out", str(tmp_path), "--into", str(report))
        assert done.returncode == 0, done.stderr
    page = report.read_text()
    for name in ("network", "cost", "gap"):
        assert page.count(f'id="chart-{name}"') == 1
    assert page.count("<h2>Every configuration</h2>") == 1 and page.endswith(before[-200:])
    label = re.search(r'aria-label="(100 orders of [^"]*)"', page)
    assert label is not None and " of 19 warehouses " in label[1]
    costs = [float(row["Cost"]) for row in rows(found / "plan.csv") if row["Month"] == MONTH]
    assert f"month 2: {sum(costs):,.0f} dollars, " in page
    assert "heaviest 20 of " in page


@pytest.mark.parametrize("change", [("month_1_gap", None), ("month_2_cost", None), ("months", 3), ("gap", None)])
def test_a_result_without_a_plan_for_a_month_is_one_line(
    found: Path, tmp_path: Path, change: tuple[str, object]
) -> None:
    said = json.loads((found / "result.json").read_text())
    (tmp_path / "result.json").write_text(json.dumps(said | {change[0]: change[1]}))
    files = [str(found / "tables"), str(found / "plan.csv"), str(tmp_path / "result.json")]
    done = script(SCRIPT, *files)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert re.search(r"result.json: (month \d has no plan|no cost and gap)", done.stderr), done.stderr


def test_bad_input_is_one_line(found: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("save", "inline"):
        monkeypatch.setattr(drawing, name, lambda *_: "")
    for options, message in (
        (["--month", "3"], r"plan.csv: no month 3; it has 1, 2"),
        (["--into", str(found / "plan.csv")], r"is not a report of corescale; give the report.html of a run"),
        (["--into", str(tmp_path / "absent.html")], r"absent.html: No such file or directory"),
    ):
        done = draw(found, "--out", str(tmp_path), *options)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and re.search(message, done.stderr), done.stderr
    others = tmp_path / "tables"
    others.mkdir()
    for file in (found / "tables").iterdir():
        (others / file.name).write_text(file.read_text().replace("PLANT0", "PLANT1"))
    done = script(SCRIPT, str(others), str(found / "plan.csv"), str(found / "result.json"))
    assert done.returncode == 2 and "is not in" in done.stderr and "give the tables that the plan is for" in done.stderr
    (others / "PlantPorts.csv").write_text("Plant,Harbour\n")
    done = draw(tmp_path, tables="tables")
    assert done.returncode == 2 and "result.json" in done.stderr
