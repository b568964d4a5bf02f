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
"""what an experiment had beside its other fields, by the parts that have them now"""
NO_PRELOAD = "allocators: "
"""how the reason begins if no allocator could be preloaded"""
STOP = {"confirm_blocks": "confirm_pairs"}
RENAMED_KINDS = {"core_groups": "l3_domains"}
CPU = {"core_group": "l3_domain"}


COUNTS = "and counts: -i"
"""end of the doubt of a launch that failed and counts as if it had not"""


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
    parts = {part: {new: made.pop(old) for old, new in names.items() if old in made} for part, names in PARTS.items()}
    made |= parts
    left_out = [str(each) for each in made.get("left_out", ())]
    made["no_preload"] = next((each.removeprefix(NO_PRELOAD) for each in left_out if each.startswith(NO_PRELOAD)), "")
    if isinstance(stop := made.get("stop"), Mapping):
        made["stop"] = _renamed(stop, STOP)
    if isinstance(factors := made.get("factors"), list):
        made["factors"] = [
            {**each, "kind": RENAMED_KINDS.get(str(each.get("kind")), each.get("kind"))}
            if isinstance(each, Mapping)
            else each
            for each in factors
        ]
    return made


def machine(values: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a machine, by the names of format 2."""
    cpus = values.get("cpus")
    if not isinstance(cpus, list):
        return dict(values)
    return {**values, "cpus": [_renamed(cpu, CPU) if isinstance(cpu, Mapping) else cpu for cpu in cpus]}


def _renamed(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in values.items()}
