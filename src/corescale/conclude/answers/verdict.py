# SPDX-License-Identifier: Apache-2.0
"""The verdict on two commands or builds: paired, from one interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from corescale.conclude import stats
from corescale.conclude.answers.timing import Timing, timing
from corescale.conclude.response import of, table
from corescale.conclude.stats import Interval
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.records import Configuration, Record

Decision = Literal["faster", "slower", "no difference shown", "too few blocks", "failed"]
Gate = Literal["passed", "failed", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """`other` against `reference`, T_other / T_reference: above 1 where `other` is slower."""

    reference: Configuration
    other: Configuration
    reference_time: Interval
    other_time: Interval
    ratio: Interval
    p_value: float
    decision: Decision
    failures: tuple[int, int]
    """failed launches of reference and other, those that count (-i) among them"""
    never: tuple[Record, ...] = ()
    """last launch of each of the two that never succeeded"""
    gate: Gate | None = None
    confidence: float = 0.95
    """of the interval, so that all comparisons hold together"""
    alone: Timing | None = None
    """the time of the reference where it is the only command"""


def compare(records: Sequence[Record], experiment: Experiment, gate: float | None = None) -> tuple[Comparison, ...]:
    """Every other configuration against the first one, in the order of the command line.

    With k comparisons each interval is at the Bonferroni confidence, so that all hold together. `gate` is the relative
    slowdown that is tolerated (0.05 is 5%): failed where the whole interval lies beyond it, passed where the whole
    interval lies within, else inconclusive, as where launches failed; with -i where all of `other` did.
    """
    times = table(records, experiment.response)
    order = [c for c in configurations(experiment) if c in times.configurations]
    confidence = stats.bonferroni(experiment.stop.reading_confidence, len(order) - 1)
    if len(order) == 1:
        return _alone(records, experiment, order[0])
    return tuple(_compare(records, experiment, order[0], other, confidence, gate) for other in order[1:])


def _alone(records: Sequence[Record], experiment: Experiment, only: Configuration) -> tuple[Comparison, ...]:
    """One command beside itself; nothing where no launch succeeded."""
    found = timing(records, only, experiment.response)
    if found is None:
        return ()
    time = stats.median_interval(table(records, experiment.response).column(only), experiment.stop.confidence)
    one, failures = Interval(1.0, None, None, None, 0), _failures(records, only)
    return (Comparison(only, only, time, time, one, 1.0, "no difference shown", (failures, failures), alone=found),)


def _compare(
    records: Sequence[Record],
    experiment: Experiment,
    reference: Configuration,
    other: Configuration,
    confidence: float,
    gate: float | None,
) -> Comparison:
    times = table(records, experiment.response)
    log_ratio = times.log_ratio(other, reference)
    ratio = stats.hodges_lehmann(log_ratio, confidence).map(math.exp)
    failures = (_failures(records, reference), _failures(records, other))
    decision = "failed" if any(failures) and not experiment.ignore_failure else decide(ratio)
    return Comparison(
        reference=reference,
        other=other,
        reference_time=stats.median_interval(times.column(reference), experiment.stop.confidence),
        other_time=stats.median_interval(times.column(other), experiment.stop.confidence),
        ratio=ratio,
        p_value=stats.signed_rank_p(log_ratio),
        decision=decision,
        failures=failures,
        never=tuple(filter(None, (_never(records, c) for c in (reference, other)))),
        gate=None
        if gate is None
        else "inconclusive"
        if decision == "failed" or _fails(records, other)
        else judge(ratio, gate),
        confidence=confidence,
    )


def _failures(records: Sequence[Record], configuration: Configuration) -> int:
    return sum(not record.ok or record.let_fail for record in of(records, configuration))


def _never(records: Sequence[Record], configuration: Configuration) -> Record | None:
    """The last launch, where none succeeded."""
    launches = of(records, configuration)
    return launches[-1] if launches and not any(record.ok for record in launches) else None


def _fails(records: Sequence[Record], configuration: Configuration) -> bool:
    """Whether every launch failed, and counts (-i): how long that takes says nothing of the program."""
    launches = of(records, configuration)
    return bool(launches) and all(record.let_fail for record in launches)


def decide(ratio: Interval) -> Decision:
    """What an interval of T_other / T_reference allows to say."""
    if ratio.low is None or ratio.high is None:
        return "too few blocks"
    if ratio.high < 1:
        return "faster"
    return "slower" if ratio.low > 1 else "no difference shown"


def judge(ratio: Interval, gate: float) -> Gate:
    """Whether T_other / T_reference <= 1 + gate is certain, ruled out, or neither."""
    if ratio.low is None or ratio.high is None:
        return "inconclusive"
    if ratio.low > 1 + gate:
        return "failed"
    return "passed" if ratio.high <= 1 + gate else "inconclusive"
