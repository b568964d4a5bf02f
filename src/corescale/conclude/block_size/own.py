# SPDX-License-Identifier: Apache-2.0
"""Columns of our own, from the records of studies/block_size_training.toml, and the score of laws on them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corescale.conclude.block_size.columns import Case, Column
from corescale.conclude.block_size.constant import Constant
from corescale.conclude.block_size.line_travel import LineTravel
from corescale.conclude.block_size.loop_time import LoopTime
from corescale.conclude.block_size.published import Published
from corescale.conclude.block_size.regret import BlockLaw, Score, score, scored
from corescale.errors import UsageError
from corescale.records import Configuration, Record

AUTO = 0
"""the block that asks for the policy auto"""
SHAPE = ("read", "write", "operations", "n", "block")
"""factors of such a study; the number of threads is one more"""
FOLDS = 10
"""parts of the cases that are held out one after the other"""


@dataclass(frozen=True)
class Trained:
    """Columns with two blocks or more, and what auto took on each."""

    columns: tuple[Column, ...]
    auto: tuple[float | None, ...]

    def auto_lost(self) -> Score:
        """Time of the policy auto over that of the best fixed block; negative where it is faster than all of them."""
        found = zip(self.columns, self.auto, strict=True)
        return score([math.log(auto / min(column.times)) for column, auto in found if auto is not None])

    def held_out(self, law: BlockLaw) -> Score:
        """Each case by a law that was fitted to the other cases."""
        fold = {id(column): number % FOLDS for number, column in enumerate(self.columns)}
        return scored(law, self.columns, lambda column: fold[id(column)])


RESPONSE = "least_seconds"
"""a loop's fastest call: a neighbour that halves a core's speed for a millisecond or two only adds"""


def trained(records: Iterable[Record], groups: int, response: str = RESPONSE) -> Trained:
    """The least over replicates. `groups` is how many core groups the threads span.

    Raises UsageError where a factor is missing or no loop was timed at two blocks.
    """
    times: dict[Case, dict[int, list[float]]] = {}
    for record in records:
        if record.ok and record.timed and response in record.metrics:
            block = int(_number(record.configuration, "block"))
            cells = times.setdefault(_case(record.configuration, groups), {})
            cells.setdefault(block, []).append(record.metrics[response])
    chosen = {case: cells for case, cells in times.items() if len(set(cells) - {AUTO}) > 1}
    if not chosen:
        raise UsageError("no loop was timed at two blocks", where="training", remedy="let the study run to its end")
    return Trained(
        tuple(_column(case, cells) for case, cells in chosen.items()),
        tuple(min(cells[AUTO]) if AUTO in cells else None for cells in chosen.values()),
    )


def _column(case: Case, cells: Mapping[int, Sequence[float]]) -> Column:
    blocks = tuple(sorted(set(cells) - {AUTO}))
    return Column("here", case, blocks, tuple(min(cells[block]) for block in blocks))


def _case(configuration: Configuration, groups: int) -> Case:
    read, write, operations, n, _ = (_number(configuration, name) for name in SHAPE)
    computation = math.log(max(operations, 1), 1024)
    return Case(configuration.layout.p, groups, int(read), int(write), computation, int(n))


def _number(configuration: Configuration, factor: str) -> float:
    level = configuration.get(factor)
    if not isinstance(level, int | float | str):
        raise UsageError(f"the records have no factor {factor!r}", where="training", remedy="run block_size_training")
    return float(level)


@dataclass(frozen=True)
class Scores:
    """The time that each law loses on the columns."""

    cases: int
    fitted: Mapping[str, float]
    """this machine's constants, in ns (`uneven` has no unit), as loop time has them after a fit to every column"""
    launched: Mapping[str, Score]
    """by the policy's own launches"""
    held_out: Mapping[str, Score]
    """each case by a law that was fitted to the other cases"""


def scores(of: Trained) -> Scores:
    """Of auto as it was launched, and of laws on the launched times, at blocks between the launched ones."""
    ours = LoopTime(computes=True, unit=1e9)
    laws: Mapping[str, BlockLaw] = {
        "line travel": LineTravel(computes=True, unit=1e9),
        "loop time": ours,
        "published": Published(),
        "constant 16": Constant(16),
        "constant 64": Constant(64),
    }
    held_out = {name: of.held_out(law) for name, law in laws.items()}
    return Scores(len(of.columns), ours.constants(of.columns), {"auto": of.auto_lost()}, held_out)
