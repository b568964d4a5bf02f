# SPDX-License-Identifier: Apache-2.0
"""Command templates: `{name}` is a placeholder, `{{name}}` is `{name}` as text, and any other brace is as typed."""

import itertools
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence

from corescale.errors import UsageError, nearest

NAME = "[A-Za-z_][A-Za-z0-9_]*"
"""pattern of a placeholder's name"""
_TOKEN = re.compile(rf"\{{(\{{{NAME}\}})\}}|\{{({NAME})\}}")
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
_STARTER = re.compile(r"(?:^|[\s/;&|(])((?:mpirun|mpiexec|orterun|prterun|srun)(?:\.\w+)?)(?=\s|$)")
_OPERATOR = re.compile(r"[;<>|&()]+|[*`]|\$(?=[\w({])|(?<!\S)~")
_BETWEEN = ("|", "||", "&&", ";")
_REDIRECTION = re.compile(r"\d?(?:>>?|<)")
_PLAIN = re.compile(r"[\w@%+=:,./{}-]+|[|&;<>\d]+")
"""matches operators, and words that a shell leaves as they are"""


def words(text: str, where: str) -> tuple[str, ...]:
    """The words of a text as a shell would split it; raises UsageError for quotes that are left open."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{text!r}: {str(error).lower()}", where=where, remedy="close the quotes") from None


def split(text: str, where: str, shell: str = "--shell") -> tuple[str, ...]:
    """The words of a command that is run without a shell; raises UsageError for syntax that needs a shell.

    `shell`: the option that the remedy names.
    """
    found = words(text, where)
    operator = _OPERATOR.search(_QUOTED.sub("", text))
    if operator is None:
        return found
    raise _for_a_shell(operator[0], text, where, shell)


def _for_a_shell(operator: str, text: str, where: str, shell: str = "--shell", otherwise: str = "") -> UsageError:
    plain = "'" in text and not set('"$`\\!') & set(text)
    quoted = f'"{text}"' if plain else shlex.quote(text)
    remedy = f"write sh -c {quoted}, or add {shell}{otherwise}"
    return UsageError(f"{operator!r} in {text!r} is for a shell, and no shell is used", where=where, remedy=remedy)


def operator(argv: Sequence[str]) -> str:
    """The word of `a | b`, `a && b`, `a ; b` or `a > file` that only a shell understands; empty if there is none.

    Programs take such words too, as in `find -exec a {} ;`, so those that separate commands count only before the name
    of a program.
    """
    for word, following in itertools.pairwise(argv[1:]):
        if _REDIRECTION.fullmatch(word) or (word in _BETWEEN and shutil.which(following)):
            return word
    return ""


def must_need_no_shell(argv: Sequence[str], where: str) -> None:
    """Raises UsageError for words with an operator."""
    if word := operator(argv):
        text = " ".join(one if _PLAIN.fullmatch(one) else shlex.quote(one) for one in argv)
        raise _for_a_shell(word, text, where, otherwise=f"; -N if {word!r} is text for {argv[0]}")


def shell_words(text: str) -> tuple[str, ...]:
    """The words of a shell command that may name programs. If it cannot be parsed, it is split at blanks."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


def starter(argv: Iterable[str]) -> str:
    """The program in these words, or in a word that is a whole shell command, that starts ranks; or empty."""
    found = _STARTER.search(" ".join(argv))
    return found[1] if found else ""


def placeholders(argv: Iterable[str]) -> frozenset[str]:
    """The names of a template's placeholders."""
    return frozenset(match[2] for word in argv for match in _TOKEN.finditer(word) if match[2])


def check(argv: Iterable[str], known: Iterable[str], where: str = "command") -> None:
    """Raises UsageError for a placeholder that no factor fills, and suggests the nearest name.

    `where`: the option of these words.
    """
    names = sorted(known)
    for name in sorted(placeholders(argv) - set(names)):
        remedy, in_file = (
            nearest(name, names, f"give its levels ({give}) or write {{{{{name}}}}} for {{{name}}} as text", "{{{}}}")
            for give in (f"-L {name} a,b", f"{name} = [1, 2] below [factors]")
        )
        if name in ("ranks", "nodes"):
            remedy = f"give their number: --{name} 1,2"
        raise UsageError(f"unknown placeholder {{{name}}}", where=where, remedy=remedy, in_file=in_file)


def fill(argv: Iterable[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """The argv with every placeholder replaced; a value never splits into two words."""
    return tuple(_TOKEN.sub(lambda match: match[1] or values[match[2]], word) for word in argv)
