# SPDX-License-Identifier: Apache-2.0
"""What a study's findings can show, and in how long, from the scatter of its first few blocks.

A difference is shown in four of five studies if it is as large as the half width of an interval and what an estimate is
off in one of five. Both shrink with the root of the blocks. The interval is the one of the rule `decided`: its error is
shared among the answers of a finding and spent over the looks. Signed ranks need 1.05 times the blocks of means.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import scipy

from corescale.conclude import stats
from corescale.conclude.answers.findings import Answer, answers
from corescale.conclude.answers.study import useful
from corescale.conclude.frame import frame
from corescale.declare.experiment import Experiment
from corescale.declare.outputs import Finding
from corescale.declare.stop import DECIDED_BLOCKS, Stop
from corescale.records import Record

POWER = 0.8
"""Share of studies that show it."""
RANKS = math.pi / 3
"""Blocks for signed ranks over those for means, where launches scatter normally."""


@dataclass(frozen=True, slots=True)
class Power:
    """Of one answer; sizes are of logarithms, or of the difference that is claimed."""

    answer: Answer
    scatter: float
    """of a block"""
    shown: float
    """what so many blocks show"""
    most: int
    blocks: int | None
    """blocks that show the margin, at the next look; None for more than `most`"""
    seconds: float
    """that these blocks take, or the most"""


def foresee(records: Sequence[Record], experiment: Experiment) -> tuple[Power, ...]:
    """Of each answer about a ratio or difference of two blocks or more; the others are left out."""
    rows, timed = frame(records, experiment), [record for record in records if record.phase == "measure"]
    stop = Stop(rule="decided", max_blocks=DECIDED_BLOCKS, confidence=experiment.stop.confidence)
    found: list[Power] = []
    for finding in experiment.study.outputs:
        if isinstance(finding, Finding) and not finding.along:
            made = [one for one in answers(rows, experiment, finding) if one.scatter > 0]
            each = (sum(timed[row].wall for row in one.rows) / one.ratio.n for one in made)
            found += (_power(one, len(made), stop, seconds) for one, seconds in zip(made, each, strict=True))
    return tuple(found)


def _power(answer: Answer, shared: int, stop: Stop, seconds: float) -> Power:
    looks = useful(stop.looks, stats.bonferroni(stop.confidence, shared))
    tail = (1 - stats.bonferroni(stop.confidence, shared * len(looks))) / 2
    one = answer.scatter * math.sqrt(RANKS) * float(scipy.special.ndtri(1 - tail) + scipy.special.ndtri(POWER))
    margin = answer.finding.margin if answer.finding.difference else math.log1p(answer.finding.margin)
    needed = next((look for look in looks if one / math.sqrt(look) <= margin), None)
    most = looks[-1]
    return Power(answer, answer.scatter, one / math.sqrt(most), most, needed, seconds * (needed or most))
