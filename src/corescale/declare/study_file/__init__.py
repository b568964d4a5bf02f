# SPDX-License-Identifier: Apache-2.0
"""From a TOML file (docs/study.md) to an Experiment, as command_line/ does it from a command line."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from corescale import calibration
from corescale.declare import quantities, template
from corescale.declare.command_line import unloadable_by_file
from corescale.declare.experiment import (
    SERIAL,
    Baseline,
    Command,
    Constraint,
    Experiment,
    Factor,
    Launching,
    Presentation,
    Scaling,
    Tuning,
)
from corescale.declare.factors import KINDS, Launch
from corescale.declare.grid import is_level, smallest_p
from corescale.declare.outputs import BUILT_IN, Selection
from corescale.declare.programs import bundled, data_folder, near
from corescale.declare.quantities import confidence, seconds, share
from corescale.declare.stop import DECIDED_BLOCKS, MOST_BLOCKS, USUAL_BUDGET, Stop
from corescale.declare.study_file import factors, faults
from corescale.declare.study_file.factors import without_ranks
from corescale.declare.study_file.tables import SCHEMA, StopTable, StudyFile, Template, schema
from corescale.errors import PreloadError, UsageError
from corescale.machine import Machine
from corescale.records import COMMAND, Level

__all__ = ["SCHEMA", "StudyFile", "experiment", "presentation", "read", "schema", "without_ranks"]


def read(path: Path) -> StudyFile:
    """The file as declared; raises UsageError."""
    return faults.read(StudyFile, path, "docs/study.md")


def experiment(
    path: Path,
    machine: Machine,
    levels: Sequence[str] = (),
    command: str = "",
    runs: int | None = None,
    unloadable: PreloadError | None = None,
    *,
    until_decided: bool = False,
) -> Experiment:
    """The Experiment of a file on this machine.

    `levels` replace a factor's, as `threads=1,2`; `command` replaces the program; `runs` the number of blocks.
    `until_decided`: the rule of that name instead of the file's.
    Levels that this machine lacks (an allocator, a socket) are left out and named in `left_out`. So are allocators that
    cannot be preloaded into the program. Its file shows that, or `unloadable`, the error of a launch. Raises
    UsageError.
    """
    file, text = read(path), path.read_text(encoding="utf-8-sig")
    try:
        stop = stop_rule(file.stop, runs, until_decided=until_decided)
        made = _experiment(file, path, machine, levels, command, stop)
    except UsageError as error:
        raise faults.in_file(error, path, text) from None
    why = unloadable.what if unloadable else unloadable_by_file(made.commands)
    return factors.without_preloads(made, why) if why else made


def presentation(path: Path, made: Experiment, machine: Machine) -> Experiment:
    """A measured experiment, shown as a study file declares. Runs of `scan` and `compare` become studies; a race stays
    a race.

    Raises UsageError if the file varies something else.
    """
    wanted = experiment(path, machine)
    if [factor.name for factor in wanted.factors] != [factor.name for factor in made.factors]:
        theirs, ours = (", ".join(factor.name for factor in one.factors) for one in (wanted, made))
        what = f"the study varies {theirs}, the run varies {ours}"
        raise UsageError(what, where=str(path), remedy="name the study that the run is of")
    study = wanted.study.model_copy(update={"bandwidth": made.study.bandwidth})
    scaling = made.scaling.model_copy(update={"weak": wanted.scaling.weak})
    verb = made.verb if made.stop.rule == "race" else wanted.verb
    return made.model_copy(update={"verb": verb, "study": study, "scaling": scaling})


AS_SHOWN = ("title", "source", "agree", "samples", "columns")
"""The fields that a study file shares with Presentation."""


def _experiment(
    file: StudyFile, path: Path, machine: Machine, levels: Sequence[str], command: str, stop: Stop
) -> Experiment:
    beside = {name: factor for factor, table in file.factors.items() for name in table.along}
    launched = _commands(file, path, command)
    for each in launched:
        template.check(each.argv, factors.LAYOUT.union(file.factors, file.derived, beside))
    reached = factors.names_used(launched, file.derived, file.factors, beside)
    declared = reached | factors.names_used(_commands(file, path, ""), file.derived, file.factors, beside)
    typed = factors.replaced(levels, file.factors, declared)
    given = dict(file.factors) | typed
    chosen, left_out = factors.chosen(given, typed, declared, reached, machine)
    if file.commands and not command:
        if COMMAND in file.factors:
            raise UsageError("is what [commands] varies", where=f"factors.{COMMAND}", remedy="use another name")
        chosen.insert(0, Factor(name=COMMAND, kind="command", levels=tuple(file.commands)))
    names = factors.LAYOUT.union(factor.name for factor in chosen)
    taken = names.union(BUILT_IN, beside)
    for part, known in (("derived", taken), ("metrics", taken), ("columns", taken.union(file.derived))):
        for name in known.intersection(getattr(file, part)):
            raise UsageError("a column has this name already", where=f"{part}.{name}", remedy="rename it")
    baseline = tuple((name, factors.level(name, level, chosen, machine)) for name, level in file.baseline.items())
    made = Experiment(
        verb="study",
        commands=launched,
        factors=tuple(chosen),
        baseline=Baseline(levels=baseline, returns=stop.rule == "race"),
        along=tuple(factors.along(chosen, file.factors)),
        omit=tuple(one for each in file.omit for one in _in_numbers(each, chosen, machine)),
        tuning=Tuning(constraints=tuple(Constraint.parse(text, "constraints") for text in file.constraints)),
        scaling=Scaling(p_ref=file.p_ref or smallest_p(chosen), weak=file.weak),
        stop=stop,
        timeout=None if file.timeout is None else seconds_of(file.timeout, "timeout"),
        left_out=tuple(left_out),
        study=Presentation(
            name=path.stem,
            bandwidth=_bandwidth(machine),
            outputs=(*file.table, *file.chart, *file.finding, *file.overheads),
            **{name: getattr(file, name) for name in AS_SHOWN},
        ),
        **{name: getattr(file, name) for name in Launching.model_fields},
    )
    factors.check(made, machine, [file.factors, given])
    return made


def _bandwidth(machine: Machine) -> Mapping[str, float]:
    """This machine's bandwidth, if it is calibrated. A broken calibration file is not an error here."""
    try:
        found, _ = calibration.of_machine(machine.fingerprint())
    except UsageError:
        return {}
    rate = found.values.get("bytes_per_ns") if found else None
    return {} if rate is None else {"": 1e9 * rate}


def _commands(file: StudyFile, path: Path, replaced: str) -> tuple[Command, ...]:
    """The commands of a file, or the one that replaces them; raises UsageError."""
    several = {name: (f"commands.{name}", text) for name, text in file.commands.items()}
    declared = {"main": ("command", file.command), **several, SERIAL: ("serial", file.serial)}
    texts = {"main": ("--command", replaced)} if replaced else declared
    return tuple(
        Command(name=name, argv=_argv(text, file.shell, path, where), shell=file.shell)
        for name, (where, text) in texts.items()
        if text is not None
    )


def _argv(text: Template, shell: bool, path: Path, where: str) -> tuple[str, ...]:
    """{here} is the folder of the study file. {data} is the folder of the data that ship with corescale."""
    if isinstance(text, str):
        words = [text] if shell else list(template.split(text, where, "shell = true to the study"))
    else:
        words = list(text)
    if not words or not words[0].strip():
        raise UsageError("is empty", where=where, remedy='name a program, as in "./program {threads}"')
    places = {"{here}": near(path.resolve().parent), "{data}": near(data_folder())}
    for name, place in places.items():
        words = [word.replace(name, place) for word in words]
    return tuple(words) if shell else (bundled(words[0]), *words[1:])


def _in_numbers(selection: Selection, chosen: Sequence[Factor], machine: Machine) -> Iterator[Selection]:
    """The selection with a number in place of `p = "> 2 cores"`, one for each placement. Raises UsageError."""
    if "p" not in selection:
        yield selection
        return
    found = re.fullmatch(r"([<>])\s*(\d*)\s*cores", str(selection["p"]))
    if found is None:
        raise UsageError(
            f"not a condition on p: {selection['p']!r}", where="omit", remedy='write "< cores" or "> 2 cores"'
        )
    places = [factor for factor in chosen if KINDS[factor.kind].counts_cores]
    for levels in itertools.product(*(factor.levels for factor in places)):
        at = {factor.name: level for factor, level in zip(places, levels, strict=True)}
        if all(is_level(factor, at[factor.name], selection.get(factor.name, at[factor.name])) for factor in places):
            limit = int(found[2] or 1) * _cores(places, levels, machine)
            yield {**selection, **at, "p": f"{found[1]} {limit}"}


def _cores(places: Sequence[Factor], levels: Sequence[Level], machine: Machine) -> int:
    """Logical processors that a placement leaves, limited by the quota."""
    launch = Launch(argv=())
    for factor, level in zip(places, levels, strict=True):
        launch = factor.how.apply(factor.name, level, launch, machine)
    here = machine.default_max_threads
    return here if launch.affinity is None else min(here, len(launch.affinity))


def stop_rule(table: StopTable, runs: int | None, *, until_decided: bool = False) -> Stop:
    """The stop rule of the file, or exactly `runs` blocks; raises UsageError for a number that makes no sense.

    `until_decided`: measure until the findings are decided, with `runs` as the most blocks.
    """
    if runs is not None:
        quantities.runs(runs, "-r")
    rule: dict[str, Any] = {
        "rule": "decided" if until_decided else "replicates" if runs else table.rule,
        "width": share(str(table.width), "stop.width"),
        "within": share(str(table.within), "stop.within"),
        "confidence": confidence(str(table.confidence), "stop.confidence"),
        "confirm_pairs": table.confirm_pairs if table.rule == "race" else 0,
    }
    bounded = rule["rule"] in ("replicates", "decided")
    budget = table.budget if table.budget is not None or bounded else USUAL_BUDGET
    rule["budget"] = None if budget in (None, "none") else seconds_of(budget, "stop.budget")
    least = table.min_blocks or Stop().min_blocks
    if rule["rule"] == "replicates":
        least = most = runs or table.replicates or least
    elif rule["rule"] == "decided":
        most = runs or table.max_blocks or DECIDED_BLOCKS
    else:
        most = table.max_blocks or max(least, MOST_BLOCKS if table.rule == "race" else Stop().max_blocks)
    return Stop.model_validate(rule | {"min_blocks": min(least, most), "max_blocks": most})


def seconds_of(value: object, where: str) -> float:
    """Seconds of a number, or of a text such as 90s; raises UsageError."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    return seconds(str(value), where)
