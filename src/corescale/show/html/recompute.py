# SPDX-License-Identifier: Apache-2.0
"""The data from which the page recomputes its ratios: the table of blocks x configurations, the direction of ratios,
and the ranks of interval ends by confidence and number of blocks, so that the page needs no distributions of its own.

templates/recompute.js does with them what conclude/stats.py does, to 1e-9 (tests/browser/test_recompute.py).
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from corescale.conclude import stats
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.conclusion import calm_decide
from corescale.conclude.response import Step, table
from corescale.conclude.warnings import warnings
from corescale.show import columns, text
from corescale.show.naming import label
from corescale.show.result import Result

FEWEST = 2
"""least number of configurations for a ratio"""

CONFIDENCES = (0.8, 0.9, 0.95, 0.99)
"""confidences that the page offers, besides the run's own"""


def measured(result: Result) -> Mapping[str, Any] | None:
    """JSON values of the measuring blocks; None if nothing can be compared.

    `values`: the response by block and configuration, null if there is none. `kept`: which blocks were not disturbed
    from outside. `calm`: whether only those decided. `steps`: the steps of a quantised response, in all blocks and in
    the kept ones. `confidences`: the ranks of interval ends. `read`: whether a ratio is baseline / other or other /
    baseline.
    """
    times = table(result.records, result.experiment.response)
    if len(times.configurations) < FEWEST:
        return None
    found = result.conclusion.found if isinstance(result.conclusion, Study) else result.conclusion
    calm = warnings(result.records, result.experiment).undisturbed
    kept = {record.block for record in calm}
    stop, name = result.experiment.stop, result.experiment.response
    rows = columns.of(result).rows
    order = [c for c in rows if c in times.places]
    tuned = isinstance(found, Recommendation)
    reference = {c: found.baseline if isinstance(found, Recommendation) else row.reference for c, row in rows.items()}
    cells = times.values[:, [times.places[c] for c in order]]
    spent = 1.0 if tuned else stop.spent
    statements = max(1, len(order) - 1) if isinstance(found, tuple) else 1
    counts = _counts(cells, [block in kept for block in times.blocks])
    return {
        "names": [label(c) for c in order],
        "p": [c.layout.p for c in order],
        "reference": [order.index(one) if (one := reference[c]) in order else k for k, c in enumerate(order)],
        "blocks": list(times.blocks),
        "kept": [block in kept for block in times.blocks],
        "values": [[value if math.isfinite(value) else None for value in row] for row in cells.tolist()],
        "steps": [0.0, 0.0] if tuned else [Step.of(each, result.experiment) for each in (result.records, calm)],
        "calm": calm_decide(calm, result.experiment),
        "confidence": stop.confidence,
        "confidences": [
            {"confidence": each, "limits": _limits(counts, each, stats.bonferroni(1 - spent * (1 - each), statements))}
            for each in sorted({*CONFIDENCES, stop.confidence})
        ],
        "read": "tune" if tuned else "scan" if isinstance(found, Scan) and result.experiment.makes_p else "compare",
        "weak": result.experiment.scaling.weak is not None,
        "time": text.is_time(name),
        "origins": ", ".join(result.origins),
    }


def _counts(cells: stats.Floats, kept: list[bool]) -> list[int]:
    """All numbers of values or pairs that a choice of configurations and blocks can leave."""
    there = [known[rows].astype(int) for known in (np.isfinite(cells), cells > 0) for rows in (slice(None), kept)]
    return sorted({0, *(int(n) for one in there for n in np.unique(one.T @ one))})


def _limits(counts: list[int], confidence: float, each: float) -> Mapping[int, Mapping[str, float | None]]:
    """For each number of values: the order statistic that bounds a median, the Walsh average that bounds a ratio, and
    the quantile for a ratio of means. `each`: the confidence of one ratio of several."""
    return {
        n: {
            "rank": stats.median_rank(n, confidence),
            "tail": stats.tail_count(n, (1 - each) / 2),
            "quantile": stats.t_quantile(n, each),
        }
        for n in counts
    }
