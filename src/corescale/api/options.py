# SPDX-License-Identifier: Apache-2.0
"""The options of the verbs as keywords: those of the command line by their long names, with Python's values.

declare/request.py says what each option means. Options that only print have no keyword: a Run has methods for them.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from os import PathLike, fspath
from typing import Any, TypedDict, TypeVar, get_type_hints

from corescale.declare.request import ExplainRequest, RunRequest
from corescale.errors import UsageError, nearest
from corescale.records import Level

R = TypeVar("R", bound=RunRequest | ExplainRequest)

Levels = Level | Iterable[Level]
"""One level, several, or a text as after `-f NAME=`: 4, [1, 2, 4], range(1, 9), "auto"."""
Share = float | str
"""0.02 or "2%"."""
Duration = float | str
"""Seconds, or a text such as "5m"; of a budget also "100x", which is launches, or "none"."""
File = str | PathLike[str]


class Options(TypedDict, total=False):
    """The options of every measuring verb."""

    on: str
    landscape: File
    platform: File
    hosts: File
    allocation: str
    out: File
    fresh: bool
    continued: bool
    jobs: int
    wait_quiet: bool
    every_variable: bool
    factor: Mapping[str, Levels]
    threads: Levels
    ranks: Levels
    nodes: Levels
    oversubscribe: bool
    allocators: Levels
    baseline: Mapping[str, Level]
    response: str
    metric: Mapping[str, str]
    max_runs: int
    warmup: int
    confidence: Share
    budget: Duration
    timeout: Duration
    setup: str
    prepare: str
    conclude: str
    cleanup: str
    ignore_failure: bool
    input: File
    output: File
    cgroup: str
    shell: bool
    show_output: bool
    same_output: bool


class CountedOptions(Options, total=False):
    """The options of the verbs that measure every configuration in each block."""

    runs: int
    min_runs: int
    width: Share


class ScanOptions(CountedOptions, total=False):
    """What `scan` takes."""

    serial: str
    weak: bool
    seal: bool
    p_ref: int


class TuneOptions(Options, total=False):
    """What `tune` takes."""

    within: Share
    subject_to: Sequence[str]
    explain: bool
    rehearse: str
    confirm: int | str


class ExplainOptions(TypedDict, total=False):
    """What `explain` takes."""

    threads: Levels
    ranks: Levels
    oversubscribe: bool
    budget: Duration
    timeout: Duration
    input: File
    out: File
    shell: bool
    swap: bool


class CompareOptions(CountedOptions, total=False):
    """What `compare` takes."""

    name: Sequence[str]
    gate: float | Sequence[str] | Mapping[str, Share]


def request(kind: type[R], keywords: "type[Options | ExplainOptions]", given: "Options | ExplainOptions") -> R:
    """The request that the same command line would make; raises UsageError for a wrong keyword or value."""
    names, fields = get_type_hints(keywords), {field.name: field for field in dataclasses.fields(kind)}
    if strange := next((name for name in given if name not in names), None):
        raise UsageError(f"no option {strange!r}", remedy=nearest(strange, names, f"give one of {', '.join(names)}"))
    return kind(**{name: _value(fields[name], value) for name, value in given.items()})


def _value(field: "dataclasses.Field[Any]", value: Any) -> Any:
    """As the command line would have it: a text, a list of texts, or a number."""
    if "str" not in str(field.type):
        switch = isinstance(field.default, bool)
        if not isinstance(value, bool if switch else Integral) or isinstance(value, bool) != switch:
            raise UsageError(f"{value!r} is {'not True or False' if switch else 'no whole number'}", where=field.name)
        return value if switch else int(value)
    several = field.default_factory is not dataclasses.MISSING
    if isinstance(value, Mapping):
        pairs = [f"{name}={_text(field.name, level)}" for name, level in value.items()]
        return pairs if several else ",".join(pairs)
    if several and isinstance(value, str):
        raise UsageError("is a list or a mapping", where=field.name, remedy=f"write [{value!r}]")
    if several and not isinstance(value, Iterable):
        return [str(value)]
    return [*map(str, value)] if several else _text(field.name, value)


def _text(where: str, value: Any) -> str:
    """A text as it is; other values as they are typed, several of them separated by commas."""
    if isinstance(value, str | PathLike):
        return fspath(value)
    if not isinstance(value, Iterable):
        return str(value)
    texts = [str(each) for each in value]
    if not texts:
        raise UsageError("is empty", where=where, remedy="give a level, or leave it out")
    if split := next((text for text in texts if "," in text), None):
        raise UsageError(f"{split!r} has a comma, which separates levels", where=where, remedy="give a word for it")
    return ",".join(texts)
