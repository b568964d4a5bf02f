# SPDX-License-Identifier: Apache-2.0
"""The factors of a study file, with the levels that can be measured here, and the parameters that follow them."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from corescale.declare import arithmetic, factors, template
from corescale.declare.command_line.named_factors import factor_of, filling
from corescale.declare.experiment import Along, Command, Experiment, Factor
from corescale.declare.grid import baseline, configurations, launch, omitted, parameters
from corescale.declare.outputs import BUILT_IN, EXTREMES, Chart
from corescale.declare.study_file.tables import FactorTable
from corescale.declare.work import must_be_even
from corescale.errors import UsageError, nearest
from corescale.machine import Machine
from corescale.records import INHERITED, Layout, Level

LAYOUT = frozenset({"p", "threads", "ranks", "nodes"})
"""names that every configuration has"""


def names_used(
    commands: Iterable[Command], derived: Mapping[str, str], varied: Collection[str], beside: Mapping[str, str]
) -> frozenset[str]:
    """Every name that a command uses, directly or through parameters that are derived or follow a factor."""
    formulas = {name: arithmetic.parse(text, f"derived.{name}") for name, text in derived.items()}
    arithmetic.ordered(formulas, LAYOUT.union(varied, beside), "derived")
    used = set().union(*(template.placeholders(command.argv) for command in commands))
    while more := {name for used_one in used & set(formulas) for name in formulas[used_one].names} - used:
        used |= more
    return frozenset(used | {beside[name] for name in used & set(beside)})


def replaced(
    levels: Sequence[str], declared: Mapping[str, FactorTable], placeholders: frozenset[str]
) -> dict[str, FactorTable]:
    """The factors that `--levels FACTOR=A,B` gives other levels; raises UsageError."""
    found = {}
    for text in levels:
        name, equals, values = text.partition("=")
        if name not in declared:
            remedy = nearest(name, declared, f"its factors: {', '.join(declared) or 'none'}")
            raise UsageError(f"the study has no factor {name!r}", where="--levels", remedy=remedy)
        kind = declared[name].kind or factors.kind_of(name, placeholders, f"factors.{name}")
        parts = tuple(factors.KINDS[kind].split(values))
        if not equals or not all(parts):
            raise UsageError(f"{text!r} is not FACTOR=A,B", where="--levels", remedy=f"write --levels {name}=a,b")
        found[name] = FactorTable(levels="auto" if values == "auto" else parts, kind=declared[name].kind)
    return found


def chosen(
    given: Mapping[str, FactorTable],
    typed: Collection[str],
    declared: frozenset[str],
    reached: frozenset[str],
    machine: Machine,
) -> tuple[list[Factor], list[str]]:
    """The factors, and what is left out. `declared`: names that the study's own command uses. `reached`: names that the
    launched command uses.

    A fault in a level that was `typed` is not a fault of the file.
    """
    found, left_out = [], []
    for name, table in given.items():
        where = "--levels" if name in typed else f"factors.{name}"
        kind = table.kind or factors.kind_of(name, declared, where)
        if kind == "parameter" and name not in declared:
            what = f"reaches no program: neither the command nor a derived parameter of it has {name}"
            raise UsageError(what, where=where, remedy=f"put {{{name}}} into the command")
        texts = "auto" if table.levels == "auto" else [str(level) for level in table.levels]
        try:
            factor, missing = factor_of(name, kind, texts, machine, where, lenient=True)
        except UsageError as error:
            error.where = where
            raise
        if kind == "parameter" and name not in reached:
            missing = [*missing, f"levels of {name} but {factor.levels[0]}: the command given does not use it"]
            factor = factor.model_copy(update={"levels": factor.levels[:1]})
        found.append(factor)
        left_out += missing
    automatic = {name for name, table in given.items() if "auto" in table.levels}
    return filling(found, automatic, machine), left_out


def without_preloads(made: Experiment, why: str) -> Experiment:
    """The experiment without allocators that must be preloaded; `why` goes into `left_out`."""
    kept, out = [], []
    for factor in made.factors:
        usual = "system" if factor.kind == "allocator" else INHERITED
        own = tuple(each for each in factor.levels if each in ("system", INHERITED)) or (usual,)
        left = [str(each) for each in factor.levels if each not in own] if factor.how.preloads else []
        out += [f"{', '.join(left)}: {why}"] if left else []
        kept.append(factor.model_copy(update={"levels": own}) if left else factor)
    return made.model_copy(update={"factors": tuple(kept), "left_out": (*made.left_out, *out)}) if out else made


def without_ranks(made: Experiment, why: str) -> Experiment:
    """The experiment with the levels that need one rank; `why` goes into `left_out`. Raises UsageError if none."""
    kept, out = [], []
    for factor in made.factors:
        one = tuple(each for each in factor.levels if factor.how.layout(each, Layout()).ranks_per_node == 1)
        if not one:
            raise UsageError(why, where=f"factors.{factor.name}", remedy="no level of it needs one rank alone")
        left = [str(each) for each in factor.levels if each not in one]
        out += [f"{factor.name} {', '.join(left)}: {why}"] if left else []
        kept.append(factor.model_copy(update={"levels": one}) if left else factor)
    return made.model_copy(update={"factors": tuple(kept), "left_out": (*made.left_out, *out)})


def level(name: str, level: Level, chosen: Sequence[Factor], machine: Machine) -> Level:
    """A level of the baseline as its factor reads it; raises UsageError."""
    must_be(name, [factor.name for factor in chosen], "factor", "baseline")
    factor = next(factor for factor in chosen if factor.name == name)
    try:
        return factor.how.parse(str(level), machine)
    except UsageError as error:
        error.where, error.in_file = f"baseline.{name}", f"write a level of {name}"
        raise


def along(chosen: Sequence[Factor], declared: Mapping[str, FactorTable]) -> Iterable[Along]:
    """The values for the levels that are measured; a level that was not declared has none."""
    for factor in chosen:
        table = declared.get(factor.name, FactorTable(levels=("",)))
        for name, values in table.along.items():
            known = dict(zip((factors.number_or_text(str(level)) for level in table.levels), values, strict=True))
            for level in factor.levels:
                must_be(str(level), {str(one) for one in known}, f"{name} for {factor.name}", "--levels")
            yield Along(name=name, factor=factor.name, values=tuple((level, known[level]) for level in factor.levels))


def check(made: Experiment, machine: Machine, declared: Sequence[Mapping[str, FactorTable]]) -> None:
    """Raises UsageError for any fault that can be found without a launch."""
    for chosen in configurations(made):
        parameters(made, chosen)
    launch(made, baseline(made), machine)
    for selection in made.omit:
        for name in selection:
            must_be(name, {"p", *(factor.name for factor in made.factors)}, "factor", "omit")
    if omitted(made, baseline(made)):
        raise UsageError(
            "leaves out the baseline, with which others are compared", where="omit", remedy="see [baseline]"
        )
    if made.study.samples:
        must_be(made.study.samples, {factor.name for factor in made.factors}, "factor", "samples")
        if made.stop.rule != "replicates":
            remedy = 'write rule = "replicates" below [stop], and give the factor more levels'
            raise UsageError("levels are fixed, so a stop rule adds none", where="samples", remedy=remedy)
    names = {*BUILT_IN, *(factor.name for factor in made.factors), *(one.name for one in made.along)}
    names |= {*made.derived, *made.metrics}
    formulas = {name: arithmetic.parse(text, f"columns.{name}") for name, text in made.study.columns.items()}
    arithmetic.ordered(formulas, names, "columns")
    if made.scaling.weak:
        must_be(made.scaling.weak.load, {factor.name for factor in made.factors}, "factor", "weak.load")
        must_be(made.scaling.weak.work, names, "parameter", "weak.work")
        must_be_even(made, "weak")
    seen: set[str] = set()
    for output in made.study.outputs:
        where = f"{'chart' if isinstance(output, Chart) else output.kind} {output.name}"
        if output.name in seen:
            raise UsageError("two outputs have this name", where=where, remedy="rename one")
        seen.add(output.name)
        for column in (output.completed() if isinstance(output, Chart) else output).used():
            must_be(column, {*names, *made.study.columns}, "column", where)
        for name, level in output.selected():
            levels = [tables[name].levels for tables in declared if name in tables]
            if levels and not any("auto" in some for some in levels) and level not in EXTREMES:
                must_be(str(level), {str(one) for some in levels for one in some}, f"level of {name}", where)


def must_be(name: str, known: Collection[str], what: str, where: str) -> None:
    """Raises UsageError for a name that is not known, with the nearest one."""
    if name not in known:
        remedy = nearest(name, sorted(known), f"here are {', '.join(sorted(known)) or 'none'}", "{!r}")
        raise UsageError(f"no {what} {name!r}", where=where, remedy=remedy)
