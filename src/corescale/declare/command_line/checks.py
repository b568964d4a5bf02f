# SPDX-License-Identifier: Apache-2.0
"""Checks of a parsed command line; each raises UsageError before anything is launched."""

import dataclasses
import itertools
import math
import re
import shlex
import shutil
from collections.abc import Iterable, Sequence

from corescale.declare import metric_sources, paths, template
from corescale.declare.command_line.named_factors import pair
from corescale.declare.experiment import Command, Experiment, Factor
from corescale.declare.grid import configurations
from corescale.declare.outputs import BUILT_IN
from corescale.declare.programs import bundled
from corescale.declare.request import CompareRequest, RunRequest, TuneRequest
from corescale.errors import ProgramError, UsageError

MOST = 100_000
"""most combinations of levels, including those that are the same launch"""

SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "fish", "none", "default")
"""values that hyperfine's --shell accepts"""


def must_be_commands(request: CompareRequest, words: Sequence[str]) -> None:
    """Raises UsageError for no command or an empty one, and ProgramError for a word that may be an argument."""
    if not words or not all(word.strip() for word in words):
        what = "an empty command" if words else "no command"
        raise UsageError(what, where="compare", remedy="write each between quotes: compare 'sleep 1' 'sleep 2'")
    if len(request.name) > len(words):
        what = f"{len(request.name)} names are given for {len(words)} commands"
        raise UsageError(what.replace("1 commands", "1 command"), where="-n", remedy="name each command once, in order")
    if request.gate and len(words) < 2 and not (request.against or request.varies):
        where = f"--gate {request.gate[0]}"
        raise UsageError("there is nothing to compare with", where=where, remedy="name a second command")
    if request.shell and len(words) > 1 and words[0] in SHELLS:
        what = f"{words[0]!r} would be a command to time: --shell is a switch, and runs commands through /bin/sh"
        without = {"none": "leave --shell out: no shell is the default", "default": "leave it out"}
        remedy = without.get(words[0], f"write {words[0]} -c '...' for another shell")
        raise UsageError(what, where="compare", remedy=remedy)
    if not request.shell and shutil.which(words[0]) and len(words) > 1:
        strange = next(filter(_is_no_command, words[1:]), None)
        if strange is not None:
            starts = [place for place, word in enumerate(words) if word == words[0]]
            each = [shlex.join(words[start:end]) for start, end in itertools.pairwise([*starts, len(words)])]
            line = " ".join(map(template.quoted, each)) + " 'ANOTHER'" * (len(each) < 2)
            program = f"chmod +x {shlex.quote(strange)}, if it is a program"
            remedy = f"quote each command: corescale compare {line}"
            remedy += f"; or {program if paths.is_file(strange) else f'correct {strange!r}'}"
            raise ProgramError(f"{strange!r} is not a program", where="compare", remedy=remedy)


def _is_no_command(word: str) -> bool:
    """Whether a word of `compare` can only be an argument: it is no program, and has no blanks or names a file."""
    whole = not any(map(str.isspace, word)) or paths.is_file(word)
    return whole and "{" not in word and not shutil.which(bundled(word))


def metric(text: str) -> tuple[str, str]:
    """Name and source of `--metric NAME=SOURCE`; raises UsageError."""
    name, source = pair(text, "--metric", "NAME=SOURCE")
    if name in BUILT_IN:
        raise UsageError(f"a column is named {name} already", where="--metric", remedy="use another name")
    try:
        return name, metric_sources.source(source)
    except ValueError as error:
        raise UsageError(str(error), where="--metric") from None


def must_be_a_response(response: str) -> None:
    """Raises UsageError for another text than a response."""
    try:
        metric_sources.response(response)
    except ValueError as error:
        raise UsageError(str(error), where="--response") from None


def must_be_few(chosen: Sequence[Factor]) -> None:
    """Raises UsageError if the levels make more than MOST combinations."""
    if (count := math.prod(len(factor.levels) for factor in chosen)) > MOST:
        what = f"{count:,} combinations of levels exceed the limit of {MOST:,}"
        raise UsageError(what, where="-f", remedy="name fewer levels, or fewer factors")


def must_have(experiment: Experiment, p: int) -> None:
    """Raises UsageError if the reference parallelism is not measured."""
    levels = sorted({configuration.layout.p for configuration in configurations(experiment)})
    if p not in levels:
        raise UsageError(
            f"p = {p} is not measured", where="--p-ref", remedy=f"write one of {', '.join(map(str, levels))}"
        )


def must_say_how_many(commands: Iterable[Command]) -> None:
    """Raises UsageError for a command that starts ranks without {ranks}: each rank would start them all."""
    for command in commands:
        name = template.starter(command.argv)
        if name and "ranks" not in template.placeholders(command.argv):
            remedy = f"write {name} -n {{ranks}}, or leave {name} and its options out of the command"
            raise UsageError("corescale starts the ranks itself", where=name, remedy=remedy)


OPEN = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


def must_be_there(commands: Iterable[Command]) -> None:
    """Raises UsageError for a file that only this shell can read, like that of `<(COMMAND)`."""
    for word in (word for command in commands for word in command.argv):
        if (found := OPEN.fullmatch(word)) and int(found[1]) > 2:
            remedy = "write it into a file, or give it as standard input: --input"
            raise UsageError("is open in this shell alone, so launches cannot read it", where=word, remedy=remedy)


PRELOADED = re.compile(r"(?<!\w)LD_PRELOAD=(['\"]?)([^'\"\s]+)")


def must_be_preloadable(commands: Iterable[Command], chosen: Sequence[Factor]) -> None:
    """Raises UsageError for a library that does not exist: the loader would go on with a mere message."""
    texts = [found[2] for command in commands for found in PRELOADED.finditer(" ".join(command.argv))]
    texts += [str(level) for factor in chosen if factor.name == "LD_PRELOAD" for level in factor.levels]
    if missing := not_there(":".join(texts)):
        what = f"{missing[0]}: no such file, and the loader launches a program without it"
        raise UsageError(what, where="LD_PRELOAD", remedy="give the path of a library that is there")


def not_there(preload: str) -> list[str]:
    """The paths in a value of LD_PRELOAD that lead to no file; the loader looks up names without a folder."""
    named = [part for part in re.split(r"[:\s]", preload) if "/" in part and not {*"${"} & {*part}]
    return [part for part in named if not paths.exists(part)]


CHANGES_NO_LAUNCH = {field.name for field in dataclasses.fields(RunRequest)} | {"more", "budget"}
"""fields of a request"""


def must_go_on(request: TuneRequest) -> None:
    """Raises UsageError for an option that, with --more, would change the launches of the run."""
    if request.fresh:
        raise UsageError("continues the last run, and --fresh starts one", where="--more", remedy="drop one of them")
    usual = TuneRequest()
    for field in dataclasses.fields(request):
        if field.name not in CHANGES_NO_LAUNCH and getattr(request, field.name) != getattr(usual, field.name):
            what = f"goes on with the launches of the last run, and takes no {field.metadata['flags'][0]}"
            raise UsageError(what, where="--more", remedy="leave it out, or write the whole command anew")
