# SPDX-License-Identifier: Apache-2.0
"""Columns of a program's own loops, from the file that its process writes if `CORESCALE_LOOPS` names one.

Each run adds a line with the CPUs, and one for each loop and block (runtime/src/parallel_for/recording.cpp):

    site, n, threads, nanoseconds of an iteration (least mean of a call), block, calls, nanoseconds of the fastest call
"""

import csv
import math
from collections.abc import Iterable, Sequence

from corescale.calibration import LOOPS_VARIABLE
from corescale.conclude.block_size.columns import Case, Column
from corescale.conclude.block_size.scoring import Trained
from corescale.errors import UsageError

BEGINS = "# corescale loops 1: "
"""the first line of each run; the CPUs follow"""
CALLS = 2
"""least number of calls at a block; a loop's first call is slow: it touches its memory and starts threads"""
Row = tuple[str, int, int, float, int, int, float]
"""the fields of a line"""


def recorded(text: str, where: str, cpus: str, groups: int) -> Trained:
    """The loops of all runs in the text of a file: the least time at each block, for loops with two blocks or more.

    `cpus` is Machine.cpus_in_words, and `groups` how many L3 domains the threads span. Raises UsageError for another
    machine, for a line that is none, and if no loop was called often enough.
    """
    if not text.startswith(BEGINS):
        remedy = f"run your program with {LOOPS_VARIABLE}={where} in its environment"
        raise UsageError("has no recorded loops", where=where, remedy=remedy)
    loops: dict[tuple[str, int, int], list[Row]] = {}
    for row in _rows(text, where, cpus):
        loops.setdefault(row[:3], []).append(row)
    columns = [_column(some, groups) for some in loops.values()]
    chosen = tuple(column for column in columns if len(column.blocks) > 1)
    if not chosen:
        what = f"none of its {len(loops)} loops was called often enough at two blocks"
        raise UsageError(what, where=where, remedy="run the program for longer: some twelve calls of a loop are enough")
    return Trained(chosen, {}, tuple((column,) for column in chosen))


def _rows(text: str, where: str, cpus: str) -> Iterable[Row]:
    for number, line in enumerate(text.splitlines(), start=1):
        at = f"{where}:{number}"
        if line.startswith(BEGINS):
            if (there := line.removeprefix(BEGINS)) != cpus:
                remedy = "record the loops on the machine that they train"
                raise UsageError(f"is of {there} and not of {cpus}", where=at, remedy=remedy)
        elif not line.startswith("#"):
            yield _row(line, at)


def _row(line: str, at: str) -> Row:
    try:
        site, n, threads, iteration, block, calls, least = next(csv.reader([line]))
        row = site, int(n), int(threads), float(iteration), int(block), int(calls), float(least)
    except (ValueError, StopIteration):
        row = "", 0, 0, math.nan, 0, 0, math.nan
    if not (0 < row[3] < math.inf and 0 < row[6] < math.inf and min(row[1], row[2], row[4], row[5]) > 0):
        raise UsageError("is no loop", where=at, remedy="let your program write the file anew")
    return row


def _column(rows: Sequence[Row], groups: int) -> Column:
    site, n, threads, *_ = rows[0]
    calls, least = dict[int, int](), dict[int, float]()
    for *_, block, called, took in rows:
        calls[block] = calls.get(block, 0) + called
        least[block] = min(took, least.get(block, math.inf))
    blocks = sorted(block for block in least if calls[block] >= CALLS)
    case = Case(threads, groups, 0, 0, 0, n, iteration_ns=min(row[3] for row in rows))
    return Column(site, case, tuple(blocks), tuple(least[block] / 1e9 for block in blocks))
