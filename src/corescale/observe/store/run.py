# SPDX-License-Identifier: Apache-2.0
"""Run folders as analysis reads them, finished or not."""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from corescale.declare import factors, paths
from corescale.declare.catalogue import allocators
from corescale.declare.experiment import Experiment
from corescale.declare.grid import strange_level
from corescale.errors import CorescaleError, StoreError
from corescale.observe.store import sidecars
from corescale.observe.store.history import History, read
from corescale.records import FORMAT, Record

PLAN, ENVIRONMENT, RECORDS, FINISHED = "plan.json", "environment.json", "records.jsonl", "finished"


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
    late: CorescaleError | None = None
    """what failed when all was measured"""

    def sidecar(self, record: Record, name: str) -> bytes:
        """The sidecar that a record names; raises StoreError, or KeyError where the record names none of that name."""
        return sidecars.read(self.folder / sidecars.FOLDER, record.sidecars[name])


def load(path: Path) -> Run:
    """The run in a folder, or the last one where it is an experiment's folder; torn last lines are passed over."""
    there = numbers(path)
    if there and not paths.is_file(path / PLAN):
        return load(path / str(there[-1]))
    experiment, launcher = planned(path)
    history = read(path / RECORDS)
    _must_be_whole(path, experiment, history)
    return Run(
        folder=path,
        experiment=experiment,
        launcher=launcher,
        records=tuple(history.records),
        all_records=tuple(history.all_records),
        environment=circumstances(path),
        finished=paths.exists(path / FINISHED),
    )


CHANGED = "restore the file, or measure again with --out DIR"


def _must_be_whole(path: Path, experiment: Experiment, history: History) -> None:
    """Raises StoreError where records are missing at the end, or are of levels that were never asked for."""
    told = (path / FINISHED).read_bytes().split() if paths.is_file(path / FINISHED) else []
    if told and told[0] != str(len(history.records)).encode():
        what = f"holds {len(history.records)} launches that count, but {told[0].decode(errors='replace')} were measured"
        raise StoreError(what, where=str(path / RECORDS), remedy=CHANGED)
    for record in history.all_records:
        if strange := strange_level(experiment, record.configuration):
            what = f"block {record.block} is of {strange}, which the plan does not have"
            raise StoreError(what, where=str(path / RECORDS), remedy=CHANGED)


def runs(root: Path, wanted: Callable[[Experiment], bool]) -> Iterator[Run]:
    """Every run under `root` of an experiment that is wanted; what cannot be read is passed over."""
    for plan in sorted(root.glob(f"*/*/{PLAN}")):
        with contextlib.suppress(StoreError):
            if wanted(planned(plan.parent)[0]):
                yield load(plan.parent)


def planned(path: Path) -> tuple[Experiment, str]:
    """What a run was asked to do."""
    plan = read_object(path / PLAN)
    if "format" not in plan or "corescale" not in plan:
        raise StoreError("is no plan of a run", where=str(path / PLAN), remedy="give the folder of a run")
    if plan["format"] != FORMAT:
        raise StoreError(
            f"run format {plan['format']}, but this version reads {FORMAT}",
            where=str(path),
            remedy=f"use corescale {plan['corescale']}, or choose --out DIR",
        )
    try:
        experiment = Experiment.model_validate(_found(path) | plan["experiment"])
        unknown = [factor.kind for factor in experiment.factors if factor.kind not in factors.KINDS]
        if unknown:
            raise KeyError(unknown[0])
        return experiment, str(plan["launcher"])
    except (ValidationError, CorescaleError, LookupError, TypeError) as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError("a plan that this version cannot read", where=str(path / PLAN), remedy=CHANGED) from error


def _found(path: Path) -> dict[str, Any]:
    """What earlier formats kept in the environment and not in the plan."""
    variables = circumstances(path)["variables"]
    return {"inherited_allocator": allocators.named_in(variables.get("LD_PRELOAD") or "") or ""}


def circumstances(path: Path) -> dict[str, Any]:
    """environment.json of a run; raises StoreError, also where one of its parts is no object."""
    values = {"variables": {}, "description": {}} | read_object(path / ENVIRONMENT)
    for name in ("variables", "description"):
        if not isinstance(values[name], dict):
            raise StoreError(f"{name} is no JSON object", where=str(path / ENVIRONMENT), remedy=CHANGED)
    return values


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object that a file of a run holds; raises StoreError."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        remedy = "give the folder of one run, such as corescale-runs/scan-1234/1"
        raise StoreError(f"no run folder: {error.strerror}", where=str(path), remedy=remedy) from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"not JSON: {error}", where=str(path)) from error
    if not isinstance(values, dict):
        raise StoreError("not a JSON object", where=str(path))
    return values


def numbers(home: Path) -> list[int]:
    """The runs of an experiment's folder, in order; none where no such folder can be read."""
    try:
        return sorted(int(path.name) for path in home.iterdir() if path.name.isdecimal() and path.is_dir())
    except OSError:
        return []
