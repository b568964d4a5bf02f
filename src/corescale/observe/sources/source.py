# SPDX-License-Identifier: Apache-2.0
"""The contract of a source, which reports facts about a launch that the spawner does not."""

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
    """Fields of the record; each is given by one source only."""
    processes: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """Fields of Process, by process id; given by one source only."""
    unproved: bool = False
    """Whether a library that was proved in a program is missing now. If so, the launch may not count."""
    measured: Mapping[str, float] = field(default_factory=dict)
    """Values of metrics, by their declaration, such as `counter:page-faults` from a source that gives `counter`."""
    warnings: tuple[str, ...] = ()
    """What a reader of the record should know, a sentence each."""
    spans: tuple[Span, ...] = ()
    """The times at which threads were in named regions, if the scratch asks for them; by one source only."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source. It keeps its files in `scratch.of(name)` and knows nothing of other launches."""

    name: str
    wanted: Callable[[Experiment], bool]
    """Whether this experiment uses it."""
    environment: Callable[[Scratch], Mapping[str, str]]
    """Variables of the program. A library in LD_PRELOAD comes after those already preloaded."""
    read: Callable[[Scratch], Found]
    """Returns what it found, after the launch; raises CorescaleError if a successful launch may not count."""
    probe: bool = True
    """Whether its presence may change the program's time. If so, records name it, and are not mixed with others."""
    by_rank: tuple[str, ...] = ()
    """Variables of `environment` that name a folder; of several ranks, each gets a folder in it, by its number."""
    gives: tuple[str, ...] = ()
    """The keys of METRIC_SOURCES (declare/metric_sources.py) under which metrics of this source are declared."""
    reads_output: Callable[[Experiment], bool] = lambda _: False
    """Whether it needs the program's standard output, which is then kept."""
    first: bool = False
    """Whether its library comes before those preloaded, not after. The witness ignores it in its search for malloc."""
