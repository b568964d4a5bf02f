# SPDX-License-Identifier: Apache-2.0
"""The options of the verbs as keywords: those of the command line by their long names, with Python's values.

What an option means stands once, in declare/request.py: of a text also a number, a path or several levels will do, and
of a list a mapping. What only prints has no keyword: a Run has a method for it.
"""

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from os import PathLike, fspath
from typing import Any, TypeVar

from corescale.declare.request import ExplainRequest, RunRequest
from corescale.errors import UsageError, nearest

R = TypeVar("R", bound=RunRequest | ExplainRequest)
F = TypeVar("F", bound=Callable[..., Any])

ONLY_TYPED = {
    *("dry_run", "json", "verbose", "quiet", "report", "outputs", "model", "more", "no_shell", "against", "before"),
    *("parameter_list", "parameter_scan", "parameter_step"),
}
"""Options of the command line alone, beside the exports: a Run prints and exports, and a mapping has levels."""


def keywords(kind: type[R]) -> dict[str, "dataclasses.Field[Any]"]:
    """The options of a request that are keywords, by name."""
    every = {field.name: field for field in dataclasses.fields(kind)}
    return {name: one for name, one in every.items() if name not in ONLY_TYPED and not name.startswith("export_")}


def takes(kind: type[R]) -> Callable[[F], F]:
    """Let `help` and notebooks name the keywords of a verb."""

    def decorate(verb: F) -> F:
        made = inspect.signature(verb)
        own = [one for one in made.parameters.values() if one.kind is not one.VAR_KEYWORD]
        own += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in keywords(kind)]
        verb.__signature__ = made.replace(parameters=own)  # type: ignore[attr-defined]
        return verb

    return decorate


def request(kind: type[R], given: Mapping[str, Any]) -> R:
    """The request of a command line that says the same; raises UsageError for what no keyword is called or takes."""
    fields = keywords(kind)
    if strange := next((name for name in given if name not in fields), None):
        raise UsageError(f"no option {strange!r}", remedy=nearest(strange, fields, f"give one of {', '.join(fields)}"))
    return kind(**{name: _value(fields[name], value) for name, value in given.items()})


def _value(field: "dataclasses.Field[Any]", value: Any) -> Any:
    """As the command line would have it: a text, a list of texts, or a number."""
    if "str" not in str(field.type):
        switch = isinstance(field.default, bool)
        if not isinstance(value, bool if switch else Integral) or isinstance(value, bool) != switch:
            raise UsageError(
                f"{value!r} is {'neither True nor False' if switch else 'no whole number'}", where=field.name
            )
        return value if switch else int(value)
    several = field.default_factory is not dataclasses.MISSING
    if isinstance(value, Mapping):
        pairs = [f"{name}={_text(field.name, level)}" for name, level in value.items()]
        return pairs if several else ",".join(pairs)
    if several and isinstance(value, str):
        raise UsageError("is a list or a mapping", where=field.name, remedy=f"write [{value!r}]")
    if several and not isinstance(value, Iterable):
        return [str(value)]
    return [*map(str, value)] if several else _text(field.name, value)


def _text(where: str, value: Any) -> str:
    """A text as it is; others as they are typed, several with commas between."""
    if isinstance(value, str | PathLike):
        return fspath(value)
    if not isinstance(value, Iterable):
        return str(value)
    texts = [str(each) for each in value]
    if not texts:
        raise UsageError("is empty", where=where, remedy="give a level, or leave it out")
    if split := next((text for text in texts if "," in text), None):
        raise UsageError(f"{split!r} has a comma, which separates levels", where=where, remedy="give a word for it")
    return ",".join(texts)
