# SPDX-License-Identifier: Apache-2.0
"""The contract of a source: something that reports about one launch what the spawner does not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from corescale.declare.experiment import Experiment
from corescale.observe.scratch import Scratch
from corescale.profile import Span


@dataclass(frozen=True, slots=True)
class Found:
    """What a source gives for one launch."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the record, each given by one source."""
    processes: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """One source's fields of Process, by process id."""
    unproved: bool = False
    """Whether a library of the configuration was not found in a program in which it had been proved. Then the launch
    may not count."""
    measured: Mapping[str, float] = field(default_factory=dict)
    """Numbers for metrics, by what these are declared as: `counter:page-faults` of a source that gives `counter`."""
    warnings: tuple[str, ...] = ()
    """What a reader of the record should know, a sentence each."""
    spans: tuple[Span, ...] = ()
    """When threads were in the program's own regions, if the scratch asks for it; given by one source."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source. It keeps its files in `scratch.of(name)` and knows nothing of other launches."""

    name: str
    wanted: Callable[[Experiment], bool]
    """Whether this experiment is observed with it."""
    environment: Callable[[Scratch], Mapping[str, str]]
    """Variables of the program. A library in LD_PRELOAD comes after those already preloaded."""
    read: Callable[[Scratch], Found]
    """What it found after the launch; raises CorescaleError if a launch that succeeded may not count."""
    probe: bool = True
    """Whether its presence may change the program's time: records name it, and are not mixed with others."""
    by_rank: tuple[str, ...] = ()
    """Variables of `environment` that name a folder: each of several ranks gets one in it, named by its number."""
    gives: str = ""
    """The key of METRIC_SOURCES (declare/metric_sources.py) with which a metric can be declared as measured by this
    source."""
    reads_output: Callable[[Experiment], bool] = lambda _: False
    """Whether it needs the program's standard output, which is then kept."""
    first: bool = False
    """Whether its library comes before those already preloaded; else it comes after them. The witness looks through
    it."""
