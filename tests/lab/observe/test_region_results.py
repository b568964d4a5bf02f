# SPDX-License-Identifier: Apache-2.0
"""What the parser makes of files and of stdout; tests/runtime/test_region.py reads what real programs write."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corescale.declare.metric_sources import given_by
from corescale.errors import ExitCode, ProgramError
from corescale.observe.sources.result import ProgramResult, parse_results
from corescale.records import Region

WHOLE: dict[str, Any] = {
    "format": 1,
    "rank": 0,
    "pid": 7,
    "regions": [{"name": "solve", "thread": 0, "calls": 2, "seconds": 0.5}],
    "metrics": {"error": 1e-9, "absent": None},
    "checks": {"close": True},
    "work": 10,
}


def put(folder: Path, name: str, values: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(values))
    return path


def test_nothing_is_an_empty_result(tmp_path: Path) -> None:
    assert parse_results(tmp_path, None) == ProgramResult()
    assert parse_results(tmp_path / "absent", "no object here") == ProgramResult()


def test_one_file(tmp_path: Path) -> None:
    put(tmp_path, "rank-0.7.1.json", WHOLE)
    expected = ProgramResult((Region("solve", 0, 0, 2, 0.5),), {"error": 1e-9}, {"close": True}, 10.0)
    assert parse_results(tmp_path, '{"ignored": 1}') == expected


@pytest.mark.parametrize(
    ("said", "origin"), [({}, "measured"), ({"simulated": 0}, "measured"), ({"simulated": 1}, "simulated")]
)
def test_a_program_says_that_its_times_are_simulated(tmp_path: Path, said: dict[str, float], origin: str) -> None:
    put(tmp_path, "rank-0.7.1.json", WHOLE | {"metrics": said})
    assert parse_results(tmp_path, None).origin == origin


def test_ranks_and_processes_merge(tmp_path: Path) -> None:
    put(tmp_path, "rank-10.7.1.json", WHOLE | {"rank": 10, "metrics": {"error": 3, "only": 4}, "work": None})
    put(tmp_path, "rank-2.7.1.json", WHOLE | {"rank": 2, "metrics": {"error": 2}, "checks": {"close": False}})
    put(tmp_path, "rank-2.70.1.json", WHOLE | {"rank": 2, "pid": 70, "metrics": {"error": 9}})
    result = parse_results(tmp_path, None)
    assert [(region.rank, region.thread) for region in result.regions] == [(2, 0), (2, 1), (10, 0)]
    assert result.metrics == {"error": 2.0, "only": 4.0}
    assert result.checks == {"close": False}
    assert result.work == 20


def test_files_still_being_written_are_none(tmp_path: Path) -> None:
    (tmp_path / ".rank-0.7.1.tmp").write_text('{"form')
    assert parse_results(tmp_path, None) == ProgramResult()


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ({"format": 2}, "format 2"),
        ({"rank": "0"}, "rank"),
        ({"regions": [{"name": "solve"}]}, "regions.0.thread"),
        ({"regions": [{"name": "solve", "thread": 0, "calls": 1, "seconds": -1.0}]}, "regions.0.seconds"),
        ({"checks": {"close": 1}}, "checks.close"),
        ({"metrics": {"error": "small"}}, "metrics.error"),
    ],
)
def test_malformed_file_is_named_with_its_fault(tmp_path: Path, fault: dict[str, Any], named: str) -> None:
    path = put(tmp_path, "rank-0.7.1.json", WHOLE | fault)
    with pytest.raises(ProgramError) as raised:
        parse_results(tmp_path, '{"ignored": 1}')
    assert raised.value.exit_code is ExitCode.PROGRAM
    assert str(path) in str(raised.value)
    assert named in str(raised.value)
    assert "\n" not in str(raised.value)


@given(st.integers(0, len(json.dumps(WHOLE)) - 1))
def test_torn_file_is_never_taken_for_a_result(tmp_path_factory: pytest.TempPathFactory, length: int) -> None:
    path = tmp_path_factory.mktemp("torn") / "rank-0.7.1.json"
    path.write_text(json.dumps(WHOLE)[:length])
    with pytest.raises(ProgramError, match="torn"):
        parse_results(path.parent, None)


@given(st.binary(max_size=200))
def test_any_bytes_give_a_program_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "rank-0.7.1.json"
    path.write_bytes(content)
    with pytest.raises(ProgramError):
        parse_results(path.parent, None)


@pytest.mark.parametrize("content", ["[" * 100_000, '{"format":1,"rank":' + "9" * 5000 + "}"])
def test_hostile_json(tmp_path: Path, content: str) -> None:
    (tmp_path / "rank-0.7.1.json").write_text(content)
    with pytest.raises(ProgramError):
        parse_results(tmp_path, None)
    assert parse_results(tmp_path / "none", content) == ProgramResult()


@pytest.mark.parametrize(
    ("stdout", "metrics", "checks", "work"),
    [
        ('{"length": 7542, "ok": true, "gap": null, "tour": "ab"}\n', {"length": 7542.0}, {"ok": True}, None),
        ('{"a": 1}\n{"a": 2}\nbye\n', {"a": 2.0}, {}, None),
        ('{"a": 1}\n{"name": "x"}\n{"torn": 1', {"a": 1.0}, {}, None),
        ('progress\r{"a": 1}\r\n', {"a": 1.0}, {}, None),
        ('{"a": NaN, "b": 1e999, "c": 5, "work": 3}', {"c": 5.0}, {}, 3.0),
        ('{"a": 1}\n{"a": NaN}\n', {}, {}, None),
        ('{"a": ' + "9" * 400 + ', "b": 1}', {"b": 1.0}, {}, None),
        ("[1, 2]\n3\n", {}, {}, None),
    ],
)
def test_last_object_on_stdout(
    tmp_path: Path, stdout: str, metrics: dict[str, float], checks: dict[str, bool], work: float | None
) -> None:
    assert replace(parse_results(tmp_path, stdout), warnings=()) == ProgramResult((), metrics, checks, work)


@given(st.binary())
def test_any_stdout_is_survived(written: bytes) -> None:
    found = parse_results(Path("/nonexistent"), written.decode(errors="replace"))
    assert found.regions == () and all(map(math.isfinite, found.metrics.values()))


def test_a_value_out_of_range_is_ignored_with_a_warning_which_is_why_no_launch_gave_it(tmp_path: Path) -> None:
    said = '{"v": 1e300, "w": 1e-300, "x": 0, "y": NaN, "z": 1e400, "huge": 1' + 400 * "0" + "}"
    found = parse_results(tmp_path, said)
    assert found.metrics == {"x": 0} and [one.split(" = ")[0] for one in found.warnings] == ["v", "w", "z", "huge"]
    assert given_by("output:w", found.warnings).startswith("w = 1e-300 is ignored: it is neither 0 nor between 1e-150 ")
    put(tmp_path, "rank-0.1.1.json", {**WHOLE, "metrics": {"v": 1e300}})
    assert [one.split(" is ")[0] for one in parse_results(tmp_path, None).warnings] == ["v = 1e+300"]
