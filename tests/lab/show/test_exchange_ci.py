# SPDX-License-Identifier: Apache-2.0
"""What continuous integration and Extra-P read: the fields that these programs ask for, and what decides."""

import csv
import io
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from corescale.conclude.answers.verdict import Gated
from corescale.show import exchange
from corescale.show.result import Result
from support import samples

BMF = {
    "type": "object",
    "patternProperties": {
        ".+": {
            "type": "object",
            "patternProperties": {
                ".+": {
                    "type": "object",
                    "properties": {key: {"type": "number"} for key in ("value", "lower_value", "upper_value")},
                    "required": ["value"],
                }
            },
        }
    },
}
"""https://bencher.dev/docs/reference/bencher-metric-format"""


@pytest.mark.parametrize("name", samples.RESULTS)
def test_every_result_has_every_format(name: str) -> None:
    result = samples.RESULTS[name]()
    jsonschema.validate(json.loads(exchange.EXPORTERS["bencher"](result)), BMF)
    for one in json.loads(exchange.EXPORTERS["github"](result)):
        assert isinstance(one["value"], float) and {"name", "unit", "extra"} <= {*one}
    suite = ET.fromstring(exchange.EXPORTERS["junit"](result))
    cases = suite.findall("testcase")
    assert len(cases) == int(suite.attrib["tests"]) > 0
    for total, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.attrib[total]) == len(suite.findall(f"testcase/{kind}"))
    for line in exchange.EXPORTERS["extrap"](result).splitlines():
        assert {*json.loads(line)} == {"params", "callpath", "metric", "value"}


def test_bencher_has_nanoseconds_and_the_interval() -> None:
    result = samples.scan_result()
    found = json.loads(exchange.EXPORTERS["bencher"](result))
    row = next(iter(result.conclusion.rows))  # type: ignore[union-attr]
    one = found["threads=1 (fake)"]["latency"]
    assert (
        one["value"] == pytest.approx(1e9 * row.time.estimate)
        and one["lower_value"] < one["value"] < one["upper_value"]
    )
    assert found["threads=8 (fake)"]["speedup"]["value"] > 3
    assert "relative-time" in json.loads(exchange.EXPORTERS["bencher"](samples.compare_result()))["new (fake)"]


ENDS = [("failed", "failure"), ("crashed", "error"), ("inconclusive", "skipped"), ("passed", None)]


@pytest.mark.parametrize(("gate", "kind"), ENDS)
def test_a_gate_ends_a_test_case(gate: Any, kind: str | None) -> None:
    result: Result = samples.compare_result()
    assert isinstance(result.conclusion, tuple)
    gates = [(one, Gated("time", 0.05, one.ratio, gate)) for one in result.conclusion]
    gated = replace(result, conclusion=tuple(replace(one, gates=(made,)) for one, made in gates))
    suite = ET.fromstring(exchange.EXPORTERS["junit"](gated))
    ended = [child.tag for child in suite.findall("testcase/*")]
    assert ended == ([kind] if kind else [])


def test_what_never_succeeded_is_an_error_and_no_benchmark() -> None:
    result = samples.failing_tune()
    suite = ET.fromstring(exchange.EXPORTERS["junit"](result))
    failed = {case.attrib["name"] for case in suite.findall("testcase") if case.find("error") is not None}
    assert failed and all("threads=4" in name for name in failed)
    assert not failed & {*json.loads(exchange.EXPORTERS["bencher"](result))}


def test_extra_p_has_every_launch_twice() -> None:
    result = samples.two_curves()
    lines = [json.loads(line) for line in exchange.EXPORTERS["extrap"](result).splitlines()]
    assert len(lines) == 2 * len(result.records)
    assert {line["callpath"] for line in lines} == {"allocator=system (fake)", "allocator=mimalloc (fake)"}
    time, core_seconds = lines[0], lines[1]
    assert core_seconds["value"] == pytest.approx(time["params"]["p"] * time["value"])


@pytest.mark.skipif(shutil.which("extrap") is None, reason="extrap is not on PATH (pip install extrap, with Qt)")
def test_extra_p_finds_the_model_that_made_the_times(tmp_path: Path) -> None:
    """Core-seconds of Amdahl's law are a constant and a multiple of p."""
    file = tmp_path / "scan.jsonl"
    file.write_text(exchange.EXPORTERS["extrap"](samples.scan_result()))
    done = subprocess.run(["extrap", "--json", str(file)], capture_output=True, text=True, check=True)
    _, _, core_seconds = done.stdout.partition("Metric: core_seconds")
    assert re.search(r"Model: [67]\.\d+ \+ [01]\.\d+ \* p\^\(1\)", core_seconds)


def test_what_is_not_decided_is_skipped() -> None:
    few = samples.tune_result(2, confirm=0)
    assert not few.conclusion.decided  # type: ignore[union-attr]
    suite = ET.fromstring(exchange.EXPORTERS["junit"](few))
    assert int(suite.attrib["skipped"]) == int(suite.attrib["tests"])
    assert ET.fromstring(exchange.EXPORTERS["junit"](samples.tune_result())).attrib["skipped"] == "0"


def test_a_name_says_that_its_numbers_were_simulated_and_of_measured_ones_nothing() -> None:
    """Of every format that has a field for a name and none for the origin."""
    for origin, end in (("simulated", " (simulated)"), ("measured", "")):
        result = samples.compare_result(origin=origin)
        names = [*json.loads(exchange.EXPORTERS["bencher"](result))]
        names += [one["name"] for one in json.loads(exchange.EXPORTERS["github"](result))]
        names += [one["command"] for one in json.loads(exchange.EXPORTERS["json"](result))["results"]]
        names += [row["command"] for row in csv.DictReader(io.StringIO(exchange.EXPORTERS["csv"](result)))]
        names += [json.loads(line)["callpath"] for line in exchange.EXPORTERS["extrap"](result).splitlines()]
        names += [
            case.attrib["name"] for case in ET.fromstring(exchange.EXPORTERS["junit"](result)).findall("testcase")
        ]
        assert names and all(name.endswith(end) and ("(" in name) == bool(end) for name in names)
