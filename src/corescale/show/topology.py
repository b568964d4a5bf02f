# SPDX-License-Identifier: Apache-2.0
"""Which CPUs share which caches and memory, as text: a line for what is alike."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from corescale.machine import format_cpu_list
from corescale.show import text
from corescale.topology import Part


def lines(parts: Sequence[Part], depth: int = 0) -> Iterator[str]:
    """From sockets down to cores; `2 x socket` stands for two that are alike within."""
    for _, group in groupby(parts, key=_shape):
        alike = list(group)
        chain = _chain(alike[0])
        number = f"{len(alike)} x " if len(alike) > 1 else ""
        yield f"{'  ' * depth}{number}{', '.join(map(named, chain))}: {_cpus(alike)}"
        yield from lines(chain[-1].parts, depth + 1)


def named(part: Part) -> str:
    """`L2 2 MiB`, `core`."""
    return f"{part.kind} {text.memory(part.bytes)}" if part.bytes else part.kind


def _chain(part: Part) -> list[Part]:
    """The part, and what alone is within it, down to where it divides."""
    return [part, *_chain(part.parts[0])] if len(part.parts) == 1 else [part]


def _shape(part: Part) -> object:
    """Equal for parts that differ in the numbers of their CPUs alone. The memory of nodes may differ a little."""
    size = 0 if part.kind == "NUMA node" else part.bytes
    return part.kind, len(part.cpus), size, tuple(map(_shape, part.parts))


def _cpus(alike: Sequence[Part]) -> str:
    lists = [format_cpu_list(part.cpus) for part in alike]
    shown = lists if len(lists) <= 4 else [*lists[:2], "...", lists[-1]]
    return f"CPU{'' if len(alike[0].cpus) == 1 and len(alike) == 1 else 's'} {' | '.join(shown)}"
