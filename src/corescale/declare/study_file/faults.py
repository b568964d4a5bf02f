# SPDX-License-Identifier: Apache-2.0
"""Errors in a study file, each in one line: file, line, key, the nearest valid key, and what to write."""

import itertools
import re
import tomllib
import typing
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from corescale import documents
from corescale.errors import UsageError, nearest

Declared = TypeVar("Declared", bound=BaseModel)


def read(model: type[Declared], path: Path, guide: str) -> Declared:
    """Reads a TOML file into `model`, which the page `guide` explains; raises UsageError."""
    try:
        text = documents.content(path).decode("utf-8-sig")
        return model.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise _fault(error, model, path, text, guide) from None
    except UsageError as error:
        raise in_file(error, path, text) from None
    except UnicodeDecodeError:
        what, remedy = "cannot be read: not UTF-8", "save it as UTF-8"
    except OSError as error:
        what, remedy = f"cannot be read: {error.strerror}", f"see {guide}"
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(str(error), path, text) from None
    except (ValueError, RecursionError) as error:  # for endless digits or brackets
        what, remedy = f"not TOML: {error}", f"see {guide}"
    raise UsageError(what, where=str(path), remedy=remedy)


def _not_toml(said: str, path: Path, text: str) -> UsageError:
    """The error for a line that the parser cannot read, with the line itself."""
    why, _, place = said.rpartition(" (at ")
    number = int(found[1]) if (found := re.match(r"line (\d+)", place)) else text.rstrip().count("\n") + 1
    line = "".join(text.splitlines()[number - 1 : number]).strip()
    remedy = next((remedy for known, remedy in TO_BE_TOML.items() if why.startswith(known)), why[:1].lower() + why[1:])
    shown = line if len(line) <= LONGEST else f"{line[:LONGEST]}..."
    return UsageError(f"not TOML: {shown!r}", where=f"{path}:{number}", remedy=remedy)


LONGEST = 60
"""characters of a line that are shown"""

TO_BE_TOML = {
    "Illegal character": "close the quotes of the text",
    "Unterminated string": "close the quotes of the text",
    "Invalid value": "write a number, true, false, a text between quotes, or a list in [ ]",
    "Invalid statement": "write KEY = VALUE, or [TABLE]",
    "Expected newline": "write one KEY = VALUE a line, and a text between quotes",
    "Expected '='": "write KEY = VALUE",
    "Expected ']'": "close the brackets",
    "Unclosed": "close the brackets",
    "Cannot overwrite": "the key is there already: leave one of them",
    "Cannot declare": "the table is there already: leave one of them",
}
"""what to write, by how the parser's message begins"""


def _fault(error: ValidationError, model: type[BaseModel], path: Path, text: str, guide: str) -> UsageError:
    """The error for the first fault that pydantic found."""
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")  # a missing key may be a misspelt one
    where = [part for part in first["loc"] if not (isinstance(part, str) and ("[" in part or part in _BRANCHES))]
    key = ".".join(str(part) for part in where if not isinstance(part, int)) or "file"
    place = f"{path}:{_line(text, where)}: {key}"
    if first["type"] == "extra_forbidden":
        names = _keys(model, where[:-1])
        table = next((name for name in names if where[-1] in _keys(model, [*where[:-1], name])), "")
        remedy = nearest(str(where[-1]), names, f"keys here: {', '.join(names)}")
        if table or where[-1] in model.model_fields:
            remedy = f"write it {_below([*where[:-1], table] if table else [])}"
        return UsageError(f"unknown key {where[-1]!r}", where=place, remedy=remedy)
    if first["type"] == "missing":
        remedy = f"write {where[-1]} = ... {_below(where[:-1])}"
        if inside := _table(model, where):
            remedy = f"write [{key}], and below it {' and '.join(inside)}"
        return UsageError("is missing", where=place, remedy=remedy)
    if first["type"] == "too_short" and not first["input"]:
        return UsageError("is empty", where=place, remedy=f"write an entry, or leave it out (see {guide})")
    what = re.sub(
        r"a valid (\w+)(,? .*)?",
        lambda kind: IN_TOML.get(kind[1], kind[0]),
        first["msg"].removeprefix("Value error, ").removeprefix("Input "),
    )
    given = "" if first["type"] == "value_error" else f", not {_shown(first['input'])}"
    remedy = ""
    if first["type"] in ("tuple_type", "list_type") and isinstance(first["input"], dict):
        field = model.model_fields.get(key)
        remedy = f"write [[{key}]]" if field and any(_models(field.annotation)) else ""
    if first["type"] == "literal_error":
        remedy = nearest(str(first["input"]), re.findall(r"'([^']*)'", first["msg"]), form="{!r}")
    return UsageError(
        f"{what[:1].lower()}{what[1:]}{given}",
        where=place,
        remedy=remedy or ("" if "; " in what else f"see {guide}"),
    )


def _shown(given: object) -> str:
    """A value as an error names it."""
    if isinstance(given, bool):
        return str(given).lower()
    return "a table" if isinstance(given, dict) else f"{given!r:.60}"


def _below(where: Sequence[str | int]) -> str:
    """The place of a key of this table, such as `below [[chart]]`."""
    name = ".".join(str(part) for part in where if not isinstance(part, int))
    numbered = bool(where) and isinstance(where[-1], int)
    return f"below {'[' * (1 + numbered)}{name}{']' * (1 + numbered)}" if name else "before the first [table]"


IN_TOML = {
    "dictionary": "a table, such as {a = 1}",
    **dict.fromkeys(("tuple", "list"), "a list, in [ ]"),
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "string": "a text between quotes",
}
"""how an error names the expected type of value"""


_BRANCHES = frozenset({"str", "int", "float", "literal['auto']", "literal['none']", "constrained-str"})
"""parts of an error's location that name a branch of a union, not a key"""


def in_file(error: UsageError, path: Path, text: str) -> UsageError:
    """The same error with the file, what to write there, and the line of its key if there is one."""
    if error.where.startswith("-"):
        return error
    kind, _, name = error.where.partition(" ")
    naming = re.compile(rf"""\s*name\s*=\s*["']{re.escape(name)}["']""")
    named = [place for place, line in enumerate(text.splitlines(), 1) if naming.match(line)] if name else []
    line = named[-1] if named else _line(text, kind.split("."))
    return UsageError(error.what, where=f"{path}:{line}: {error.where}".removesuffix(": "), remedy=error.in_file)


def _keys(model: type[BaseModel], where: Sequence[str | int]) -> list[str]:
    """The keys that the table at a place may have."""
    found = model
    for part in where:
        if isinstance(part, str) and part in found.model_fields:
            found = next(iter(_models(found.model_fields[part].annotation)), found)
    return list(found.model_fields)


def _table(model: type[BaseModel], where: Sequence[str | int]) -> list[str]:
    """The keys that a table at this place must have; none if the value there is no table of its own."""
    found = model
    for part in map(str, where):
        annotation = found.model_fields[part].annotation if part in found.model_fields else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        found = annotation
    return [name for name, field in found.model_fields.items() if field.is_required()]


def _models(annotation: Any) -> Iterable[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from _models(inner)


def _line(text: str, where: Sequence[str | int]) -> int:
    """The line of a key, or of the deepest part of it in the text, or 1. Tables of one name count from 0."""
    keys = [str(part) for part in where if not isinstance(part, int)]
    number = next((part for part in where if isinstance(part, int)), None)
    best, depth, table, seen = 1, 0, list[str](), dict[str, int]()
    for place, line in enumerate(text.splitlines(), 1):
        if header := re.match(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]", line):
            here = table = _parts(header[2])
            if header[1] == "[[" and len(table) == 1:
                seen[table[0]] = seen.get(table[0], -1) + 1
        elif key := re.match(rf"\s*({_DOTTED})\s*=", line):
            here = [*table, *_parts(key[1])]
        else:
            continue
        index = seen.get(here[0])
        common = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(here, keys, strict=False)))
        fits = number is None or index is None or index == number
        if common in (len(here), len(keys)) and common > depth and fits:
            best, depth = place, common
    return best


_KEY = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"


def _parts(dotted: str) -> list[str]:
    """The names of a dotted key, without quotes."""
    return [part.strip("\"'") for part in re.findall(_KEY, dotted)]
