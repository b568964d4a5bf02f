# SPDX-License-Identifier: Apache-2.0
"""The table of columns: every output shows each, and a new one is one line."""

import csv
import io
import json
import re
from collections.abc import Callable

import jsonschema
import pytest
from rich.console import Console

from corescale.show import columns, exchange, html, terminal
from corescale.show.columns import MAIN, TENTHS, Column
from corescale.show.result import Result
from support import samples

pytestmark = pytest.mark.usefixtures("undrawn")


def printed(result: Result) -> str:
    file = io.StringIO()
    Console(file=file, width=400).print(terminal.render(result))
    return file.getvalue()


OUTPUTS: dict[str, Callable[[Result], str]] = {
    "terminal": printed,
    "page": html.report,
    "json": exchange.to_json,
    "csv": exchange.EXPORTERS["csv"],
    "markdown": exchange.EXPORTERS["markdown"],
}


@pytest.mark.parametrize(("table", "sample"), [("Row", "scan"), ("Candidate", "tune"), ("Compared", "compare")])
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_new_column_is_one_line(table: str, sample: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = samples.RESULTS[sample]()
    assert not re.search("new_number|new number|4711", OUTPUTS[output](result))
    line = Column("new_number", "s", TENTHS, MAIN, "a number of this test", of=lambda row, result: 4711.25)
    monkeypatch.setitem(columns.TABLES, table, (*columns.TABLES[table], line))
    shown = OUTPUTS[output](result)
    assert re.search("new_number|new number", shown) and re.search(r"4711\.2", shown)
    assert "a number of this test; s" in json.dumps(exchange.schema())
    jsonschema.Draft202012Validator(exchange.schema()).validate(json.loads(exchange.to_json(result)))


@pytest.mark.parametrize("name", samples.RESULTS)
def test_every_column_is_in_every_document(name: str) -> None:
    result = samples.RESULTS[name]()
    table = columns.of(result)
    page, markdown = html.report(result), exchange.EXPORTERS["markdown"](result)
    heads = next(csv.reader(io.StringIO(exchange.EXPORTERS["csv"](result))))
    for column in table.columns:
        assert f">{column.title}</th>" in page and f" {column.title} |" in markdown and column.name in heads
        assert column.description and column.importance in range(1, 6)


def test_the_loss_of_efficiency_is_what_the_reference_would_not_need() -> None:
    """Of Amdahl's law with serial fraction s: p T(p) - T(1) = T(1) s (p - 1)."""
    result = samples.scan_result(40, noise=0.002)
    found = {row.p: columns._lost(row, result) for row in columns.of(result).rows.values()}
    assert found[1].estimate == pytest.approx(0, abs=1e-12)
    for p in (2, 4, 8):
        assert found[p].estimate == pytest.approx(8.0 * 0.12 * (p - 1), rel=0.02)
        low, high = found[p].low, found[p].high
        assert low is not None and high is not None and low < found[p].estimate < high


def test_core_seconds_are_lost_of_a_time_alone() -> None:
    experiment = samples.scan_experiment(8).model_copy(
        update={"response": "metric:bytes", "metrics": {"bytes": "stdout-size"}}
    )
    made = samples.records(experiment, samples.amdahl(), 8, change=lambda c, b: {"metrics": {"bytes": 1e6}})
    result = samples.result(experiment, made)
    rows = json.loads(exchange.to_json(result))["conclusion"]["curves"][0]["rows"]
    assert [row["efficiency_loss"]["estimate"] for row in rows] == [None] * 4
