# SPDX-License-Identifier: Apache-2.0
"""pandas, DuckDB and jq read our files, and find in them what the records say."""

import io
import json
import subprocess
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from corescale.errors import UnavailableError
from corescale.records import encode
from corescale.show import exchange, files
from support import samples

RESULT = samples.tune_result()
WALLS = [record.wall for record in RESULT.records if record.configuration.layout.p == 4]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "records.csv").write_text(exchange.EXPORTERS["records"](RESULT))
    (tmp_path / "records.jsonl").write_text("".join(f"{encode(record)}\n" for record in RESULT.records))
    (tmp_path / "result.json").write_text(exchange.to_json(RESULT))
    (tmp_path / "table.csv").write_text(exchange.EXPORTERS["csv"](RESULT))
    return tmp_path


def test_pandas_reads_them(folder: Path) -> None:
    rows = pd.read_csv(folder / "records.csv")
    assert rows[rows["threads_asked"] == 4]["wall"].tolist() == pytest.approx(WALLS, rel=1e-15)
    lines = pd.read_json(io.StringIO((folder / "records.jsonl").read_text()), lines=True, precise_float=True)
    assert len(lines) == len(RESULT.records) and lines["wall"].sum() == pytest.approx(
        sum(r.wall for r in RESULT.records)
    )
    assert {"time", "time_low", "time_high"} <= set(pd.read_csv(folder / "table.csv").columns)


def test_duckdb_reads_them(folder: Path) -> None:
    with duckdb.connect() as connection:
        asked = "select count(*), median(wall) from read_csv(?) where threads_asked = 4"
        assert connection.execute(asked, [str(folder / "records.csv")]).fetchone() == (
            len(WALLS), pytest.approx(np.median(WALLS)))  # fmt: skip
        asked = "select median(wall) from read_json(?) where configuration.layout.threads_per_rank = 4"
        assert connection.execute(asked, [str(folder / "records.jsonl")]).fetchone() == (
            pytest.approx(np.median(WALLS)),
        )


@pytest.mark.parametrize("name", samples.RESULTS)
def test_parquet_has_the_rows_of_csv_with_their_types(name: str, tmp_path: Path) -> None:
    """As pandas and DuckDB read both."""
    result, csv, parquet = samples.RESULTS[name](), tmp_path / "r.csv", tmp_path / "r.parquet"
    for file in (csv, parquet):
        files.write(str(file), exchange.content("records", str(file), result))
    rows, typed = pd.read_csv(csv), pd.read_parquet(parquet)
    assert list(rows) == list(typed) and len(typed) == len(result.records) > 0
    pd.testing.assert_series_equal(rows["wall"], typed["wall"], rtol=1e-15)
    assert typed["noisy"].dtype == bool and typed["oversubscribed"].dtype == bool
    with duckdb.connect() as connection:
        asked = "select count(*), sum(wall), count(*) filter (noisy) from read_parquet(?)"
        found = connection.execute(asked, [str(parquet)]).fetchone()
    assert found == (len(typed), pytest.approx(rows["wall"].sum()), len(result.noisy))


def test_without_pyarrow_it_is_refused_before_a_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "find_spec", lambda _: None)
    with pytest.raises(UnavailableError, match="pyarrow"):
        files.must_be_writable(str(tmp_path / "r.parquet"))
    files.must_be_writable(str(tmp_path / "r.csv"))


def test_jq_reads_them(folder: Path) -> None:
    def jq(program: str, name: str) -> str:
        done = subprocess.run(["jq", "-c", program, str(folder / name)], capture_output=True, text=True, check=True)
        return done.stdout

    told = jq("select(.configuration.layout.threads_per_rank == 4) | .wall", "records.jsonl")
    assert [float(line) for line in told.split()] == pytest.approx(WALLS)
    assert json.loads(jq(".headline", "result.json")) == exchange.to_dict(RESULT)["headline"]
