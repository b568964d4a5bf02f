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
from corescale.conclude.answers.averages import Averages, averages
from corescale.conclude.answers.candidates import Candidate, candidates, winner
from corescale.conclude.answers.constraints import broken, not_shown
from corescale.conclude.answers.fallen import Flaky, fastest_flaky
from corescale.conclude.race.confirmation import Gain, gain
from corescale.conclude.race.favourite import favourite
from corescale.conclude.race.lost import launches_of, may_be_chance, todays_failures
from corescale.conclude.race.records import Statement, statement
from corescale.conclude.race.rehearsal import Rehearsal
from corescale.conclude.response import of, table
from corescale.conclude.stats import Interval
from corescale.declare.alike import heard, told_apart
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
    broken: str | None = None
    """how today's launch breaks a constraint; None where it breaks none"""
    not_shown: tuple[str, ...] = ()
    """the constraints that the launch to use is neither shown to meet nor to break"""
    failing: str | None = None
    """how today's launch failed while another one never did; None where it did not"""
    by_chance: bool = False
    """whether those failures may be chance, and the other one is not shown to be faster"""
    others: int = 0
    """configurations beside today's launch"""
    untried: int = 0
    """configurations of a race that were never launched"""
    same: int = 0
    """configurations that were not tried: with other threads alone, of which the program reads no variable"""
    fresh: Gain | None = None
    """what the fresh blocks decide, and how"""
    proved: bool = False
    """the answer of the race is shown to be as good as any by the tolerance, or it was not to be proved"""
    fallen: tuple[Candidate, ...] = ()
    """favourites that failed while they were confirmed"""
    flaky: Flaky | None = None
    """the fastest that looked faster than the answer and failed in some launches of the race"""
    averages: Averages | None = None
    """the ratio of mean times in the fresh blocks, where it is not within the interval of the gain"""

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
        if self.broken is not None and self.winner == self.today:
            return False
        return not self.others or (self.compared and self.measured)

    @property
    def keep_today(self) -> bool:
        """Whether nothing is certainly gained by changing today's launch."""
        if (self.failing is not None and not self.by_chance) or (self.broken is not None and self.winner != self.today):
            return False
        return self.winner == self.today or self.gain is None or self.gain.low is None or self.gain.low <= 1

    @property
    def decided(self) -> bool:
        """Whether the answer is shown: a gain, or that there is none by the tolerance.

        That a favourite is not faster says nothing of what may be faster than the favourite.
        """
        if self.by_chance or not self.keep_today or not self.others:
            return not self.by_chance
        refuted = self.fresh is not None and self.fresh.verdict is not None
        return self.proved and (self.winner == self.today or refuted)

    @property
    def chosen(self) -> Configuration:
        """The launch to use."""
        return self.today if self.keep_today else self.winner


def recommend(records: Sequence[Record], experiment: Experiment, picked: Configuration | None = None) -> Recommendation:
    """The recommendation that the records allow, at any moment of a run; of another's records with its pick."""
    now = today(experiment)
    racing = statement(records, experiment) if experiment.stop.rule == "race" else None
    found = candidates(records, experiment, racing)
    best, fresh = _picked(records, experiment, racing, picked or winner(found, now), fixed=picked is not None)
    regret = next((candidate.regret.bound for candidate in found if candidate.configuration == best), None)
    answer = Recommendation(now, best, fresh.ratio if fresh else None, regret, experiment.stop.confidence, found)
    answer = replace(answer, broken=broken(records, experiment).get(now))
    unsure = best != now and answer.keep_today and may_be_chance(records, experiment, best)
    answer = replace(answer, failing=_failing(records, experiment, best), by_chance=unsure)
    tied = racing is not None and answer.chosen == racing.answer
    raced_whole = racing is not None and racing.rehearsal is None
    different = told_apart(experiment, heard(records) if raced_whole else None)
    answer = replace(
        answer,
        cheaper=cheaper(records, experiment, _not_refuted(answer), answer.chosen),
        fronts=fronts(experiment, found),
        not_told_apart=racing.not_told_apart if racing is not None and tied else (),
        rehearsal=racing.rehearsal if racing is not None else None,
        untried=0 if racing is None else racing.of - racing.tried,
        others=len(different) - 1,
        same=len(configurations(experiment)) - len(different),
        fresh=fresh,
        averages=averages(records, experiment, best, fresh.ratio if fresh else None),
        proved=_proved(records, experiment, racing, regret),
        fallen=tuple(c for c in found if c.excluded is not None and _fell(records, c.configuration, now)),
    )
    return replace(
        answer,
        not_shown=not_shown(records, experiment, answer.chosen),
        flaky=fastest_flaky(records, experiment, found, answer.chosen),
    )


def _failing(records: Sequence[Record], experiment: Experiment, best: Configuration) -> str | None:
    """`failed in 2 of 95 launches, and this one in none of 14`; None where today's is the best, or never failed."""
    said = todays_failures(records, experiment)
    if said is None or best == today(experiment):
        return None
    return f"{said}, and this one in none of {launches_of(records, best)}"


def _proved(records: Sequence[Record], experiment: Experiment, racing: Statement | None, regret: float | None) -> bool:
    """Of a race by its tolerance; of a fixed number of blocks where they allow an interval, or a bound, as five may."""
    if racing is not None:
        return racing.bound is not None and racing.bound <= experiment.stop.within * (1 + 1e-9)
    return regret is not None or len(table(records, experiment.response).blocks) >= stats.fewest_blocks(
        experiment.stop.confidence
    )


def _picked(
    records: Sequence[Record],
    experiment: Experiment,
    racing: Statement | None,
    otherwise: Configuration,
    *,
    fixed: bool,
) -> tuple[Configuration, Gain | None]:
    """Whom fresh blocks confirm, and what they say; `fixed`: it is this one, whatever the race says."""
    if racing is not None and not fixed:
        found = favourite(records, experiment, racing)
        return found.configuration, found.gain
    given = experiment.stop.confirmations
    fixed_number = () if given is None else (given,)
    return otherwise, None if otherwise == today(experiment) else gain(records, experiment, otherwise, fixed_number)


def _fell(records: Sequence[Record], configuration: Configuration, now: Configuration) -> bool:
    return configuration != now and any(not record.ok for record in of(records, configuration, "confirm"))


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
