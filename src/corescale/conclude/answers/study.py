# SPDX-License-Identifier: Apache-2.0
"""What a study shows: every configuration's time, weak scaling if it was asked for, and whether its findings hold.

The answers of one finding share its confidence. If a study goes on until its findings are decided, the error is divided
equally among the looks. The first look that decides a finding gives its answer; later launches, made for other
findings, cannot undo it.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import scipy

from corescale.conclude import stats
from corescale.conclude.answers import findings, thresholds
from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.overheads import Modelled, overheads
from corescale.conclude.answers.scaling import Scan, scan
from corescale.conclude.frame import frame
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.outputs import Finding, Overheads
from corescale.declare.stop import DECIDED_BLOCKS, Stop
from corescale.records import Configuration, Level, Record

if TYPE_CHECKING:
    import pandas as pd


Said = Answer | Modelled
At = tuple[tuple[str, Level], ...]


@dataclass(frozen=True, slots=True)
class Study:
    """The scan of all configurations, and the answers in the order of the declared findings."""

    found: Scan
    answers: tuple[Said, ...]


def study(records: Sequence[Record], experiment: Experiment) -> Study:
    """The answer to a study, from its measured records."""
    return Study(scan(records, experiment, models=False), tuple(every_answer(records, experiment)))


def every_answer(records: Sequence[Record], experiment: Experiment) -> Iterator[Said]:
    """Every answer, grouped by finding."""
    rows = frame(records, experiment)
    for output in experiment.study.outputs:
        if isinstance(output, Finding | Overheads):
            yield from answers(rows, experiment, output)


def answers(rows: "pd.DataFrame", experiment: Experiment, asked: Finding | Overheads) -> tuple[Said, ...]:
    """The answers of one finding."""
    stop, blocks = experiment.stop, int(rows["replicate"].max()) if len(rows) else 0
    if stop.rule != "decided":
        return _shared(rows, experiment, asked, 1)
    looks = useful(stop.looks, stats.bonferroni(stop.confidence, _sharing(rows, asked)))
    reached = [look for look in looks if look <= blocks]
    if not reached:
        made = _shared(rows, experiment, asked, len(looks))
        return tuple(one if one.verdict == "not on this machine" else replace(one, verdict="open") for one in made)
    first: dict[At, Said] = {}
    for look in reached:
        for one in _shared(rows[rows["replicate"] <= look], experiment, asked, len(looks)):
            key = tuple(one.at.items())
            if key not in first or first[key].verdict == "open":
                first[key] = one
    return tuple(first.values())


def open_ones(said: Iterable[Said], records: Sequence[Record], experiment: Experiment) -> tuple[Configuration, ...]:
    """The configurations that an open answer compares, which are launched until it is decided. `said`: every answer."""
    timed = _timed(records)
    needed = {timed[row] for one in said if one.verdict == "open" for row in one.rows}
    return tuple(one for one in configurations(experiment) if one in needed)


def together(records: Sequence[Record], experiment: Experiment) -> tuple[tuple[Configuration, ...], ...]:
    """Groups of configurations that are compared with each other: they differ only in what the finding compares."""
    timed, found = _timed(records), set[tuple[Configuration, ...]]()
    for one in every_answer(records, experiment):
        groups: dict[At, set[Configuration]] = {}
        apart = _compared(one.finding, experiment)
        for configuration in {timed[row] for row in one.rows}:
            alike = tuple((name, level) for name, level in configuration.levels if name not in apart)
            groups.setdefault(alike, set()).add(configuration)
        found |= {tuple(sorted(group, key=str)) for group in groups.values() if len(group) > 1}
    return tuple(sorted(found, key=str))


def _timed(records: Sequence[Record]) -> Sequence[Configuration]:
    """The configuration that was launched, by its row of the frame."""
    return [record.configuration for record in records if record.phase == "measure"]


def _compared(asked: Finding | Overheads, experiment: Experiment) -> frozenset[str]:
    """The columns in which the launches of a comparison differ."""
    if isinstance(asked, Overheads):
        return experiment.makes_p.union(asked.worse_than)
    divided = asked.normalise.to if asked.normalise else {}
    return frozenset({*asked.a, *(asked.b or ()), *divided, asked.along})


def _shared(rows: "pd.DataFrame", experiment: Experiment, asked: Finding | Overheads, looks: int) -> tuple[Said, ...]:
    """The answers, at a confidence such that all of them, at all looks, are right together."""
    confidence = stats.bonferroni(experiment.stop.confidence, looks * _sharing(rows, asked))
    stop = experiment.stop.model_copy(update={"confidence": confidence})
    shared = experiment.model_copy(update={"stop": stop})
    if isinstance(asked, Overheads):
        return overheads(rows, shared, asked)
    return (thresholds.answers if asked.along else findings.answers)(rows, shared, asked)


def _sharing(rows: "pd.DataFrame", asked: Finding | Overheads) -> int:
    """How many answers share the confidence: one for each combination of the levels of `each`."""
    cells = (at for at, _ in findings.groups(rows, asked.each, asked.where))
    return len({tuple(level for name, level in at.items() if name != "machine") for at in cells})


def useful(looks: Sequence[int], confidence: float) -> Sequence[int]:
    """The looks that have enough blocks to decide an answer, given that all of them share the error."""
    while len(looks) > 1 and looks[0] < stats.fewest_blocks(stats.bonferroni(confidence, len(looks))):
        looks = looks[1:]
    return looks


POWER = 0.8
"""Power: the share of studies that show an existing difference."""
RANKS = math.pi / 3
"""Blocks that signed ranks need, divided by those that means need, if the scatter is normal."""


@dataclass(frozen=True, slots=True)
class Power:
    """What a study's finding can show, and in how long, from the scatter of its first few blocks.

    Four of five studies show a difference that is as large as the sum of two parts: an interval's half width, and the
    error that one estimate in five exceeds. Both shrink with the root of the blocks. The interval is that of the rule
    `decided`. Sizes are of logarithms, or of the difference that is claimed.
    """

    answer: Answer
    scatter: float
    """the scatter of a block"""
    shown: float
    """the difference that the blocks show"""
    most: int
    blocks: int | None
    """blocks up to the look that shows the margin; None if they exceed `most`"""
    seconds: float
    """the time of these blocks, or of the most"""


def foresee(records: Sequence[Record], experiment: Experiment) -> tuple[Power, ...]:
    """One for each answer about a ratio or difference; its scatter is NaN if it has fewer than two blocks."""
    rows, timed = frame(records, experiment), [record for record in records if record.phase == "measure"]
    stop = Stop(rule="decided", max_blocks=DECIDED_BLOCKS, confidence=experiment.stop.confidence)
    found: list[Power] = []
    for finding in experiment.study.outputs:
        if isinstance(finding, Finding) and not finding.along:
            made = findings.answers(rows, experiment, finding)
            shared = sum(math.isfinite(one.scatter) for one in made)
            for one in made:
                each = sum(timed[row].wall for row in one.rows) / max(1, one.ratio.n)
                unknown = Power(one, math.nan, math.nan, stop.max_blocks, None, 0.0)
                found.append(_power(one, shared, stop, each) if math.isfinite(one.scatter) else unknown)
    return tuple(found)


def _power(answer: Answer, shared: int, stop: Stop, seconds: float) -> Power:
    looks = useful(stop.looks, stats.bonferroni(stop.confidence, shared))
    tail = (1 - stats.bonferroni(stop.confidence, shared * len(looks))) / 2
    one = answer.scatter * math.sqrt(RANKS) * float(scipy.special.ndtri(1 - tail) + scipy.special.ndtri(POWER))
    margin = answer.finding.margin if answer.finding.difference else math.log1p(answer.finding.margin)
    needed = next((look for look in looks if one / math.sqrt(look) <= margin), None)
    most = looks[-1]
    return Power(answer, answer.scatter, one / math.sqrt(most), most, needed, seconds * (needed or most))
