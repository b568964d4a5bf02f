# SPDX-License-Identifier: Apache-2.0
"""The verdict on two commands or builds: paired, from one interval."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from corescale.conclude import stats
from corescale.conclude.answers.findings import MOSTLY
from corescale.conclude.answers.timing import Slow, Timing, slow, timing
from corescale.conclude.response import Step, of, table, widened
from corescale.conclude.stats import Interval
from corescale.declare.equivalent import detected, only_in
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.records import Configuration, Record

Decision = Literal[stats.Decision, "failed"]
Gate = Literal["passed", "failed", "inconclusive", "crashed"]
GateOn = Literal["time", "mean", "cpu", "memory"]
Gates = Mapping[GateOn, float]
"""The relative increase that each gate tolerates (0.05 is 5%), by the amount that the gate is on."""


@dataclass(frozen=True, slots=True)
class Gated:
    """A gate's judgement of one amount. `crashed`: a launch failed, so the amounts decide nothing."""

    of: GateOn
    limit: float
    ratio: Interval
    """other / reference, of the amount that the gate is on: the response, its mean, CPU time or peak memory"""
    verdict: Gate


ITSELF = Interval(1.0, None, None, None, 0)
"""a ratio to oneself"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`other` compared with `reference`: T_other / T_reference, above 1 if `other` is slower."""

    reference: Configuration
    other: Configuration
    reference_time: Interval
    time: Interval
    ratio: Interval
    p_value: float
    decision: Decision
    failures: tuple[int, int]
    """failed launches of reference and other, including those that count in spite of it (-i)"""
    never: tuple[Record, ...] = ()
    """the last launch of each of the two, if it never succeeded"""
    gates: tuple[Gated, ...] = ()
    mean_ratio: Interval = ITSELF
    """mean T_other / mean T_reference, in which slow launches count by their time"""
    slow: tuple[Slow, Slow] | None = None
    """launches of reference and other that are far slower than the median"""
    ineffective: tuple[str, ...] = ()
    """the factors in which the two differ, if nothing reads the variables that these set: they are the same launch"""
    confidence: float = 0.95
    """confidence of the interval, chosen such that all comparisons hold together"""
    alone: Timing | None = None
    """the time of the reference, if it is the only command"""

    @property
    def gate(self) -> Gate | None:
        """The worst of all gates; None for none."""
        return min((one.verdict for one in self.gates), key=WORST.index, default=None)


WORST: tuple[Gate, ...] = ("crashed", "failed", "inconclusive", "passed")


def compare(records: Sequence[Record], experiment: Experiment, gate: Gates | None = None) -> tuple[Comparison, ...]:
    """Every other configuration against the first one, in the order of the command line.

    With k comparisons each interval is at the Bonferroni confidence, so that all hold together. A gate fails if the
    whole interval lies beyond it, and passes if the whole interval lies within. No gate passes if a launch of either
    command failed; with -i, only if every launch of `other` failed.
    """
    times = table(records, experiment.response)
    order = [c for c in configurations(experiment) if c in times.places]
    confidence = stats.bonferroni(experiment.stop.reading_confidence, len(order) - 1)
    if len(order) == 1:
        return _alone(records, experiment, order[0])
    return tuple(_compare(records, experiment, order[0], other, confidence, gate or {}) for other in order[1:])


def _alone(records: Sequence[Record], experiment: Experiment, only: Configuration) -> tuple[Comparison, ...]:
    """One command compared with itself; nothing if launches succeeded, but none gave the response."""
    found, launches = timing(records, only, experiment), of(records, only)
    never = _never(launches)
    if found is None and not never:
        return ()
    time = stats.median_interval(table(records, experiment.response).column(only), experiment.stop.confidence)
    failures = _failures(launches)
    mostly = failures > MOSTLY * len(launches) and not experiment.ignore_failure
    said: Decision = "failed" if mostly else "no difference shown"
    ratio = ITSELF if found is not None else replace(ITSELF, estimate=math.nan)
    return (Comparison(only, only, time, time, ratio, 1.0, said, (failures, failures), never, alone=found),)


def _compare(
    records: Sequence[Record],
    experiment: Experiment,
    reference: Configuration,
    other: Configuration,
    confidence: float,
    gate: Gates,
) -> Comparison:
    times = table(records, experiment.response)
    launches = (of(records, reference), of(records, other))
    same = only_in(experiment, detected(records), reference, other)
    log_ratio, step = stats.hodges_lehmann(times.log_ratio(other, reference), confidence), Step.of(records, experiment)
    ratio = widened(log_ratio, times, other, reference, step).map(math.exp)
    whole = 0.0 if experiment.stop.rule == "calm" else None
    failures = (_failures(launches[0]), _failures(launches[1]))
    decision = "failed" if any(failures) and not experiment.ignore_failure else stats.decide(ratio)
    # The time until a program fails is not the time of its work.
    crashed = decision == "failed" or (len(launches[1]) > 0 and all(record.let_fail for record in launches[1]))
    of_means = stats.ratio_of_means(times.column(other), times.column(reference), confidence)
    mean = widened(of_means.map(math.log), times, other, reference, step).map(math.exp)
    ratios: dict[GateOn, Interval] = {"time": ratio, "mean": mean}
    for amount in gate.keys() - ratios.keys():
        logs = table(records, amount).log_ratio(other, reference)
        ratios[amount] = stats.hodges_lehmann(logs, confidence).map(math.exp)
    return Comparison(
        reference=reference,
        other=other,
        reference_time=stats.median_interval(times.column(reference), experiment.stop.confidence),
        time=stats.median_interval(times.column(other), experiment.stop.confidence),
        ratio=ratio,
        p_value=stats.signed_rank_p(times.log_ratio(other, reference)),
        decision="no difference shown" if same and decision in ("faster", "slower") else decision,
        failures=failures,
        never=(*_never(launches[0]), *_never(launches[1])),
        gates=tuple(
            Gated(of, limit, ratios[of], "crashed" if crashed else judge(ratios[of], limit, whole))
            for of, limit in gate.items()
        ),
        mean_ratio=mean,
        slow=(slow(times.column(reference)), slow(times.column(other))),
        confidence=confidence,
        ineffective=same,
    )


def _never(launches: Sequence[Record]) -> tuple[Record, ...]:
    """The last launch, if none succeeded."""
    return tuple(launches[-1:]) if not any(record.ok for record in launches) else ()


def _failures(launches: Sequence[Record]) -> int:
    return sum(not record.ok or record.let_fail for record in launches)


def judge(ratio: Interval, gate: float, allowed: float | None = None) -> Gate:
    """Whether T_other / T_reference <= 1 + gate is certain, ruled out, or undecided.

    `allowed`: the gate fails if the slowdown certainly exceeds this and may be as large as the gate; by default it is
    the gate itself.
    """
    if ratio.low is None or ratio.high is None:
        return "inconclusive"
    if ratio.low > 1 + gate:
        return "failed"
    if ratio.high <= 1 + gate:
        return "passed"
    return "failed" if allowed is not None and ratio.low > 1 + allowed else "inconclusive"
