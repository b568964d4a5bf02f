# SPDX-License-Identifier: Apache-2.0
"""What the page works its ratios out from again: blocks x configurations, and how the verb reads them.

templates/again.js does with them what conclude/stats.py does: tests/browser/test_again.py compares the two to 1e-9.
"""

import math
from collections.abc import Mapping
from typing import Any

from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.response import Step, table
from corescale.conclude.warnings import warnings
from corescale.declare.stop import LOOK_ERROR
from corescale.records import Configuration
from corescale.show import columns, text
from corescale.show.naming import label
from corescale.show.result import Result

FEWEST = 2
"""configurations, below which there is no ratio"""


def measured(result: Result) -> Mapping[str, Any] | None:
    """JSON values of the measuring blocks; None where nothing can be compared.

    `values`: the response by block and configuration, null where there is none. `kept`: blocks that no disturbance from
    outside hit. `steps`: what the response is quantised in, in all blocks and in those. `spent`: what each interval has
    of the error that the confidence leaves. `read` are the columns: of the baseline over each, or of each over it.
    """
    times = table(result.records, result.experiment.response)
    if len(times.configurations) < FEWEST:
        return None
    found = result.conclusion.found if isinstance(result.conclusion, Study) else result.conclusion
    calm = warnings(result.records, result.experiment).undisturbed
    kept = {record.block for record in calm}
    stop, name = result.experiment.stop, result.experiment.response
    order = [c for c in columns.of(result).rows if c in times.configurations]
    reference, cells = _references(found), times.values[:, [times.configurations.index(c) for c in order]]
    return {
        "names": [text.clean(label(c).removeprefix("command=")) for c in order],
        "p": [c.layout.p for c in order],
        "reference": [order.index(one) if (one := reference.get(c, c)) in order else k for k, c in enumerate(order)],
        "blocks": list(times.blocks),
        "kept": [block in kept for block in times.blocks],
        "values": [[value if math.isfinite(value) else None for value in row] for row in cells.tolist()],
        "steps": [0.0, 0.0]
        if isinstance(found, Recommendation)
        else [Step.of(result.records, name), Step.of(calm, name)],
        "confidence": stop.confidence,
        "spent": LOOK_ERROR if stop.rule == "width" and not isinstance(found, Recommendation) else 1.0,
        "statements": max(1, len(order) - 1) if isinstance(found, tuple) else 1,
        "read": "scan" if isinstance(found, Scan) else "compare" if isinstance(found, tuple) else "tune",
        "weak": result.experiment.scaling.weak is not None,
        "time": text.is_time(name),
        "origins": ", ".join(result.origins),
    }


def _references(found: Any) -> Mapping[Configuration, Configuration]:
    if isinstance(found, Scan):
        return {row.configuration: row.reference for row in found.rows}
    if isinstance(found, Recommendation):
        return {one.configuration: found.baseline for one in found.candidates}
    return {one.other: one.reference for one in found}  # of the first command itself, it is none
