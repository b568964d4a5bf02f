# SPDX-License-Identifier: Apache-2.0
"""What studies/block_size.toml and studies/block_size_taskflow.toml measured, read from their tables of launches."""

import csv
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

BLOCKS = tuple(2**k for k in range(11))
POLICIES = ("published_cost_model", "auto", "guided", "taskflow_guided", "static")
SHAPE = ("read", "write", "operations", "n", "threads")
IN_TURN = (
    *SHAPE,
    "compute",
    "ticks_per_second",
    *(f"least_{one}" for one in (*BLOCKS, *POLICIES)),
    *(f"at_once_{one}" for one in POLICIES),
    "machine",
    "case",
)
"""columns of the one"""
ALONE = (*SHAPE, "who", "pause", "clocks", "mean_clocks", "at_once", "machine")
"""columns of the other"""
WHOLE = "whole_"
"""cases of another N, which may have the body of a case whose threads have a share each"""
Body = tuple[int, int, int, str]
"""bytes read, bytes written, operations, and how these are made"""
Who = tuple[Body, str]
"""a body, and who runs it"""


@dataclass(frozen=True, slots=True)
class Cell:
    """A body on some threads under a policy; block 0 where the policy chooses."""

    body: Body
    threads: int
    policy: str
    block: int = 0


@dataclass(frozen=True)
class Launches:
    """What was measured here, in clocks: the least over launches of a launch's fastest call.

    Disturbances only add, and some disturb a whole launch: the median of a few says how many were left alone.
    """

    times: Mapping[Cell, float]
    chosen: Mapping[Cell, float]
    """iterations at once, in the launch that was the fastest"""
    shares: Mapping[Body, int]
    """iterations of a thread"""
    ns: float
    """nanoseconds of a clock"""
    machine: str

    @property
    def threads(self) -> Sequence[int]:
        """Every number of them, ascending."""
        return sorted({cell.threads for cell in self.times})

    def sweep(self, body: Body, threads: int) -> dict[int, float]:
        """Time by fixed block."""
        cells = {block: Cell(body, threads, "fixed", block) for block in BLOCKS}
        return {block: self.times[cell] for block, cell in cells.items() if cell in self.times}


def launches(path: Path) -> Launches:
    """Ends with a line that names file, line and column for a table that is none of block_size."""
    times: dict[Cell, float] = {}
    chosen, shares, rate, machine = dict[Cell, float](), dict[Body, int](), 0.0, ""
    for texts, numbers in _rows(path, IN_TURN, "block_size"):
        if texts["case"].startswith(WHOLE):
            continue
        body, threads, rate, machine = (
            _body(texts, numbers),
            int(numbers["threads"]),
            numbers["ticks_per_second"],
            texts["machine"],
        )
        shares[body] = int(numbers["n"]) // threads
        seen = {Cell(body, threads, "fixed", block): numbers[f"least_{block}"] for block in BLOCKS}
        seen |= {Cell(body, threads, policy): numbers[f"least_{policy}"] for policy in POLICIES}
        for cell, seconds in seen.items():
            if rate * seconds < times.get(cell, math.inf):
                times[cell] = rate * seconds
                chosen[cell] = numbers.get(f"at_once_{cell.policy}", cell.block)
    if not times:
        sys.exit(f"{path}: has no case of the paper's tables; let the study run with all its cases")
    return Launches(times, chosen, shares, 1e9 / rate, machine)


@dataclass(frozen=True)
class Comparison:
    """Clocks by body and who runs it, and the formula's blocks; who is absent has none."""

    clocks: Mapping[Who, float]
    """time of the fastest call, the least over launches"""
    means: Mapping[Who, float]
    """mean time of all calls, the median over launches"""
    paused: Mapping[Who, float]
    """time of the fastest call after a pause, the least over launches"""
    blocks: Mapping[Body, float]
    threads: int


def comparison(path: Path) -> Comparison:
    """Ends with a line that names file, line and column for a table that is none of block_size_taskflow."""
    clocks, paused, means = dict[Who, list[float]](), dict[Who, list[float]](), dict[Who, list[float]]()
    blocks, threads = dict[Body, float](), 0
    for texts, numbers in _rows(path, ALONE, "block_size_taskflow"):
        body, threads = _body(texts, numbers), int(numbers["threads"])
        who = body, texts["who"]
        (paused if numbers["pause"] else clocks).setdefault(who, []).append(numbers["clocks"])
        if not numbers["pause"]:
            means.setdefault(who, []).append(numbers["mean_clocks"])
        if texts["who"] == "formula":
            blocks[body] = numbers["at_once"]
    return Comparison(_each(min, clocks), _each(median, means), _each(min, paused), blocks, threads)


def _each(statistic: Callable[[list[float]], float], of: Mapping[Who, list[float]]) -> Mapping[Who, float]:
    return {who: statistic(some) for who, some in of.items()}


def _body(texts: Mapping[str, str], numbers: Mapping[str, float]) -> Body:
    read, write, operations = (int(numbers[name]) for name in ("read", "write", "operations"))
    return read, write, operations, texts.get("compute", "published")


TEXTS = ("compute", "who", "machine", "case")
UNKNOWN = ("at_once",)
"""columns that may be empty: Taskflow does not tell its blocks"""


def _rows(path: Path, needed: Sequence[str], study: str) -> Iterator[tuple[dict[str, str], dict[str, float]]]:
    """Each row's texts and numbers, by column."""
    try:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        sys.exit(f"{path}: cannot be read ({error.strerror}); name outputs/launches.csv of a run of {study}")
    if not rows:
        sys.exit(f"{path}: has no launches; let the study run to its end")
    for number, row in enumerate(rows, 2):
        try:
            texts = {name: row[name] for name in needed if name in TEXTS}
            numbers = {
                name: math.nan if name in UNKNOWN and not row[name] else float(row[name])
                for name in needed
                if name not in TEXTS
            }
        except (KeyError, TypeError, ValueError) as error:
            sys.exit(f"{path}:{number}: {error}; the columns needed are {', '.join(needed)}")
        yield texts, numbers
