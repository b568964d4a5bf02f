# SPDX-License-Identifier: Apache-2.0
"""The contract of a factor kind, and how texts become levels."""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from corescale.declare.launch import Launch
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.records import Layout, Level


class Kind:
    """What a factor's levels mean. A kind is stateless; its level comes from the configuration."""

    named: ClassVar[bool] = True
    """A factor of this kind goes by the kind's name; otherwise by a name of its own."""
    separator: ClassVar[str] = ","
    """The text between levels, as in `-f NAME=A,B`."""
    makes: ClassVar[frozenset[str]] = frozenset()
    """The parts of the layout (threads, ranks, nodes) that a level sets. A factor that sets any of them makes p."""
    preloads: ClassVar[bool] = False
    """A level is a library to preload; a launch must prove that it is loaded."""
    masks: ClassVar[bool] = False
    """A level restricts the launch to some CPUs of the machine."""
    counts_cores: ClassVar[bool] = False
    """A level determines how many cores a launch may use, which `p = "> 2 cores"` refers to."""
    decides: ClassVar[bool] = False
    """A level determines whether another factor has any effect. This is true of all factors that make p."""
    fills: ClassVar[bool] = False
    """A level only fills words of the command or sets variables, none of which is a library to preload."""
    written: ClassVar[str] = ""
    """The form of a level, a regular expression; empty for any."""
    remedy: ClassVar[str] = ""
    """What to write instead of another form."""

    def split(self, text: str) -> list[str]:
        """The levels that one text names, some perhaps empty; in a level the separator has a backslash before it."""
        parts = re.split(rf"(?<!\\){re.escape(self.separator)}", text)
        return [part.strip().replace(f"\\{self.separator}", self.separator) for part in parts]

    def joined(self, levels: Sequence[Level]) -> str:
        """The text that names these levels."""
        return self.separator.join(str(level).replace(self.separator, f"\\{self.separator}") for level in levels)

    def keyword(self, name: str) -> bool:
        """Whether `auto` stands for levels of a factor of this name, and cannot itself be a level."""
        return True

    def parse(self, text: str, machine: Machine) -> Level:
        """A level from the command line; raises UsageError."""
        if not self.written:
            return number_or_text(text)
        if not re.fullmatch(self.written, text):
            name = type(self).__name__.removesuffix("Kind").lower()
            raise UsageError(f"not a level of {name}: {text!r}", where=name, remedy=f"write {self.remedy}")
        return text

    def auto(self, name: str, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        """The levels worth trying here, and what was left out with the reason; raises UsageError."""
        raise UsageError(f"factor {name!r} has no automatic levels", remedy=f"list them: {name}=a,b")

    def unavailable(self, level: Level, machine: Machine) -> str | None:
        """Why this machine cannot use the level, or None."""
        return None

    def either(self, first: Level, other: Level, machine: Machine) -> tuple[Sequence[Level], Sequence[str]]:
        """Both levels as `auto`, or only the first if the other is not available."""
        reason = self.unavailable(other, machine)
        return ([first, other], ()) if reason is None else ([first], [reason])

    def baseline(self, levels: Sequence[Level]) -> Level:
        """The level of the baseline."""
        return levels[0]

    def typed(self, name: str, levels: Sequence[Level], machine: Machine) -> Level | None:
        """The level of a launch from this shell with nothing set for it; None if no level is that launch."""
        return None

    def serial(self, level: Level) -> Level:
        """The level of the serial baseline, given the baseline."""
        return level

    def layout(self, level: Level, layout: Layout) -> Layout:
        """The layout with this level in it."""
        return layout

    def variables(self, name: str) -> frozenset[str]:
        """The variables that a level changes, if it changes only variables of env_reads.KNOWN; else empty."""
        return frozenset()

    def idle(self, name: str, beside: Mapping[str, Level], *, one_thread: bool) -> bool:
        """Whether this factor has no effect at these levels of the deciding factors.

        `one_thread`: whether these levels give each rank one thread. Without a factor of threads, that is unknown.
        """
        return False

    def apply(self, name: str, level: Level, launch: Launch, machine: Machine) -> Launch:
        """The launch with this level in it. Placeholders are filled already."""
        return launch


MOST = 65_536
"""most threads or ranks: more than any machine has"""


def counts(text: str) -> list[str]:
    """The levels of `1,2,8` and of the range `1-4`, as texts."""
    found: list[str] = []
    for part in (each.strip() for each in text.split(",")):
        ends = re.fullmatch(r"(\d+)-(\d+)", part)
        if ends is None or not 0 < int(ends[1]) < int(ends[2]) <= MOST:
            found.append(part)
        else:
            found += map(str, range(int(ends[1]), int(ends[2]) + 1))
    return found


_RANGE = re.compile(r"(\d+)(?:-|\.\.|:)(\d+)")


def no_range(name: str, level: Level | None) -> str:
    """The note that a parameter's level such as 1-4 or 1..4 is no range, as threads have them; empty for others."""
    ends = _RANGE.fullmatch(str(level))
    if ends is None:
        return ""
    return f"{name}={level} is one level: list each level, or on the command line write -P {name} {ends[1]} {ends[2]}"


def positive(text: str, where: str, machine: Machine) -> int:
    """A whole number of at least 1, or `max`."""
    if text == "max":
        return machine.default_max_threads
    if not re.fullmatch("[0-9]{1,9}", text) or not 1 <= int(text) <= MOST:
        raise UsageError(
            f"{text!r} is not a whole number of at least 1 and at most {MOST:,}",
            where=where,
            remedy="write 1,2,4, or the range 1-4",
            in_file="write [1, 2, 4]",
        )
    return int(text)


def number_or_text(text: str) -> Level:
    """3 and 0.5 become numbers so that tables sort by value; 007 and 1e stay text and reach argv unchanged."""
    for convert in (int, float):
        try:
            value = convert(text)
        except ValueError:
            continue
        if str(value) == text:
            return value
    return text
