# SPDX-License-Identifier: Apache-2.0
"""Sealed forecasts: written down before their p is measured, with a fingerprint of the records they were made from."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corescale.errors import StoreError
from corescale.observe.store import durable
from corescale.observe.store.run import Run, read_object
from corescale.records import Record, encode

FILE = "sealed.json"


def write(folder: Path, records: Sequence[Record], forecasts: Sequence[Mapping[str, Any]]) -> None:
    """Seals the forecasts that follow from `records`, which are all that count so far."""
    values = {"launches": len(records), "of": _fingerprint(records), "forecasts": list(forecasts)}
    durable.write_whole(folder / FILE, durable.pretty(values))


def is_there(folder: Path) -> bool:
    """Whether forecasts were sealed."""
    return (folder / FILE).is_file()


def sealed(run: Run) -> Sequence[Mapping[str, Any]] | None:
    """The sealed forecasts of a run, or None; raises StoreError if they may be younger than the measurement."""
    if not is_there(run.folder):
        return None
    values = read_object(run.folder / FILE)
    try:
        before = run.records[: int(values["launches"])]
        forecasts: list[Mapping[str, Any]] = list(values["forecasts"])
        intact = values["of"] == _fingerprint(before)
        early = {(tuple(r.configuration.levels), r.configuration.layout.p) for r in before}
        intact &= not any(p == one["p"] and dict(levels).items() >= one["levels"].items()
                          for levels, p in early for one in forecasts)  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError):
        intact = False
    if not intact:
        what = "was changed after it was sealed, or the launches before it were"
        raise StoreError(what, where=str(run.folder / FILE), remedy="restore both, or scan again with --seal")
    return forecasts


def _fingerprint(records: Sequence[Record]) -> str:
    return hashlib.sha256("\n".join(map(encode, records)).encode()).hexdigest()
