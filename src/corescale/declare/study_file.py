# SPDX-License-Identifier: Apache-2.0
"""From a TOML file to an Experiment: the other door than declare/command_line.py. docs/study.md is the guide to it.

Every fault is one UsageError that names file, line and key, the nearest key that exists, and what to write.
"""

import difflib
import json
import os
import shlex
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from corescale.declare import arithmetic, factors, template
from corescale.declare.command_line import bundled, factor_of, seconds, share
from corescale.declare.experiment import (
    PRESENTATION,
    SERIAL,
    Along,
    Command,
    Constraint,
    Experiment,
    Factor,
    Hooks,
    MetricSource,
    Weak,
    configurations,
    launch,
    parameters,
    today,
)
from corescale.declare.faults import fault, in_file
from corescale.declare.model import Model
from corescale.declare.outputs import BUILT_IN, EXTREMES, Chart, Finding, Table
from corescale.declare.stop import MOST_BLOCKS, Stop
from corescale.declare.work import must_be_even
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import Level

Template = str | tuple[str, ...]
"""a line that is split as a shell would split it, or its words"""
Share = float | Annotated[str, Field(pattern=r"^\s*[0-9.]+\s*%?\s*$")]
Seconds = float | Annotated[str, Field(pattern=r"^\s*[0-9.]+\s*(ms|s|min|m|h)?\s*$")]
Levels = tuple[int | float | str, ...]


class FactorTable(Model):
    """What is varied."""

    levels: Levels | Literal["auto"]
    """auto: those worth trying on this machine"""
    kind: Literal[tuple(factors.KINDS)] | None = None  # type: ignore[valid-type]
    """how a level reaches the program; follows from the name where it is not given"""
    along: Mapping[str, Levels] = {}
    """parameters that go along with the levels: one value for each, in order"""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: object) -> object:
        return {"levels": given} if isinstance(given, list | tuple | str) else given

    @model_validator(mode="after")
    def _one_each(self) -> Self:
        for name, values in self.along.items():
            if self.levels == "auto" or len(values) != len(self.levels):
                raise ValueError(f"{name} needs one value for each level")
        return self

    @field_validator("levels", mode="before")
    @classmethod
    def _plain(cls, given: object) -> object:
        if isinstance(given, list | tuple) and (not given or any(isinstance(level, bool) for level in given)):
            raise ValueError("levels are numbers or strings, at least one")
        return given


class StopTable(Model):
    """When enough was measured."""

    rule: Literal["replicates", "width", "race"] = "width"
    replicates: int | None = Field(default=None, ge=1)
    """blocks, with the rule of that name: each launches every configuration once"""
    min_blocks: int | None = Field(default=None, ge=1)
    max_blocks: int | None = Field(default=None, ge=1)
    width: Share = 0.02
    within: Share = 0.02
    confidence: Share = 0.95
    budget: Seconds | Literal["none"] | None = None
    """time for all launches, as "5m"; none for the rule replicates where it is not given, else 5 minutes"""
    confirm_blocks: int = Field(default=10, ge=0)

    @model_validator(mode="after")
    def _belongs(self) -> Self:
        if (self.replicates is not None) != (self.rule == "replicates"):
            raise ValueError('replicates = N and rule = "replicates" go together')
        return self


class StudyFile(Model):
    """A study: what is launched, what is varied, when to stop, and what comes out."""

    title: str
    source: str = ""
    """where it was published"""
    command: Template | None = None
    """with {placeholders}; a bundled workload goes by its name"""
    commands: Mapping[str, Template] = {}
    """several, by name: they become the factor `command`"""
    serial: Template | None = None
    """the best serial program: baseline of the speedup"""
    shell: bool = False
    factors: Mapping[str, FactorTable] = {}
    derived: Mapping[str, str] = {}
    """parameters that follow from the levels: + - * / // % isqrt sqrt min max"""
    today: Mapping[str, int | float | str] = {}
    """levels of today's launch, where not the first (of threads: the largest)"""
    response: str = "wall"
    """wall, region:NAME or metric:NAME"""
    metrics: Mapping[str, MetricSource] = {}
    constraints: tuple[str, ...] = ()
    """bounds on metrics, as "bytes <= 1.02*today" """
    weak: Weak | None = None
    """the study scales weakly: work grows with the threads"""
    p_ref: int | None = Field(default=None, ge=1)
    stop: StopTable = StopTable()
    hooks: Hooks = Hooks()
    warmup: int = Field(default=0, ge=0)
    """untimed launches of each configuration first"""
    timeout: Seconds | None = None
    """of one launch"""
    ignore_failure: bool = False
    same_output: bool = False
    """a configuration that writes another output fails"""
    input: str | None = None
    output: str | None = None
    columns: Mapping[str, str] = {}
    """of the frame, computed from others: throughput = "work / time" """
    chart: tuple[Chart, ...] = ()
    table: tuple[Table, ...] = ()
    finding: tuple[Finding, ...] = ()

    @model_validator(mode="after")
    def _has_a_command(self) -> Self:
        if (self.command is None) == (not self.commands):
            raise ValueError("one of `command` and `commands` is needed")
        return self


def read(path: Path) -> StudyFile:
    """The file as declared; raises UsageError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"cannot be read: {why}", where=str(path), remedy="corescale study list") from None
    try:
        return StudyFile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not TOML: {error}", where=str(path)) from None
    except ValidationError as error:
        raise fault(error, StudyFile, path, text) from None
    except UsageError as error:
        raise in_file(error, path, text) from None


def experiment(
    path: Path, machine: Machine, levels: Sequence[str] = (), command: str = "", runs: int = 0
) -> Experiment:
    """The Experiment of a file on this machine.

    `levels` replace a factor's, as `threads=1,2`; `command` replaces the program; `runs` the number of blocks.
    What this machine lacks (an allocator, a socket) is left out and named in `left_out`. Raises UsageError.
    """
    file, text = read(path), path.read_text(encoding="utf-8")
    try:
        return _experiment(file, path, machine, levels, command, runs)
    except UsageError as error:
        raise in_file(error, path, text) from None


def presentation(path: Path, made: Experiment, machine: Machine) -> Experiment:
    """What was measured, shown as a file declares; raises UsageError where the file varies something else."""
    wanted = experiment(path, machine)
    if [factor.name for factor in wanted.factors] != [factor.name for factor in made.factors]:
        raise UsageError(
            f"varies {', '.join(f.name for f in wanted.factors)}, not {', '.join(f.name for f in made.factors)}",
            where=str(path),
            remedy="name the study that the run is of",
        )
    return made.model_copy(update={name: getattr(wanted, name) for name in PRESENTATION - {"left_out"}})


SCHEMA = "study.schema.json"
"""the schema's file, beside this one"""


def schema() -> str:
    """The JSON schema (draft 2020-12) for editors; SCHEMA holds it, and a test that it does."""
    found = StudyFile.model_json_schema()
    short = {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 1}
    table = found["$defs"]["FactorTable"]
    found["$defs"]["FactorTable"] = {"anyOf": [short, {"const": "auto"}, table]}
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema"} | found, indent=1) + "\n"


AS_DECLARED = (
    "title", "source", "derived", "response", "metrics", "weak", "hooks", "warmup", "ignore_failure", "same_output",
    "input", "output", "columns",
)  # fmt: skip
"""Keys that a file and an Experiment share."""


def _experiment(
    file: StudyFile, path: Path, machine: Machine, levels: Sequence[str], command: str, runs: int
) -> Experiment:
    beside = {name: factor for factor, table in file.factors.items() for name in table.along}
    commands = _commands(file, path, command)
    for each in commands:
        template.check(each.argv, LAYOUT.union(file.factors, file.derived, beside))
    reached = _names_used(commands, file.derived, file.factors, beside)
    declared = reached | _names_used(_commands(file, path, ""), file.derived, file.factors, beside)
    given = dict(file.factors) | _replaced(levels, file.factors, declared)
    chosen, left_out = _factors(given, declared, reached, machine)
    if file.commands and not command:
        chosen.insert(0, Factor(name="command", kind="command", levels=tuple(file.commands)))
    names = LAYOUT.union(factor.name for factor in chosen)
    taken = names.union(BUILT_IN, beside)
    for part, known in (("derived", taken), ("columns", taken.union(file.derived))):
        for name in known.intersection(getattr(file, part)):
            raise UsageError("there is a column of this name already", where=f"{part}.{name}", remedy="rename it")
    stop = _stop(file.stop, runs)
    try:
        made = Experiment(
            verb="study",
            name=path.stem,
            commands=commands,
            factors=tuple(chosen),
            today=tuple((name, _level(name, level, chosen, machine)) for name, level in file.today.items()),
            along=tuple(_along(chosen, file.factors)),
            anchored=stop.rule == "race",
            constraints=tuple(Constraint.parse(text) for text in file.constraints),
            p_ref=file.p_ref or min((int(x) for f in chosen if f.name == "threads" for x in f.levels), default=1),
            stop=stop,
            timeout=None if file.timeout is None else _seconds(file.timeout, "timeout"),
            left_out=tuple(left_out),
            outputs=(*file.table, *file.chart, *file.finding),
            **{name: getattr(file, name) for name in AS_DECLARED},
        )
    except ValidationError as error:
        raise UsageError(error.errors()[0]["msg"], where=".".join(map(str, error.errors()[0]["loc"]))) from None
    _check(made, machine, [file.factors, given])
    return made


def _commands(file: StudyFile, path: Path, replaced: str) -> tuple[Command, ...]:
    texts: dict[str, Template] = {"main": replaced or file.command or ""} if replaced or file.command else {}
    texts |= {} if replaced else file.commands
    texts |= {} if replaced or file.serial is None else {SERIAL: file.serial}
    return tuple(
        Command(name=name, argv=_argv(text, file.shell, path), shell=file.shell) for name, text in texts.items()
    )


def _argv(text: Template, shell: bool, path: Path) -> tuple[str, ...]:
    """{here} is the folder of the study file, {data} that of the data that ships with corescale."""
    try:
        words = ([text] if shell else shlex.split(text)) if isinstance(text, str) else list(text)
    except ValueError as error:
        raise UsageError(f"{error}: {text!r}", where="command") from None
    if not words:
        raise UsageError("no command", where="command", remedy='write command = "./program {threads}"')
    places = {"{here}": _near(path.resolve().parent), "{data}": _near(data_folder())}
    for name, place in places.items():
        words = [word.replace(name, place) for word in words]
    return tuple(words) if shell else (bundled(words[0]), *words[1:])


def data_folder() -> Path:
    """Input files that ship with corescale: beside the package in a wheel, at the root of a source tree."""
    package = Path(__file__).resolve().parents[1]
    return next((path for path in (package / "data", package.parents[1] / "data") if path.is_dir()), package / "data")


def _near(place: Path) -> str:
    """Relative where it lies below the working folder, so that a line to paste stays short."""
    return os.path.relpath(place) if place.is_relative_to(Path.cwd()) else str(place)


LAYOUT = frozenset({"p", "threads", "ranks", "nodes"})
"""names that every configuration has"""


def _names_used(
    commands: Iterable[Command], derived: Mapping[str, str], varied: Collection[str], beside: Mapping[str, str]
) -> frozenset[str]:
    """Every name that reaches a command, through derived parameters and those that go along with a factor too."""
    formulas = {name: arithmetic.parse(text, f"derived.{name}") for name, text in derived.items()}
    arithmetic.ordered(formulas, LAYOUT.union(varied, beside), "derived")
    used = set().union(*(template.placeholders(command.argv) for command in commands))
    while more := {name for used_one in used & set(formulas) for name in formulas[used_one].names} - used:
        used |= more
    return frozenset(used | {beside[name] for name in used & set(beside)})


def _replaced(
    levels: Sequence[str], declared: Mapping[str, FactorTable], placeholders: frozenset[str]
) -> dict[str, FactorTable]:
    found = {}
    for text in levels:
        name, equals, values = text.partition("=")
        if name not in declared:
            near = difflib.get_close_matches(name, declared, 1)
            remedy = f"did you mean {near[0]}?" if near else f"its factors: {', '.join(declared) or 'none'}"
            raise UsageError(f"the study has no factor {name!r}", where="--levels", remedy=remedy)
        if not equals or not values.strip():
            raise UsageError(f"{text!r} is not FACTOR=A,B", where="--levels", remedy=f"write --levels {name}=a,b")
        kind = declared[name].kind or factors.kind_of(name, placeholders, f"factors.{name}")
        parts = tuple(filter(None, factors.KINDS[kind].split(values)))
        found[name] = FactorTable(levels="auto" if values == "auto" else parts, kind=declared[name].kind)
    return found


def _factors(
    given: Mapping[str, FactorTable], declared: frozenset[str], reached: frozenset[str], machine: Machine
) -> tuple[list[Factor], list[str]]:
    """`declared`: the names that reach the study's own command; `reached`: those that reach the one launched."""
    found, left_out = [], []
    for name, table in given.items():
        where = f"factors.{name}"
        kind = table.kind or factors.kind_of(name, declared, where)
        if kind == "parameter" and name not in declared:
            what = f"reaches no program: neither the command nor a derived parameter of it has {name}"
            raise UsageError(what, where=where, remedy=f"put {{{name}}} into the command")
        texts = "auto" if table.levels == "auto" else [str(level) for level in table.levels]
        try:
            factor, missing = factor_of(name, kind, texts, machine, where, lenient=True)
        except UsageError as error:
            raise UsageError(error.what, where=where, remedy=error.remedy) from None
        if kind == "parameter" and name not in reached:
            missing = [*missing, f"levels of {name} but {factor.levels[0]}: the command given does not use it"]
            factor = factor.model_copy(update={"levels": factor.levels[:1]})
        found.append(factor)
        left_out += missing
    return found, left_out


def _level(name: str, level: Level, chosen: Sequence[Factor], machine: Machine) -> Level:
    _must_be(name, [factor.name for factor in chosen], "factor", "today")
    factor = next(factor for factor in chosen if factor.name == name)
    return factor.how.parse(str(level), machine)


def _along(chosen: Sequence[Factor], declared: Mapping[str, FactorTable]) -> Iterable[Along]:
    """The values of the levels that are measured; one that was not declared has none."""
    for factor in chosen:
        table = declared.get(factor.name, FactorTable(levels=("",)))
        for name, values in table.along.items():
            known = dict(zip((factors.number_or_text(str(level)) for level in table.levels), values, strict=True))
            for level in factor.levels:
                _must_be(str(level), {str(one) for one in known}, f"{name} for {factor.name}", "--levels")
            yield Along(name=name, factor=factor.name, values=tuple((level, known[level]) for level in factor.levels))


def _stop(table: StopTable, runs: int) -> Stop:
    blocks = runs or table.replicates
    rule: dict[str, Any] = {
        "rule": "replicates" if runs else table.rule,
        "width": share(str(table.width), "stop.width"),
        "within": share(str(table.within), "stop.within"),
        "confidence": share(str(table.confidence), "stop.confidence"),
        "confirm_blocks": table.confirm_blocks if table.rule == "race" else 0,
    }
    budget = table.budget if table.budget is not None or rule["rule"] == "replicates" else "5m"
    rule["budget"] = None if budget in (None, "none") else _seconds(budget, "stop.budget")
    if rule["rule"] == "replicates":
        return Stop.model_validate(rule | {"min_blocks": blocks, "max_blocks": blocks})
    most = MOST_BLOCKS if table.rule == "race" else Stop().max_blocks
    least = table.min_blocks or Stop().min_blocks
    return Stop.model_validate(rule | {"min_blocks": least, "max_blocks": max(least, table.max_blocks or most)})


def _seconds(value: object, where: str) -> float:
    return float(value) if isinstance(value, int | float) else seconds(str(value), where)


def _check(made: Experiment, machine: Machine, declared: Sequence[Mapping[str, FactorTable]]) -> None:
    """Whether everything that can be known before a launch is in order."""
    for chosen in configurations(made):
        parameters(made, chosen)
    launch(made, today(made), machine)
    names = {*BUILT_IN, *(factor.name for factor in made.factors), *(one.name for one in made.along)}
    names |= {*made.derived, *made.metrics}
    formulas = {name: arithmetic.parse(text, f"columns.{name}") for name, text in made.columns.items()}
    arithmetic.ordered(formulas, names, "columns")
    if made.weak:
        _must_be(made.weak.load, {factor.name for factor in made.factors}, "factor", "weak.load")
        _must_be(made.weak.work, names, "parameter", "weak.work")
        must_be_even(made, "weak")
    seen: set[str] = set()
    for output in made.outputs:
        where = f"{output.kind if isinstance(output, Table | Finding) else 'chart'} {output.name}"
        if output.name in seen:
            raise UsageError("two outputs have this name", where=where, remedy="rename one")
        seen.add(output.name)
        for column in output.used():
            _must_be(column, {*names, *made.columns}, "column", where)
        for name, level in output.selected():
            levels = [tables[name].levels for tables in declared if name in tables]
            if levels and "auto" not in levels and level not in EXTREMES:
                _must_be(str(level), {str(one) for some in levels for one in some}, f"level of {name}", where)


def _must_be(name: str, known: Collection[str], what: str, where: str) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, sorted(known), 1)
        remedy = f"did you mean {near[0]!r}?" if near else f"here are {', '.join(sorted(known))}"
        raise UsageError(f"no {what} {name!r}", where=where, remedy=remedy)
