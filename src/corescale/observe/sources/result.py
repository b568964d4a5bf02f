# SPDX-License-Identifier: Apache-2.0
"""What a program reports about itself, in the files of region.h, or else in the last JSON object on its stdout."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, NonNegativeInt, ValidationError

from corescale import documents
from corescale.declare.experiment import Experiment
from corescale.declare.metric_sources import out_of_range, usable
from corescale.errors import ProgramError
from corescale.observe.scratch import Scratch
from corescale.observe.sources.source import Found, Source
from corescale.profile import Span
from corescale.records import Origin, Region

FORMAT = 1
"""format of the files; written by runtime/include/corescale/region.h and by corescale/region.py"""
FOLDER = "CORESCALE_RESULT"
"""The variable with the folder into which a program writes its files."""
SPANS = "CORESCALE_SPANS"
"""The variable that asks for the times at which regions began and ended."""
SIMULATED = "simulated"
"""The metric that a program reports as non-zero if its times are a simulated machine's."""
LAST_OUTPUT = 1 << 16
"""bytes at the end of stdout in which a program's own JSON line is searched"""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """What all ranks and processes of one launch reported together."""

    regions: tuple[Region, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    checks: Mapping[str, bool] = field(default_factory=dict)
    work: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def origin(self) -> Origin:
        """The origin of its numbers, by the metric SIMULATED."""
        return "simulated" if self.metrics.get(SIMULATED) else "measured"


class _RegionLine(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)
    name: str
    thread: NonNegativeInt
    calls: NonNegativeInt
    seconds: NonNegativeFloat
    spans: list[Annotated[list[NonNegativeInt], Field(min_length=3, max_length=3)]] = []
    """the kernel's thread number; nanoseconds of CLOCK_MONOTONIC when the thread entered and left the region"""


class _File(BaseModel):
    """The file of one process. A number that is not finite is null, and counts as absent."""

    model_config = ConfigDict(strict=True)
    rank: int
    pid: int
    regions: list[_RegionLine]
    metrics: dict[str, float | None]
    checks: dict[str, bool]
    work: float | None


def parse_results(directory: Path, stdout_tail: str | None) -> ProgramResult:
    """The report of a launch (docs/region.md), from the files of region.h, or else from the last JSON object on stdout.

    If several processes have the same rank, their threads are numbered consecutively. Raises ProgramError for a torn or
    malformed file.
    """
    files = [_read(path) for path in sorted(directory.glob("rank-*.json"))]
    if files:
        return _merged(sorted(files, key=lambda file: (file.rank, file.pid)))
    return _from_stdout(stdout_tail or "")


def spans(directory: Path) -> tuple[Span, ...]:
    """The times at which threads were in regions, if asked for; raises ProgramError as `parse_results` does."""
    return tuple(
        Span(line.name, file.pid, thread, begin * 1e-9, end * 1e-9)
        for path in sorted(directory.glob("rank-*.json"))
        for file in [_read(path)]
        for line in file.regions
        for thread, begin, end in line.spans
    )


def _read(path: Path) -> _File:
    try:
        values = documents.value(documents.content(path).decode("utf-8", errors="replace"), finite=False)
    except OSError as error:
        raise _fault(path, error.strerror or str(error)) from error
    except ValueError as error:
        raise _fault(path, f"cut off, or not JSON ({error})") from error
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        found = values.get("format") if isinstance(values, dict) else None
        raise _fault(path, f"result format {found}, but this version reads {FORMAT}")
    try:
        return _File.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise _fault(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _fault(path: Path, what: str) -> ProgramError:
    return ProgramError(what, where=str(path), remedy="use the region.h of corescale, and check that the disk has room")


def _merged(files: list[_File]) -> ProgramResult:
    """`files` in order of rank, then pid."""
    metrics: dict[str, float] = {}
    checks: dict[str, bool] = {}
    for file in files:
        for name, value in _usable(file.metrics.items()):
            metrics.setdefault(name, value)
        for name, ok in file.checks.items():
            checks[name] = checks.get(name, True) and ok
    works = [value for _, value in _usable(("work", file.work) for file in files)]
    ignored = tuple(said for file in files for said in _ignored([*file.metrics.items(), ("work", file.work)]))
    return ProgramResult(tuple(_regions(files)), metrics, checks, sum(works) if works else None, ignored)


def _regions(files: list[_File]) -> Iterable[Region]:
    threads: dict[int, int] = {}
    for file in files:
        first = threads.get(file.rank, 0)
        for line in file.regions:
            yield Region(line.name, file.rank, first + line.thread, line.calls, line.seconds)
        threads[file.rank] = first + 1 + max((line.thread for line in file.regions), default=-1)


def _numbers(pairs: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, float]]:
    """The pairs whose values are numbers; booleans and NaN are not. An integer too large for a float is infinite."""
    for name, value in pairs:
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if not math.isnan(number):
                yield name, number


def _usable(pairs: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, float]]:
    """The pairs whose values may be those of metrics."""
    return ((name, value) for name, value in _numbers(pairs) if usable(value))


def _ignored(pairs: Iterable[tuple[str, Any]]) -> tuple[str, ...]:
    """A warning for each pair whose number is out of range."""
    return tuple(out_of_range(name, value) for name, value in _numbers(pairs) if not usable(value))


def _from_stdout(text: str) -> ProgramResult:
    for line in reversed(re.split(r"[\r\n]+", text)):
        values = _object(line)
        checks = {name: value for name, value in values.items() if isinstance(value, bool)}
        metrics = dict(_usable(values.items()))
        if any(isinstance(value, int | float) for value in values.values()):
            return ProgramResult((), metrics, checks, metrics.pop("work", None), _ignored(values.items()))
    return ProgramResult()


def _object(line: str) -> dict[str, Any]:
    if not line.lstrip().startswith("{"):
        return {}
    try:
        values = documents.value(line, finite=False)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _environment(scratch: Scratch) -> Mapping[str, str]:
    asked = {SPANS: "1"} if scratch.spans else {}
    return {FOLDER: str(scratch.of(NAME)), **asked}


def _reads_output(experiment: Experiment) -> bool:
    """Whether the program's JSON line may be needed, for work, for a response or for a declared metric."""
    declared = any(source.partition(":")[0] in GIVES for source in experiment.metrics.values())
    return declared or experiment.scaling.weak is not None or experiment.response != "wall"


def _found(scratch: Scratch) -> Found:
    found = parse_results(scratch.of(NAME), scratch.said(LAST_OUTPUT))
    fields = {"regions": found.regions, "metrics": found.metrics, "checks": found.checks, "work": found.work}
    measured = {f"{source}:{name}": value for source in GIVES for name, value in found.metrics.items()}
    when = spans(scratch.of(NAME)) if scratch.spans else ()
    return Found(fields | {"origin": found.origin}, measured=measured, warnings=found.warnings, spans=when)


NAME = "result"
GIVES = "output", "count"
SOURCE = Source(NAME, lambda _: True, _environment, _found, probe=False, gives=GIVES, reads_output=_reads_output)
"""It is not a probe, because a program reports whether it is measured or not, and writes only at its exit."""
