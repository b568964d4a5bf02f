# SPDX-License-Identifier: Apache-2.0
"""Joins several runs, with the machine as a factor. Blocks stay separate, so nothing is paired across machines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import PurePath

import numpy as np

from corescale.conclude import stats
from corescale.conclude.response import table
from corescale.conclude.stats import Interval
from corescale.conclude.two_samples import unpaired_ratio
from corescale.declare.experiment import Experiment, Factor
from corescale.declare.grid import baseline, configurations
from corescale.declare.stop import Stop
from corescale.errors import UsageError
from corescale.records import Configuration, Record


@dataclass(frozen=True, slots=True)
class Part:
    """One run. Parts with the same `machine` are further blocks of one run."""

    machine: str
    experiment: Experiment
    records: Sequence[Record]
    launcher: str = "direct"


@dataclass(frozen=True, slots=True)
class Difference:
    """One configuration in two runs of the same plan, here and there. Intervals are of two independent samples."""

    configuration: Configuration
    here: Interval
    there: Interval
    """medians of the response"""
    time: Interval
    """T here / T there"""
    gain: Interval | None
    """(T_baseline / T) here, divided by the same ratio there; None for the baseline itself"""


def differences(here: Sequence[Record], there: Sequence[Record], experiment: Experiment) -> tuple[Difference, ...]:
    """What differs between two runs of one plan, for each configuration that both have, in the order of the plan."""
    ours, theirs = table(here, experiment.response), table(there, experiment.response)
    now, confidence = baseline(experiment), experiment.stop.confidence
    both = [c for c in ours.configurations if c in theirs.configurations]
    known = now in both
    return tuple(
        Difference(
            c,
            stats.median_interval(ours.column(c), confidence),
            stats.median_interval(theirs.column(c), confidence),
            unpaired_ratio(ours.column(c), theirs.column(c), confidence),
            unpaired_ratio(np.exp(ours.log_ratio(now, c)), np.exp(theirs.log_ratio(now, c)), confidence)
            if known and c != now
            else None,
        )
        for c in sorted(both, key=configurations(experiment).index)
    )


def together(parts: Sequence[Part]) -> tuple[Experiment, tuple[Record, ...]]:
    """One experiment with the factor `machine`, and all records; raises UsageError if launches differ in anything else.

    What is shown is declared by the first part. Warm-ups and confirmations are left out. Scans or comparisons of one
    machine are one run with more blocks, and so have no such factor.
    """
    first = parts[0].experiment
    for part in parts[1:]:
        alone = part.machine == parts[0].machine
        pairs = zip_longest(_said(parts[0], alone), _said(part, alone), fillvalue="no other")
        if other := next((" and ".join(pair) for pair in pairs if pair[0] != pair[1]), ""):
            raise UsageError(f"cannot be seen together: {other}", where="report", remedy="give runs of one experiment")
    factors = [_merged(name, parts) for name in (factor.name for factor in first.factors)]
    if (first.scans or first.compares) and all(part.machine == parts[0].machine for part in parts):
        longer = first.model_copy(update={"factors": tuple(factors), "stop": _stop(parts)})
        return longer, tuple(_records(parts))
    machine = Factor(name="machine", kind="parameter", levels=tuple(dict.fromkeys(part.machine for part in parts)))
    rates = {part.machine: rate for part in parts if (rate := part.experiment.study.bandwidth.get(""))}
    changed = {
        "verb": "study",
        "factors": (*factors, machine),
        "stop": _stop(parts),
        "baseline": first.baseline.model_copy(update={"returns": False}),
        "tuning": first.tuning.model_copy(update={"constraints": ()}),
        "study": first.study.model_copy(update={"bandwidth": rates}),
    }
    return first.model_copy(update=changed), tuple(_by_machine(parts))


def _stop(parts: Sequence[Part]) -> Stop:
    """As many blocks as there are. If a run went on until its findings were decided, its looks divide the error."""
    confidence = parts[0].experiment.stop.confidence
    decided = [part.experiment.stop for part in parts if part.experiment.stop.rule == "decided"]
    if not decided:
        return Stop(rule="replicates", confidence=confidence)
    longest = max(decided, key=lambda stop: stop.max_blocks)
    return Stop(rule="decided", min_blocks=longest.min_blocks, max_blocks=longest.max_blocks, confidence=confidence)


def _said(part: Part, of_one_machine: bool) -> Iterator[str]:
    """What must be equal, most telling first; without folders, which on another machine may be others."""
    asked, place = part.experiment, str if of_one_machine else _without_folders
    yield f"a {asked.verb}"
    yield f"{' '.join(factor.name for factor in asked.factors) or 'no factor'} -> {asked.response}"
    origin = " ".join(sorted({record.origin for record in part.records})) or "measured"
    yield origin
    yield f"launched by {part.launcher if of_one_machine or origin == 'measured' else origin}"
    yield f"--input {place(asked.input or 'none')}"
    hooks = [f"--{name} {text}" for name, text in asked.hooks.model_dump().items() if text]
    yield " ".join(hooks) or "no hooks"
    yield "-i" if asked.lets_fail else "no -i"
    yield " ".join(f"{name}={value}" for name, value in sorted(asked.derived.items())) or "nothing derived"
    yield asked.metrics.get(asked.response.removeprefix("metric:"), "no metric")
    for command in asked.commands:
        named = f"-n {command.name} " if len(asked.commands) > 1 else ""
        yield f"{named}{' '.join(map(place, command.argv))}"


def _without_folders(text: str) -> str:
    return " ".join(PurePath(word).name for word in text.split())


def _merged(name: str, parts: Sequence[Part]) -> Factor:
    found = [factor for part in parts for factor in part.experiment.factors if factor.name == name]
    levels = dict.fromkeys(level for factor in found for level in factor.levels)
    return found[0].model_copy(update={"levels": tuple(levels)})


def _by_machine(parts: Sequence[Part]) -> Iterator[Record]:
    """The records with the machine as a level."""
    machines = [part.machine for part in parts for record in part.records if record.phase == "measure"]
    for record, machine in zip(_records(parts), machines, strict=True):
        levels = (*record.configuration.levels, ("machine", machine))
        yield replace(record, configuration=Configuration(levels, record.configuration.layout))


def _records(parts: Sequence[Part]) -> list[Record]:
    """The measuring launches of all parts, with blocks that are numbered consecutively."""
    made: list[Record] = []
    for part in parts:
        after = 1 + max((record.block for record in made), default=-1)
        made += [replace(r, block=after + r.block) for r in part.records if r.phase == "measure"]
    return made
