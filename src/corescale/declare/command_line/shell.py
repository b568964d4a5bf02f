# SPDX-License-Identifier: Apache-2.0
"""Today's launch is what a person types in the shell that they have: the levels that this shell gives."""

import os
from collections.abc import Collection, Iterator, Sequence

from corescale.declare.catalogue import allocators
from corescale.declare.experiment import Factor
from corescale.declare.factors import THREAD_VARIABLES
from corescale.machine import Machine
from corescale.records import INHERITED, Level


def levels(chosen: Sequence[Factor], asked: Collection[str], machine: Machine) -> Iterator[tuple[str, Level]]:
    """Factor and level of each whose level the environment decides. `asked`: placeholders, which no shell fills."""
    for factor in chosen:
        if (level := _level(factor, chosen, asked, machine)) is not None:
            yield factor.name, level


def _level(factor: Factor, chosen: Sequence[Factor], asked: Collection[str], machine: Machine) -> Level | None:
    if INHERITED in factor.levels:
        return None  # today's level already
    if factor.kind == "allocator":
        return _allocator(factor)
    if factor.kind == "variable":
        return os.environ.get(factor.name)
    alone = not any(other.how.makes for other in chosen if other is not factor)
    return _threads(factor, machine) if factor.kind == "threads" and alone and "threads" not in asked else None


def unread(chosen: Sequence[Factor]) -> Iterator[str]:
    """The variables of this shell that should say how many threads, and do not."""
    if any(factor.kind == "threads" for factor in chosen):
        for name in THREAD_VARIABLES:
            if (text := os.environ.get(name, "").strip()) and _number(text) is None:
                yield f"today's threads from {name}={text!r}: it is no number of threads"


def _number(text: str) -> int | None:
    """The threads that a variable asks for, of its outermost level; None where it is none."""
    first = text.partition(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None


def _threads(factor: Factor, machine: Machine) -> int | None:
    """What the variables say; where they say nothing, all CPUs, if that is a level."""
    numbers = (_number(os.environ.get(name, "")) for name in THREAD_VARIABLES)
    if (said := next(filter(None, numbers), None)) is not None:
        return said
    return len(machine.affinity) if len(machine.affinity) in factor.levels else None


def _allocator(factor: Factor) -> Level | None:
    if not os.environ.get("LD_PRELOAD"):
        return None
    name = allocators.inherited()
    return name if name in factor.levels else INHERITED
