# SPDX-License-Identifier: Apache-2.0
"""For a command line that cannot be parsed, one line that suggests what was probably meant."""

import difflib
import itertools
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from corescale.cli.app import OF_A_PROGRAM, VERBS, app

Unreadable: Any = typer.BadParameter.__mro__[2]
"""the exception that typer raises for any usage error (click's, of which newer versions of typer contain a copy)"""


HYPERFINE = {
    "--time-unit": "times have the unit that suits them; --json has seconds",
    "-u": "times have the unit that suits them; --json has seconds",
    "--style": "-q shows no progress, and only a terminal gets colours",
    "--reference": "the first command is the reference: write it first",
    "--reference-name": "-n NAME before the others names the first command",
    "-S": "--shell runs the command through /bin/sh; write bash -c '...' for another shell",
    "--shell": "it is a switch for /bin/sh; write bash -c '...' for another shell, or -N for none",
    "-=": "-i alone lets any exit code pass",
    "--ignore-failure": "-i alone lets any exit code pass",
    "--sort": "rows come in the order of the command line; --export-csv FILE can be sorted",
    "--export-asciidoc": "--export-markdown FILE writes a table",
    "--export-orgmode": "--export-markdown FILE writes a table",
}
"""Options of hyperfine that have another name here, or none; docs/hyperfine.md has them all."""

OURS = {
    **dict.fromkeys(("--version", "-V"), "corescale --version prints it"),
    "--name": "-n NAME names a command, once for each",
    "--export-html": "--report FILE.html writes a page",
    "--subject-to": "only tune takes a bound; compare has --gate",
}
"""Options that come before a verb, that only some verbs have, or that people guess."""

MEANT = {
    **dict.fromkeys(("--repeat", "--repeats", "--repetitions", "--iterations"), "--runs"),
    **dict.fromkeys(("--time", "--max-time", "--duration"), "--budget"),
    **dict.fromkeys(("-j", "--procs", "--cpus"), "--threads"),
    "--threshold": "--gate",
    "--format": "--json",
    "--csv": "--export-csv",
}
"""Options of other programs, each with the option that means the same here."""

LIMITS = {"--budget": "--budget 60s limits it", "--runs": "-r N makes exactly N blocks"}
"""Options that limit a run; an error names the first one that the verb has."""

LIMITING = (*LIMITS, "-r", "-m", "--min-runs", "-M", "--max-runs")

OF_PREDICT = dict.fromkeys(("-p", "-t", "--at", "--threads"), "--cores P is the number of cores")

NUMBERS = {"integer": "a whole number", "number": "a number"}
"""how an error names the expected type of value"""


NEAR = 0.6
"""least likeness of an option that was probably meant"""


def line(error: Any, words: Sequence[str]) -> str:
    """`scan: no such option: -l; put -- before the program: corescale scan -- ls -l`."""
    context = getattr(error, "ctx", None)
    verb = " ".join(context.command_path.split()[1:]) if context is not None else ""
    verb = verb or next((word for word in words[:1] if word in VERBS), "")
    what = re.split(r"[.]? (?:\(Possible|Did you mean)", error.format_message())[0].rstrip(".")
    what = re.sub("Input should be a valid (integer|number).*", lambda kind: f"not {NUMBERS[kind[1]]}", what)
    what = what.replace("Input should be", "should be")
    what = re.sub("Got unexpected extra arguments? [(](.*)[)]", r"\1: is more than it takes", what.replace("(s)", "s"))
    said = _of_a_value(error, what, words) or what[:1].lower() + what[1:]
    return ": ".join(filter(None, (verb, f"{said}; {_remedy(error, verb, words)}")))


def _of_a_value(error: Any, what: str, words: Sequence[str]) -> str:
    """`-r: 'two' is not a whole number`, for an option with a wrong value; empty for any other error."""
    _, _, why = what.partition("': ")
    names = getattr(getattr(error, "param", None), "opts", ()) if why.startswith(("not ", "should be")) else ()
    for name, value in itertools.pairwise(word for each in words for word in _option_and_value(each)):
        if name in names:
            return f"{name}: {value!r} {'is ' * why.startswith('not')}{why}"
    return ""


def _option_and_value(word: str) -> list[str]:
    """`--jobs=x` as two words; any other word as it is."""
    return word.split("=", 1) if word.startswith("--") else [word]


def _remedy(error: Any, verb: str, words: Sequence[str]) -> str:
    """What to type instead: the line with its program after `--`, the nearest option, or the help."""
    if not verb and words and (first := _first(words)):
        return first
    if said := _known(error, verb):
        return said
    if (rest := _with_dashes(verb, words, str(getattr(error, "option_name", "")))) is not None:
        return f"put -- before the program: corescale {verb} {rest}"
    if said := _near(error, verb):
        return said
    if verb == "compare" and (command := _unquoted(words)):
        return f"quote each command: corescale compare {shlex.quote(command)} 'ANOTHER'"
    return _help(verb)


def _known(error: Any, verb: str) -> str:
    """The option that replaces an unknown one, which is from hyperfine, another verb or habit; empty if none does."""
    name, unknown = str(getattr(error, "option_name", "")), hasattr(error, "possibilities")
    if (theirs := HYPERFINE.get(name, "")) or not unknown:  # what is known may only lack its value
        return theirs
    if (meant := MEANT.get(name, "")) in _options(error.ctx.command):
        return f"did you mean {meant}?"
    name = meant or name
    limits = [LIMITS[option] for option in _options(error.ctx.command) if option in LIMITS and name in LIMITING]
    return next(iter(limits), "") or (OURS | (OF_PREDICT if verb == "predict" else {})).get(name, "")


def _near(error: Any, verb: str) -> str:
    """The other verbs that have this option, if there are any; else the nearest option or word, for a mistyped one."""
    if hasattr(error, "possibilities") and (others := _verbs_with(str(error.option_name))):
        return f"it is an option of {', '.join(others)}; {_help(verb)}"
    near = getattr(error, "possibilities", None) or re.findall(r"Did you mean '(\S+)'", error.format_message())
    if name := str(getattr(error, "option_name", "")).strip("-"):  # the dashes are like those of any option
        near = [one for one in near or () if difflib.SequenceMatcher(None, name, one.strip("-")).ratio() >= NEAR]
    return f"did you mean {near[0]}?" if near else ""


def _help(verb: str) -> str:
    return f"corescale {verb} --help lists what can be written".replace("  ", " ")


def _options(command: Any) -> list[str]:
    return [option for each in command.params for option in each.opts]


def _verbs_with(option: str) -> list[str]:
    verbs: Any = typer.main.get_command(app)
    found = [name for name, verb in verbs.commands.items() if name in VERBS and option in _options(verb.loaded)]
    return found + [f"study {name}" for name, verb in _verbs_of_study().items() if option in _options(verb)]


def _first(words: Sequence[str]) -> str:
    """What to type instead of the first word, if it is a program, an option or a verb of `study`."""
    if not words[0].startswith("-") and shutil.which(words[0]):
        return f"a verb comes first: corescale scan -- {shlex.join(words)}"
    if shutil.which(next(iter(words[0].split()), "")):
        return f"a verb comes first: corescale compare {shlex.join(words)}"
    option = "--help" if words[0] == "help" else words[0]
    if option.startswith("-") and (name := next((word for word in words[1:] if word in VERBS), "")):
        return f"an option comes after its verb: corescale {name} {option}"
    return f"did you mean study {words[0]}?" if words[0] in _verbs_of_study() else ""


def _verbs_of_study() -> Mapping[str, Any]:
    verbs: Any = typer.main.get_command(app)
    return dict(verbs.commands["study"].loaded.commands)


def _with_dashes(verb: str, words: Sequence[str], unknown: str) -> str | None:
    """Splits a line without `--` into its options, and the program with its arguments; None if the `unknown` option is
    not one of these."""
    if verb not in OF_A_PROGRAM or "--" in words:
        return None
    rest = list(words[1:])
    for place, word in enumerate(rest):
        if word == unknown:
            return None
        if not word.startswith("-") and (shutil.which(word) or "/" in word):
            return shlex.join([*rest[:place], "--", *rest[place:]])
    return None


def _unquoted(words: Sequence[str]) -> str:
    """A command that was typed without quotes, as `ls -l` in `compare ls -l`; empty if there is none."""
    for place in range(1, len(words) - 1):
        if shutil.which(words[place]) and words[place + 1].startswith("-"):
            return shlex.join(words[place:])
    return ""
