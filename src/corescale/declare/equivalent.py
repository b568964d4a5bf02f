# SPDX-License-Identifier: Apache-2.0
"""Finds configurations that are one launch, because the program does not read its number of threads or ranks."""

from collections.abc import Collection, Sequence
from typing import Literal

from corescale.declare import template
from corescale.declare.catalogue.env_reads import RANK, THREAD_VARIABLES
from corescale.declare.experiment import SERIAL, Experiment
from corescale.declare.grid import baseline, configurations
from corescale.records import Configuration, Level, Record


def detected(records: Sequence[Record]) -> frozenset[str] | None:
    """The known variables that the programs of these launches read; None if nothing recorded env reads.

    A launch that failed may have ended before it read any.
    """
    known = [record.reads for record in records if record.ok and record.reads is not None]
    return frozenset().union(*known) if known else None


def to_set(experiment: Experiment, records: Sequence[Record]) -> frozenset[str] | None:
    """The known variables that a launch line must set, because the programs read them; None for all.

    If several numbers of threads were compared, and env reads may have been missed (as in ranks on other machines), all
    thread variables stay.
    """
    reads = detected(records)
    if reads is None or reads & {*THREAD_VARIABLES, *RANK} or unread(experiment, reads) == "threads":
        return reads
    compared = len({record.configuration.layout.threads_per_rank for record in records}) > 1
    return reads.union(THREAD_VARIABLES if compared else ())


def distinguishable(experiment: Experiment, reads: Collection[str] | None) -> tuple[Configuration, ...]:
    """The configurations that are different launches; of those that are one, the baseline's or else the first."""
    everyone, names = configurations(experiment), ineffective(experiment, reads)
    if not names:
        return everyone
    usual = [pair for pair in baseline(experiment).levels if pair[0] in names]
    kept = dict[tuple[tuple[str, Level], ...], Configuration]()
    for chosen in everyone:
        others = tuple(pair for pair in chosen.levels if pair[0] not in names)
        if others not in kept or all(pair in chosen.levels for pair in usual):
            kept[others] = chosen
    left = {*kept.values()}
    return tuple(chosen for chosen in everyone if chosen in left)


def ineffective(experiment: Experiment, reads: Collection[str] | None) -> tuple[str, ...]:
    """The factors whose levels are all the same launch, because they change only variables that nothing reads.

    `reads`: see `detected`; if it is None, no factor is ineffective.
    """
    if reads is None or _several_programs(experiment):
        return ()
    used, threads = _placeholders(experiment), unread(experiment, reads) == "threads"
    return tuple(
        factor.name
        for factor in experiment.factors
        if (threads and factor.how.makes)
        or ((variables := factor.how.variables(factor.name)) and not variables & {*reads} and factor.name not in used)
    )


def only_in(
    experiment: Experiment, reads: Collection[str] | None, one: Configuration, other: Configuration
) -> tuple[str, ...]:
    """The `ineffective` factors in which two configurations differ, if they differ in no other; empty otherwise."""
    differ = [name for name, level in one.levels if other.get(name) != level]
    known = ineffective(experiment, reads)
    return tuple(differ) if {*differ} <= {*known} else ()


Unread = Literal["", "threads", "ranks"]
"""What the programs do not read: the number of threads, if only variables pass it, or their rank."""


def unread(experiment: Experiment, reads: Collection[str] | None) -> Unread:
    """What the programs do not read: nothing if no env reads were recorded, or if it reaches them in another way."""
    if reads is None:
        return ""
    if _by_variables(experiment):
        return "" if {*reads} & {*THREAD_VARIABLES} else "threads"
    return "ranks" if _of_ranks(experiment) and not {*reads} & RANK else ""


def reads_show_p(experiment: Experiment) -> bool:
    """Whether env reads show that p reaches the programs. They can for ranks, and if only variables set the threads."""
    return _by_variables(experiment) or _of_ranks(experiment)


def _of_ranks(experiment: Experiment) -> bool:
    """Whether corescale starts the ranks. A command's own may run where no env reads are recorded."""
    return "ranks" in _makers(experiment) and not experiment.starts_ranks


def _makers(experiment: Experiment) -> set[str]:
    return {part for factor in experiment.factors for part in factor.how.makes}


def _by_variables(experiment: Experiment) -> bool:
    """Whether the number of threads reaches the program only through variables: not its command, and not a hook."""
    used = _placeholders(experiment) & {"threads", "p"}
    other = experiment.derived or experiment.along or used or _several_programs(experiment)
    return _makers(experiment) == {"threads"} and not other


def _placeholders(experiment: Experiment) -> frozenset[str]:
    """The names in braces of everything that a launch executes."""
    hooks = filter(None, (experiment.hooks.prepare, experiment.hooks.conclude))
    argv = (word for command in experiment.commands for word in command.argv)
    return template.placeholders((*argv, *experiment.tuning.rehearsal, *hooks))


def _several_programs(experiment: Experiment) -> bool:
    """Whether levels choose the program, so that the first launch does not show what each of them reads."""
    commands = [each for each in experiment.commands if not (experiment.has_serial and each.name == SERIAL)]
    argv = commands[0].argv
    names = template.called(" ".join(argv)) if commands[0].shell else argv[:1]
    return len(commands) > 1 or bool(template.placeholders(names))
