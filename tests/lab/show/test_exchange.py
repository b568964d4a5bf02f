# SPDX-License-Identifier: Apache-2.0
"""Exports: every format of the table, hyperfine's field for field, ours by its schema."""

import csv
import io
import json
import statistics
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from corescale.api.results import concluded
from corescale.conclude.answers.candidates import Flaky
from corescale.conclude.answers.recommendation import Recommendation
from corescale.declare.experiment import Command, Experiment, Factor
from corescale.declare.grid import configurations
from corescale.declare.request import RunRequest, options
from corescale.errors import UsageError
from corescale.show import exchange, files
from corescale.show.exchange.result_json import finite
from corescale.show.result import Result
from support import samples


def no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@pytest.mark.parametrize("form", exchange.EXPORTERS)
def test_every_format_has_its_option_and_its_row(form: str) -> None:
    flags = {field.name: field.metadata["flags"] for field in options(RunRequest)}
    assert flags[f"export_{form}"] == (f"--export-{form}",)
    guide = (Path(__file__).parents[3] / "docs" / "output.md").read_text()
    assert f"`--export-{form}`" in guide


@pytest.mark.parametrize("name", samples.RESULTS)
@pytest.mark.parametrize("form", exchange.EXPORTERS)
def test_every_format_of_every_result(form: str, name: str) -> None:
    content = exchange.EXPORTERS[form](samples.RESULTS[name]())
    if name == "all failed" and form in ("bencher", "github", "extrap"):  # which have no place for a failure
        assert content.strip() in ("", "{}", "[]")
        return
    assert content.endswith("\n") and len(content) > 60
    names = next(csv.reader(io.StringIO(content))) if form in ("csv", "records") else ()
    assert len({*names}) == len(names)
    assert "nan" not in content.lower().split() and "\x1b" not in content


@pytest.mark.parametrize("name", samples.RESULTS)
def test_our_json_meets_its_schema(name: str) -> None:
    schema = exchange.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    result = samples.RESULTS[name]()
    values = json.loads(exchange.to_json(result), parse_constant=no_constant)
    jsonschema.Draft202012Validator(schema).validate(values)
    assert values["origin"] == ["fake"]
    assert values["warnings"] == list(result.warnings)


@pytest.mark.parametrize(
    "damage",
    [
        lambda v: v.pop("headline"),
        lambda v: v.update(verb="tune"),
        lambda v: v["conclusion"]["curves"][0]["rows"][0].update(speedup=1.0),
        lambda v: v.update(surprise=1),
        lambda v: v.update(origin=["guessed"]),
    ],
)
def test_the_schema_refuses(damage: object) -> None:
    values = json.loads(exchange.to_json(samples.RESULTS["scan"]()))
    damage(values)  # type: ignore[operator]
    assert list(jsonschema.Draft202012Validator(exchange.schema()).iter_errors(values))


def test_what_fails_now_and_then_is_said_in_json_too() -> None:
    result = samples.RESULTS["tune"]()
    found = result.conclusion
    assert isinstance(found, Recommendation)
    changed = replace(
        found, flaky=Flaky(found.winner, 1.5, 2, 20), failing="failed in 1 of 24 launches", by_chance=True
    )
    values = json.loads(exchange.to_json(replace(result, conclusion=changed)))
    jsonschema.Draft202012Validator(exchange.schema()).validate(values)
    told, flaky = values["conclusion"], values["conclusion"]["flaky"]
    assert (told["failing"], told["by_chance"]) == ("failed in 1 of 24 launches", True)
    assert flaky["levels"] == dict(found.winner.levels)
    assert (flaky["faster"], flaky["failures"], flaky["launches"]) == (1.5, 2, 20)


def test_numbers_that_json_lacks_are_null() -> None:
    assert finite({"a": [float("nan"), float("inf"), 1.5], "b": {"c": -float("inf")}}) == {
        "a": [None, None, 1.5],
        "b": {"c": None},
    }


def test_our_json_labels_each_configuration() -> None:
    made = samples.records(
        samples.scan_experiment(), samples.amdahl(), 12, change=lambda c, b: {"oversubscribed": c.layout.p == 8}
    )
    values = json.loads(exchange.to_json(samples.scan_result(made=made)))
    rows = values["conclusion"]["curves"][0]["rows"]
    assert [row["oversubscribed"] for row in rows] == [False, False, False, True]
    assert {origin for row in rows for origin in row["origin"]} == {"fake"}
    assert values["conclusion"]["curves"][0]["fits"][0]["forecast"]["origin"] == "extrapolated"


def test_hyperfine_json_holds_what_its_scripts_read() -> None:
    result: Result = samples.RESULTS["tune"]()
    found = json.loads(exchange.EXPORTERS["json"](result))["results"]
    assert len(found) == 8
    for entry in found:
        assert list(entry) == [
            "command", "mean", "stddev", "median", "user", "system", "min", "max",
            "times", "memory_usage_byte", "exit_codes", "parameters",
        ]  # fmt: skip
        assert entry["mean"] == pytest.approx(statistics.fmean(entry["times"]))
        assert entry["min"] == min(entry["times"]) and entry["max"] == max(entry["times"])
        assert len(entry["times"]) == len(entry["exit_codes"]) == len(entry["memory_usage_byte"]) == 12
        assert all(isinstance(value, str) for value in entry["parameters"].values())
    assert {"allocator", "threads"} == set(found[0]["parameters"])


def test_hyperfine_json_names_commands_as_they_were_launched() -> None:
    """Its scripts have the command as the label of a bar or a curve: no two of them may be alike."""
    commands = (Command(name="sleep 0.{n}", argv=("sleep", "0.{n}")), Command(name="{as} given", argv=("true",)))
    factors = (
        Factor(name="command", kind="command", levels=("sleep 0.{n}", "{as} given")),
        Factor(name="n", kind="parameter", levels=("1", "2")),
    )
    experiment = Experiment(verb="compare", commands=commands, factors=factors)
    made = samples.records(experiment, lambda _: 1.0, 2)
    lines = dict.fromkeys(configurations(experiment), "a line")
    found = json.loads(exchange.EXPORTERS["json"](concluded(made, experiment, lines, {})))["results"]
    assert [entry["command"] for entry in found] == [
        f"{name} (fake)" for name in ("sleep 0.1", "sleep 0.2", "{as} given", "{as} given")
    ]
    assert [entry["parameters"] for entry in found][:2] == [{"n": "1"}, {"n": "2"}]


def test_hyperfine_json_leaves_failed_launches_out() -> None:
    made = samples.records(
        samples.scan_experiment(), samples.amdahl(), 12,
        change=lambda c, b: {"status": "failed", "exit_code": 3} if b == 0 else {},
    )  # fmt: skip
    found = json.loads(exchange.EXPORTERS["json"](samples.scan_result(made=made)))["results"]
    assert found
    assert all(len(entry["times"]) == 11 and set(entry["exit_codes"]) == {0} for entry in found)


def test_csv_has_hyperfines_columns() -> None:
    rows = list(csv.DictReader(io.StringIO(exchange.EXPORTERS["csv"](samples.RESULTS["tune"]()))))
    assert list(rows[0])[:10] == [
        "command", "mean", "stddev", "median", "user", "system", "min", "max",
        "parameter_threads", "parameter_allocator",
    ]  # fmt: skip
    assert len(rows) == 8 and float(rows[0]["mean"]) > 0


def test_one_launch_has_no_deviation() -> None:
    found = json.loads(exchange.EXPORTERS["json"](samples.scan_result(1)))["results"]
    assert found[0]["stddev"] is None
    rows = list(csv.DictReader(io.StringIO(exchange.EXPORTERS["csv"](samples.scan_result(1)))))
    assert rows[0]["stddev"] == "0.0"


def test_cpu_times_that_a_simulation_does_not_know_are_absent() -> None:
    made = samples.records(samples.scan_experiment(), samples.amdahl(), 3, change=lambda c, b: {"origin": "simulated"})
    result = samples.scan_result(made=made)
    found = json.loads(exchange.EXPORTERS["json"](result))["results"]
    assert {(entry["user"], entry["system"]) for entry in found} == {(None, None)}
    (row, *_) = csv.DictReader(io.StringIO(exchange.EXPORTERS["csv"](result)))
    assert (row["user"], row["system"], float(row["mean"]) > 0) == ("", "", True)


def test_records_csv_has_every_launch() -> None:
    result = samples.RESULTS["failing tune"]()
    rows = list(csv.DictReader(io.StringIO(exchange.EXPORTERS["records"](result))))
    assert len(rows) == len(result.records)
    assert {row["status"] for row in rows} == {"ok", "signal"}
    assert float(rows[0]["wall"]) == result.records[0].wall


def test_markdown_escapes_and_labels() -> None:
    content = exchange.EXPORTERS["markdown"](samples.compare_result(names=("a|b", "c`d")))
    rows = [line for line in content.splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in rows}) == 1
    assert "``c`d``" in content and "fake" in rows[-1]
    assert "[" in rows[-1] and "x" in rows[-1]


def test_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.json"
    files.write(str(target), "one")
    assert target.read_text() == "one" and target.stat().st_mode & 0o111 == 0

    def full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match="No space left"):
        files.write(str(target), "two")
    assert target.read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_an_unwritable_target_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        files.write(str(tmp_path / "missing" / "out.json"), "x")


def test_a_device_is_written_and_not_replaced() -> None:
    files.write("/dev/null", "x")
    assert Path("/dev/null").is_char_device()


def test_a_scan_is_exported_in_order_of_p() -> None:
    rows = json.loads(exchange.EXPORTERS["json"](samples.scan_result()))["results"]
    order = [int(row["parameters"]["threads"]) for row in rows]
    assert order == sorted(order)
