# SPDX-License-Identifier: Apache-2.0
"""Names of configurations: `allocator=mimalloc huge-pages`, `4 threads`, `layout=2x2x1`."""

from collections.abc import Collection

from corescale.declare.catalogue import settings
from corescale.declare.factors import KINDS
from corescale.records import COMMAND, INHERITED, Configuration, Level
from corescale.show import text


def current(untyped: tuple[tuple[str, Level], ...]) -> str:
    """The baseline in a sentence: `your current launch`, or its levels as far as the shell does not set them."""
    return label(Configuration(untyped)) if untyped else "your current launch"


def label(configuration: Configuration, without: Collection[str] = ()) -> str:
    """The name in tables and charts; inherited levels are left out, and those of the factors `without`."""
    if COMMAND in dict(configuration.levels):
        return text.clean(configuration.label)
    levels = [pair for pair in configuration.levels if pair[0] not in without] or configuration.levels
    said = [pair for pair in levels if pair[1] != INHERITED] or levels
    return text.clean(" ".join(settings.short(*pair) for pair in said) or configuration.label)


def level(name: str, of: Level) -> str:
    """A level in a column that is headed by its factor."""
    return text.clean(settings.short(name, of).removeprefix(f"{name}="))


def raw(configuration: Configuration) -> str:
    """The values behind short names, which a hover shows; empty if there are none."""
    pairs = [f"{name}={of}" for name, of in configuration.levels]
    return text.clean(" ".join(pair for pair in pairs if pair in settings.SHORT))


def counted(configuration: Configuration) -> str:
    """`4 threads`, `1 rank`, `2 nodes`; the levels themselves if p alone does not distinguish them. Empty if no factor
    makes p, because the number of threads is not known then."""
    makers = _makers(configuration)
    if not makers:
        return ""
    if _mixed(makers):
        return text.clean(" ".join(f"{name}={level}" for name, level in makers.items()))
    part = next((part for name in makers for part in KINDS[name].makes), "threads")
    return text.count(configuration.layout.p, part.removesuffix("s"))


def below(configuration: Configuration) -> tuple[str, ...]:
    """What is written below p in a table: the layout, if several rows may have the same p."""
    return (f"layout={configuration.layout}",) if _mixed(_makers(configuration)) else ()


def _makers(configuration: Configuration) -> dict[str, Level]:
    """The levels that make p."""
    return {name: level for name, level in configuration.levels if name in KINDS and KINDS[name].makes}


def _mixed(makers: dict[str, Level]) -> bool:
    """Whether threads, ranks and nodes may be divided in several ways at the same p."""
    return len(makers) > 1 or any(len(KINDS[name].makes) > 1 for name in makers)
