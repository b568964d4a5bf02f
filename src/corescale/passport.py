# SPDX-License-Identifier: Apache-2.0
"""The noise passport: the differences of pairs of equal launches on this machine, by which `--gate auto` chooses."""

import functools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from corescale import documents
from corescale.calibration import standard_file
from corescale.errors import UsageError

FORMAT: Literal[2] = 2
VARIABLE = "CORESCALE_PASSPORT"
"""names the file"""
SENTINEL = "sentinel"
"""name of the command that every passport has"""
CALM = 2 / 3
"""if the share of undisturbed pairs is smaller than this, disturbed pairs may have to decide a gate too"""
MOST_REPEATS = 2
"""a gate makes at most this multiple of its blocks; after that, disturbed blocks decide too"""
ENOUGH = 60
"""pairs with which gates show nine of ten slowdowns of the named size, even with heavy tails; 8 show 7 of 10"""
MAKE = "corescale doctor --noise 5m"

LARGEST = 20.0
"""largest valid log-ratio of a pair; at it, one launch took half a billion times as long as the other"""
LONGEST = 10**9
"""upper limit of the seconds of a pair (30 years), and of the number of pairs"""

LogRatio = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Pairs:
    """A/A pairs of one command: the undisturbed ones, or all if fewer than CALM of them are undisturbed."""

    log_ratios: Annotated[Sequence[LogRatio], Field(min_length=1)]
    """log-ratios of the times within each pair, in the order made"""
    seconds: Annotated[float, Field(ge=0, lt=LONGEST, allow_inf_nan=False)]
    """seconds that a pair takes, including the time between its launches"""
    made: Annotated[int, Field(ge=1, lt=LONGEST)]
    disturbed: Annotated[int, Field(ge=0, lt=LONGEST)]
    """number of pairs that are flagged as noisy"""

    @property
    def repeats(self) -> float:
        """The number of pairs to make per undisturbed pair, at most MOST_REPEATS."""
        return min(MOST_REPEATS, self.made / max(1, self.made - self.disturbed))


@dataclass(frozen=True, slots=True)
class Passport:
    """The pairs of each measured command, on one machine."""

    machine: str
    """its fingerprint"""
    commands: Mapping[str, Pairs]
    format: Literal[2] = FORMAT

    def of(self, command: str) -> tuple[str, Pairs]:
        """The pairs of a command, or else of the sentinel, and the name of the one that they belong to."""
        name = command if command in self.commands else SENTINEL
        return name, self.commands[name]


@functools.cache
def _adapter() -> TypeAdapter[Passport]:
    return TypeAdapter(Passport)


def standard() -> Path:
    """The default file of the passport."""
    return standard_file().with_name("noise.json")


def file() -> Path:
    """The file of the passport: the one that VARIABLE names, or else the default one."""
    return Path(os.environ.get(VARIABLE) or standard())


def text(passport: Passport) -> str:
    """The text of the passport's file."""
    return json.dumps(asdict(passport), indent=1) + "\n"


def parse(content: str | bytes, where: str) -> Passport:
    """The passport in the text of a file; raises UsageError."""
    try:
        found = documents.typed(_adapter(), content)
        if SENTINEL not in found.commands:
            raise ValueError("no sentinel")
        return found
    except ValueError as error:
        raise UsageError(f"is not a noise passport ({error})", where=where, remedy=f"make it again: {MAKE}") from None


def of_machine(fingerprint: str) -> Passport:
    """The passport of this machine; raises UsageError if there is none."""
    path = file()
    try:
        found = parse(documents.content(path), str(path))
    except FileNotFoundError:
        raise UsageError("this machine has no noise passport", where="--gate auto", remedy=f"make it: {MAKE}") from None
    except OSError as error:
        remedy = f"name another file by {VARIABLE}, or make it again: {MAKE}"
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path), remedy=remedy) from None
    if found.machine != fingerprint:
        what = "is the passport of another machine, or of this one before it changed"
        raise UsageError(what, where=str(path), remedy=f"make it again: {MAKE}")
    return found
