# SPDX-License-Identifier: Apache-2.0
"""From a TOML file to an Experiment, as command_line/ does it from a command line. docs/study.md is the guide to it.

Every fault is one UsageError that names file, line and key, the nearest key that exists, and what to write.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from corescale import calibration
from corescale.declare import template
from corescale.declare.command_line import unloadable_by_file
from corescale.declare.experiment import PRESENTATION, Constraint, Experiment, Factor
from corescale.declare.grid import smallest_p
from corescale.declare.outputs import BUILT_IN
from corescale.declare.study_file import checks, commands, fitting, stopping, varied
from corescale.declare.study_file.faults import fault, in_file
from corescale.declare.study_file.tables import SCHEMA, StudyFile, schema
from corescale.declare.study_file.varied import without_ranks
from corescale.errors import PreloadError, UsageError
from corescale.machine import Machine

__all__ = ["SCHEMA", "StudyFile", "experiment", "presentation", "read", "schema", "without_ranks"]


def read(path: Path) -> StudyFile:
    """The file as declared; raises UsageError."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("cannot be read: not UTF-8", where=str(path), remedy="save it as UTF-8") from None
    except OSError as error:
        remedy = "corescale study list names the studies that ship"
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path), remedy=remedy) from None
    try:
        return StudyFile.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise fault(error, StudyFile, path, text) from None
    except (ValueError, RecursionError) as error:  # brackets or digits without end, too
        raise UsageError(f"not TOML: {error}", where=str(path)) from None
    except UsageError as error:
        raise in_file(error, path, text) from None


def experiment(
    path: Path,
    machine: Machine,
    levels: Sequence[str] = (),
    command: str = "",
    runs: int | None = None,
    unloadable: PreloadError | None = None,
) -> Experiment:
    """The Experiment of a file on this machine.

    `levels` replace a factor's, as `threads=1,2`; `command` replaces the program; `runs` the number of blocks.
    What this machine lacks (an allocator, a socket) is left out and named in `left_out`, and so are allocators that
    cannot be preloaded into the program, by its file or by `unloadable`, what a launch showed. Raises UsageError.
    """
    file, text = read(path), path.read_text(encoding="utf-8-sig")
    try:
        made = _experiment(file, path, machine, levels, command, runs)
    except UsageError as error:
        raise in_file(error, path, text) from None
    why = unloadable.what if unloadable else unloadable_by_file(made.commands)
    return varied.without_preloads(made, why) if why else made


def presentation(path: Path, made: Experiment, machine: Machine) -> Experiment:
    """What was measured, shown as a file declares; raises UsageError where the file varies something else."""
    wanted = experiment(path, machine)
    if [factor.name for factor in wanted.factors] != [factor.name for factor in made.factors]:
        raise UsageError(
            f"varies {', '.join(f.name for f in wanted.factors)}, not {', '.join(f.name for f in made.factors)}",
            where=str(path),
            remedy="name the study that the run is of",
        )
    shown = PRESENTATION - {"left_out", "bandwidth"}
    return made.model_copy(update={name: getattr(wanted, name) for name in shown})


AS_DECLARED = (
    "title", "source", "derived", "response", "metrics", "agree", "weak", "hooks", "warmup", "ignore_failure",
    "same_output", "input", "output", "columns",
)  # fmt: skip
"""Keys that a file and an Experiment share."""


def _experiment(
    file: StudyFile, path: Path, machine: Machine, levels: Sequence[str], command: str, runs: int | None
) -> Experiment:
    beside = {name: factor for factor, table in file.factors.items() for name in table.along}
    launched = commands.of(file, path, command)
    for each in launched:
        template.check(each.argv, varied.LAYOUT.union(file.factors, file.derived, beside))
    reached = varied.names_used(launched, file.derived, file.factors, beside)
    declared = reached | varied.names_used(commands.of(file, path, ""), file.derived, file.factors, beside)
    typed = varied.replaced(levels, file.factors, declared)
    given = dict(file.factors) | typed
    chosen, left_out = varied.chosen(given, typed, declared, reached, machine)
    if file.commands and not command:
        chosen.insert(0, Factor(name="command", kind="command", levels=tuple(file.commands)))
    names = varied.LAYOUT.union(factor.name for factor in chosen)
    taken = names.union(BUILT_IN, beside)
    for part, known in (("derived", taken), ("columns", taken.union(file.derived))):
        for name in known.intersection(getattr(file, part)):
            raise UsageError("there is a column of this name already", where=f"{part}.{name}", remedy="rename it")
    stop = stopping.of(file.stop, runs)
    try:
        made = Experiment(
            verb="study",
            name=path.stem,
            commands=launched,
            factors=tuple(chosen),
            today=tuple((name, varied.level(name, level, chosen, machine)) for name, level in file.today.items()),
            along=tuple(varied.along(chosen, file.factors)),
            omit=fitting.in_numbers(file.omit, chosen, machine),
            anchored=stop.rule == "race",
            constraints=tuple(Constraint.parse(text) for text in file.constraints),
            p_ref=file.p_ref or smallest_p(chosen),
            stop=stop,
            timeout=None if file.timeout is None else stopping.seconds_of(file.timeout, "timeout"),
            left_out=tuple(left_out),
            bandwidth=_bandwidth(machine),
            outputs=(*file.table, *file.chart, *file.finding, *file.overheads),
            **{name: getattr(file, name) for name in AS_DECLARED},
        )
    except ValidationError as error:
        raise UsageError(error.errors()[0]["msg"], where=".".join(map(str, error.errors()[0]["loc"]))) from None
    checks.check(made, machine, [file.factors, given])
    return made


def _bandwidth(machine: Machine) -> Mapping[str, float]:
    """Of this machine alone, where it is calibrated; a broken file is for those who need what it has."""
    try:
        found, _ = calibration.of_machine(machine.fingerprint())
    except UsageError:
        return {}
    rate = found.values.get("bytes_per_ns") if found else None
    return {} if rate is None else {"": 1e9 * rate}
