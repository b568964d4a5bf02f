# SPDX-License-Identifier: Apache-2.0
"""The run folder that this process writes, and its lock: only one process at a time may add to an experiment's runs."""

import contextlib
import fcntl
import json
import math
import os
import platform
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from corescale import __version__
from corescale.declare.experiment import Experiment
from corescale.declare.stop import Stop
from corescale.errors import StoreError
from corescale.machine import Machine
from corescale.observe import environment
from corescale.observe.store import durable
from corescale.observe.store.lines import History, recovered
from corescale.observe.store.run import (
    ENVIRONMENT,
    FINISHED,
    PLAN,
    RECORDS,
    Run,
    circumstances,
    numbers,
    planned,
    read_object,
)
from corescale.records import FORMAT, Record, encode

LOCK = ".lock"


@contextlib.contextmanager
def locked(home: Path) -> Iterator[None]:
    """Locks the experiment's folder for this process; the lock ends with the process in any case."""
    with _lock_of(home):
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                if [each.name for each in home.iterdir()] == [LOCK]:  # nothing was launched: leave no trace
                    (home / LOCK).unlink()
                    home.rmdir()


def _lock_of(home: Path) -> IO[str]:
    """The locked lock file. If it was removed before it could be locked, a new one is made."""
    while True:
        with durable.writing(home):
            durable.make_folders(home)
            with contextlib.suppress(FileNotFoundError):  # a process that launched nothing has just removed the folder
                lock = (home / LOCK).open("a+", encoding="utf-8")
                try:
                    _take(lock.fileno(), home)
                    if os.path.samestat(os.fstat(lock.fileno()), (home / LOCK).stat()):
                        return lock
                except BaseException:
                    lock.close()
                    raise
                lock.close()


def _take(lock: int, home: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(lock, 64, 0).decode(errors="replace").strip() or "unknown"
        raise StoreError(
            f"in use by process {holder}", where=str(home), remedy="wait for it, or choose --out DIR"
        ) from error
    except OSError as error:
        remedy = "choose --out DIR on a file system with locks (Lustre has them if mounted with -o flock)"
        raise StoreError(f"cannot be locked: {error.strerror}", where=str(home), remedy=remedy) from error
    with durable.writing(home):
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()} on {platform.node()}\n".encode())


class Folder:
    """A run folder held by this process. Nothing is written before `start`."""

    def __init__(
        self, path: Path, experiment: Experiment, machine: Machine, launcher: str, option: str, *, continued: bool
    ) -> None:
        self.path = path
        self._continued = continued
        self._changed: list[str] = []
        self._before = 0
        self._experiment, self._machine, self._launcher, self._option = experiment, machine, launcher, option
        finished = (path / FINISHED).exists()
        self._history = recovered(path / RECORDS, finished=finished) if path.exists() else History()
        self._circumstances: Mapping[str, Any] = {}
        self._lines: durable.Lines | None = None
        self._block = (0, 0)

    @property
    def records(self) -> Sequence[Record]:
        return self._history.records

    @property
    def keeps_launches(self) -> bool:
        """Whether the folder has the record of any launch, even of an interrupted block."""
        return bool(self._history.all_records) and (self._lines is None or self._lines.are_there)

    def start(self, subject: Mapping[str, Any]) -> None:
        now = environment.describe(self._machine, subject)
        if self.path.exists() and not self._goes_on(now):
            self.path, self._history = self.path.with_name(str(int(self.path.name) + 1)), History()
        if not self.path.exists() and (earlier := self._earlier) is not None:
            self._changed = self._differences(earlier, now)
        self._before = len(self.records)
        plan = durable.pretty(
            {"format": FORMAT, "corescale": __version__, "hash": self._experiment.hash, "launcher": self._launcher}
            | ({"option": self._option} if self._option else {})
            | {"experiment": self._experiment.model_dump(mode="json")}
        )
        if self.path.exists():
            (self.path / FINISHED).unlink(missing_ok=True)
            durable.write_whole(self.path / PLAN, plan)
        else:
            durable.create_folder(self.path, {PLAN: plan, ENVIRONMENT: durable.pretty(now), RECORDS: ""})
        self._circumstances = circumstances(self.path)
        self._lines = durable.Lines(self.path / RECORDS)
        for block, attempt in self._history.open_attempts:
            self._event("block-abandoned", block, attempt)

    def begin(self) -> tuple[int, int]:
        self._block = self._history.next_block
        return self._block

    def append(self, record: Record) -> None:
        self._write(encode(record))
        self._history.add_record(record)

    def complete(self) -> None:
        self._event("block-complete", *self._block)

    def abandon(self) -> None:
        self._event("block-abandoned", *self._block)

    def note_changed(self, programs: Sequence[str]) -> None:
        """Keeps these names in environment.json, from which every answer of the run has them."""
        if programs and self._writable.are_there:
            named = {"changed": sorted({*self._circumstances.get("changed", ()), *programs})}
            self._circumstances = {**self._circumstances, **named}
            durable.write_whole(self.path / ENVIRONMENT, durable.pretty(read_object(self.path / ENVIRONMENT) | named))

    def finish(self) -> None:
        """Marks the run as finished, so that the same command starts the next one. Raises StoreError if it is gone."""
        if not self._writable.are_there:
            remedy = "the answer is of what this process had: measure again to keep it"
            raise StoreError("was removed while it was written", where=str(self.path), remedy=remedy)
        if not (self.path / FINISHED).exists():
            durable.write_whole(self.path / FINISHED, f"{len(self.records)} records\n")

    def finished(self) -> Run:
        """The run as `load` would read it. It is taken from memory, because the folder may be gone."""
        return Run(
            folder=self.path,
            experiment=self._experiment,
            launcher=self._launcher,
            option=self._option,
            records=tuple(self.records),
            all_records=tuple(self._history.all_records),
            environment=self._circumstances,
            finished=True,
            origin=self.origin,
            shown_again=self._shown_again,
        )

    @property
    def origin(self) -> str:
        """A sentence that says whether records come from an earlier part of the run, and what has changed since the
        previous run; empty for the first run.
        """
        if self._shown_again:
            return f"shown from run {self.path.name}, nothing was measured"
        if self._before:
            had, now = (sum(record.timed for record in some) for some in (self.records[: self._before], self.records))
            return f"continues run {self.path.name}" + (f", which had {had} of these {now} launches" if had else "")
        if (earlier := self._earlier) is None:
            return ""
        made = time.strftime("%H:%M", time.localtime(float(circumstances(earlier).get("created", 0))))
        differs = f": {'; '.join(self._changed)}" if self._changed else ""
        return f"run {self.path.name}; run {earlier.name} of {made} is kept{differs}"

    @property
    def _shown_again(self) -> bool:
        return bool(self._before) and len(self.records) == self._before

    @property
    def _earlier(self) -> Path | None:
        """The run before this one."""
        before = [number for number in numbers(self.path.parent) if number < int(self.path.name)]
        return self.path.with_name(str(before[-1])) if before else None

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
        self._write(json.dumps(values, separators=(",", ":")))
        self._history.add_event(values)

    def _write(self, line: str) -> None:
        """Writes a line. If that fails, the error also says what is kept."""
        try:
            self._writable.append(line)
        except StoreError as error:
            if self.records:
                error.remedy += f"; what was measured is kept (corescale report {self.path})"
            raise

    def _goes_on(self, now: Mapping[str, Any]) -> bool:
        """Whether the circumstances are the same; raises StoreError if not, and the run was to be continued."""
        changed = self._differences(self.path, now)
        if changed and self._continued:
            what = f"cannot be continued ({'; '.join(changed)})"
            raise StoreError(what, where=str(self.path), remedy="leave --continue out, and a new run starts")
        return not changed

    def _differences(self, earlier: Path, now: Mapping[str, Any]) -> list[str]:
        """The reasons why these launches may not be added to those of an earlier run."""
        was, is_ = planned(earlier)[0].baseline.levels, self._experiment.baseline.levels
        levels = [" ".join(f"{name}={level}" for name, level in each) or "the first levels" for each in (was, is_)]
        other = [f"another baseline: was {levels[0]}, is {levels[1]}"] if was != is_ else []
        return [*environment.differences(circumstances(earlier), now), *other]


@contextlib.contextmanager
def open_run(
    experiment: Experiment,
    machine: Machine,
    root: Path,
    launcher: str = "direct",
    option: str = "",
    *,
    fresh: bool = False,
    continued: bool = False,
) -> Iterator[Folder]:
    """The unfinished run of this experiment under `root`, or else its next one; it is locked until the end.

    `launcher` is Launcher.name, and `option` the value of the option that it takes. `fresh`: always the next run.
    `continued`: always the last run. Raises StoreError if it is in use, unreadable, not writable, or of another format.
    """
    home = root / "-".join((experiment.verb, experiment.hash, *([] if launcher == "direct" else [launcher])))
    with locked(home):
        for draft in home.glob(".*.new"):
            shutil.rmtree(draft, ignore_errors=True)
        path = home / str(_number(home, experiment.stop, fresh=fresh, continued=continued))
        if continued and not path.exists():
            raise StoreError("no run to continue", where=str(home), remedy="leave --continue out")
        made = planned(path) if path.exists() else None
        if made is not None and (made[0].asked, made[1]) != (experiment.asked, launcher):
            raise StoreError("belongs to another experiment", where=str(path), remedy="choose --out DIR")
        with contextlib.closing(Folder(path, experiment, machine, launcher, option, continued=continued)) as folder:
            yield folder


def _number(home: Path, stop: Stop, *, fresh: bool, continued: bool) -> int:
    """The number of the unfinished run, or of the last run if more of it is asked for, or else of the next run."""
    last = (numbers(home) or [0])[-1]
    if fresh or (continued and last):
        return last + fresh
    if not last or not (home / str(last) / FINISHED).exists():
        return last or 1
    return last if goes_further(planned(home / str(last))[0].stop, stop) else last + 1


def goes_further(made: Stop, asked: Stop) -> bool:
    """Whether a finished run can be continued: with the same rule, at least one limit larger, and none smaller.

    A run with a fixed number of blocks may also be continued until the findings are decided.
    """
    if made.rule != asked.rule and (made.rule, asked.rule) != ("replicates", "decided"):
        return False
    limits = ("budget", "launches", "max_blocks", "confirm_pairs")  # None: no limit
    now, before = (
        [math.inf if (most := getattr(stop, name)) is None else most for name in limits] + [-stop.width, -stop.within]
        for stop in (asked, made)
    )
    return now != before and all(a >= b for a, b in zip(now, before, strict=True))
