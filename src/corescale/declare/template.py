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
_CALLED = re.compile(r"(?:^|[;&|(\n`])\s*(?:(?:if|while|do|then|else|exec|env|time|nice)\s+)*([^\s;&|()`]+)")
_TOKEN = re.compile(rf"\{{(\{{{NAME}\}})\}}|\{{({NAME})\}}")
_PIECE = re.compile(
    r"""(?P<blank>[ \t\n]+)|'(?P<single>[^']*)'|"(?P<double>(?:\\.|[^"\\])*)"|\\(?P<escaped>.)"""
    r"""|(?P<bare>[^ \t\n'"\\]+)""",
    re.DOTALL,
)
"""matches the parts of a text that a shell quotes in different ways"""
_ESCAPE = re.compile(r"""\\([$`"\\])|\\\n""")
"""matches what a backslash quotes between double quotes; it stays before any other character"""
_STARTER = re.compile(r"(?:^|[\s/;&|(])((?:mpirun|mpiexec|orterun|prterun|srun)(?:\.\w+)?)(?=\s|$)")
_EXPANSION = r"`|\$(?=[\w({?!$@*#-])"
_OPERATOR = re.compile(rf"[;<>|&()]+|[*?]|\[(?=[^\]]+\])|{_EXPANSION}")
_FIRST = re.compile(r"[~#]")
"""matches what only a shell understands at the beginning of a word"""
_BETWEEN = ("|", "||", "&&", ";")
_REDIRECTION = re.compile(r"\d?(?:>>?|<)")
_PLAIN = re.compile(r"[\w@%+=:,./{}-]+|[|&;<>\d]+")
"""matches operators, and words that a shell leaves as they are"""


def words(text: str, where: str) -> tuple[str, ...]:
    """The words of a text as a POSIX shell would split it, except that a line break is a blank; raises UsageError for
    quotes that are left open.
    """
    return _parsed(text, where)[0]


def split(text: str, where: str, shell: str = "--shell") -> tuple[str, ...]:
    """The words of a command that is run without a shell; raises UsageError for syntax that needs a shell.

    `shell`: the option that the remedy names; empty if no shell can run it.
    """
    found, operator = _parsed(text, where)
    if operator and not shell:
        raise UsageError(f"{operator!r} in {text!r} is for a shell", where=where, remedy="quote it if it is text")
    if operator:
        raise _for_a_shell(operator, text, where, shell)
    return found


def _parsed(text: str, where: str) -> tuple[tuple[str, ...], str]:
    """The words of a text, and the first syntax in it that only a shell understands; that is empty if there is none."""
    words: list[str] = []
    operator, place, inside = "", 0, False
    while place < len(text):
        piece = _PIECE.match(text, place)
        if piece is None:
            what = "escaped character" if text[place] == "\\" else "closing quotation"
            raise UsageError(f"{text!r}: no {what}", where=where, remedy="close the quotes")
        place, kind, said = piece.end(), piece.lastgroup, piece[piece.lastindex or 0]
        if kind == "blank" or piece[0] == "\\\n":
            inside = inside and kind != "blank"
            continue
        found = None
        if kind == "bare":
            found = (None if inside else _FIRST.match(said)) or _OPERATOR.search(said)
        elif kind == "double":
            found = re.search(_EXPANSION, re.sub(r"\\.", "", said, flags=re.DOTALL))
            said = _ESCAPE.sub(r"\1", said)
        operator = operator or (found[0] if found else "")
        words[len(words) - inside :] = [words[-1] + said if inside else said]
        inside = True
    return tuple(words), operator


def _for_a_shell(operator: str, text: str, where: str, shell: str = "--shell", otherwise: str = "") -> UsageError:
    remedy = f"write sh -c {quoted(text)}, or add {shell}{otherwise}"
    return UsageError(f"{operator!r} in {text!r} is for a shell, and no shell is used", where=where, remedy=remedy)


def quoted(text: str) -> str:
    """The text as one word of a shell, between double quotes if it has single ones."""
    plain = "'" in text and not set('"$`\\!') & set(text)
    return f'"{text}"' if plain else shlex.quote(text)


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
        return words(text, "")
    except UsageError:
        return tuple(text.split())


def called(text: str) -> tuple[str, ...]:
    """The words of a shell command that stand where a program's name does."""
    return tuple(_CALLED.findall(text))


def starter(argv: Iterable[str]) -> str:
    """The program in these words, or in a word that is a whole shell command, that starts ranks; or empty."""
    found = _STARTER.search(" ".join(argv))
    return found[1] if found else ""


def placeholders(argv: Iterable[str]) -> frozenset[str]:
    """The names of a template's placeholders."""
    return frozenset(match[2] for word in argv for match in _TOKEN.finditer(word) if match[2])


def check(argv: Iterable[str], known: Iterable[str], where: str = "command", varied: bool = True) -> None:
    """Raises UsageError for a placeholder that no factor fills, and suggests the nearest name.

    `where`: the option of these words. `varied`: whether the command line can name a factor.
    """
    names = sorted(known)
    for name in sorted(placeholders(argv) - set(names)):
        remedy, in_file = (
            nearest(name, names, f"give {give} or write {{{{{name}}}}} for {{{name}}} as text", "{{{}}}")
            for give in (
                f"its levels (-L {name} a,b)" if varied else "its value",
                f"its levels ({name} = [1, 2] below [factors])",
            )
        )
        if name in ("threads", "ranks", "nodes"):
            remedy = f"give their number: --{name} 1,2"
        raise UsageError(f"unknown placeholder {{{name}}}", where=where, remedy=remedy, in_file=in_file)


def fill(argv: Iterable[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """The argv with every placeholder replaced; a value never splits into two words."""
    return tuple(_TOKEN.sub(lambda match: match[1] or values[match[2]], word) for word in argv)
