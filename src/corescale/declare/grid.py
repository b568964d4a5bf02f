# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: what an experiment makes of its levels)
"""The configurations of an experiment: which there are, and what each launches."""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from corescale.declare import arithmetic, factors, template
from corescale.declare.catalogue import allocators
from corescale.declare.experiment import SERIAL, SHOWN, Experiment, Factor
from corescale.declare.outputs import EXTREMES, extreme, listed
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import COMMAND, INHERITED, Configuration, Layout, Level, Phase

REMEMBERED = 4
"""experiments at most whose configurations are cached"""

T = TypeVar("T")


def _once(make: Callable[[Experiment], T]) -> Callable[[Experiment], T]:
    """Caches the results for the last few experiments. They never change, and a race asks for them at every block."""
    kept: list[tuple[Experiment, T]] = []

    @functools.wraps(make)
    def asked(experiment: Experiment) -> T:
        found = next((made for known, made in kept if known is experiment), None)
        if found is None:
            found = make(experiment)
            kept.append((experiment, found))
            del kept[:-REMEMBERED]
        return found

    return asked


@_once
def configurations(experiment: Experiment) -> tuple[Configuration, ...]:
    """Every combination of levels: the baseline first, the serial baseline (if any) last.

    If several combinations are the same launch, `tune` keeps one of them. An example is a setting of an allocator that
    is replaced.
    """
    by_levels, by_p = _omissions(experiment)
    every = (configuration(experiment, choice) for choice in _grid(experiment, by_levels))
    launched = (chosen for chosen in every if not by_p(dict(chosen.levels), chosen.layout.p))
    serial = [_serial(experiment)] if experiment.has_serial else []
    return tuple(dict.fromkeys([baseline(experiment), *launched, *serial]))


@_once
def baseline(experiment: Experiment) -> Configuration:
    """The baseline: each factor's first level (threads: the largest), unless `--baseline` says otherwise.

    If that would exceed the cores, the baseline is the largest p that fits, with as many threads per rank as possible.
    """
    chosen: dict[str, Level] = {factor.name: factor.how.baseline(factor.levels) for factor in experiment.factors}
    first = configuration(experiment, chosen | dict(experiment.baseline.levels))
    if fits(experiment, first):
        return first
    said = dict(experiment.baseline.levels)
    open_ = {f.name: f.levels for f in experiment.factors if f.how.makes and f.name not in said}
    others = (configuration(experiment, chosen | said | made) for made in _choices(open_))
    return max(
        (other for other in others if fits(experiment, other)),
        key=lambda other: (other.layout.p, other.layout.threads_per_rank),
        default=first,
    )


@_once
def reference(experiment: Experiment) -> Configuration:
    """The configuration that all are compared with: the serial program, or without one, `first`."""
    return _serial(experiment) if experiment.has_serial else first(experiment)


@_once
def first(experiment: Experiment) -> Configuration:
    """The baseline, or in a scan the first configuration at the reference p."""
    of_p_ref = (c for c in configurations(experiment) if c.layout.p == experiment.scaling.p_ref)
    now = baseline(experiment)
    return next((c for c in of_p_ref if not experiment.is_serial(c)), now) if experiment.scans else now


def untyped(experiment: Experiment) -> tuple[tuple[str, Level], ...]:
    """The levels of the baseline that differ from this shell's; none if the baseline is what the shell would launch."""
    given = {*experiment.baseline.as_typed}
    return tuple(pair for pair in baseline(experiment).levels if pair[0] not in given and pair[1] != INHERITED)


def fits(experiment: Experiment, chosen: Configuration) -> bool:
    """Whether its threads are within what the experiment allows for all ranks of a node together."""
    return experiment.cores is None or chosen.layout.of_node <= experiment.cores


def omitted(experiment: Experiment, chosen: Configuration) -> bool:
    """Whether the experiment says that this combination of levels is not launched."""
    levels = dict(chosen.levels)
    by_levels, by_p = _omissions(experiment)
    return by_levels(levels) or by_p(levels, chosen.layout.p)


Levels = Mapping[str, Level]
Omit = Callable[[Levels], bool]


def _omissions(experiment: Experiment) -> tuple[Omit, Callable[[Levels, int], bool]]:
    """Whether levels are left out by a selection that names only levels; and, with their p, by one that names p too.

    Each selection's levels are looked up once for each factor: a grid may have a million combinations.
    """
    known = {factor.name: factor for factor in experiment.factors}
    also = dict(experiment.baseline.levels)
    meant = [
        (
            [
                (name, frozenset(one for one in {*known[name].levels, also.get(name, "")}
                                 if is_level(known[name], one, wanted)))
                for name, wanted in selection.items() if name != "p"
            ],
            str(selection.get("p", "")).split(),  # study_file has checked its form
        )
        for selection in experiment.omit
        if {*selection} <= {"p", *known}
    ]  # fmt: skip
    alone = [factors_ for factors_, limit in meant if not limit]
    limited = [(factors_, limit[0], int(limit[1])) for factors_, limit in meant if limit]

    def matches(levels: Levels, factors_: Sequence[tuple[str, frozenset[Level]]]) -> bool:
        return all(levels.get(name) in among for name, among in factors_)

    def by_levels(levels: Levels) -> bool:
        return any(matches(levels, factors_) for factors_ in alone)

    def by_p(levels: Levels, p: int) -> bool:
        return any(matches(levels, of) for of, sign, limit in limited if (p < limit if sign == "<" else p > limit))

    return by_levels, by_p


def is_level(factor: Factor, level: Level, wanted: Level | tuple[Level, ...]) -> bool:
    """Whether a selection that names `wanted` for a factor matches this level."""
    names = allocators.means if factor.how.preloads else lambda level, name: str(level) == str(name)
    return any(level in extreme(one, factor.levels) if one in EXTREMES else names(level, one) for one in listed(wanted))


def configuration(experiment: Experiment, levels: Mapping[str, Level]) -> Configuration:
    """One level of each factor, with the layout that follows from them."""
    layout = Layout()
    for factor in experiment.factors:
        layout = factor.how.layout(levels[factor.name], layout)
    return Configuration(tuple((factor.name, levels[factor.name]) for factor in experiment.factors), layout)


def choices_of_programs(experiment: Experiment) -> tuple[Configuration, ...]:
    """One configuration for each choice of programs and libraries: the first one that makes this choice.

    Words that may name a program or file are the first word of a command, any word with a slash, and every word of a
    shell command.
    """
    rehearsed = [experiment.command(Configuration(), "rehearse")] if experiment.tuning.rehearsal else []
    commands = (*experiment.commands, *rehearsed)
    naming = [word for each in commands for k, word in enumerate(each.argv) if not k or "/" in word or each.shell]
    named = template.placeholders(naming)
    if not named <= {factor.name for factor in experiment.factors}:
        return configurations(experiment)
    kept = [
        factor.name
        for factor in experiment.factors
        if not factor.how.fills or factor.name in named or any("/" in str(level) for level in factor.levels)
    ]
    found = dict[tuple[Level | None, ...], Configuration]()
    for chosen in configurations(experiment):
        levels = dict(chosen.levels)
        found.setdefault(tuple(levels.get(name) for name in (COMMAND, *kept)), chosen)
    return tuple(found.values())


def parameters(experiment: Experiment, chosen: Configuration) -> dict[str, Level]:
    """The values of placeholders: levels, the layout's p, threads, ranks and nodes, and every derived parameter."""
    layout = chosen.layout
    values: dict[str, Level] = {"p": layout.p, "ranks": layout.ranks_per_node, "nodes": layout.nodes}
    values |= dict(chosen.levels) | {"threads": layout.threads_per_rank}
    values |= {along.name: dict(along.values)[values[along.factor]] for along in experiment.along}
    formulas = {name: arithmetic.parse(text, f"derived.{name}") for name, text in experiment.derived.items()}
    for name in arithmetic.ordered(formulas, values, "derived"):
        values[name] = formulas[name].value(values, f"derived.{name}")
    return values


def strange_level(experiment: Experiment, chosen: Configuration) -> str:
    """A level of a configuration that the experiment does not have, such as `threads=7`; empty if there is none.

    The levels of the baseline need not be among those to try, and the serial program has levels of its own.
    """
    if experiment.is_serial(chosen):
        return ""
    known = {factor.name: {*factor.levels} for factor in experiment.factors}
    for name, level in experiment.baseline.levels:
        known[name].add(level)
    levels = dict(chosen.levels)
    if strange := next((f"{name}={level}" for name, level in levels.items() if level not in known.get(name, ())), ""):
        return strange
    if missing := next((name for name in known if name not in levels), ""):
        return f"no {missing}"
    return "" if configuration(experiment, levels) == chosen else f"layout {chosen.layout} at {chosen.label}"


def output_of(experiment: Experiment, values: Mapping[str, str]) -> Path | None:
    """The file that was named for standard output, with these values of placeholders; None for none."""
    named = None if experiment.output in ("null", SHOWN) else experiment.output
    return None if named is None else Path(*template.fill((named,), values))


def launch(experiment: Experiment, chosen: Configuration, machine: Machine, phase: Phase = "measure") -> factors.Launch:
    """The launch of a configuration: argv, environment and placement, which --dry-run shows and the launcher starts."""
    command = experiment.command(chosen, phase)
    values = {name: str(value) for name, value in parameters(experiment, chosen).items()}
    argv, output = template.fill(command.argv, values), output_of(experiment, values)
    result = factors.Launch(argv=argv, shell=command.shell, output=output)
    given = _as_typed(experiment, chosen)
    if "threads" not in template.placeholders(command.argv) and experiment.makes_threads and "threads" not in given:
        result = factors.with_thread_variables(result, chosen.layout.threads_per_rank)
    for factor in (each for each in experiment.factors if each.name not in given):
        result = factor.how.apply(factor.name, chosen[factor.name], result, machine)
    return result


def _as_typed(experiment: Experiment, chosen: Configuration) -> set[str]:
    """The factors that keep the baseline's level, if that is the shell's own, so that the launch need not set it."""
    if not experiment.baseline.as_typed:
        return set()
    now = baseline(experiment)
    return {name for name in experiment.baseline.as_typed if chosen.get(name) == now[name]}


def smallest_p(chosen: Sequence[Factor]) -> int:
    """The smallest parallelism that the factors' levels make."""
    return math.prod(min(f.how.layout(level, Layout()).p for level in f.levels) for f in chosen if f.how.makes)


def combinations(experiment: Experiment) -> int:
    """The number of combinations of levels, including those that are the same launch."""
    deciding, others = _apart(experiment)
    return sum(1 for _ in _decided(experiment, deciding)) * math.prod(len(factor.levels) for factor in others)


def _grid(experiment: Experiment, omit: Omit) -> Iterator[dict[str, Level]]:
    """Every combination that is not omitted. For `tune`, factors without effect keep the baseline's level."""
    now = dict(baseline(experiment).levels)
    deciding, others = _apart(experiment)
    for decided in _decided(experiment, deciding):
        alone = experiment.makes_threads and configuration(experiment, now | decided).layout.threads_per_rank == 1
        known = {f.name: _known(experiment, f, decided[f.name]) for f in deciding}
        idle = {f.name for f in others if experiment.verb == "tune" and f.how.idle(f.name, known, one_thread=alone)}
        yield from _choices({f.name: (now[f.name],) if f.name in idle else f.levels for f in others}, decided, omit)


def _apart(experiment: Experiment) -> tuple[list[Factor], list[Factor]]:
    """The deciding factors, which make p or determine whether another factor has an effect, and all other factors."""
    deciding = [factor for factor in experiment.factors if factor.how.decides or factor.how.makes]
    return deciding, [factor for factor in experiment.factors if factor not in deciding]


def _decided(experiment: Experiment, deciding: Sequence[Factor]) -> Iterator[dict[str, Level]]:
    """Every choice of levels of the deciding factors that fits."""
    now = dict(baseline(experiment).levels)
    for decided in _choices({factor.name: factor.levels for factor in deciding}):
        if fits(experiment, configuration(experiment, now | decided)):
            yield decided


def _known(experiment: Experiment, factor: Factor, level: Level) -> Level:
    return experiment.baseline.allocator if factor.kind == "allocator" and level == INHERITED else level


def _choices(
    levels: Mapping[str, Sequence[Level]], known: dict[str, Level] | None = None, omit: Omit = lambda _: False
) -> Iterator[dict[str, Level]]:
    """The known levels with every choice of the others. What is omitted by its first levels is combined no further."""
    known = known or {}
    if omit(known):
        return
    left = [name for name in levels if name not in known]
    if not left:
        yield known
    for level in levels[left[0]] if left else ():
        yield from _choices(levels, {**known, left[0]: level}, omit)


def _serial(experiment: Experiment) -> Configuration:
    levels = {factor.name: factor.how.serial(baseline(experiment)[factor.name]) for factor in experiment.factors}
    return Configuration((("command", SERIAL), *levels.items()), Layout())


def must_fit(experiment: Experiment, nodes: int, where: str, remedy: str) -> None:
    """Raises UsageError for layouts over more nodes than there are."""
    wanted = max(configuration.layout.nodes for configuration in configurations(experiment))
    if wanted > nodes:
        what = f"{wanted} nodes are asked for, and there are {nodes} {where}"
        raise UsageError(what, where="nodes", remedy=f"ask for fewer; {remedy}")
