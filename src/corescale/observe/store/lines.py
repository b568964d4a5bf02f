# SPDX-License-Identifier: Apache-2.0
"""Reads the lines of a run: which records count, which blocks were interrupted, and which block is next."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corescale.errors import StoreError
from corescale.observe.store import durable
from corescale.records import Record, from_dict

YEAR_9999 = 253_370_764_800
"""seconds since 1970, after which there are no valid dates"""

SHORTEST = 1e-6
"""shortest possible launch in seconds; simulated ones may be shorter"""

MOST_CORES = 100_000
"""most cores that a launch can have used: more than any machine has"""


def _must_be_a_launch(record: Record) -> None:
    """Raises StoreError for times that no launch can have."""
    if record.origin == "measured" and record.started < 0:
        raise StoreError(f"started = {record.started:g} s is before 1970")
    if record.status == "ok" and record.exit_code != 0:
        raise StoreError(f"ended with exit code {record.exit_code}, and its status is ok")
    if not record.started < YEAR_9999:
        raise StoreError(f"started = {record.started:g} s is beyond the year 9999")
    for name in ("wall", "user", "system"):
        value = getattr(record, name)
        least = SHORTEST if name == "wall" and record.ok and record.origin == "measured" else 0
        if not least <= value < YEAR_9999:
            raise StoreError(f"{name} = {value:g} s cannot be a time of a launch")
    noise = record.noise
    counts: dict[str, float] = {"peak_memory": record.peak_memory, "tree_memory": record.tree_memory}
    counts |= {"steal": noise.steal, "throttled": noise.throttled, "runqueue_wait": noise.runqueue_wait}
    counts |= {"foreign": noise.foreign or 0.0, "paid": record.paid or 0.0}
    counts |= {"threads_asked": record.threads_asked, "cpus": 1 if noise.cpus is None else noise.cpus}
    for name, value in counts.items():
        least = int(name in ("threads_asked", "cpus"))
        if not least <= value <= sys.float_info.max:
            raise StoreError(f"{name} = {str(value)[:40]} is not a finite number of {least} or more")
    if (noise.cpus or 0) > MOST_CORES:
        raise StoreError("cpus is more than any machine has")
    cpu = record.user + record.system
    if cpu > MOST_CORES * record.wall and record.ok:
        raise StoreError(f"user + system = {cpu:g} s within wall = {record.wall:g} s: no machine has that many cores")


def _number(values: Mapping[str, Any], name: str) -> int:
    """An event's number of a block or attempt; raises StoreError if it is not a valid number."""
    number = values.get(name)
    if type(number) is not int or number < 0:
        raise StoreError(f"{name} = {str(number)[:40]} is not a whole number of 0 or more")
    return number


class History:
    """The state of a run according to its lines."""

    def __init__(self) -> None:
        self.all_records: list[Record] = []
        self.records: list[Record] = []
        """records of completed blocks"""
        self._open: dict[tuple[int, int], list[Record]] = {}
        self._ended: set[tuple[int, int]] = set()
        self._next = 0

    def add_record(self, record: Record) -> None:
        """Adds a launch of the current block."""
        _must_be_a_launch(record)
        made = self._open.get((record.block, record.attempt), [])
        if (record.block, record.attempt) in self._ended:
            raise StoreError(f"launch {record.order} of block {record.block} is behind the end of its block")
        if record.order in {other.order for other in made}:
            raise StoreError(f"launch {record.order} of block {record.block} is here a second time")
        self.all_records.append(record)
        self._open.setdefault((record.block, record.attempt), []).append(record)

    def add_event(self, values: Mapping[str, Any]) -> None:
        """Ends a block. Events with other names do not affect which records count."""
        if values["event"] not in ("block-complete", "block-abandoned"):
            return
        attempt = _number(values, "block"), _number(values, "attempt")
        made = self._open.pop(attempt, [])
        self._ended.add(attempt)
        if values["event"] == "block-complete":
            self.records += made
            self._next = max(self._next, attempt[0] + 1)

    @property
    def open_attempts(self) -> list[tuple[int, int]]:
        """The blocks that were interrupted."""
        return list(self._open)

    @property
    def next_block(self) -> tuple[int, int]:
        """The number of the block to make, and which attempt at it that is."""
        tried = [attempt for block, attempt in (*self._ended, *self._open) if block == self._next]
        return self._next, max(tried, default=-1) + 1


def read(path: Path, *, finished: bool) -> History:
    """The lines of a file of records, without an incomplete last one of an unfinished run. Raises StoreError."""
    return _history(path, _read(path, finished=finished)[0])


def recovered(path: Path, *, finished: bool) -> History:
    """The lines of a run that is resumed. An incomplete last line, which a kill in mid-write leaves, is cut off."""
    lines, torn = _read(path, finished=finished)
    history = _history(path, lines)
    if torn:
        durable.cut(path, torn)
    return history


def _read(path: Path, *, finished: bool) -> tuple[list[dict[str, Any]], int]:
    lines, torn = durable.read_lines(path)
    if finished and torn:
        raise StoreError("is no whole line of a finished run", where=f"{path}:{len(lines) + 1}", remedy=durable.CHANGED)
    return lines, torn


def _history(path: Path, lines: Sequence[Mapping[str, Any]]) -> History:
    history = History()
    for number, values in enumerate(lines, 1):
        try:
            if "event" in values:
                history.add_event(values)
            else:
                history.add_record(from_dict(values))
        except StoreError as error:
            error.where, error.remedy = f"{path}:{number}", error.remedy or durable.CHANGED
            raise
        except (KeyError, ValueError) as error:
            raise StoreError(str(error), where=f"{path}:{number}", remedy=durable.CHANGED) from error
    return history
