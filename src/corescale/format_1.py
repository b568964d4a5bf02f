# SPDX-License-Identifier: Apache-2.0
"""Run folders of format 1: the names that format 2 gives to the same values. Only readers need this."""

from collections.abc import Mapping
from typing import Any

RECORD = {"doubts": "warnings"}
PARTS = {
    "baseline": {"today": "levels", "as_typed": "as_typed", "inherited_allocator": "allocator", "anchored": "returns"},
    "tuning": {"constraints": "constraints", "rehearsal": "rehearsal"},
    "scaling": {"p_ref": "p_ref", "weak": "weak", "seal": "seal"},
    "study": {name: name for name in ("name", "title", "source", "columns", "outputs", "agree", "bandwidth")},
}
"""former fields of an experiment, by the parts that contain them now"""
NO_PRELOAD = "allocators: "
"""how the reason begins if no allocator could be preloaded"""
STOP = {"confirm_blocks": "confirm_pairs"}
KINDS = {"core_groups": "l3_domains"}
CPU = {"core_group": "l3_domain"}
COUNTS = "and counts: -i"
"""end of the warning about a launch that failed and counts all the same"""


def record(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a record, by the names of format 2."""
    made = _renamed(values, RECORD)
    said = [str(each) for each in made.get("warnings", ())]
    if not any(each.endswith(COUNTS) for each in said):
        return made
    failed = {"status": "signal" if made.get("exit_code", 0) < 0 else "failed", "let_fail": True}
    return {**made, **failed, "warnings": [each for each in said if not each.endswith(COUNTS)]}


def experiment(values: Mapping[str, Any]) -> dict[str, Any]:
    """The experiment of a plan, by the names of format 2."""
    made = dict(values)
    made |= {part: {new: made.pop(old) for old, new in names.items() if old in made} for part, names in PARTS.items()}
    left_out = [str(each) for each in made.get("left_out", ())]
    made["no_preload"] = next((each.removeprefix(NO_PRELOAD) for each in left_out if each.startswith(NO_PRELOAD)), "")
    made["stop"] = _renamed(made.get("stop", {}), STOP)
    made["factors"] = [{**each, "kind": KINDS.get(each["kind"], each["kind"])} for each in made.get("factors", ())]
    return made


def machine(values: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a machine, by the names of format 2."""
    cpus = values.get("cpus")
    return {**values, "cpus": [_renamed(cpu, CPU) for cpu in cpus]} if isinstance(cpus, list) else dict(values)


def _renamed(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in values.items()}
