# SPDX-License-Identifier: Apache-2.0
"""A request's fields as typer options, so that no option is declared twice; and options that need others."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar, get_args

import typer

from corescale.declare.request import options
from corescale.errors import UsageError

R = TypeVar("R")
Verb = Callable[[list[str], R], None]

Words = Annotated[list[str] | None, typer.Argument(metavar="-- COMMAND", help="the program; {name} is a placeholder")]


def takes(kind: type[R], words: Any = Words) -> Callable[[Verb[R]], Callable[..., None]]:
    """Let a verb that wants (words, request) be called by typer with the options of that request."""

    def decorate(verb: Verb[R]) -> Callable[..., None]:
        def command(**values: Any) -> None:
            verb(values.pop("words") or [], kind(**values))

        optional = get_args(words)[0] != list[str]
        given = _parameter("words", words, None if optional else inspect.Parameter.empty)
        parameters = [given, *(_option(field) for field in options(kind))]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        command.__doc__, command.__name__ = verb.__doc__, verb.__name__
        return command

    return decorate


def _option(field: Any) -> inspect.Parameter:
    metadata = field.metadata
    said = {"help": metadata["help"], "metavar": metadata["metavar"] or None, "show_default": False}
    annotation = Annotated[field.type, typer.Option(*metadata["flags"], **said, **metadata["limits"])]
    repeated = field.default is dataclasses.MISSING
    return _parameter(field.name, annotation, [] if repeated else field.default)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def must_have(given: Mapping[str, object], needed: str) -> None:
    """Raises UsageError for options that were given and have no effect without what is needed."""
    if names := " ".join(name for name, value in given.items() if value):
        raise UsageError(f"no effect without {needed}", where=names, remedy=f"add {needed}, or leave it out")
