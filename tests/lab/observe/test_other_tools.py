# SPDX-License-Identifier: Apache-2.0
"""Files that other tools wrote (other_tools/) become tables; a damaged one is refused in one line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import corescale
from corescale.errors import UsageError

FILES = {path.name: path for path in sorted((Path(__file__).parent / "other_tools").iterdir())}


def test_hyperfine() -> None:
    rows = corescale.read(FILES["hyperfine.json"])
    assert len(rows) == 6 and {*rows["n"]} == {"1", "2"} and {*rows["exit_code"]} == {0}
    assert rows.groupby("n")["value"].median()["2"] > 0.002
    assert [*rows["repetition"]] == [1, 2, 3, 1, 2, 3]


def test_google_benchmark() -> None:
    rows = corescale.read(FILES["google_benchmark.json"])
    assert {*rows["name"]} == {"sum/8", "sum/64"} and {*rows["metric"]} == {"time", "cpu_time"}
    assert len(rows) == 8 and {*rows["repetition"]} == {1, 2}, "aggregates are left out"
    assert rows["value"].between(1e-10, 1e-5).all()


def test_several_threads_of_an_old_google_benchmark_are_refused(tmp_path: Path) -> None:
    whole = json.loads(FILES["google_benchmark.json"].read_text())
    whole["context"]["library_version"] = "v1.8.3"
    whole["benchmarks"][0]["threads"] = 2
    (tmp_path / "old.json").write_text(json.dumps(whole))
    with pytest.raises(UsageError, match=r"below 1\.9"):
        corescale.read(tmp_path / "old.json")


def test_pyperf() -> None:
    rows = corescale.read(FILES["pyperf.json"])
    assert len(rows) == 4 and {*rows["name"]} == {"sum"} and rows["value"].between(1e-9, 1e-5).all()


def test_extra_p() -> None:
    rows = corescale.read(FILES["extra_p.jsonl"])
    assert len(rows) == 8 and {*rows["metric"]} == {"time", "core_seconds"} and rows["p"].min() == 1


def test_csv(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,n,time\nx,1,0.5\nx,2,0.25\n")
    rows = corescale.read(tmp_path / "a.csv")
    assert [*rows["value"]] == [0.5, 0.25] and [*rows["n"]] == [1, 2]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("cut", [0, 1, 100, -40])
def test_a_damaged_file_is_refused_in_one_line(name: str, cut: int, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name].read_text()[:cut])
    with pytest.raises(UsageError) as raised:
        corescale.read(tmp_path / name)
    assert name in str(raised.value) and "\n" not in str(raised.value)


INSTEAD: list[Any] = [None, True, -1, 1e999, "x", [], {}]


@pytest.mark.parametrize("name", FILES)
def test_no_damage_gets_past_the_reader(name: str, tmp_path: Path) -> None:
    """Cut anywhere, or with any one value replaced, a file is a table or refused in one line."""
    file, text = tmp_path / "damaged", FILES[name].read_text()
    docs = [json.loads(line) for line in text.splitlines()] if name.endswith("l") else [json.loads(text)]
    damaged = [text[:cut] for cut in range(0, len(text), 23)]
    damaged += ["\n".join(map(json.dumps, put(docs, place, k))) for k, place in enumerate(places(docs))]
    refused = 0
    for one in damaged:
        file.write_text(one)
        try:
            assert len(corescale.read(file))
        except UsageError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > len(text) // 24


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to each value within."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from places(one, (*path, key))


def put(docs: Any, path: tuple[Any, ...], k: int) -> Any:
    """A copy with another value at the path."""
    copy = json.loads(json.dumps(docs))
    within = copy
    for key in path[:-1]:
        within = within[key]
    within[path[-1]] = INSTEAD[k % len(INSTEAD)]
    return copy


STRANGE = ["[" * 100_000, "{" + "[" * 100_000, "a,b\n1,2,3\n4\n", "value\nx\n", "\0", '{"results": 3}']


@pytest.mark.parametrize("text", STRANGE, ids=range(len(STRANGE)))
def test_a_file_of_nothing_known_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(text)
    with pytest.raises(UsageError) as raised:
        corescale.read(tmp_path / "a")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("instead", ["x", None, [1], True, float("nan")])
def test_a_value_that_is_no_time_is_refused(instead: Any, tmp_path: Path) -> None:
    whole = json.loads(FILES["hyperfine.json"].read_text())
    whole["results"][0]["times"][0] = instead
    (tmp_path / "a.json").write_text(json.dumps(whole))
    with pytest.raises(UsageError):
        corescale.read(tmp_path / "a.json")
