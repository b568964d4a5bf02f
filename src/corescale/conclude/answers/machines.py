# SPDX-License-Identifier: Apache-2.0
"""Several runs together: the machine becomes a factor. Blocks stay apart, so nothing is paired across machines."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from corescale.declare.experiment import Experiment, Factor
from corescale.declare.stop import Stop
from corescale.errors import UsageError
from corescale.records import Configuration, Record


@dataclass(frozen=True, slots=True)
class Part:
    """One run. Parts of equal `machine` are further blocks of the same."""

    machine: str
    experiment: Experiment
    records: Sequence[Record]


def together(parts: Sequence[Part]) -> tuple[Experiment, tuple[Record, ...]]:
    """One experiment with the factor `machine`, and all records; raises UsageError where they vary different things.

    What is shown is declared by the first part. Warm-ups and confirmations are left out.
    """
    first = parts[0].experiment
    for part in parts[1:]:
        if _asked(part.experiment) != _asked(first):
            raise UsageError(
                f"cannot be seen together: {_asked(first)} and {_asked(part.experiment)}",
                where="report",
                remedy="give runs of one experiment",
            )
    factors = [_merged(name, parts) for name in (factor.name for factor in first.factors)]
    machine = Factor(name="machine", kind="parameter", levels=tuple(dict.fromkeys(part.machine for part in parts)))
    stop = Stop(rule="replicates", confidence=first.stop.confidence)
    rates = {part.machine: rate for part in parts if (rate := part.experiment.bandwidth.get(""))}
    changed = {"verb": "study", "factors": (*factors, machine), "stop": stop, "anchored": False, "constraints": ()}
    return first.model_copy(update=changed | {"bandwidth": rates}), tuple(_records(parts))


def _asked(experiment: Experiment) -> str:
    return f"{' '.join(factor.name for factor in experiment.factors) or 'no factor'} -> {experiment.response}"


def _merged(name: str, parts: Sequence[Part]) -> Factor:
    found = [factor for part in parts for factor in part.experiment.factors if factor.name == name]
    levels = dict.fromkeys(level for factor in found for level in factor.levels)
    return found[0].model_copy(update={"levels": tuple(levels)})


def _records(parts: Sequence[Part]) -> list[Record]:
    made: list[Record] = []
    for part in parts:
        after = 1 + max((record.block for record in made), default=-1)
        for record in part.records:
            if record.phase == "measure":
                levels = (*record.configuration.levels, ("machine", part.machine))
                chosen = Configuration(levels, record.configuration.layout)
                made.append(replace(record, configuration=chosen, block=after + record.block))
    return made
