# SPDX-License-Identifier: Apache-2.0
"""hyperfine's JSON, field for field, so that scripts for hyperfine can read our runs.

Times are in seconds, and parameters are strings. Blocks, intervals and warnings are left out, because the format has no
fields for them. `--json` prints everything.
"""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corescale.conclude.answers.scaling import Scan
from corescale.conclude.response import of
from corescale.declare import grid, template
from corescale.records import Configuration, Record
from corescale.show.result import Result


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One entry of `results`: a configuration's measuring launches. As in hyperfine, failed launches are among them."""

    configuration: Configuration
    command: str
    launches: Sequence[Record]

    @property
    def times(self) -> list[float]:
        """Wall times of the launches that succeeded; if none did, of all."""
        return [record.wall for record in self.counted]

    @property
    def counted(self) -> Sequence[Record]:
        """The launches whose times may be used, or else all, whose `exit_codes` show the failures."""
        return [record for record in self.launches if record.ok] or self.launches

    @property
    def parameters(self) -> dict[str, str]:
        """The level of each factor."""
        return {name: str(level) for name, level in self.configuration.levels if name != "command"}


def export(result: Result) -> str:
    """The JSON text."""
    found = {"results": [_entry(benchmark, result) for benchmark in benchmarks(result)]}
    return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def benchmarks(result: Result) -> tuple[Benchmark, ...]:
    """The configurations that were launched, each with the line that launches it; those of a scan in order of p, and
    others in the request's order."""
    measured = [record for record in result.records if record.phase == "measure"]
    seen = {record.configuration for record in measured}
    shown = result.conclusion.rows if isinstance(result.conclusion, Scan) else ()
    order = [*(row.configuration for row in shown), *(c for c in result.lines if c in seen)]
    every = dict.fromkeys([*order, *(r.configuration for r in measured)])
    return tuple(Benchmark(c, _name(result, c), of(measured, c)) for c in every)


def _name(result: Result, configuration: Configuration) -> str:
    """The name of a configuration; a compared command's given name, with parameters filled in as in hyperfine."""
    given = configuration.get("command")
    if given is None:
        return result.line(configuration)
    values = {name: str(value) for name, value in grid.parameters(result.experiment, configuration).items()}
    known = template.placeholders([str(given)]) <= values.keys()
    return template.fill([str(given)], values)[0] if known else str(given)


def summary(benchmark: Benchmark) -> dict[str, float | None]:
    """hyperfine's seven numbers, in seconds, over the launches; stddev is None for one launch, and CPU times are if a
    simulation does not know them."""
    times, counted = benchmark.times, benchmark.counted
    known = not any(math.isnan(record.cpu) for record in counted)
    return {
        "mean": statistics.fmean(times),
        "stddev": statistics.stdev(times) if len(times) > 1 else None,
        "median": statistics.median(times),
        "user": statistics.fmean(record.user for record in counted) if known else None,
        "system": statistics.fmean(record.system for record in counted) if known else None,
        "min": min(times),
        "max": max(times),
    }


def _entry(benchmark: Benchmark, result: Result) -> Mapping[str, object]:
    name = result.named(benchmark.command, benchmark.configuration)
    entry: dict[str, object] = {"command": name, **summary(benchmark), "times": benchmark.times}
    if any(record.peak_memory for record in benchmark.counted):
        entry["memory_usage_byte"] = [record.peak_memory for record in benchmark.counted]
    entry["exit_codes"] = [record.exit_code for record in benchmark.counted]
    return entry | ({"parameters": benchmark.parameters} if benchmark.parameters else {})
