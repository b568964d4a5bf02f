# SPDX-License-Identifier: Apache-2.0
"""What looked faster than the answer, and is not named because it failed in some of its launches."""

from collections.abc import Sequence
from dataclasses import dataclass

from corescale.conclude.answers.candidates import Candidate
from corescale.declare.experiment import Experiment
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
