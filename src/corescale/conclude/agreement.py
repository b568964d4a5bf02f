# SPDX-License-Identifier: Apache-2.0
"""Whether a metric that says what a program came to has one value wherever the work is the same."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corescale.declare import grid
from corescale.declare.experiment import Experiment
from corescale.records import Level, Record


@dataclass(frozen=True, slots=True)
class Agreement:
    """What all launches that succeeded say of one metric."""

    metric: str
    by: tuple[str, ...]
    """columns within which it is one value"""
    launches: int
    groups: int
    broken: tuple[str, ...]
    """a sentence for each group with more values than one"""

    def __str__(self) -> str:
        if self.broken:
            return "; ".join(self.broken)
        where = f" at each {' and '.join(self.by)}" if self.by else ""
        return f"{self.metric} is the same in all launches{where} ({self.launches} launches, {self.groups} values)"


def agreements(records: Sequence[Record], experiment: Experiment) -> tuple[Agreement, ...]:
    """One for each metric that the experiment declares, of the launches that gave it."""
    found = (_agreement(metric, tuple(by), records, experiment) for metric, by in experiment.agree.items())
    return tuple(each for each in found if each.launches)


def _agreement(metric: str, by: tuple[str, ...], records: Sequence[Record], experiment: Experiment) -> Agreement:
    groups: dict[tuple[Level, ...], list[Record]] = {}
    for record in records:
        if record.ok and record.timed and metric in record.metrics:
            values = grid.parameters(experiment, record.configuration)
            groups.setdefault(tuple(values[name] for name in by), []).append(record)
    broken = tuple(said for at, of in groups.items() for said in _broken(metric, dict(zip(by, at, strict=True)), of))
    return Agreement(metric, by, sum(map(len, groups.values())), len(groups), broken)


def _broken(metric: str, at: dict[str, Level], of: Sequence[Record]) -> Iterator[str]:
    counts = Counter(record.metrics[metric] for record in of)
    usual = counts.most_common(1)[0][0]
    others = dict.fromkeys(record.configuration.label for record in of if record.metrics[metric] != usual)
    if others:
        where = " ".join(f"{name}={level}" for name, level in at.items())
        count = sum(counts.values()) - counts[usual]
        yield f"{metric} differs at {where} in {count} of {len(of)} launches: {', '.join(others)}"
