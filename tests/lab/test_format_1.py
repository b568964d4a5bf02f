# SPDX-License-Identifier: Apache-2.0
"""The names of format 1 are translated when they are read (tests/lab/fixtures has whole folders of it), and a finding
that no study can ask any more is left out."""

import dataclasses
import json
from pathlib import Path

from corescale.declare.experiment import Constraint
from corescale.machine import Machine
from corescale.observe.store.run import circumstances, planned
from corescale.records import FORMAT, Configuration, Record, from_dict, to_dict
from support.play import record
from support.runs import FIXTURES


def written_before(made: Record) -> dict[str, object]:
    """The record as format 1 had it."""
    values = to_dict(made)
    values["doubts"] = values.pop("warnings")
    return values | {"format": 1}


def test_a_record_of_format_1_keeps_its_warnings() -> None:
    made = record(Configuration((("a", 1),)), 1.0, warnings=("said",))
    assert from_dict(written_before(made)) == made
    assert made.format == FORMAT


def test_a_plan_of_format_1_keeps_its_baseline_and_its_stop(tmp_path: Path) -> None:
    for name in ("plan.json", "environment.json"):
        (tmp_path / name).write_bytes((FIXTURES["tune"] / name).read_bytes())
    plan = json.loads((tmp_path / "plan.json").read_text())
    plan["experiment"] |= {"today": [["MODE", "c"]]}
    plan["experiment"]["stop"]["confirm_blocks"] = 7
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    experiment, *_ = planned(tmp_path)
    assert experiment.baseline.levels == (("MODE", "c"),)
    assert experiment.stop.confirm_pairs == 7


def test_a_machine_of_format_1_is_the_same_machine() -> None:
    assert circumstances(FIXTURES["tune"])["machine"]["cpus"][0]["l3_domain"] == 0
    assert "l3_domain" in {field.name for field in dataclasses.fields(Machine.here().cpus[0])}


def test_a_constraint_may_still_name_the_baseline_today() -> None:
    assert Constraint.parse("bytes<=1.02*today") == Constraint.parse("bytes<=1.02*baseline")


def test_a_launch_that_failed_and_counts_has_its_status_and_no_doubt() -> None:
    failed = record(Configuration(), 1.0, status="failed", exit_code=3, let_fail=True)
    before = written_before(failed) | {"status": "ok", "doubts": ["x failed with exit code 3, and counts: -i"]}
    del before["let_fail"]
    assert from_dict(before) == failed
    assert failed.ok


def test_a_plan_of_format_1_says_why_no_allocator_was_preloaded(tmp_path: Path) -> None:
    (tmp_path / "environment.json").write_bytes((FIXTURES["tune"] / "environment.json").read_bytes())
    plan = json.loads((FIXTURES["tune"] / "plan.json").read_text())
    plan["experiment"]["left_out"] = ["bind: no", "allocators: x is linked statically"]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    assert planned(tmp_path)[0].no_preload == "x is linked statically"


def test_a_finding_over_a_straight_line_is_left_out_of_a_plan(tmp_path: Path) -> None:
    (tmp_path / "environment.json").write_bytes((FIXTURES["tune"] / "environment.json").read_bytes())
    plan = json.loads((FIXTURES["tune"] / "plan.json").read_text())
    asked = {"kind": "finding", "statement": "", "a": {"MODE": "c"}, "claim": "> 1"}
    outputs = [{**asked, "name": "kept", "line": ""}, {**asked, "name": "linear", "line": "size"}]
    plan["experiment"]["outputs"] = outputs
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    experiment, *_ = planned(tmp_path)
    assert [output.name for output in experiment.study.outputs] == ["kept"]
