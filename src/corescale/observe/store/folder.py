# SPDX-License-Identifier: Apache-2.0
"""A run folder that this process writes."""

import contextlib
import json
import math
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from corescale import __version__
from corescale.declare.experiment import Experiment
from corescale.declare.stop import Stop
from corescale.errors import StoreError
from corescale.machine import Machine
from corescale.observe import environment
from corescale.observe.store import durable, sidecars
from corescale.observe.store.history import History, recovered
from corescale.observe.store.lock import locked
from corescale.observe.store.run import ENVIRONMENT, FINISHED, PLAN, RECORDS, Run, load, numbers, planned, read_object
from corescale.records import FORMAT, Record, encode


class Folder:
    """A run folder held by this process. Nothing is written before `start`."""

    def __init__(self, path: Path, experiment: Experiment, machine: Machine, launcher: str) -> None:
        self.path = path
        self._experiment, self._machine, self._launcher = experiment, machine, launcher
        self._history = recovered(path / RECORDS) if path.exists() else History()
        self._lines: durable.Lines | None = None
        self._block = (0, 0)

    @property
    def records(self) -> Sequence[Record]:
        return self._history.records

    def start(self, subject: Mapping[str, Any]) -> None:
        now = environment.describe(self._machine, subject)
        if self.path.exists() and not self._goes_on(now):
            self.path, self._history = self.path.with_name(str(int(self.path.name) + 1)), History()
        plan = durable.pretty(_plan(self._experiment, self._launcher))
        if self.path.exists():
            (self.path / FINISHED).unlink(missing_ok=True)
            durable.write_whole(self.path / PLAN, plan)
        else:
            durable.create_folder(self.path, {PLAN: plan, ENVIRONMENT: durable.pretty(now), RECORDS: ""})
        sidecars.sweep(self.path / sidecars.FOLDER, self._history.sidecars)
        self._lines = durable.Lines(self.path / RECORDS)
        for block, attempt in self._history.open_attempts:
            self._event("block-abandoned", block, attempt)

    def begin(self) -> tuple[int, int]:
        self._block = self._history.next_block
        return self._block

    def keep(self, blob: bytes) -> str:
        return sidecars.write(self.path / sidecars.FOLDER, blob)

    def append(self, record: Record) -> None:
        self._writable.append(encode(record))
        self._history.add_record(record)

    def complete(self) -> None:
        self._event("block-complete", *self._block)

    def abandon(self) -> None:
        self._event("block-abandoned", *self._block)

    def finish(self) -> None:
        """Marks the run as finished, so that the same command starts the next one."""
        if not (self.path / FINISHED).exists():
            durable.write_whole(self.path / FINISHED, f"{len(self.records)} records\n")

    def finished(self) -> Run:
        """Marks the run as finished and reads it."""
        self.finish()
        return load(self.path)

    def close(self) -> None:
        """Closes the files."""
        if self._lines is not None:
            self._lines.close()

    @property
    def _writable(self) -> durable.Lines:
        assert self._lines is not None, "start comes first"
        return self._lines

    def _event(self, event: str, block: int, attempt: int) -> None:
        values = {"event": event, "block": block, "attempt": attempt, "time": time.time()}
        self._writable.append(json.dumps(values, separators=(",", ":")))
        self._history.add_event(values)

    def _goes_on(self, now: Mapping[str, Any]) -> bool:
        """Whether the circumstances are the same; raises StoreError where they are not and a block was completed."""
        changed = environment.differences(read_object(self.path / ENVIRONMENT), now)
        if changed and self.records:
            raise StoreError(
                f"was made under other circumstances ({'; '.join(changed)})",
                where=str(self.path),
                remedy=f"choose --out DIR, or delete it: rm -r {self.path}",
            )
        return not changed


@contextlib.contextmanager
def open_run(experiment: Experiment, machine: Machine, root: Path, launcher: str = "direct") -> Iterator[Folder]:
    """The unfinished run of this experiment under `root`, else its next one; held by a lock until the end.

    `launcher` is Launcher.name. Raises StoreError where it is in use, unreadable, not writable, or of another format.
    """
    home = root / "-".join((experiment.verb, experiment.hash, *([] if launcher == "direct" else [launcher])))
    with locked(home):
        for draft in home.glob(".*.new"):
            shutil.rmtree(draft, ignore_errors=True)
        path = home / str(_number(home, experiment.stop))
        if path.exists() and not _same(planned(path), (experiment, launcher)):
            raise StoreError("belongs to another experiment", where=str(path), remedy="choose --out DIR")
        with contextlib.closing(Folder(path, experiment, machine, launcher)) as folder:
            yield folder


def _plan(experiment: Experiment, launcher: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "corescale": __version__,
        "launcher": launcher,
        "experiment": experiment.model_dump(mode="json"),
    }


def _same(planned: tuple[Experiment, str], asked: tuple[Experiment, str]) -> bool:
    """Whether the launches are the same; how they are shown may have changed."""
    return planned[1] == asked[1] and planned[0].asked == asked[0].asked


def _number(home: Path, stop: Stop) -> int:
    """Number of the unfinished run, of the last one where more of it is asked for, else of the next."""
    last = (numbers(home) or [0])[-1]
    if not last or not (home / str(last) / FINISHED).exists():
        return last or 1
    return last if goes_further(planned(home / str(last))[0].stop, stop) else last + 1


def _or_more(limit: float | None) -> float:
    """No limit is the furthest."""
    return math.inf if limit is None else limit


def goes_further(made: Stop, asked: Stop) -> bool:
    """Whether a finished run goes on: by the same rule, further in one way and shorter in none."""
    if made.rule != asked.rule:
        return False
    further = [
        (_or_more(asked.budget), _or_more(made.budget)),
        (_or_more(asked.launches), _or_more(made.launches)),
        (asked.max_blocks, made.max_blocks),
        (_or_more(asked.confirm_blocks), _or_more(made.confirm_blocks)),
        (-asked.width, -made.width),
        (-asked.within, -made.within),
    ]
    return all(now >= before for now, before in further) and any(now > before for now, before in further)
