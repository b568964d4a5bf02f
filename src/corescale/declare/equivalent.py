# SPDX-License-Identifier: Apache-2.0
"""Finds configurations that are the same launch, because the program does not read how many threads or ranks there
are."""

from collections.abc import Collection, Sequence
from typing import Literal

from corescale.declare import template
from corescale.declare.catalogue.env_reads import RANK, THREAD_VARIABLES
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.records import Configuration, Record


def detected(records: Sequence[Record]) -> frozenset[str] | None:
    """The known variables that the programs of these launches read; None if nothing recorded env reads."""
    known = [record.reads for record in records if record.reads is not None]
    return frozenset().union(*known) if known else None


def to_set(records: Sequence[Record]) -> frozenset[str] | None:
    """The known variables that the line of a launch sets: those that the programs read; None for all of them.

    If neither a number of threads nor a rank was detected, and numbers of threads were compared, all of those stay:
    something may read them undetected.
    """
    reads = detected(records)
    if reads is None or reads & {*THREAD_VARIABLES, *RANK}:
        return reads
    compared = len({record.configuration.layout.threads_per_rank for record in records}) > 1
    return reads.union(THREAD_VARIABLES if compared else ())


def distinguishable(experiment: Experiment, reads: Collection[str] | None) -> tuple[Configuration, ...]:
    """The configurations; only those with the baseline's number of threads, if any other number is the same launch.

    `reads`: see `detected`. All of them if nothing recorded env reads, or if nothing would be left to try.
    """
    everyone = configurations(experiment)
    if unread(experiment, reads) != "threads":
        return everyone
    now = baseline(experiment).layout
    kept = tuple(chosen for chosen in everyone if chosen.layout == now)
    return kept if len(kept) > 1 else everyone


Unread = Literal["", "threads", "ranks"]
"""What the programs do not read: a number of threads that only variables tell them, or which rank they are."""


def unread(experiment: Experiment, reads: Collection[str] | None) -> Unread:
    """It is empty if they read it, if nothing recorded env reads, or if it reaches them in another way."""
    if reads is None:
        return ""
    if _by_variables(experiment):
        return "" if {*reads} & {*THREAD_VARIABLES} else "threads"
    return "ranks" if _of_ranks(experiment) and not {*reads} & RANK else ""


def reads_show_p(experiment: Experiment) -> bool:
    """Whether env reads tell if p reaches the programs. They do if only variables set the number of threads, and for
    ranks."""
    return _by_variables(experiment) or _of_ranks(experiment)


def _of_ranks(experiment: Experiment) -> bool:
    """Whether ranks are started for the command. Ranks that it starts itself may run where no env reads are
    recorded."""
    return "ranks" in _makers(experiment) and not experiment.starts_ranks


def _makers(experiment: Experiment) -> set[str]:
    return {part for factor in experiment.factors for part in factor.how.makes}


def _by_variables(experiment: Experiment) -> bool:
    """Whether the number of threads reaches the programs by variables, and by nothing else."""
    used = {name for command in experiment.commands for name in template.placeholders(command.argv)}
    return _makers(experiment) == {"threads"} and not experiment.derived and not used & {"threads", "p"}
