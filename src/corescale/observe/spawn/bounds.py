# SPDX-License-Identifier: Apache-2.0
"""Which figures of a launch bound the true one: rules, from which records and docs/results_format.md are made.

A figure that no rule names is a value.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from corescale.observe.spawn.report import SpawnReport
from corescale.records import Bound


@dataclass(frozen=True, slots=True)
class Rule:
    """The first rule that holds for a figure counts."""

    figures: tuple[str, ...]
    """names in the record"""
    bound: Bound
    holds: Callable[[SpawnReport], bool]
    when: str


_CPU = ("user", "system")
RULES = (
    Rule(("wall",), "lower", lambda r: r.status == "timeout", "the launch was killed at its time limit"),
    Rule(("wall",), "upper", lambda r: r.stopped, "what started the program was stopped meanwhile"),
    Rule(_CPU, "lower", lambda r: r.cpu_kind == "sampled", "a process was seen whose time was not reported"),
    Rule(_CPU, "lower", lambda r: bool(r.survivors), "a process could not be killed"),
    Rule(_CPU, "upper", lambda r: r.leftovers > 0, "processes ran on after the program's end until they were killed"),
    Rule(_CPU, "upper", lambda r: r.ranked, "ranks: the launcher's own time is included"),
    Rule(
        ("peak_memory",),
        "lower",
        lambda r: r.peak_memory_kind == "sampled",
        "a process was seen, or a rank ended, whose peak was not reported",
    ),
    Rule(
        ("peak_memory",),
        "upper",
        lambda r: 0 < r.peak_memory <= r.peak_memory_floor,
        "the program is no larger than what starts it, whose size the kernel counts in",
    ),
    Rule(("tree_memory",), "estimate", lambda r: r.tree_memory_kind == "sum", "pages that a fork shares count twice"),
    Rule(("tree_memory",), "lower", lambda r: r.tree_memory_kind == "group", "the peak may lie between two samples"),
    Rule(("noise.steal",), "upper", lambda r: r.steal > 0, "it counts all CPUs"),
    Rule(("noise.foreign",), "estimate", lambda r: r.foreign is not None, "interrupts and the kernel are included"),
    Rule(("noise.runqueue_wait", "noise.on_cpu"), "lower", lambda r: r.sampled, "a thread was not seen at its end"),
)


def bounds(report: SpawnReport) -> dict[str, Bound]:
    """The figures of this launch that are no values, by their names in the record."""
    found: dict[str, Bound] = {}
    for rule in RULES:
        if rule.holds(report):
            for figure in rule.figures:
                found.setdefault(figure, rule.bound)
    return found


def table() -> Iterator[str]:
    """The rules as lines of Markdown."""
    yield "| figure | bound | if |"
    yield "|---|---|---|"
    for rule in RULES:
        yield f"| {' '.join(f'`{figure}`' for figure in rule.figures)} | {rule.bound} | {rule.when} |"
