# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: what is written and what is read is one format)
"""The run folder: ROOT/<verb>-<experiment>/<n>/ with plan.json, environment.json, records.jsonl and sidecars/.

An unfinished folder is resumed, after a finished one comes the next n. Whatever was acknowledged is on the disk; a
block that was cut short is made again whole as its next attempt, and its partial records stay, marked.
docs/results_format.md describes the files.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from pydantic import ValidationError

from corescale import __version__
from corescale.declare import allocators
from corescale.declare.experiment import Experiment
from corescale.errors import StoreError
from corescale.machine import Machine
from corescale.observe import durable, environment, sidecars
from corescale.observe.history import History, read, recovered
from corescale.records import FORMAT, Record, encode

PLAN, ENVIRONMENT, RECORDS, FINISHED, LOCK = "plan.json", "environment.json", "records.jsonl", "finished", "lock"


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder as analysis reads it."""

    folder: Path
    experiment: Experiment
    launcher: str
    records: tuple[Record, ...]
    """records that count: those of completed blocks, in the order they were made"""
    all_records: tuple[Record, ...]
    """records, with those of attempts that were cut short"""
    environment: Mapping[str, Any]
    finished: bool

    def sidecar(self, record: Record, name: str) -> bytes:
        """What one of its records names; raises StoreError, or KeyError where it names no such thing."""
        return sidecars.read(self.folder / sidecars.FOLDER, record.sidecars[name])


class Store(Protocol):
    """Where the loop keeps records: a Folder, or Memory for simulations."""

    @property
    def records(self) -> Sequence[Record]:
        """The records of completed blocks."""

    def start(self, subject: Mapping[str, Any]) -> None:
        """Before the first launch: refuses where `subject`, the program measured, is not what it was."""

    def begin(self) -> tuple[int, int]:
        """The number of the block to make, and which attempt at it this is."""

    def keep(self, blob: bytes) -> str:
        """Keeps a sidecar and returns the name by which a record may name it from now on."""

    def append(self, record: Record) -> None:
        """Keeps a record of the block begun."""

    def complete(self) -> None:
        """The block begun counts."""

    def abandon(self) -> None:
        """The block begun does not count, and is to be made again."""

    def finish(self) -> None:
        """There will be no further block."""


class Memory:
    """Keeps records for as long as it lives."""

    def __init__(self) -> None:
        self._complete: list[Record] = []
        self._block: list[Record] = []
        self._number = self._attempt = 0
        self.blobs: dict[str, bytes] = {}
        self.abandoned: list[Record] = []

    @property
    def records(self) -> Sequence[Record]:  # noqa: D102
        return self._complete

    def start(self, subject: Mapping[str, Any]) -> None:  # noqa: D102
        del subject

    def begin(self) -> tuple[int, int]:  # noqa: D102
        return self._number, self._attempt

    def keep(self, blob: bytes) -> str:  # noqa: D102
        name = hashlib.sha256(blob).hexdigest()
        self.blobs[name] = blob
        return name

    def append(self, record: Record) -> None:  # noqa: D102
        self._block.append(record)

    def complete(self) -> None:  # noqa: D102
        self._complete += self._block
        self._block, self._number, self._attempt = [], self._number + 1, 0

    def abandon(self) -> None:  # noqa: D102
        self.abandoned += self._block
        self._block, self._attempt = [], self._attempt + 1

    def finish(self) -> None:  # noqa: D102
        pass


class Folder:
    """A run folder held by this process. Nothing is written before `start`."""

    def __init__(self, path: Path, experiment: Experiment, machine: Machine, launcher: str) -> None:
        self.path = path
        self._experiment, self._machine, self._launcher = experiment, machine, launcher
        self._history = recovered(path / RECORDS) if path.exists() else History()
        self._lines: durable.Lines | None = None
        self._block = (0, 0)

    @property
    def records(self) -> Sequence[Record]:  # noqa: D102
        return self._history.records

    def start(self, subject: Mapping[str, Any]) -> None:  # noqa: D102
        now = environment.describe(self._machine, subject)
        if self.path.exists() and not self._goes_on(now):
            self.path, self._history = self.path.with_name(str(int(self.path.name) + 1)), History()
        plan = durable.pretty(_plan(self._experiment, self._launcher))
        if self.path.exists():
            durable.write_whole(self.path / PLAN, plan)
        else:
            durable.create_folder(self.path, {PLAN: plan, ENVIRONMENT: durable.pretty(now), RECORDS: ""})
        sidecars.sweep(self.path / sidecars.FOLDER, self._history.sidecars)
        self._lines = durable.Lines(self.path / RECORDS)
        for block, attempt in self._history.open_attempts:
            self._event("block-abandoned", block, attempt)

    def begin(self) -> tuple[int, int]:  # noqa: D102
        self._block = self._history.next_block
        return self._block

    def keep(self, blob: bytes) -> str:  # noqa: D102
        return sidecars.write(self.path / sidecars.FOLDER, blob)

    def append(self, record: Record) -> None:  # noqa: D102
        self._writable.append(encode(record))
        self._history.add_record(record)

    def complete(self) -> None:  # noqa: D102
        self._event("block-complete", *self._block)

    def abandon(self) -> None:  # noqa: D102
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
        """Lets go of the files."""
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
        """Whether the circumstances are the same. Others are refused, unless no block was completed under them."""
        changed = environment.differences(_read(self.path / ENVIRONMENT), now)
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
    with _locked(home):
        for draft in home.glob(".*.new"):
            shutil.rmtree(draft, ignore_errors=True)
        path = home / str(_number(home))
        if path.exists() and not _same(_planned(path), (experiment, launcher)):
            raise StoreError("belongs to another experiment", where=str(path), remedy="choose --out DIR")
        with contextlib.closing(Folder(path, experiment, machine, launcher)) as folder:
            yield folder


def load(path: Path) -> Run:
    """The run in a folder, or the last one where it is an experiment's folder; torn last lines are passed over."""
    numbers = _numbers(path)
    if not (path / PLAN).is_file() and numbers:
        return load(path / str(numbers[-1]))
    experiment, launcher = _planned(path)
    history = read(path / RECORDS)
    return Run(
        folder=path,
        experiment=experiment,
        launcher=launcher,
        records=tuple(history.records),
        all_records=tuple(history.all_records),
        environment=_read(path / ENVIRONMENT),
        finished=(path / FINISHED).exists(),
    )


def runs(root: Path, wanted: Callable[[Experiment], bool]) -> Iterator[Run]:
    """Every run under `root` of an experiment that is wanted; what cannot be read is passed over."""
    for plan in sorted(root.glob(f"*/*/{PLAN}")):
        with contextlib.suppress(StoreError):
            if wanted(_planned(plan.parent)[0]):
                yield load(plan.parent)


def _plan(experiment: Experiment, launcher: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "corescale": __version__,
        "launcher": launcher,
        "experiment": experiment.model_dump(mode="json"),
    }


def _same(planned: tuple[Experiment, str], asked: tuple[Experiment, str]) -> bool:
    """Whether the launches are; how they are shown may have changed."""
    return planned[1] == asked[1] and planned[0].asked == asked[0].asked


def _planned(path: Path) -> tuple[Experiment, str]:
    """What a run was asked to do."""
    plan = _read(path / PLAN)
    if plan.get("format") != FORMAT:
        raise StoreError(
            f"run format {plan.get('format')}, but this version reads {FORMAT}",
            where=str(path),
            remedy=f"use corescale {plan.get('corescale')}, or choose --out DIR",
        )
    try:
        return Experiment.model_validate(_found(path) | plan["experiment"]), str(plan["launcher"])
    except (ValidationError, KeyError) as error:
        raise StoreError("a plan that this version cannot read", where=str(path / PLAN)) from error


def _found(path: Path) -> dict[str, Any]:
    """What plans of before did not tell, but the environment does."""
    variables = _read(path / ENVIRONMENT).get("variables", {})
    return {"inherited_allocator": allocators.named_in(variables.get("LD_PRELOAD") or "") or ""}


def _read(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StoreError(f"no run folder: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise StoreError(f"not JSON: {error}", where=str(path)) from error
    if not isinstance(values, dict):
        raise StoreError("not a JSON object", where=str(path))
    return values


def _number(home: Path) -> int:
    """Number of the unfinished run, else of the next."""
    last = (_numbers(home) or [0])[-1]
    return last if last and not (home / str(last) / FINISHED).exists() else last + 1


def _numbers(home: Path) -> list[int]:
    if not home.is_dir():
        return []
    return sorted(int(path.name) for path in home.iterdir() if path.name.isdecimal() and path.is_dir())


@contextlib.contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Holds the experiment's folder for this process; a lock ends with its process, however that ends."""
    with _lock_of(home):
        try:
            yield
        finally:
            if not _numbers(home):  # nothing was launched: leave no trace
                with contextlib.suppress(OSError):
                    (home / LOCK).unlink()
                    home.rmdir()


def _lock_of(home: Path) -> IO[str]:
    """The lock file, held. One that was removed before it could be held locks nobody out: the next one is taken."""
    while True:
        lock = _opened(home)
        try:
            _take(lock.fileno(), home)
            if _is_named(lock.fileno(), home / LOCK):
                return lock
        except BaseException:
            lock.close()
            raise
        lock.close()


def _opened(home: Path) -> IO[str]:
    with durable.writing(home):
        while True:
            home.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # somebody who launched nothing has just removed the folder
                return (home / LOCK).open("a+", encoding="utf-8")


def _is_named(lock: int, path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock), path.stat())
    return False


def _take(lock: int, home: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(lock, 64, 0).decode(errors="replace").strip() or "unknown"
        raise StoreError(
            f"in use by process {holder}", where=str(home), remedy="wait for it, or choose --out DIR"
        ) from error
    except OSError as error:
        raise StoreError(
            f"cannot be locked: {error.strerror}",
            where=str(home),
            remedy="choose --out DIR on a file system with locks (Lustre has them where it is mounted with -o flock)",
        ) from error
    with durable.writing(home):
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()} on {platform.node()}\n".encode())
