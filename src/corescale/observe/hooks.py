# SPDX-License-Identifier: Apache-2.0
"""Hooks: commands before and after launches. They are not timed, and use a shell only if the measured command does.
Launches get what a shell exports in `setup`. Also checks the files that launches read and write.
"""

import errno
import math
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from corescale.declare import paths, template
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations, output_of, parameters
from corescale.endings import reason
from corescale.errors import BudgetEndedError, ProgramError, UsageError
from corescale.observe import environment
from corescale.observe.spawn import orphans
from corescale.observe.spawn.report import UNKNOWN_FORMAT

EACH = ("prepare", "conclude")
"""Hooks around each launch, which may therefore have placeholders."""
ONCE = ("setup", "cleanup")
SHELL = re.compile(r"(?:\S*/)?(?:ba|da|k|z)?sh")
"""matches the shells that have `trap`"""
OF_THE_SHELL = ("PWD", "OLDPWD", "SHLVL", "_")
"""variables that a shell sets by itself"""


class HookRunner:
    """Runs the hooks of an experiment. Background processes of a hook keep running; `cleanup` is there to end them."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._shell = any(command.shell for command in experiment.commands)
        self.exported: Mapping[str, str | None] = {}
        """the variables that `setup` changed; None: it unset them"""
        self._before: Mapping[str, str | None] = {}
        known = {"p", "threads", "ranks", "nodes", *(factor.name for factor in experiment.factors)}
        known |= {*experiment.derived, *(one.name for one in experiment.along)}
        for name in (*EACH, *ONCE):
            text, where = getattr(experiment.hooks, name) or "", experiment.typed(f"--{name}")
            if name in ONCE and (one := next(iter(known & template.placeholders((text,))), "")):
                remedy = f"{experiment.typed('--prepare')} runs before each launch, with its {{{one}}}"
                raise UsageError(f"runs once, for all levels of {{{one}}}", where=where, remedy=remedy)
            template.check((text,), known if name in EACH else (), where)
            if not self._shell:
                template.split(text, where, experiment.typed("--shell"))

    def set_up(self, seconds: float) -> None:
        """Runs `setup`. If it is a line of a shell, all that is started later gets the variables that it exports, until
        `clean_up`.
        """
        if self._experiment.hooks.setup is None:
            return
        before = environment.inherited()
        with tempfile.NamedTemporaryFile() as file:
            say = shlex.join((shutil.which("env") or "env", "-0"))  # a shell may change PATH
            first = f"trap {shlex.quote(f'{say} >{shlex.quote(file.name)}')} EXIT; "
            self.run("setup", seconds=seconds, first=first)
            said = os.fsdecode(file.read()).split("\0")
        after = dict(each.partition("=")[::2] for each in said if each) or before
        names = [name for name in before | after if name.isidentifier() and name not in OF_THE_SHELL]
        self.exported = {name: after.get(name) for name in names if before.get(name) != after.get(name)}
        self._before = {name: before.get(name) for name in self.exported}
        _change(self.exported)

    def clean_up(self, seconds: float) -> None:
        """Runs `cleanup`, and takes back what `setup` exported."""
        try:
            self.run("cleanup", seconds=seconds)
        finally:
            _change(self._before)

    def run(
        self, name: str, values: Mapping[str, str] | None = None, seconds: float = math.inf, first: str = ""
    ) -> None:
        """Runs a hook; if it is a line of a shell, with `first` before it. Raises ProgramError if it cannot be started
        or fails, or if it belongs to a launch and lasts longer than a launch may. Raises BudgetEndedError if it lasts
        longer than `seconds`.

        If a hook is ended, for these reasons or by Ctrl-C, all its processes are ended.
        """
        text, typed = getattr(self._experiment.hooks, name), self._experiment.typed
        if text is None:
            return
        words = _after(first, ("/bin/sh", "-c", text) if self._shell else template.words(text, typed(f"--{name}")))
        own = self._of_a_launch if name in EACH else math.inf
        with tempfile.TemporaryFile() as said:
            try:
                status = _ended(template.fill(words, values or {}), said, min(own, seconds))
            except OSError as error:
                why = UNKNOWN_FORMAT if error.errno == errno.ENOEXEC else error.strerror or str(error)
                raise _unstarted(self._experiment, name, why) from error
            except subprocess.TimeoutExpired as error:
                late = own < seconds
                budget = self._experiment.stop.budget or math.inf
                limit, option = (
                    (f"{own:.3g} s, the limit of a launch", typed("--timeout")) if late else
                    (f"the budget of {budget:g} s", "--budget")
                )  # fmt: skip
                raise (ProgramError if late or name == "cleanup" else BudgetEndedError)(
                    f"did not end within {limit}",
                    where=f"{typed(f'--{name}')} {text}",
                    remedy=f"give it more: {option}",
                ) from error
            if status != 0:
                said.seek(0)
                why = reason(said.read().decode(errors="replace"))
                what = f"failed with exit code {status}{': ' if why else ''}{why}"
                remedy = "make it succeed, or leave it out"
                raise ProgramError(what, where=f"{typed(f'--{name}')} {text}", remedy=remedy)

    @property
    def _of_a_launch(self) -> float:
        """The time limit of a launch in seconds. A typed budget, for all launches together, is none."""
        timeout, stop = self._experiment.timeout, self._experiment.stop
        return math.inf if timeout is None or (stop.binding and timeout == stop.budget) else timeout


def _after(first: str, words: Sequence[str]) -> Sequence[str]:
    """The words, with `first` before the line if they are a shell, options and a line: `bash -l -c LINE`."""
    at = next((at for at, word in enumerate(words) if at and re.fullmatch(r"-\w*c", word)), 0)
    options = (word.startswith("-") or words[before].endswith("o") for before, word in enumerate(words[1:at]))
    if not (0 < at < len(words) - 1 and SHELL.fullmatch(words[0]) and all(options)):
        return words
    return (*words[: at + 1], first + words[at + 1], *words[at + 2 :])


def _change(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


def must_start(experiment: Experiment) -> None:
    """Raises ProgramError for a hook whose program is missing, and UsageError for a missing file, unless an earlier
    hook may make it.
    """
    if not (experiment.hooks.setup or experiment.hooks.prepare):
        files_must_work(experiment)
    if any(command.shell for command in experiment.commands):
        return
    for name in ("setup",) if experiment.hooks.setup else (*EACH, *ONCE):
        words = template.words(getattr(experiment.hooks, name) or "", experiment.typed(f"--{name}"))
        if words and not template.placeholders(words[:1]) and shutil.which(words[0]) is None:
            raise _unstarted(experiment, name, os.strerror(errno.ENOENT))


def _unstarted(experiment: Experiment, name: str, why: str) -> ProgramError:
    text, typed = getattr(experiment.hooks, name), experiment.typed
    program = template.words(text, typed(f"--{name}"))[0]
    if shell := environment.SHELL_OF.get(program):
        why = f"only a shell has {program}"
    needs = f"{shell or 'sh'} -c {shlex.quote(text)}"
    needs = needs if shell == "bash" else f"{typed('--shell')}, or {needs}"
    remedy = f"correct it; what only a shell knows needs {needs}"
    return ProgramError(f"cannot be started: {why}", where=f"{typed(f'--{name}')} {text}", remedy=remedy)


_RUNNING: set[int] = set()
"""hooks that a thread waits for"""

_LEFT: set[int] = set()
"""what hooks left running when they ended, now children of this process"""


def _ended(words: Sequence[str], said: IO[bytes], seconds: float) -> int:
    """The exit code of the command. If this process is interrupted, it also ends all that the command started."""
    orphans.adopt()
    _LEFT.difference_update(_RUNNING)
    orphans.reap(_LEFT)
    begun, older, null, variables = orphans.now(), orphans.children(), subprocess.DEVNULL, environment.inherited()
    try:
        with subprocess.Popen(words, stdin=null, stdout=null, stderr=said, env=variables) as running:
            _RUNNING.add(running.pid)
            try:
                return running.wait(None if math.isinf(seconds) else seconds)
            except BaseException:
                running.kill()
                raise
            finally:
                _RUNNING.discard(running.pid)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        orphans.end(begun, (), of_this_session=True)
        raise
    finally:
        _LEFT.update(orphans.children() - older)


def files_must_work(experiment: Experiment) -> None:
    """Raises UsageError if no launch could read its input or write its output."""
    if experiment.input is not None and not paths.is_file(experiment.input):
        what = "is not a regular file" if paths.exists(experiment.input) else "no such file"
        where, remedy = experiment.typed("--input"), "name a file" + ", or - for stdin" * (not experiment.study.name)
        if experiment.input in (os.devnull, "null"):
            remedy = "leave it out: a launch reads nothing then"
        raise UsageError(what, where=f"{where} {experiment.input}", remedy=remedy)
    each = configurations(experiment) if template.placeholders((experiment.output or "",)) else (baseline(experiment),)
    values = ({name: str(of) for name, of in parameters(experiment, chosen).items()} for chosen in each)
    for output in dict.fromkeys(output_of(experiment, of) for of in values):
        if output is not None and (why := _unwritable(output)):
            where = f"{experiment.typed('--output')} {output}"
            raise UsageError(f"cannot be written: {why}", where=where, remedy="name a file")


def _unwritable(output: Path) -> str:
    if paths.is_folder(output):
        return "is a folder"
    if paths.exists(output):
        return "" if os.access(output, os.W_OK) else "no permission"
    if not paths.is_folder(output.parent):
        return "no such folder"
    return paths.refusal(output.parent)
