# SPDX-License-Identifier: Apache-2.0
"""Failures in some launches: of what looked faster than the answer, and of the baseline."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from corescale.conclude.answers.candidates import Candidate
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline
from corescale.records import Configuration, Record


@dataclass(frozen=True, slots=True)
class Flaky:
    """A configuration that would have been the answer."""

    configuration: Configuration
    faster: float
    """T_baseline / T by the measuring blocks: exploratory"""
    failures: int
    launches: int
    """those that failed, of all that count"""


def fastest_flaky(
    records: Sequence[Record], experiment: Experiment, found: Sequence[Candidate], chosen: Configuration
) -> Flaky | None:
    """The fastest of those that look faster than the answer and the baseline by more than the tolerance; None for none.

    Those that failed only in confirmation pairs, which were to confirm them, are said there.
    """
    answers = next((c.ratio.estimate for c in found if c.configuration == chosen and c.ratio.estimate > 0), 1.0)
    faster = [c for c in found if c.excluded and c.ratio.estimate > max(1, answers) * (1 + experiment.stop.within)]
    for candidate in sorted(faster, key=lambda c: -c.ratio.estimate):
        made = [r for r in records if r.timed and r.configuration == candidate.configuration]
        failed = [r for r in made if r.status not in ("ok", "capped")]
        if any(r.phase == "measure" for r in failed):
            return Flaky(candidate.configuration, candidate.ratio.estimate, len(failed), len(made))
    return None


@dataclass(frozen=True, slots=True)
class BaselineFailures:
    """The baseline failed in some launches, and another configuration never did."""

    failures: int
    launches: int
    of_other: int
    """launches of the other"""
    by_chance: bool
    """whether it is not shown that the baseline fails more often"""


def baseline_failures(
    records: Sequence[Record], experiment: Experiment, other: Configuration
) -> BaselineFailures | None:
    """None if the baseline never failed, or is the other.

    Fisher's exact test, and Bonferroni over those that failed and were passed over for the other.
    """
    now, timed = baseline(experiment), [record for record in records if record.timed]
    made = [record.ok for record in timed if record.configuration == now]
    bad, count = made.count(False), sum(record.configuration == other for record in timed)
    if not bad or other == now:
        return None
    equal = math.comb(len(made), bad) / math.comb(len(made) + count, bad)
    passed = {r.configuration for r in timed if not r.ok and r.status != "capped"} - {now}
    by_chance = equal * (1 + len(passed)) > 1 - experiment.stop.confidence
    return BaselineFailures(bad, len(made), count, by_chance)
