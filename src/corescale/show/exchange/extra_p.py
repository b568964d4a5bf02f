# SPDX-License-Identifier: Apache-2.0
"""Extra-P's JSON lines: a line for each launch that succeeded, with p and every factor that is a number.

`time` is the response. Extra-P models what grows, and the time of the same work shrinks: `core_seconds` is p T.
"""

import json
import math
from collections.abc import Iterator, Mapping

from corescale.records import Record
from corescale.show.result import Result


def export(result: Result) -> str:
    """The lines, in order of the launches; levels that are words are the call path."""
    lines = (line for record in result.records for line in _lines(result, record))
    return "".join(f"{json.dumps(line, allow_nan=False)}\n" for line in lines)


def _lines(result: Result, record: Record) -> Iterator[Mapping[str, object]]:
    value = record.response(result.experiment.response)
    if record.phase != "measure" or not record.ok or not math.isfinite(value):
        return
    p, makes_p = record.configuration.layout.p, result.experiment.makes_p
    levels = {name: level for name, level in record.configuration.levels if name not in makes_p}
    numbers = {"p": p} | {name: level for name, level in levels.items() if not isinstance(level, str)}
    words = [f"{name}={level}" for name, level in levels.items() if isinstance(level, str)]
    for metric, amount in (("time", value), ("core_seconds", p * value)):
        yield {"params": numbers, "callpath": " ".join(words) or "main", "metric": metric, "value": amount}
