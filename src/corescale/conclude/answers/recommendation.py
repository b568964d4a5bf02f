# SPDX-License-Identifier: Apache-2.0
"""Which launch to use, and how sure that is.

The winner is picked on the measuring blocks, so its lead there is inflated; gain and interval come from
confirmation pairs of winner and the baseline, and from nothing else.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from corescale.conclude.answers import candidates
from corescale.conclude.answers.candidates import Candidate, Cheaper, Flaky
from corescale.conclude.answers.timing import Averages, averages
from corescale.conclude.constraints import broken, not_shown
from corescale.conclude.race.answer import Gain
from corescale.conclude.race.race import Race
from corescale.conclude.race.rehearsal import Rehearsal
from corescale.conclude.response import of
from corescale.conclude.stats import Interval
from corescale.declare.equivalent import Unread, detected, distinguishable, ineffective, unread
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations, untyped
from corescale.records import Configuration, Level, Record


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The answer of `tune`."""

    baseline: Configuration
    winner: Configuration
    gain: Interval | None
    """T_baseline / T_winner, only from confirmation pairs; None if the winner is the baseline, or none were made"""
    within: float | None
    """the winner takes at most this fraction longer than the best, at `confidence`; None: too few blocks"""
    confidence: float
    candidates: tuple[Candidate, ...]
    """fastest first, excluded ones last; the ratio of the winner is its gain, if that has an interval"""
    untyped: tuple[tuple[str, Level], ...] = ()
    """levels of the baseline that the shell does not set; none if the baseline is what the shell would launch"""
    cheaper: Cheaper | None = None
    tied_with: tuple[tuple[Configuration, float | None], ...] = ()
    """launched configurations that may be faster, each with the largest share by which it may be; None: unknown"""
    rehearsal: Rehearsal | None = None
    broken: str | None = None
    """how the baseline breaks a constraint; None if it breaks none"""
    not_shown: tuple[str, ...] = ()
    """the constraints of which it is not shown whether the launch to use meets them"""
    failing: str | None = None
    """how the baseline failed, if it failed always, or at times while another configuration never did; else None"""
    by_chance: bool = False
    """whether those failures may be chance, and the other configuration is not shown to be faster"""
    others: int = 0
    """configurations beside the baseline"""
    untried: int = 0
    """configurations of a race of which no launch counts"""
    same: int = 0
    """configurations that were not tried, because they are the same launch as another"""
    ineffective: tuple[str, ...] = ()
    """the factors in which `same` configurations differ: they only set variables that the program does not read"""
    constant: tuple[str, ...] = ()
    """the other factors with a single level"""
    no_preload: str = ""
    """why no allocator could be preloaded"""
    unread: Unread = ""
    """`threads` or `ranks`, if no program reads it and nothing else passes it on"""
    confirmation: Gain | None = None
    """what the confirmation pairs decide, and how"""
    proved: bool = False
    """whether the race's answer is shown to be the best, within the tolerance"""
    step: float = 0.0
    """the step in which the response is reported, if more launches cannot decide because of it; else 0"""
    eliminated: tuple[Candidate, ...] = ()
    """candidates that failed while they were confirmed"""
    flaky: Flaky | None = None
    """of the configurations that failed in some launches of the race and looked faster than the answer, the fastest"""
    averages: Averages | None = None
    """the ratio of mean times in the confirmation pairs, if it is not within the interval of the gain"""
    response: str = "wall"

    @property
    def compared(self) -> bool:
        """Whether anything but the baseline was measured."""
        return any(candidate.configuration != self.baseline for candidate in self.candidates)

    @property
    def measured(self) -> bool:
        """Whether any launch gave the response."""
        return any(math.isfinite(candidate.time.estimate) for candidate in self.candidates)

    @property
    def answered(self) -> bool:
        """Whether there was anything to compare the baseline with."""
        if self.broken is not None and self.winner == self.baseline:
            return False
        return self.compared and self.measured if self.others else not self.no_preload

    @property
    def keep_baseline(self) -> bool:
        """Whether no gain over the baseline is certain."""
        if self.winner == self.baseline:
            return True
        fails = self.failing is not None and not self.by_chance
        return not fails and self.broken is None and not _surely_gains(self.gain)

    @property
    def decided(self) -> bool:
        """Whether the answer is shown: either a gain, or that nothing is faster by more than the tolerance.

        That one candidate is not faster decides nothing, because others may still be.
        """
        if self.by_chance or not self.keep_baseline or not self.others:
            return not self.by_chance
        refuted = self.confirmation is not None and self.confirmation.verdict is not None
        return self.proved and (self.winner == self.baseline or refuted)

    @property
    def usable(self) -> bool:
        """Whether a script may adopt the launch: it is decided, and shown to meet the constraints."""
        return self.answered and self.decided and not self.not_shown

    @property
    def chosen(self) -> Configuration:
        """The launch to use."""
        return self.baseline if self.keep_baseline else self.winner


def recommend(records: Sequence[Record], experiment: Experiment, picked: Configuration | None = None) -> Recommendation:
    """The recommendation that the records allow, at any moment. `picked`: the winner, if it is already chosen."""
    now, race = baseline(experiment), Race.of(records, experiment)
    racing = race.answer()
    found, best = candidates.candidates(records, experiment, racing), picked or racing.leader
    confirmation = racing.gain if best == racing.leader else None if best == now else race.gain(best)[0]
    # If there is nothing to race, the launch that shows what is read is all that can break a constraint.
    counted = records if len(records) > 1 else [replace(record, phase="measure") for record in records]
    gain, breaks = confirmation.ratio if confirmation else None, broken(counted, experiment).get(now)
    known = gain if gain and gain.low is not None else None
    failing, by_chance = candidates.baseline_failures(records, experiment, best) or (None, False)
    everyone, names = configurations(experiment), ineffective(experiment, detected(records))
    different = distinguishable(experiment, detected(records))
    answer = Recommendation(
        baseline=now,
        winner=best,
        gain=gain,
        within=next((candidate.regret.bound for candidate in found if candidate.configuration == best), None),
        confidence=experiment.stop.confidence,
        response=experiment.response,
        candidates=tuple(replace(c, ratio=known) if known and c.configuration == best else c for c in found),
        untyped=untyped(experiment),
        rehearsal=racing.rehearsal,
        broken=breaks,
        failing=failing,
        by_chance=by_chance and breaks is None and not _surely_gains(gain),
        others=len(different) - 1,
        untried=racing.of - racing.tried,
        same=len(everyone) - len(different),
        ineffective=tuple(name for name in names if len({c[name] for c in everyone}) > 1),
        constant=tuple(f.name for f in experiment.factors if len(f.levels) == 1 and f.name not in names),
        no_preload=experiment.no_preload,
        unread=unread(experiment, detected(records)),
        confirmation=confirmation,
        proved=racing.proved,
        step=racing.step,
        eliminated=tuple(c for c in found if c.excluded is not None and _fell(records, c.configuration, now)),
        averages=averages(records, experiment, best, gain),
    )
    chosen = answer.chosen
    slower = {c.configuration for c in found if c.ratio.high is not None and c.ratio.high < 1 and chosen == now}
    slower |= {now} if _surely_gains(gain) else set()
    raced = {c.configuration for c in found if c.excluded is None} - slower
    # If the pairs did not confirm the gain, the estimate of the measuring blocks is known to be too good.
    trusted = [c for c in found if not (answer.keep_baseline and c.configuration == best != now)]
    return replace(
        answer,
        cheaper=candidates.cheaper(records, experiment, trusted, chosen),
        tied_with=tuple(pair for pair in racing.tied if pair[0] in raced) if chosen == racing.leader else (),
        not_shown=not_shown(records, experiment, chosen),
        flaky=candidates.fastest_flaky(records, experiment, found, chosen),
    )


def _surely_gains(gain: Interval | None) -> bool:
    return gain is not None and gain.low is not None and gain.low > 1


def _fell(records: Sequence[Record], configuration: Configuration, now: Configuration) -> bool:
    return configuration != now and any(not record.ok for record in of(records, configuration, "confirm"))
