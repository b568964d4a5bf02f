# SPDX-License-Identifier: Apache-2.0
"""Columns of our own, from the records of studies/block_size_training.toml, and the score of models on them."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from corescale.conclude.block_size.columns import BlockModel, Case, Column, Score, score, scored
from corescale.conclude.block_size.line_travel import LineTravel
from corescale.conclude.block_size.loop_time import LoopTime
from corescale.conclude.block_size.published import Constant, Cost, Published
from corescale.errors import UsageError
from corescale.records import Configuration, Record

POLICIES = ("auto", "trained")
"""policies that choose their blocks in the launch"""
LEAST = re.compile(rf"least_(\d+|static|{'|'.join(POLICIES)})")
"""metrics of a launch: seconds of the fastest call with each block (`static`: a thread's share) and by each policy"""
Cells = Mapping[str, float]
"""seconds by block, or by policy"""
SHAPE = ("read", "write", "operations", "n")
"""factors of such a study; the number of threads is one more"""
FOLDS = 10
"""parts of the cases that are held out one after the other"""


@dataclass(frozen=True)
class Trained:
    """Columns with two blocks or more, and the times of the policies on each."""

    columns: tuple[Column, ...]
    policies: Mapping[str, tuple[float | None, ...]]
    launches: tuple[tuple[Column, ...], ...]
    """for each column, the columns of its single launches"""

    def by_launches(self) -> Mapping[str, Score]:
        """How much longer each policy takes than the best fixed block; negative if it is faster than all of them."""
        logs = {
            name: [math.log(took / min(c.times)) for c, took in zip(self.columns, times, strict=True) if took]
            for name, times in self.policies.items()
        }
        return {name: score(some) for name, some in logs.items() if some}

    def noise(self) -> Score | None:
        """The time that a loop's best block in its other launches loses in this one. No model can be shown to lose
        less.

        The mean over the launches of a loop; None if each was launched once.
        """
        several = [of for of in self.launches if len(of) > 1]
        return score([fmean(_lost_by_others(of, k) for k in range(len(of))) for of in several]) if several else None

    def held_out(self, model: BlockModel) -> Score:
        """The score of predicting each case by a model that was fitted to the other cases."""
        fold = {id(column): number % FOLDS for number, column in enumerate(self.columns)}
        return scored(model, self.columns, lambda column: fold[id(column)])


def trained(records: Iterable[Record], groups: int) -> Trained:
    """The least times over replicates, because disturbances only add time. `groups`: L3 domains that the threads span.

    Raises UsageError if a factor is missing or no loop was timed at two blocks.
    """
    seen: dict[Case, list[Cells]] = {}
    for record in records:
        if record.ok and record.timed:
            case = _case(record.configuration, groups)
            seen.setdefault(case, []).append(_cells(record, case))
    least = {case: _least(launches) for case, launches in seen.items()}
    chosen = [case for case, cells in least.items() if len(cells.keys() - {*POLICIES}) > 1]
    if not chosen:
        raise UsageError("no loop was timed at two blocks", where="training", remedy="let the study run to its end")
    return Trained(
        tuple(_column(case, least[case]) for case in chosen),
        {name: tuple(least[case].get(name) for case in chosen) for name in POLICIES},
        tuple(tuple(_column(case, cells) for cells in seen[case]) for case in chosen),
    )


def _cells(record: Record, case: Case) -> Cells:
    cells: dict[str, float] = {}
    for name, value in record.metrics.items():
        if found := LEAST.fullmatch(name):
            block = str(max(1, case.iterations // case.threads)) if found[1] == "static" else found[1]
            cells[block] = min(value, cells.get(block, math.inf))
    return cells


def _least(launches: Sequence[Cells]) -> Cells:
    names = dict.fromkeys(name for cells in launches for name in cells)
    return {name: min(cells.get(name, math.inf) for cells in launches) for name in names}


def _column(case: Case, cells: Cells) -> Column:
    blocks = tuple(sorted(int(block) for block in cells if block not in POLICIES))
    return Column("here", case, blocks, tuple(cells[str(block)] for block in blocks))


def _lost_by_others(of: Sequence[Column], k: int) -> float:
    """log(time / best time) in one launch, at the block that is best in the others."""
    others = [*of[:k], *of[k + 1 :]]
    return of[k].lost(min(of[k].blocks, key=lambda block: min(one.times[one.blocks.index(block)] for one in others)))


def _case(configuration: Configuration, groups: int) -> Case:
    read, write, operations, n = (_number(configuration, name) for name in SHAPE)
    computation = math.log(max(operations, 1), 1024)
    return Case(configuration.layout.p, groups, int(read), int(write), computation, int(n))


def _number(configuration: Configuration, factor: str) -> float:
    level = configuration.get(factor)
    if not isinstance(level, int | float | str):
        raise UsageError(f"the records have no factor {factor!r}", where="training", remedy="run block_size_training")
    return float(level)


@dataclass(frozen=True)
class Scores:
    """The time that each model loses on the columns."""

    cases: int
    fitted: Mapping[str, float]
    """constants of the model loop_time, fitted to all columns, that these determine; in ns, but `uneven` has no unit"""
    noise: Score | None
    """score of the block that was best in the other launches; None if there are no other launches"""
    weights: Mapping[str, float]
    """weights for the library's policy `trained`: the model line_travel, fitted to all columns"""
    launched: Mapping[str, Score]
    """score of each policy by its own launches"""
    held_out: Mapping[str, Score]
    """score of each model when each case is predicted from the other cases"""


def scores(of: Trained) -> Scores:
    """The scores of policies as launched, and of models on the launched times, at blocks between the launched ones.

    The published formula needs the bytes and operations of an iteration, so it gets no score on loops that have only a
    time. Raises UsageError for fewer than two loops, because none could be held out.
    """
    if len(of.columns) < 2:
        raise UsageError("one loop leaves none to fit to", where="training", remedy="train on several loops or sizes")
    ours, balance = LoopTime(computes=True, unit=1e9), LineTravel(computes=True, unit=1e9)
    models: Mapping[str, BlockModel] = {
        "line travel": balance,
        "loop time": ours,
        "N / B L + O(N) / T": Cost(),
        "constant 16": Constant(16),
        "constant 64": Constant(64),
    }
    if not any(column.case.iteration_ns for column in of.columns):
        models = {**models, "published": Published()}
    held_out = {name: of.held_out(model) for name, model in models.items()}
    fitted, weights = ours.determined(of.columns), balance.weights(of.columns)
    return Scores(len(of.columns), fitted, of.noise(), weights, of.by_launches(), held_out)
