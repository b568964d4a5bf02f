# SPDX-License-Identifier: Apache-2.0
"""Configurations that are one launch: where the program reads no variable of threads, their number changes nothing."""

from collections.abc import Collection, Sequence

from corescale.declare import template
from corescale.declare.catalogue.reading import THREAD_VARIABLES
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.records import Configuration, Record


def detected(records: Sequence[Record]) -> frozenset[str] | None:
    """The known variables that the programs of these launches read; None where nothing recorded env reads."""
    told = [record.reads for record in records if record.reads is not None]
    return frozenset().union(*told) if told else None


def distinguishable(experiment: Experiment, reads: Collection[str] | None) -> tuple[Configuration, ...]:
    """The configurations, with the baseline number of threads alone where any other is the same launch.

    `reads`: see `detected`. All of them where nothing recorded env reads, or where nothing would be left to try.
    """
    everyone = configurations(experiment)
    if reads is None or not _by_variables(experiment) or {*reads} & {*THREAD_VARIABLES}:
        return everyone
    now = baseline(experiment).layout
    kept = tuple(chosen for chosen in everyone if chosen.layout == now)
    return kept if len(kept) > 1 else everyone


def _by_variables(experiment: Experiment) -> bool:
    """Whether the number of threads reaches the programs by variables, and by nothing else."""
    makers = {part for factor in experiment.factors for part in factor.how.makes}
    used = {name for command in experiment.commands for name in template.placeholders(command.argv)}
    return makers == {"threads"} and not experiment.derived and not used & {"threads", "p"}
