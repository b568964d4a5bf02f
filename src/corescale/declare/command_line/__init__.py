# SPDX-License-Identifier: Apache-2.0
"""From a command line to an Experiment, as study_file/ does it from a study file."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from pydantic import ValidationError

from corescale.declare import arithmetic, template
from corescale.declare.catalogue import allocators, space
from corescale.declare.command_line import checks, shell
from corescale.declare.command_line.named_factors import named, todays
from corescale.declare.command_line.request import CompareRequest, Request, ScanRequest, TuneRequest
from corescale.declare.experiment import SERIAL, Command, Constraint, Experiment, Factor, Hooks, Verb, Weak
from corescale.declare.grid import combinations, configurations, launch, smallest_p, today
from corescale.declare.programs import bundled
from corescale.declare.quantities import budget, fresh_blocks, seconds, share
from corescale.declare.stop import Stop
from corescale.declare.work import must_be_even
from corescale.errors import PreloadError, UsageError
from corescale.machine import Machine
from corescale.records import Level

R = TypeVar("R", bound=Request)


def scan(
    request: ScanRequest, words: Sequence[str], machine: Machine, unloadable: PreloadError | None = None
) -> Experiment:
    """Threads over 1, 2, 4, ... unless told otherwise. `unloadable`: see tune."""
    commands = [_command("main", words, request.shell)]
    if request.weak and request.seal:
        raise UsageError("laws are about the same work at every p", where="--seal", remedy="drop --weak")
    request, left_out = _loadable(request, commands, unloadable)
    if request.weak:
        return _also_without(_weak(request, commands, machine), left_out)
    if request.serial:
        commands.append(_command(SERIAL, [request.serial], request.shell))
    made = _experiment("scan", request, commands, machine, default_threads="auto", p_ref=request.p_ref)
    return _also_without(_sealing(request, made) if request.seal else made, left_out)


def _sealing(request: ScanRequest, made: Experiment) -> Experiment:
    """Nothing may launch the largest p early; raises UsageError where that cannot be."""
    levels = {c.layout.p for c in configurations(made) if c.get("command") != SERIAL}
    if len([p for p in levels if 2 * p <= max(levels)]) < 2:
        what = f"p = {', '.join(map(str, sorted(levels)))} leaves nothing to forecast from"
        raise UsageError(what, where="--seal", remedy="scan at least p = 1, 2 and 4")
    if request.warmup or request.same_output or request.serial:
        what = "--warmup, --same-output and --serial launch more than the smaller half of p first"
        raise UsageError(what, where="--seal", remedy="leave them out")
    return made.model_copy(update={"seal": True, "anchored": False})


def _also_without(made: Experiment, left_out: tuple[str, ...]) -> Experiment:
    return made.model_copy(update={"left_out": (*made.left_out, *left_out)})


def _weak(request: ScanRequest, commands: Sequence[Command], machine: Machine) -> Experiment:
    """`load` is a factor, 1, 2 and 4 unless told otherwise, and work = p * load; raises UsageError if it cannot be."""
    if request.serial:
        raise UsageError("a serial program does the same work at every p", where="--serial", remedy="drop --weak")
    if not {"load", "work"} & template.placeholders(commands[0].argv):
        raise UsageError(
            "the command has neither {load} nor {work}",
            where="--weak",
            remedy="{load} is the work per thread, {work} the work of all threads",
        )
    listed = {text.partition("=")[0].strip() for text in (*request.factor, *request.parameter_list)}
    listed |= {text.partition("=")[0] for text in request.parameter_scan}
    if not {"load", "work"} & listed:
        request = replace(request, factor=[*request.factor, "load=1,2,4"])
    derived = {} if "work" in listed else {"work": "p * load"}
    made = _experiment(
        "scan", request, commands, machine, default_threads="auto", p_ref=request.p_ref, weak=Weak(), derived=derived
    )
    must_be_even(made, "--weak")
    return made


def tune(
    request: TuneRequest, words: Sequence[str], machine: Machine, unloadable: PreloadError | None = None
) -> Experiment:
    """The factors that are named, and threads over 1, 2, 4, ...; where none is named, those of catalogue/space.py.

    `unloadable` is what a launch said of an allocator: it is raised again, unless nobody asked for allocators.
    """
    commands = [_command("main", words, request.shell)]
    listed = (*request.factor, *request.parameter_list, *request.parameter_scan)
    named = (*listed, request.threads, request.ranks, request.allocators)
    if any(named) or request.shell:
        request, left_out = _loadable(request, commands, unloadable)
        return _also_without(_tune(request, commands, machine), left_out)
    names, left_out = space.usual(commands[0].argv, unloadable.what if unloadable else "")
    experiment, kept = _tune(request, commands, machine), names[:1]
    for name in names[1:]:
        wider = _tune(replace(request, factor=[f"{each}=auto" for each in (*kept, name)]), commands, machine)
        if len(configurations(wider)) > space.MOST:
            left_out += (f"{name}: more than {space.MOST} configurations; to try it {space.asking_for(name)}",)
        elif combinations(wider) > combinations(experiment):
            experiment, kept = wider, (*kept, name)
        else:
            left_out += tuple(reason for reason in wider.left_out if reason not in experiment.left_out)
    return _also_without(experiment, left_out)


def _loadable(request: R, commands: Sequence[Command], unloadable: PreloadError | None) -> tuple[R, tuple[str, ...]]:
    """Without `allocator=auto` where none can be preloaded, and why; raises what was said of one that was named."""
    auto = "auto" in (request.allocators, *(text.partition("=")[2] for text in request.factor if _allocators(text)))
    why = unloadable.what if unloadable else unloadable_by_file(commands)
    if unloadable is not None and not auto:
        raise unloadable
    if not auto or not why:
        return request, ()
    others = [text for text in request.factor if not _allocators(text)]
    return replace(request, allocators="", factor=others), (f"allocators: {why}",)


def unloadable_by_file(commands: Sequence[Command]) -> str:
    """Why no allocator can be preloaded into one of the commands, as far as its file tells; empty where one may."""
    said = (space.no_preload(command.argv) for command in commands if not command.shell)
    return next(filter(None, said), "")


def _allocators(text: str) -> bool:
    return text.partition("=")[0].strip() == "allocator"


def _tune(request: TuneRequest, commands: Sequence[Command], machine: Machine) -> Experiment:
    confirm, within = request.confirm, request.within
    experiment = _experiment("tune", request, commands, machine, default_threads="auto", confirm=confirm, within=within)
    same = combinations(experiment) - len(configurations(experiment))
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
    """Each word is a whole command, as hyperfine has it. `unloadable`: see tune."""
    checks.must_be_commands(request, words)
    names = _distinct([*request.name, *words[len(request.name) :]][: len(words)])
    commands = [_command(name, [word], request.shell) for name, word in zip(names, words, strict=True)]
    request, left_out = _loadable(request, commands, unloadable)
    return _also_without(_experiment("compare", request, commands, machine, default_threads=""), left_out)


def _distinct(names: Sequence[str]) -> list[str]:
    """The names with #2, #3 behind those that came before: a command may be compared with itself."""
    return [name if name not in names[:k] else f"{name} #{names[:k].count(name) + 1}" for k, name in enumerate(names)]


def _experiment(
    verb: Verb,
    request: Request,
    commands: Sequence[Command],
    machine: Machine,
    *,
    default_threads: str,
    confirm: str = "0",
    within: str = "",
    p_ref: int | None = None,
    weak: Weak | None = None,
    derived: Mapping[str, str] | None = None,
) -> Experiment:
    formulas = [arithmetic.parse(text, name) for name, text in (derived or {}).items()]
    asked = frozenset().union(*(template.placeholders(command.argv) for command in commands))
    asked |= frozenset().union(*(formula.names for formula in formulas)) - {"p"}
    chosen, left_out = named(request, asked, machine, default_threads)
    for argv in (*(command.argv for command in commands), _rehearsal(request, commands[0])):
        template.check(argv, {"threads", *(factor.name for factor in chosen), *_of_layout(chosen), *(derived or {})})
    if verb == "compare":
        chosen = [Factor(name="command", kind="command", levels=tuple(c.name for c in commands)), *chosen]
    metrics = dict(checks.metric(text) for text in request.metric)
    checks.must_be_a_response(request.response)
    checks.must_be_few(chosen)
    named_today = dict(todays(request.today, chosen, machine))
    given = dict(shell.levels(chosen, asked, machine)) if verb == "tune" else {}
    now = {name: level for name, level in given.items() if level != _first(chosen, name)} | named_today
    stop = _stop(request, confirm, within)
    try:
        experiment = Experiment(
            verb=verb,
            commands=tuple(commands),
            factors=tuple(chosen),
            response=request.response,
            metrics=metrics,
            constraints=tuple(Constraint.parse(text) for text in request.subject_to),
            stop=stop,
            hooks=Hooks(
                setup=request.setup or None,
                prepare=request.prepare or None,
                conclude=request.conclude or None,
                cleanup=request.cleanup or None,
            ),
            p_ref=smallest_p(chosen) if p_ref is None else p_ref,
            cores=_cores(request, chosen, machine),
            warmup=request.warmup,
            # No launch takes longer than the budget for all, so that one that hangs is not waited for.
            timeout=seconds(request.timeout, "--timeout") if request.timeout else stop.budget,
            ignore_failure=request.ignore_failure,
            same_output=request.same_output,
            rehearsal=_rehearsal(request, commands[0]),
            input=request.input or None,
            output=request.output or None,
            left_out=tuple(left_out),
            today=tuple(now.items()),
            as_typed=tuple(name for name in given if name not in named_today),
            weak=weak,
            derived=derived or {},
            inherited_allocator=allocators.inherited() or "",
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{first['msg']}: {first['input']!r}", where=where, remedy="see --help") from None
    launch(experiment, today(experiment), machine)
    if p_ref is not None:
        checks.must_have(experiment, p_ref)
    if any("ranks" in factor.how.makes for factor in chosen):
        checks.must_say_how_many(commands)
    return _within_cores(experiment)


def _of_layout(chosen: Sequence[Factor]) -> set[str]:
    """The placeholders that a level such as 4x2x1 fills beside {threads}."""
    return {"p", "ranks", "nodes"} if any(factor.kind == "layout" for factor in chosen) else set()


def _first(chosen: Sequence[Factor], name: str) -> Level:
    """The level of today that a factor has unasked."""
    return next(factor.how.today(factor.levels) for factor in chosen if factor.name == name)


def _cores(request: Request, chosen: Sequence[Factor], machine: Machine) -> int | None:
    """The limit that several ranks share; threads alone may be more than the cores, and are then labelled."""
    ranks = any(factor.kind == "ranks" for factor in chosen)
    return machine.default_max_threads if ranks and not request.oversubscribe else None


def _within_cores(experiment: Experiment) -> Experiment:
    """Says which combinations need more than the cores; raises UsageError where all do."""
    every = combinations(experiment.model_copy(update={"cores": None}))
    beyond = every - combinations(experiment)
    why = f"ranks times threads are more than the {experiment.cores} cores that may be used"
    if beyond == every:
        raise UsageError(why, where="ranks", remedy="ask for fewer, or add --oversubscribe")
    if not beyond:
        return experiment
    said = f"{beyond} of {every} combinations: {why} (--oversubscribe measures them too)"
    return experiment.model_copy(update={"left_out": (*experiment.left_out, said)})


def _command(name: str, words: Sequence[str], shell: bool) -> Command:
    argv = template.split(words[0], "command") if len(words) == 1 and not shell else tuple(words)
    if not argv:
        raise UsageError("no command", remedy="put it after --, as in: corescale scan -- ./program {threads}")
    return Command(name=name, argv=argv if shell else (bundled(argv[0]), *argv[1:]), shell=shell)


def _stop(request: Request, confirm: str, within: str) -> Stop:
    for name, runs in {"-r": request.runs, "-m": request.min_runs, "-M": request.max_runs}.items():
        if runs is not None and runs < 1:
            raise UsageError(f"{runs} runs are no measurement", where=name, remedy=f"write {name} 10")
    rule = {
        "width": share(request.width, "--width"),
        "confidence": share(request.confidence, "--confidence"),
        **budget(request.budget),
        "confirm_blocks": fresh_blocks(confirm),
    }
    if request.runs:
        exactly = {"min_blocks": request.runs, "max_blocks": request.runs, "budget": None, "launches": None}
        return Stop.model_validate(rule | {"rule": "replicates"} | exactly)
    if within:
        rule["within"] = rule["width"] = share(within, "--within")
    most = max(request.max_runs, request.min_runs)
    kind = "race" if within else "width"
    return Stop.model_validate(rule | {"rule": kind, "min_blocks": request.min_runs, "max_blocks": most})


def _rehearsal(request: Request, command: Command) -> tuple[str, ...]:
    if not isinstance(request, TuneRequest) or request.rehearse is None:
        return ()
    if not request.rehearse.strip():
        raise UsageError("no arguments", where="--rehearse", remedy="name those of a smaller input, or leave it out")
    if request.runs or request.shell:
        raise UsageError("needs a race and a command without a shell", where="--rehearse", remedy="drop -r or --shell")
    return (command.argv[0], *shlex.split(request.rehearse))
