# SPDX-License-Identifier: Apache-2.0
"""What every verb's request becomes: one Experiment."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from corescale.declare import arithmetic, paths, template
from corescale.declare.catalogue import allocators
from corescale.declare.command_line import checks, shell, stopping
from corescale.declare.command_line.named_factors import named, todays
from corescale.declare.command_line.request import Request, TuneRequest
from corescale.declare.experiment import Command, Constraint, Experiment, Factor, Hooks, Verb, Weak
from corescale.declare.grid import combinations, launch, smallest_p, today
from corescale.declare.programs import bundled
from corescale.declare.quantities import seconds
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import Level


def experiment(
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
    """What a verb asks for, checked as far as nothing needs to be launched for it; raises UsageError."""
    if request.shell and request.no_shell:
        raise UsageError("no shell, and a shell", where="-N", remedy="leave out -N or --shell")
    asked = _asked(commands, derived or {})
    chosen, left_out = named(request, asked, machine, default_threads)
    for argv in (*(command.argv for command in commands), _rehearsal(request, commands[0])):
        template.check(argv, {"threads", *(factor.name for factor in chosen), *_of_layout(chosen), *(derived or {})})
    if verb == "compare":
        chosen = [Factor(name="command", kind="command", levels=tuple(c.name for c in commands)), *chosen]
    checks.must_be_a_response(request.response)
    checks.must_be_few(chosen)
    named_today = dict(todays(request.today, chosen, machine))
    given = dict(shell.levels(chosen, asked, machine)) if verb == "tune" else {}
    now = {name: level for name, level in given.items() if level != _first(chosen, name)} | named_today
    stop = stopping.of(request, confirm, within)
    made = _checked(
        verb=verb,
        commands=tuple(commands),
        factors=tuple(chosen),
        response=request.response,
        metrics=dict(checks.metric(text) for text in request.metric),
        constraints=tuple(Constraint.parse(text) for text in request.subject_to),
        stop=stop,
        hooks=_hooks(request),
        p_ref=smallest_p(chosen) if p_ref is None else p_ref,
        cores=_cores(request, chosen, machine),
        warmup=request.warmup,
        # No launch takes longer than the budget for all, so that one that hangs is not waited for.
        timeout=stop.budget if request.timeout is None else seconds(request.timeout, "--timeout"),
        ignore_failure=request.ignore_failure,
        same_output=request.same_output,
        rehearsal=_rehearsal(request, commands[0]),
        input=request.input or None,
        output=request.output or None,
        left_out=(*left_out, *(shell.unread(chosen) if verb == "tune" else ())),
        today=tuple(now.items()),
        as_typed=tuple(name for name in given if name not in named_today),
        weak=weak,
        derived=derived or {},
        inherited_allocator=allocators.inherited() or "",
    )
    _must_be_launchable(made, machine, p_ref)
    return _within_cores(made)


def _asked(commands: Sequence[Command], derived: Mapping[str, str]) -> frozenset[str]:
    """The names in braces of the commands, and those in formulas that are not p."""
    formulas = [arithmetic.parse(text, name) for name, text in derived.items()]
    in_formulas = frozenset().union(*(formula.names for formula in formulas)) - {"p"}
    return in_formulas.union(*(template.placeholders(command.argv) for command in commands))


def _hooks(request: Request) -> Hooks:
    return Hooks(
        setup=request.setup or None,
        prepare=request.prepare or None,
        conclude=request.conclude or None,
        cleanup=request.cleanup or None,
    )


def _checked(**values: Any) -> Experiment:
    try:
        return Experiment(**values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{first['msg']}: {first['input']!r}", where=where, remedy="see --help") from None


def _must_be_launchable(experiment: Experiment, machine: Machine, p_ref: int | None) -> None:
    """Raises UsageError for what would be found out only after an hour."""
    launch(experiment, today(experiment), machine)
    if p_ref is not None:
        checks.must_have(experiment, p_ref)
    if any("ranks" in factor.how.makes for factor in experiment.factors):
        checks.must_say_how_many(experiment.commands)


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


def command(name: str, words: Sequence[str], shell: bool) -> Command:
    """A command as typed; one quoted word is split as a shell would, unless it is a file's name, or a shell gets it.

    Raises UsageError.
    """
    quoted = len(words) == 1 and not shell and not paths.is_file(words[0])
    argv = template.split(words[0], "command") if quoted else tuple(words)
    if not argv:
        raise UsageError("no command", remedy="put it after --, as in: corescale scan -- ./program {threads}")
    return Command(name=name, argv=argv if shell else (bundled(argv[0]), *argv[1:]), shell=shell)


def _rehearsal(request: Request, command: Command) -> tuple[str, ...]:
    if not isinstance(request, TuneRequest) or request.rehearse is None:
        return ()
    if not request.rehearse.strip():
        raise UsageError("no arguments", where="--rehearse", remedy="name those of a smaller input, or leave it out")
    if request.runs or request.shell:
        raise UsageError("needs a race and a command without a shell", where="--rehearse", remedy="drop -r or --shell")
    return (command.argv[0], *template.words(request.rehearse, "--rehearse"))
