# SPDX-License-Identifier: Apache-2.0
"""The ledger of claims: the claims of papers (data/claims.csv), and each machine's verdicts (data/verdicts.csv)."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from corescale.declare import programs
from corescale.errors import UsageError


class Claim(NamedTuple):
    """A line of data/claims.csv."""

    paper: str
    place: str
    claim: str
    figure: str
    """the paper's own number, in words"""
    study: str
    finding: str
    note: str
    """why no finding answers it; empty if one does"""

    @property
    def ours(self) -> bool:
        """Whether the paper does not claim it."""
        return self.claim.startswith("Asked by us")


class Verdict(NamedTuple):
    """A line of data/verdicts.csv: the verdict of one machine's run on a finding, at one combination of levels."""

    machine: str
    study: str
    finding: str
    at: str
    verdict: str
    ratio: str
    """"1.09 [1.01, 1.19]"; empty if there is none; "(oversubscribed)" if such launches are included; for a
    mean over levels of which one decides against the claim, also ", and at LEVEL 0.92 [0.87, 0.97]" of that level"""
    records: str = ""
    """first digits of the SHA-256 of records.jsonl of the run in data/runs/; empty if the run was not kept"""


Row = TypeVar("Row", Claim, Verdict)

DECIDED = ("holds", "equal", "does not hold")


def claims() -> list[Claim]:
    """Every claim, in the file's order."""
    return _read(programs.data_folder() / "claims.csv", Claim)


def verdicts() -> list[Verdict]:
    """Every verdict, in the file's order; none if none was recorded."""
    path = programs.data_folder() / "verdicts.csv"
    return _read(path, Verdict) if path.is_file() else []


def recorded(known: Sequence[Verdict], new: Sequence[Verdict]) -> list[Verdict]:
    """The known verdicts and the new ones, which replace all known verdicts of their machine and study."""
    renewed = {(one.machine, one.study) for one in new}
    kept = [one for one in known if (one.machine, one.study) not in renewed]
    return sorted([*kept, *new], key=lambda one: (one.study, one.machine))


def lost(known: Sequence[Verdict], new: Sequence[Verdict]) -> list[Verdict]:
    """The known decided verdicts that this run would replace by undecided ones."""
    decided = {(one.machine, one.study, one.finding, one.at) for one in new if one.verdict in DECIDED}
    renewed = {(one.machine, one.study) for one in new}
    return [
        one
        for one in known
        if one.verdict in DECIDED
        and (one.machine, one.study) in renewed
        and (one.machine, one.study, one.finding, one.at) not in decided
    ]


def text(found: Sequence[Verdict]) -> str:
    """CSV of verdicts, headings first."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([Verdict._fields, *found])
    return written.getvalue()


def _read(path: Path, row: type[Row]) -> list[Row]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path), remedy="restore it from git") from error
    if not lines or tuple(lines[0]) != row._fields:
        raise UsageError(
            "has other columns", where=f"{path}:1", remedy=f"name them {', '.join(row._fields)}, in this order"
        )
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(row._fields):
            raise UsageError(
                f"has {len(line)} cells instead of {len(row._fields)}", where=f"{path}:{number}", remedy="quote commas"
            )
    return [row(*line) for line in lines[1:]]
