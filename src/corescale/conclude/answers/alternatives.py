# SPDX-License-Identifier: Apache-2.0
"""What else there is beside the answer of `tune`: a cheaper one, the fronts of time and metrics, and failures.

By estimates of the measuring blocks: a reason to look, no promise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corescale.conclude.answers.candidates import Candidate
from corescale.conclude.response import table
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline
from corescale.records import Configuration, Record

SLOWER = 0.10
"""share by which a launch that is called cheaper is slower, at most"""
CHEAPER = 0.05
"""fewer core-seconds at least; and more saved than lost"""


@dataclass(frozen=True, slots=True)
class Cheaper:
    """A launch that takes a little longer and far fewer core-seconds than the answer."""

    configuration: Configuration
    slower: float
    """T / T(answer) - 1"""
    fewer: float
    """1 - core-seconds / core-seconds of the answer"""
    blocks: int
    """that both were launched in"""


@dataclass(frozen=True, slots=True)
class Front:
    """The configurations that no other one beats in both time and a declared metric, fastest first."""

    metric: str
    larger_is_better: bool
    points: tuple[tuple[Configuration, float, float], ...]
    """configuration, response, metric"""


@dataclass(frozen=True, slots=True)
class Flaky:
    """A configuration that looked faster than the answer and failed in some launches."""

    configuration: Configuration
    faster: float
    """T_baseline / T by the measuring blocks: exploratory"""
    failures: int
    launches: int
    """those that failed, of all that count"""


def cheaper(
    records: Sequence[Record], experiment: Experiment, found: Sequence[Candidate], answer: Configuration
) -> Cheaper | None:
    """The one that saves most core-seconds among those hardly slower; None where none saves enough."""
    times, cost = table(records, experiment.response), table(records, "cpu")
    if answer not in times.configurations:
        return None
    rivals = [c.configuration for c in found if c.excluded is None and c.configuration != answer]
    trades = []
    for c in rivals:
        lost, saved = times.log_ratio(c, answer), cost.log_ratio(c, answer)
        both = np.isfinite(lost) & np.isfinite(saved)
        if both.any():
            slower, fewer = (math.expm1(float(np.median(each[both]))) for each in (lost, saved))
            trades.append(Cheaper(c, slower, -fewer, int(both.sum())))
    worthy = [t for t in trades if t.slower <= SLOWER and t.fewer >= CHEAPER and t.fewer > t.slower and t.blocks > 1]
    return max(worthy, key=lambda t: t.fewer, default=None)


def fronts(experiment: Experiment, found: Sequence[Candidate]) -> tuple[Front, ...]:
    """One for each declared metric but the response itself; smaller is better unless a constraint asks for `>=`."""
    wanted = {constraint.metric: constraint.relation for constraint in experiment.tuning.constraints}
    names = [name for name in experiment.metrics if experiment.response != f"metric:{name}"]
    made = [_front(name, wanted.get(name) == ">=", found) for name in names]
    return tuple(front for front in made if len(front.points) > 1)


def _front(name: str, larger: bool, found: Sequence[Candidate]) -> Front:
    sign = -1 if larger else 1
    points = [
        (c.configuration, c.time.estimate, c.metrics.get(name, math.nan)) for c in found if c.excluded is None
    ]  # fastest first, as candidates are
    best, kept = math.inf, []
    for point in points:
        if sign * point[2] < best:
            best = sign * point[2]
            kept.append(point)
    return Front(name, larger, tuple(kept))


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


def baseline_failures(
    records: Sequence[Record], experiment: Experiment, other: Configuration
) -> tuple[str, bool] | None:
    """How the baseline failed while another never did, and whether that may be chance; None if neither is the case.

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
    return f"failed in {bad} of {len(made)} launches, and this one in none of {count}", by_chance
