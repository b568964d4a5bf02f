# SPDX-License-Identifier: Apache-2.0
"""The history of a project: a file with a line for each commit and number, which git can merge line by line."""

import codecs
import functools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, FiniteFloat, TypeAdapter

from corescale import documents
from corescale.errors import UsageError
from corescale.records import canonical


@dataclass(frozen=True, slots=True)
class Entry:
    """One number of one commit."""

    commit: str
    when: FiniteFloat
    """time of the commit, seconds since 1970"""
    name: str
    """the command and its levels"""
    value: Annotated[FiniteFloat, Field(gt=0)]
    """median of the response"""
    low: FiniteFloat | None
    high: FiniteFloat | None
    machine: str
    run: str = ""
    """the first digits of the SHA-256 of the run's records; empty in lines of earlier versions"""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")
    """unknown keys are refused, because they would be lost at the next change of the file"""

    @property
    def series(self) -> tuple[str, str]:
        """The key of comparable numbers, which come from one command on one machine."""
        return self.machine, self.name

    def is_again(self, other: "Entry") -> bool:
        """Whether the run that gave it also gave another commit's."""
        return self.run == other.run != "" and self.commit != other.commit


@functools.cache
def _adapter() -> TypeAdapter[Entry]:
    return TypeAdapter(Entry)


def parse(content: bytes, where: str) -> list[Entry]:
    """Every entry in order of commits, the last line of each commit, name and machine. Raises UsageError."""
    found: dict[tuple[str, str, str], Entry] = {}
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UsageError("cannot be read: not UTF-8", where=where, remedy="save it as UTF-8")
    for number, line in enumerate(content.removeprefix(codecs.BOM_UTF8).splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = documents.typed(_adapter(), line)
        except ValueError:
            remedy = "restore the line, take it out, or name another file"
            raise UsageError("is not a line of a history", where=f"{where}:{number}", remedy=remedy) from None
        found[(entry.commit, *entry.series)] = entry
    return sorted(found.values(), key=lambda entry: (entry.when, entry.commit, entry.series))


def text(entries: Iterable[Entry]) -> str:
    """The text of the file: a line for each entry, sorted, so that branches only add lines and can be merged."""
    return "".join(f"{canonical(asdict(entry))}\n" for entry in entries)


def series(entries: Sequence[Entry]) -> dict[tuple[str, str], list[Entry]]:
    """The entries of each series in order."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.series, []).append(entry)
    return found
