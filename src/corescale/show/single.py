# SPDX-License-Identifier: Apache-2.0
"""One command alone, in the words that a benchmark of it has."""

from corescale.conclude.answers.scaling import Scan
from corescale.conclude.answers.timing import Timing
from corescale.conclude.conclusion import Conclusion
from corescale.show import text


def alone(conclusion: Conclusion) -> Timing | None:
    """The time of a command that has nothing beside it; None where there is something to compare."""
    if isinstance(conclusion, Scan) and len(conclusion.rows) == 1 and conclusion.weak is None:
        return conclusion.rows[0].timing
    return conclusion[0].alone if isinstance(conclusion, tuple) and len(conclusion) == 1 else None


def timed(label: str, found: Timing, response: str, failures: int) -> str:
    """`sleep 0.1: 101 ms ± 1.2 ms (mean ± deviation of 10 launches), from 100 ms to 103 ms`; how many failed."""
    return _timed(label, found, response) + (
        f"; {text.count(failures, 'launch', 'launches')} failed" if failures else ""
    )


def _timed(label: str, found: Timing, response: str) -> str:
    mean, low, high = (text.value(one, response) for one in (found.mean, found.least, found.most))
    if found.deviation is None:
        return f"{label}: {mean} in one launch"
    deviation = text.value(found.deviation, response)
    return f"{label}: {mean} ± {deviation} (mean ± deviation of {found.launches} launches), from {low} to {high}"
