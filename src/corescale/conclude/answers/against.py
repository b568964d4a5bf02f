# SPDX-License-Identifier: Apache-2.0
"""A run beside an earlier one of the same commands, as of an older commit: gates on independent samples."""

from collections.abc import Sequence
from dataclasses import dataclass

from corescale.conclude import stats
from corescale.conclude.answers.verdict import AMOUNTS, Gate, Gated, GateOn, Gates, judge
from corescale.conclude.response import of, table
from corescale.conclude.response import response as of_launch
from corescale.conclude.stats import Interval
from corescale.conclude.two_samples import unpaired_ratio
from corescale.declare.experiment import Experiment
from corescale.records import Configuration, Record


@dataclass(frozen=True, slots=True)
class Against:
    """One configuration now against then. Ratios are now / then: above 1 where it is slower now."""

    configuration: Configuration
    time: Interval
    failures: tuple[int, int]
    """failed launches then and now"""
    gates: tuple[Gated, ...]
    confidence: float


def against(now: Sequence[Record], then: Sequence[Record], experiment: Experiment, gates: Gates) -> tuple[Against, ...]:
    """Each configuration that both runs have, at the Bonferroni confidence; `gates`: on time, CPU time and memory."""
    both = [c for c in table(now, experiment.response).configurations if of(then, c)]
    confidence = stats.bonferroni(experiment.stop.confidence, len(both))
    return tuple(_against(now, then, experiment.response, c, confidence, gates) for c in both)


def _against(
    now: Sequence[Record],
    then: Sequence[Record],
    response: str,
    configuration: Configuration,
    confidence: float,
    gates: Gates,
) -> Against:
    def ratio(amount: GateOn) -> Interval:
        value = AMOUNTS.get(amount, of_launch)
        ours, theirs = (table(records, response, value=value).column(configuration) for records in (now, then))
        return unpaired_ratio(ours, theirs, confidence)

    failures = (_failures(then, configuration), _failures(now, configuration))
    found = {amount: ratio(amount) for amount in gates}
    judged: dict[GateOn, Gate] = {
        amount: "crashed" if any(failures) else judge(each, gates[amount]) for amount, each in found.items()
    }
    made = tuple(Gated(amount, gates[amount], found[amount], judged[amount]) for amount in gates)
    return Against(configuration, ratio("time"), failures, made, confidence)


def _failures(records: Sequence[Record], configuration: Configuration) -> int:
    return sum(not record.ok for record in of(records, configuration))
