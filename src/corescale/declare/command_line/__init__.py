# SPDX-License-Identifier: Apache-2.0
"""From a command line to an Experiment, as study_file/ does it from a study file."""

import itertools
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from corescale.declare import factors, template
from corescale.declare.catalogue import space
from corescale.declare.command_line import build, checks
from corescale.declare.experiment import SERIAL, Command, Experiment, Weak
from corescale.declare.grid import baseline, combinations, configurations
from corescale.declare.request import CompareRequest, Request, ScanRequest, TuneRequest
from corescale.declare.work import must_be_even
from corescale.errors import PreloadError, UsageError
from corescale.machine import Machine
from corescale.records import INHERITED

R = TypeVar("R", bound=Request)


def scan(
    request: ScanRequest, words: Sequence[str], machine: Machine, unloadable: PreloadError | None = None
) -> Experiment:
    """The experiment of a scan, with threads 1, 2, 4, ... unless others are given. `unloadable`: see tune."""
    commands = [build.command("main", words, request)]
    if request.weak and request.seal:
        raise UsageError("a model needs the same work at every p", where="--seal", remedy="drop --weak")
    if request.serial and not request.weak:
        commands.append(build.command(SERIAL, [request.serial], request, "--serial"))

    def make(asked: ScanRequest) -> Experiment:
        if asked.weak:
            return _weak(asked, commands, machine)
        made = build.experiment("scan", asked, commands, machine)
        return _sealing(asked, made) if asked.seal else made

    return _loadable(request, commands, unloadable, make)


def _sealing(request: ScanRequest, made: Experiment) -> Experiment:
    """The experiment with a sealed forecast. Raises UsageError if the largest p may be launched before."""
    levels = {c.layout.p for c in configurations(made) if not made.is_serial(c)}
    if len([p for p in levels if 2 * p <= max(levels)]) < 2:
        what = f"p = {', '.join(map(str, sorted(levels)))} leaves nothing to forecast from"
        raise UsageError(what, where="--seal", remedy="scan at least p = 1, 2 and 4")
    if request.warmup or request.same_output or request.serial:
        what = "--warmup, --same-output and --serial launch other configurations before the forecast is sealed"
        raise UsageError(what, where="--seal", remedy="leave them out")
    scaling = made.scaling.model_copy(update={"seal": True})
    never = made.baseline.model_copy(update={"returns": False})
    return made.model_copy(update={"scaling": scaling, "baseline": never})


def _weak(request: ScanRequest, commands: Sequence[Command], machine: Machine) -> Experiment:
    """`load` is a factor, by default 1, 2 and 4, and work = p * load; raises UsageError if it cannot be."""
    if request.serial:
        raise UsageError("a serial program does the same work at every p", where="--serial", remedy="drop --weak")
    if not {"load", "work"} & template.placeholders(commands[0].argv):
        remedy = "{load} is the work per thread, {work} the work of all threads"
        raise UsageError("the command has neither {load} nor {work}", where="--weak", remedy=remedy)
    listed = {text.partition("=")[0].strip() for text in (*request.factor, *request.parameter_list)}
    listed |= {text.partition("=")[0] for text in request.parameter_scan}
    if not {"load", "work"} & listed:
        request = replace(request, factor=[*request.factor, "load=1,2,4"])
    derived = {} if "work" in listed else {"work": "p * load"}
    try:
        made = build.experiment("scan", request, commands, machine, weak=Weak(), derived=derived)
    except UsageError as error:
        if error.where == "derived.work":  # an internal name, which the user did not type
            error.where = "--weak"
        raise
    must_be_even(made, "--weak")
    return made


def tune(
    request: TuneRequest,
    words: Sequence[str],
    machine: Machine,
    unloadable: PreloadError | None = None,
    unlikely: Mapping[str, str] | None = None,
) -> Experiment:
    """The experiment of a race: the named factors and threads 1, 2, 4, ...; by default the factors of
    catalogue/space.py.

    `unloadable`: the error of a launch with an allocator. It is raised again if allocators were asked for. `unlikely`:
    factors that can hardly matter according to a profiled launch, and why. Each of their levels is tried with all else
    at the baseline.
    """
    commands = [build.command("main", words, request)]
    if chosen(request):
        return _loadable(request, commands, unloadable, lambda asked: _tune(asked, commands, machine))
    why = unloadable.what if unloadable else space.no_preload(commands[0].argv)
    every, left_out = space.usual(commands[0].argv, why)
    names = tuple(name for name in every if name not in (unlikely or {}))
    experiment, kept = _tune(request, commands, machine), names[:1]
    for name in names[1:]:
        wider = _tune(replace(request, factor=[f"{each}=auto" for each in (*kept, name)]), commands, machine)
        if len(configurations(wider)) > space.MOST:
            left_out += (f"{name}: more than {space.MOST} configurations; to try it {space.asking_for(name)}",)
        elif combinations(wider) > combinations(experiment):
            experiment, kept = wider, (*kept, name)
        else:
            left_out += tuple(reason for reason in wider.left_out if reason not in experiment.left_out)
    alone = [name for name in every if name not in names and space.stands_alone(name)]
    if alone:
        asked = replace(request, factor=[f"{each}=auto" for each in (*kept, *alone)])
        experiment = _with_each(alone, _tune(asked, commands, machine), experiment)
    left_out += tuple(f"{name}: {why}; to try it {space.asking_for(name)}" for name, why in (unlikely or {}).items())
    return experiment.model_copy(update={"left_out": (*experiment.left_out, *left_out), "no_preload": why})


def chosen(request: TuneRequest) -> bool:
    """Whether the request names the factors to race; then no others are raced."""
    return request.varies or request.shell


def _with_each(names: Sequence[str], wider: Experiment, experiment: Experiment) -> Experiment:
    """The experiment with further configurations: the baseline with another level of one factor, as in `wider`."""
    now = dict(baseline(wider).levels)
    changes = {f.name: tuple(level for level in f.levels if level != now[f.name]) for f in wider.factors}
    pairs = [{one: changes[one], other: changes[other]} for one in names for other in changes if one != other]
    omit = tuple(pair for pair in pairs if all(pair.values()))
    return wider.model_copy(update={"omit": omit, "left_out": experiment.left_out})


def _loadable(
    request: R, commands: Sequence[Command], unloadable: PreloadError | None, make: Callable[[R], Experiment]
) -> Experiment:
    """What `make` returns, without `allocator=auto` and `openmp=auto` if nothing can be preloaded.

    Raises PreloadError if a level that was named cannot be preloaded.
    """
    asked = [request.allocators, *(text.partition("=")[2] for text in request.factor if _preloads(text))]
    auto = {*filter(None, asked)} == {"auto"}
    why = unloadable.what if unloadable else unloadable_by_file(commands)
    if unloadable is not None and not auto:
        raise unloadable
    if not auto or not why:
        made = make(request)
        _must_bear_allocators(made)
        return made
    made = make(replace(request, allocators="", factor=[text for text in request.factor if not _preloads(text)]))
    return made.model_copy(update={"left_out": (*made.left_out, f"allocators: {why}"), "no_preload": why})


def _must_bear_allocators(made: Experiment) -> None:
    """Raises PreloadError if an allocator is named with which the program would not start."""
    if any(factor.how.preloads and {*factor.levels} - {"system", INHERITED} for factor in made.factors):
        said = (space.sanitized(command.argv) for command in made.commands if not command.shell)
        if why := next(filter(None, said), ""):
            raise PreloadError(why, where="allocator", remedy="leave all allocators but system out")


def unloadable_by_file(commands: Sequence[Command]) -> str:
    """Why no allocator can be preloaded into one of the commands, as far as its file shows; empty if one may."""
    said = (space.no_preload(command.argv) for command in commands if not command.shell)
    return next(filter(None, said), "")


def _preloads(text: str) -> bool:
    """Whether `NAME=LEVELS` names a factor whose levels are preloaded."""
    name = text.partition("=")[0].strip()
    return name in factors.KINDS and factors.KINDS[name].preloads


def _tune(request: TuneRequest, commands: Sequence[Command], machine: Machine) -> Experiment:
    experiment = build.experiment("tune", request, commands, machine)
    levels = {factor.name: factor.levels for factor in experiment.factors}
    asked = [c for c in configurations(experiment) if all(level in levels[name] for name, level in c.levels)]
    same = combinations(experiment) - len(asked)
    if same <= 0:
        return experiment
    said = (
        f"{same} of {combinations(experiment)} combinations: they differ from another one only in a setting"
        " that the program would not read there"
    )
    return experiment.model_copy(update={"left_out": (*experiment.left_out, said)})


def compare(
    request: CompareRequest, words: Sequence[str], machine: Machine, unloadable: PreloadError | None = None
) -> Experiment:
    """The experiment of a comparison. Each word is a whole command, as in hyperfine. `unloadable`: see tune."""
    checks.must_be_commands(request, words)
    names = _distinct([*request.name, *words[len(request.name) :]][: len(words)])
    commands = [build.command(name, [word], request) for name, word in zip(names, words, strict=True)]
    make = partial(build.experiment, "compare", commands=commands, machine=machine)
    return _loadable(request, commands, unloadable, make)


def swaps(
    request: Request,
    words: Sequence[str],
    machine: Machine,
    names: Sequence[str],
    unloadable: PreloadError | None = None,
) -> Experiment:
    """The launch as typed, and for each of these factors one with only that factor at its first other level."""
    commands = [build.command(shlex.join(words), words, request)]
    asked = replace(request, factor=[f"{name}=auto" for name in names])
    make = partial(build.experiment, "compare", commands=commands, machine=machine)
    made = _loadable(asked, commands, unloadable, make)
    chosen = tuple(f.model_copy(update={"levels": f.levels[:2]}) if f.name in names else f for f in made.factors)
    changes = [{f.name: f.levels[1]} for f in chosen if f.name in names and len(f.levels) > 1]
    omit = tuple(one | other for one, other in itertools.combinations(changes, 2))
    return made.model_copy(update={"factors": chosen, "omit": omit})


def _distinct(names: Sequence[str]) -> list[str]:
    """The names; a repeated one gets the first free of #2, #3, because a command may be compared with itself."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name} #{k}" for k in itertools.count(2))
        found.append(next(one for one in itertools.chain([name], numbered) if one not in found))
    return found
