# SPDX-License-Identifier: Apache-2.0
"""Which launch to use, and how sure that is.

The winner is picked on the measuring blocks, so its lead there is inflated; gain and interval come from fresh
confirmation blocks of winner and today's launch, and from nothing else.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from corescale.conclude import stats
from corescale.conclude.answers.alternatives import Cheaper, Front, cheaper, fronts
from corescale.conclude.answers.candidates import Candidate, candidates, winner
from corescale.conclude.race.records import statement
from corescale.conclude.race.rehearsal import Rehearsal
from corescale.conclude.response import table
from corescale.conclude.stats import Interval
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations, today
from corescale.records import Configuration, Phase, Record


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The answer of `tune`."""

    today: Configuration
    winner: Configuration
    gain: Interval | None
    """T_today / T_winner from confirmation blocks alone; None where the winner is today's launch, or none were made"""
    within: float | None
    """the winner's time is within this fraction of the best of all, at `confidence`; None where blocks were too few"""
    confidence: float
    candidates: tuple[Candidate, ...]
    """fastest first, excluded ones last"""
    cheaper: Cheaper | None = None
    fronts: tuple[Front, ...] = ()
    not_told_apart: tuple[tuple[Configuration, float | None], ...] = ()
    """configurations of a race that may be faster than the answer, and by how much at most; None: unknown"""
    rehearsal: Rehearsal | None = None
    others: int = 0
    """configurations beside today's launch"""

    @property
    def compared(self) -> bool:
        """Whether anything but today's launch was measured."""
        return any(candidate.configuration != self.today for candidate in self.candidates)

    @property
    def measured(self) -> bool:
        """Whether any launch gave the response."""
        return any(math.isfinite(candidate.time.estimate) for candidate in self.candidates)

    @property
    def answered(self) -> bool:
        """Whether the question was: with nothing to compare today's launch with there was none."""
        return not self.others or (self.compared and self.measured)

    @property
    def keep_today(self) -> bool:
        """Whether nothing is certainly gained by changing today's launch."""
        return self.winner == self.today or self.gain is None or self.gain.low is None or self.gain.low <= 1

    @property
    def chosen(self) -> Configuration:
        """The launch to use."""
        return self.today if self.keep_today else self.winner


def recommend(records: Sequence[Record], experiment: Experiment, picked: Configuration | None = None) -> Recommendation:
    """The recommendation that the records allow, at any moment of a run; of another's records with its pick."""
    now = today(experiment)
    racing = statement(records, experiment) if experiment.stop.rule == "race" else None
    found = candidates(records, experiment, racing)
    best = picked or (winner(found, now) if racing is None else racing.answer)
    gain = None if best == now else gain_in("confirm", records, experiment, best)
    regret = next((candidate.regret.bound for candidate in found if candidate.configuration == best), None)
    answer = Recommendation(now, best, gain, regret, experiment.stop.confidence, found)
    tied = racing is not None and answer.chosen == racing.answer
    return replace(
        answer,
        cheaper=cheaper(records, experiment, _not_refuted(answer), answer.chosen),
        fronts=fronts(experiment, found),
        not_told_apart=racing.not_told_apart if racing is not None and tied else (),
        rehearsal=racing.rehearsal if racing is not None else None,
        others=len(configurations(experiment)) - 1,
    )


def _not_refuted(answer: Recommendation) -> list[Candidate]:
    """Without a winner that fresh blocks did not confirm: what the measuring blocks say of it is known to flatter."""
    return [
        c for c in answer.candidates if not (answer.keep_today and c.configuration == answer.winner != answer.today)
    ]


def gain_in(
    phase: Phase, records: Sequence[Record], experiment: Experiment, configuration: Configuration
) -> Interval | None:
    """T_today / T of this configuration by the blocks of one phase; None where no block has both."""
    now, times = today(experiment), table(records, experiment.response, phase)
    if not {configuration, now} <= set(times.configurations):
        return None
    found = stats.hodges_lehmann(times.log_ratio(now, configuration), experiment.stop.confidence)
    return found.map(math.exp) if found.n else None
