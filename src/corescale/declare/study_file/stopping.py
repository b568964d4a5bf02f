# SPDX-License-Identifier: Apache-2.0
"""The rule that the table [stop] declares."""

import math
from typing import Any

from corescale.declare.quantities import confidence, seconds, share
from corescale.declare.stop import MOST_BLOCKS, USUAL_BUDGET, Stop
from corescale.declare.study_file.tables import StopTable
from corescale.errors import UsageError


def of(table: StopTable, runs: int | None) -> Stop:
    """The rule; `runs`, where given, is the exact number of blocks instead; raises UsageError below 1."""
    if runs is not None and runs < 1:
        raise UsageError(f"{runs} runs are no measurement", where="-r", remedy="write -r 10")
    blocks = runs or table.replicates
    rule: dict[str, Any] = {
        "rule": "replicates" if runs else table.rule,
        "width": share(str(table.width), "stop.width"),
        "within": share(str(table.within), "stop.within"),
        "confidence": confidence(str(table.confidence), "stop.confidence"),
        "confirm_blocks": table.confirm_blocks if table.rule == "race" else 0,
    }
    budget = table.budget if table.budget is not None or rule["rule"] == "replicates" else USUAL_BUDGET
    rule["budget"] = None if budget in (None, "none") else seconds_of(budget, "stop.budget")
    if rule["rule"] == "replicates":
        return Stop.model_validate(rule | {"min_blocks": blocks, "max_blocks": blocks})
    most = MOST_BLOCKS if table.rule == "race" else Stop().max_blocks
    least = table.min_blocks or Stop().min_blocks
    return Stop.model_validate(rule | {"min_blocks": least, "max_blocks": max(least, table.max_blocks or most)})


def seconds_of(value: object, where: str) -> float:
    """Seconds of a number, or of a text such as 90s; raises UsageError."""
    return float(value) if isinstance(value, int | float) and 0 < value < math.inf else seconds(str(value), where)
