# SPDX-License-Identifier: Apache-2.0
"""Reads runs, finished or not, from a folder or from a single file: NAME.tar.xz, or a report page."""

import contextlib
import glob
import hashlib
import lzma
import os
import shlex
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from corescale import documents, format_1
from corescale.declare import factors, paths
from corescale.declare.catalogue import allocators
from corescale.declare.experiment import Experiment
from corescale.declare.grid import strange_level
from corescale.errors import CorescaleError, StoreError
from corescale.observe.store import archives
from corescale.observe.store.durable import CHANGED
from corescale.observe.store.lines import YEAR_9999, History, read
from corescale.records import FORMAT, Record

REMEDY = (
    "give the folder of one run, or make an archive of it:"
    " tar -cJf NAME.tar.xz -C RUN plan.json environment.json records.jsonl finished"
)


@contextlib.contextmanager
def unpacked(archive: Path) -> Iterator[Path]:
    """A temporary folder with the files of an archive. Raises StoreError, which names the archive."""
    with tempfile.TemporaryDirectory(prefix="corescale-archive-") as scratch:
        try:
            for name, content in archives.files(archive):
                (Path(scratch) / name).write_bytes(content)
        except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as error:
            remedy = "measure it first: corescale scan -- PROGRAM" if os.access(archive, os.X_OK) else REMEDY
            raise StoreError("is not an archive of a run", where=str(archive), remedy=remedy) from error
        try:
            yield Path(scratch)
        except StoreError as error:
            where = error.where.replace(scratch, str(archive))
            raise StoreError(error.what.replace(scratch, str(archive)), where=where, remedy=error.remedy) from error


PLAN, ENVIRONMENT, RECORDS, FINISHED = "plan.json", "environment.json", "records.jsonl", "finished"


UNFINISHED = "unfinished: the command that began it continues it"


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder as analysis reads it."""

    folder: Path
    experiment: Experiment
    launcher: str
    option: str
    """the value of the option that the launcher takes"""
    records: tuple[Record, ...]
    """records that count, which are from completed blocks, in the order they were made"""
    all_records: tuple[Record, ...]
    """all records, also from interrupted attempts"""
    environment: Mapping[str, Any]
    finished: bool
    digest: str = ""
    """the first 16 digits of the SHA-256 of records.jsonl; empty if the run was just made"""
    late: CorescaleError | None = None
    """the error of a step that failed after all was measured"""
    origin: str = ""
    """a sentence: its records are new, continue others, are shown again (Folder.origin), or end too early"""
    shown_again: bool = False
    """whether a command that measures added nothing to it"""

    @property
    def on(self) -> str:
        """The name of its launcher as in `--on`, without the name of its platform or landscape."""
        return self.launcher.partition("-")[0]


def load(path: Path, verb: str = "") -> Run:
    """The run in a folder or in an archive. Of an experiment's folder, it is the last run.

    A torn last line is ignored. `verb`: of whose runs an error names the last, if the folder holds several.
    """
    if paths.is_file(path):
        with unpacked(path) as folder:
            return replace(load(folder), folder=path)
    there = numbers(path)
    if there and not paths.is_file(path / PLAN):
        return load(path / str(there[-1]))
    _must_be_files(path)
    _must_hold_no_others(path, verb)
    experiment, launcher, option = planned(path)
    finished = paths.exists(path / FINISHED)
    history = read(path / RECORDS, finished=finished)
    _must_be_whole(path, experiment, history)
    return Run(
        folder=path,
        experiment=experiment,
        launcher=launcher,
        option=option,
        records=tuple(history.records),
        all_records=tuple(history.all_records),
        environment=circumstances(path),
        finished=finished,
        origin="" if finished else UNFINISHED,
        digest=hashlib.sha256((path / RECORDS).read_bytes()).hexdigest()[:16],
    )


EACH = f"*/[!.]*/{PLAN}"
"""pattern of the plans of all runs in a folder, without those that are being made"""
HOME = "give the folder of one run, such as corescale-runs/scan-1234/1"


def _must_hold_no_others(path: Path, verb: str) -> None:
    """Raises StoreError if the folder holds runs of many experiments; the error names the last one of that verb."""
    if paths.exists(path / PLAN):
        return
    found = glob.glob(EACH, root_dir=path)  # noqa: PTH207 (Path.glob fails if a folder is removed meanwhile)
    inside = [(path / plan).parent for plan in found]
    if inside:
        last = max(inside, key=lambda run: (run.parent.name.startswith(f"{verb}-"), run.stat().st_mtime))
        what = f"is no run, and holds {len(inside)}" if len(inside) > 1 else "is no run, and holds one"
        raise StoreError(what, where=str(path), remedy=f"name the last {verb or 'one'}: {shlex.quote(str(last))}")


def _must_be_files(path: Path) -> None:
    """Raises StoreError if there is no folder, or if a file is a pipe or the like, whose end never comes."""
    try:
        path.stat()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        what = "no such file or folder" if missing else f"cannot be read: {error.strerror}"
        raise StoreError(what, where=str(path), remedy=HOME) from error
    for name in (PLAN, ENVIRONMENT, RECORDS):
        if paths.exists(path / name) and not paths.is_file(path / name):
            raise StoreError("is not a regular file", where=str(path / name), remedy=CHANGED)


def _must_be_whole(path: Path, experiment: Experiment, history: History) -> None:
    """Raises StoreError if records are missing at the end, or belong to launches that were never asked for."""
    kept = (path / FINISHED).read_bytes().split() if paths.is_file(path / FINISHED) else []
    if kept and kept[0] != str(len(history.records)).encode():
        what = f"holds {len(history.records)} launches that count, but {kept[0].decode(errors='replace')} were measured"
        raise StoreError(what, where=str(path / RECORDS), remedy=CHANGED)
    plans, asked = {record.plan for record in history.all_records}, read_object(path / PLAN).get("hash")
    if len(plans) > 1:
        raise StoreError("has launches of several plans", where=str(path / RECORDS), remedy=CHANGED)
    if asked is not None and any(plan != asked for plan in plans):
        raise StoreError("is the plan of other launches than those recorded", where=str(path / PLAN), remedy=CHANGED)
    for record in {record.configuration: record for record in reversed(history.all_records)}.values():
        if strange := strange_level(experiment, record.configuration):
            what = f"block {record.block} is of {strange}, which the plan does not have"
            raise StoreError(what, where=str(path / RECORDS), remedy=CHANGED)
    for record in history.all_records:
        if record.threads_asked != (p := record.configuration.layout.p):
            what = f"block {record.block} asked for {str(record.threads_asked)[:40]} threads, and its layout has {p}"
            raise StoreError(what, where=str(path / RECORDS), remedy=CHANGED)


def runs(root: Path, wanted: Callable[[Experiment], bool]) -> Iterator[Run]:
    """Every run under `root` of a wanted experiment. Runs that cannot be read are skipped."""
    for plan in sorted(root.glob(EACH)):
        with contextlib.suppress(StoreError):
            if wanted(planned(plan.parent)[0]):
                yield load(plan.parent)


def planned(path: Path) -> tuple[Experiment, str, str]:
    """The experiment of a run, its launcher, and the launcher's option."""
    plan = read_object(path / PLAN)
    if "format" not in plan or "corescale" not in plan:
        raise StoreError("is not a plan of a run", where=str(path / PLAN), remedy="give the folder of a run")
    if plan["format"] not in (1, FORMAT):
        what = f"run format {plan['format']!r}, but this version reads {FORMAT}"
        raise StoreError(what, where=str(path), remedy=f"use corescale {plan['corescale']}, or choose --out DIR")
    try:
        asked = plan["experiment"]
        if plan["format"] == 1:
            preloaded = circumstances(path)["variables"].get("LD_PRELOAD") or ""
            asked = format_1.experiment({"inherited_allocator": allocators.named_in(preloaded) or "", **asked})
        experiment = Experiment.model_validate(_without_lines(asked))
        unknown = [factor.kind for factor in experiment.factors if factor.kind not in factors.KINDS]
        if unknown:
            raise KeyError(unknown[0])
        return experiment, str(plan["launcher"]), str(plan.get("option", ""))
    except (ValidationError, CorescaleError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError("this version cannot read the plan", where=str(path / PLAN), remedy=CHANGED) from error


def _without_lines(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """The experiment without findings about a straight line. Older plans have them; this version has no answer."""
    study = asked.get("study", {})
    kept = (output for output in study.get("outputs", ()) if not output.get("line"))
    outputs = [{name: value for name, value in output.items() if name != "line"} for output in kept]
    return {**asked, "study": {**study, "outputs": outputs}}


class _Told(BaseModel):
    """A part of environment.json. Its other fields are shown as they are."""

    model_config = ConfigDict(extra="allow", strict=True)


Bytes = NonNegativeInt | None


class _Program(_Told):
    path: str | None = None
    size: Bytes = None
    sha256: str = ""


class _Subject(_Told):
    programs: dict[str, _Program] = {}


class _Described(_Told):
    cpus: list[dict[str, int | str | bool | None]] | int = []
    l3_bytes: Bytes = None
    memory_bytes: Bytes = None


class _Circumstances(_Told):
    """The fields on which readers rely."""

    created: float = Field(0.0, ge=0, lt=YEAR_9999)
    machine: _Described
    description: _Described = _Described()
    subject: _Subject = _Subject()
    variables: dict[str, str] = {}
    changed: list[str] = []


def circumstances(path: Path) -> dict[str, Any]:
    """environment.json of a run; raises StoreError, also if a field has the wrong type."""
    values = {"variables": {}, "description": {}} | read_object(path / ENVIRONMENT)
    try:
        _Circumstances.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        what = f"names no {at}" if first["type"] == "missing" else f"{at} is none that a run has"
        raise StoreError(what, where=str(path / ENVIRONMENT), remedy=CHANGED) from error
    return values | {name: format_1.machine(values[name]) for name in ("machine", "description")}


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object that a file of a run holds; raises StoreError."""
    try:
        values = documents.value(documents.content(path))
    except OSError as error:
        if path.name == PLAN and isinstance(error, FileNotFoundError):
            raise StoreError("holds no run", where=str(path.parent), remedy=HOME) from error
        raise StoreError(f"cannot be read: {error.strerror}", where=str(path), remedy=CHANGED) from error
    except ValueError as error:
        raise StoreError("is damaged: no JSON", where=str(path), remedy=CHANGED) from error
    if not isinstance(values, dict):
        raise StoreError("is damaged: no JSON object", where=str(path), remedy=CHANGED)
    return values


def numbers(home: Path) -> list[int]:
    """The runs of an experiment's folder, in order; none if no such folder can be read."""
    try:
        return sorted(int(path.name) for path in home.iterdir() if path.name.isdecimal() and path.is_dir())
    except OSError:
        return []
