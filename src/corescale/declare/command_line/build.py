# SPDX-License-Identifier: Apache-2.0
"""Turns the request of any verb into an Experiment."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from corescale.declare import arithmetic, paths, template
from corescale.declare.catalogue import allocators
from corescale.declare.command_line import checks
from corescale.declare.command_line.named_factors import baselines, named
from corescale.declare.experiment import (
    SERIAL,
    SHOWN,
    Baseline,
    Command,
    Constraint,
    Experiment,
    Factor,
    Hooks,
    Tuning,
    Verb,
    Weak,
)
from corescale.declare.factors import THREAD_VARIABLES
from corescale.declare.factors.threads import outermost
from corescale.declare.grid import baseline, combinations, launch, smallest_p
from corescale.declare.programs import bundled
from corescale.declare.quantities import MOST_RUNS, budget, confidence, confirmation_pairs, once, runs, seconds, share
from corescale.declare.request import CountedRequest, Request, ScanRequest, TuneRequest
from corescale.declare.stop import USUAL_BUDGET, Stop
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import COMMAND, Level


def experiment(
    verb: Verb,
    request: Request,
    commands: Sequence[Command],
    machine: Machine,
    *,
    weak: Weak | None = None,
    derived: Mapping[str, str] | None = None,
) -> Experiment:
    """The experiment that a verb asks for, checked as far as possible without a launch; raises UsageError."""
    if request.shell and request.no_shell:
        raise UsageError("contradict each other", where="-N --shell", remedy="drop one of them")
    if request.show_output and request.output:
        raise UsageError("contradict each other", where="--output --show-output", remedy="drop one of them")
    if request.cgroup not in ("auto", "off"):
        raise UsageError(f"{request.cgroup!r} is neither auto nor off", where="--cgroup", remedy="write --cgroup off")
    hooks = Hooks(**{name: getattr(request, name) or None for name in Hooks.model_fields})
    asked = _asked(commands, derived or {}, hooks)
    chosen, left_out = named(request, asked, machine, default_threads="" if verb == "compare" else "auto")
    filled = {factor.name for factor in chosen}.union(derived or {}, () if verb == "compare" else ("threads",))
    filled |= {"p", "threads", "ranks", "nodes"} if any(factor.kind == "layout" for factor in chosen) else set()
    for command in commands:
        template.check(command.argv, filled, "--serial" if verb == "scan" and command.name == SERIAL else "command")
    template.check(_rehearsal(request, commands[0]), filled, "--rehearse")
    template.check((request.output,), filled, "--output")
    if verb == "compare":
        if any(factor.name == COMMAND for factor in chosen):
            raise UsageError("is what compare varies itself", where=f"{{{COMMAND}}}", remedy="use another name")
        chosen = [Factor(name=COMMAND, kind="command", levels=tuple(c.name for c in commands)), *chosen]
    checks.must_be_a_response(request.response)
    checks.must_be_few(chosen)
    checks.must_be_there(commands)
    checks.must_be_preloadable(commands, chosen)
    missing = checks.not_there(os.environ.get("LD_PRELOAD", ""))
    left_out += [f"LD_PRELOAD={path} of this shell: no such file, so it is in no launch" for path in missing]
    named_baseline = once(baselines(request.baseline, chosen, machine), "--baseline")
    if verb == "scan" and (sets_p := [f.name for f in chosen if f.how.makes and f.name in named_baseline]):
        what = f"{sets_p[0]}={named_baseline[sets_p[0]]}: a scan compares with its smallest p"
        raise UsageError(what, where="--baseline", remedy="--p-ref 2 names another of its levels")
    given = dict(levels(chosen, asked, machine)) if verb == "tune" else {}
    unasked = {factor.name: factor.how.baseline(factor.levels) for factor in chosen}
    if verb == "compare":  # the reference is what is typed first, of numbers of threads too
        given = {factor.name: factor.levels[0] for factor in chosen if factor.how.makes}
    now = {name: level for name, level in given.items() if level != unasked[name]} | named_baseline
    stop, p_ref = _stop(request), request.p_ref if isinstance(request, ScanRequest) else None
    made = _checked(
        verb=verb,
        commands=tuple(commands),
        factors=tuple(chosen),
        response=request.response,
        metrics=once(map(checks.metric, request.metric), "--metric"),
        tuning=Tuning(
            constraints=tuple(map(Constraint.parse, request.subject_to)) if isinstance(request, TuneRequest) else (),
            rehearsal=_rehearsal(request, commands[0]),
        ),
        stop=stop,
        hooks=hooks,
        scaling={"p_ref": p_ref or smallest_p(chosen), "weak": weak},
        cores=_cores(request, chosen, machine),
        warmup=request.warmup,
        # A launch may take at most the whole budget, so that a hanging program is not waited for.
        timeout=stop.budget if request.timeout is None else seconds(request.timeout, "--timeout"),
        ignore_failure=request.ignore_failure,
        same_output=request.same_output,
        input=request.input or None,
        output=SHOWN if request.show_output else request.output or None,
        cgroup=request.cgroup,
        left_out=(*left_out, *(unread(chosen) if verb == "tune" else ())),
        baseline=Baseline(
            levels=tuple(now.items()),
            as_typed=tuple(name for name in given if name not in named_baseline),
            allocator=allocators.inherited() or "",
        ),
        derived=derived or {},
    )
    _must_be_launchable(made, machine, p_ref)
    return _within_cores(made)


def _asked(commands: Sequence[Command], derived: Mapping[str, str], hooks: Hooks) -> frozenset[str]:
    """The names in braces of the commands, those in formulas that are not p, and those in hooks that do not count."""
    formulas = [arithmetic.parse(text, name) for name, text in derived.items()]
    in_formulas = frozenset().union(*(formula.names for formula in formulas)) - {"p"}
    in_hooks = template.placeholders(filter(None, hooks.model_dump().values())) - {"p", "threads", "ranks", "nodes"}
    return in_formulas.union(in_hooks, *(template.placeholders(command.argv) for command in commands))


def _checked(**values: Any) -> Experiment:
    try:
        return Experiment(**values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"{first['msg'].removeprefix('Input ')}, not {first['input']!r}", where=where, remedy="see --help"
        ) from None


def _must_be_launchable(experiment: Experiment, machine: Machine, p_ref: int | None) -> None:
    """Raises UsageError for faults that would otherwise be noticed only after an hour of measuring."""
    launch(experiment, baseline(experiment), machine)
    if p_ref is not None:
        checks.must_have(experiment, p_ref)
    if any({"ranks", "nodes"} & factor.how.makes for factor in experiment.factors):
        checks.must_say_how_many(experiment.commands)


def _cores(request: Request, chosen: Sequence[Factor], machine: Machine) -> int | None:
    """The most threads of all ranks together. Without ranks more is allowed, and labelled as oversubscribed."""
    ranks = any(factor.kind == "ranks" for factor in chosen)
    return machine.default_max_threads if ranks and not request.oversubscribe else None


def _within_cores(experiment: Experiment) -> Experiment:
    """Says which combinations need more than the cores; raises UsageError if all do."""
    every = combinations(experiment.model_copy(update={"cores": None}))
    beyond = every - combinations(experiment)
    why = f"ranks times threads are more than the {experiment.cores} cores that may be used"
    if beyond == every:
        raise UsageError(why, where="ranks", remedy="ask for fewer, or add --oversubscribe")
    if not beyond:
        return experiment
    said = f"{beyond} of {every} combinations: {why} (--oversubscribe measures them too)"
    return experiment.model_copy(update={"left_out": (*experiment.left_out, said)})


def command(name: str, words: Sequence[str], asked: Request, where: str = "command") -> Command:
    """A command as typed; one quoted word is split as a shell would, unless it is a file. Raises UsageError, which
    names the option that it was typed behind (`where`)."""
    shell = asked.shell
    quoted = len(words) == 1 and not shell and not paths.is_file(words[0])
    split = template.words if asked.no_shell else template.split
    argv = split(words[0], where) if quoted else tuple(words)
    if not quoted and not shell and not asked.no_shell:
        template.must_need_no_shell(argv, where)
    if not argv or not argv[0]:
        remedy = "put it after the options, as in: -- ./program {threads}" if where == "command" else "name a program"
        raise UsageError("no command", where="" if where == "command" else where, remedy=remedy)
    return Command(name=name, argv=argv if shell else (bundled(argv[0]), *argv[1:]), shell=shell)


def _rehearsal(request: Request, command: Command) -> tuple[str, ...]:
    if not isinstance(request, TuneRequest) or request.rehearse is None:
        return ()
    if not request.rehearse.strip():
        raise UsageError("no arguments", where="--rehearse", remedy="name those of a smaller input, or leave it out")
    if request.shell:
        raise UsageError("needs a command without a shell", where="--rehearse", remedy="drop --shell")
    return (command.argv[0], *template.split(request.rehearse, "--rehearse", ""))


def levels(chosen: Sequence[Factor], asked: Collection[str], machine: Machine) -> Iterator[tuple[str, Level]]:
    """Each factor with the level that a launch from this shell would have, even if that level is not one to try.

    `asked`: placeholders, which the shell cannot fill. If there are any, a number of threads counts only if asked for.
    If there are ranks, the shell does not say how many threads each has.
    """
    alone = sum(bool(factor.how.makes) for factor in chosen) == 1
    open_ = [factor for factor in chosen if factor.name not in asked and (alone or not factor.how.makes)]
    found = {factor.name: factor.how.typed(factor.name, factor.levels, machine) for factor in open_}
    whole = None not in (found.get(factor.name) for factor in chosen)
    for factor in open_:
        level = found[factor.name]
        if level is not None and (whole or not factor.how.makes or level in factor.levels):
            yield factor.name, level


def unread(chosen: Sequence[Factor]) -> Iterator[str]:
    """The variables of this shell that should give a number of threads but have another value."""
    if any(factor.kind == "threads" for factor in chosen):
        for name in THREAD_VARIABLES:
            if (text := os.environ.get(name, "").strip()) and outermost(text) is None:
                yield f"the baseline's threads from {name}={text!r}: it is not a number of threads"


def _stop(request: Request) -> Stop:
    """The stop rule; raises UsageError."""
    counted = request if isinstance(request, CountedRequest) else CountedRequest()
    exactly = counted.runs
    for name, number in {"-r": exactly, "-m": counted.min_runs, "-M": request.max_runs}.items():
        if number is not None:
            runs(number, name)
    if not 0 <= request.warmup <= MOST_RUNS:
        what = f"{request.warmup:,} is not a number of warm-ups from 0 to {MOST_RUNS:,}"
        raise UsageError(what, where="-w", remedy="write -w 1, or leave it out")
    least, most = _blocks(counted.min_runs, request.max_runs, type(request).max_runs)
    usual = (CountedRequest.min_runs, CountedRequest.max_runs, CountedRequest.width)
    if exactly and (counted.min_runs, counted.max_runs, counted.width) != usual:
        remedy = "leave out -r, or -m, -M and --width"
        raise UsageError("leaves no choice to -m, -M and --width", where="-r", remedy=remedy)
    rule: dict[str, Any] = {
        "width": share(counted.width, "--width"),
        "confidence": confidence(request.confidence, "--confidence"),
        **_limit(request, exactly),
        "confirm_pairs": 0,
        "min_blocks": least,
        "max_blocks": most,
    }
    if exactly:
        rule |= {"rule": "replicates", "min_blocks": exactly, "max_blocks": exactly}
    if isinstance(request, TuneRequest):
        within = share(request.within, "--within")
        pairs = confirmation_pairs(request.confirm)
        rule |= {"rule": "race", "confirm_pairs": pairs, "within": within, "width": within}
    return Stop.model_validate(rule)


def _blocks(least: int, most: int, usual_most: int) -> tuple[int, int]:
    """The blocks of the first and the last look; one that was not typed fits the other. Raises UsageError."""
    if least <= most:
        return least, most
    if most == usual_most:
        return least, least
    if least == CountedRequest.min_runs:
        return most, most
    raise UsageError(
        f"{least} runs or more contradict {most} or fewer", where="-m", remedy=f"write -m {most} -M {least}"
    )


def _limit(request: Request, exactly: int | None) -> dict[str, float | int | bool | None]:
    """The typed budget, which is binding; else the default one, or none if the number of blocks is given."""
    if request.budget is not None:
        return budget(request.budget) | {"binding": True}
    return {"budget": None} if exactly else budget(USUAL_BUDGET)
