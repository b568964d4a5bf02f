# SPDX-License-Identifier: Apache-2.0
"""Results of explain as JSON values, as files keep them and `--json` prints them; also checks files that are shown.

Fields with defaults were not kept by earlier versions.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from corescale.conclude.explain.explanation import Explanation
from corescale.conclude.explain.ledger import Ledger
from corescale.conclude.explain.rows import LedgerRow
from corescale.conclude.stats import Interval
from corescale.observe.store.lines import SHORTEST
from corescale.records import Level

KERNEL = "accounts"
"""name of the source of rows that come from the kernel's accounts"""
MOST = 10**9
"""upper limit of the seconds (30 years) and of the threads of a launch"""
MOST_RANKS = 100_000
"""most ranks in a chart"""

Seconds = Annotated[float, Field(ge=-MOST, le=MOST, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=-1, le=1.01, allow_inf_nan=False)]
"""a share; it may be slightly out of range because of rounding, or negative if a row gave more to others than it had"""
Whole = Annotated[float, Field(gt=SHORTEST, le=MOST)]
Count = Annotated[int, Field(ge=1, le=MOST)]


class _Part(BaseModel):
    """A part of a result, made from an object with attributes of the same names."""

    model_config = ConfigDict(from_attributes=True)


class _Place(_Part):
    place: str
    share: Share


class _Beyond(_Part):
    seconds: Seconds
    low: Seconds | None
    high: Seconds | None
    n: int


class _Row(_Part):
    seconds: Seconds
    source: str = ""
    share: Share
    sampled: _Beyond | None = None
    beyond_one_thread: _Beyond | None = None
    sites: list[_Place]


class _Serial(_Part):
    seconds: Seconds
    sites: list[_Place]


class _Spot(_Part):
    place: str
    seconds: Seconds
    allocating: Seconds


class _Stretch(_Part):
    start: Seconds = 0.0
    length: Seconds
    place: str


class _Timeline(_Part):
    process: int
    thread: int
    rows: Annotated[str, Field(min_length=1)]


class _OwnRegion(_Part):
    region: str
    process: int
    thread: int
    spans: list[Annotated[list[Seconds], Field(min_length=2, max_length=2)]]


class _Region(_Part):
    place: str
    calls: int
    threads: Seconds
    load_balance: Seconds
    wall: Seconds
    waited: Seconds


class _Messages(_Part):
    rank: Annotated[int, Field(ge=0, le=MOST_RANKS)]
    call: str
    partner: Annotated[int, Field(le=MOST_RANKS)] | None
    calls: int
    seconds: Seconds


class _Freed(_Part):
    share: Share
    low: Share | None
    high: Share | None
    n: Count


class _Blocks(_Part):
    most: Annotated[int, Field(ge=1)] | None
    calls: Annotated[int, Field(ge=1)]
    watched: Annotated[int, Field(ge=0)]
    elsewhere: _Freed | None


class _Swap(_Part):
    factor: str
    level: Level
    booked: Seconds
    returned: Seconds
    low: Seconds | None
    high: Seconds | None
    pairs: int


class _Cause(_Part):
    cause: str
    seconds: Seconds
    low: Seconds | None
    high: Seconds | None
    blocks: int


class Result(_Part):
    """The whole result, with all figures in full precision."""

    command: list[str]
    """the command as typed, for suggesting the next one"""
    threads: Count
    ranks: Count = 1
    cores_available: Count | None = None
    wall: Whole
    thread_seconds: Whole
    cores_used: Seconds
    compared: bool
    most_threads: Annotated[int, Field(ge=0)] | None = None
    is_cpp: bool | None = None
    rows: dict[LedgerRow, _Row]
    spinning_in_waits: Seconds
    serial: _Serial | None = None
    efficiency: dict[str, Seconds | None] | None
    hotspots: list[_Spot]
    serial_stretches: list[_Stretch]
    timelines: list[_Timeline]
    own_regions: list[_OwnRegion] = []
    cpus_in_use: dict[str, Share]
    cpus_over_time: list[Seconds]
    rows_over_time: dict[LedgerRow, Annotated[list[Seconds], Field(min_length=1)]] = {}
    regions: list[_Region]
    messages: list[_Messages] = []
    memory_blocks: list[_Blocks] = []
    swaps: list[_Swap]
    inflated_parts: list[_Cause] = []
    notes: list[str]


def as_json(found: Explanation, command: Sequence[str] = ()) -> dict[str, Any]:
    """The result as JSON values; `command`: as typed."""
    ledger = found.ledger
    made = {
        "command": command,
        "threads": ledger.threads,
        "ranks": ledger.ranks,
        "cores_available": ledger.cores_available,
        "wall": ledger.wall,
        "thread_seconds": ledger.total,
        "cores_used": ledger.cores,
        "compared": ledger.compared,
        "most_threads": found.most_threads,
        "is_cpp": found.is_cpp,
        "rows": {row: _row(row, ledger, found) for row in ledger.rows},
        "spinning_in_waits": ledger.burnt,
        "serial": None if ledger.serial is None else {"seconds": ledger.serial, "sites": found.alone},
        "efficiency": ledger.efficiency and {"parallel": ledger.efficiency.parallel, **asdict(ledger.efficiency)},
        "hotspots": found.hotspots,
        "serial_stretches": found.stretches,
        "timelines": [
            {**asdict(line), "rows": "".join(row.letter if row else " " for row in line.rows)} for line in found.lines
        ],
        "own_regions": found.own_regions,
        "cpus_in_use": {str(cpus): share for cpus, share in found.in_use.items()},
        "cpus_over_time": found.over_time,
        "rows_over_time": found.rows_over_time,
        "regions": [
            {"place": place, "calls": times.calls, "threads": times.threads, "load_balance": times.balance,
             "wall": times.wall, "waited": times.waited} for place, times in found.regions
        ],
        "messages": [{"rank": rank, **asdict(one)} for rank, one in found.messages],
        "memory_blocks": [{**asdict(one), "elsewhere": _interval("share", one.elsewhere)} for one in found.blocks],
        "swaps": [
            {"factor": one.factor, "level": one.level, "booked": one.booked, "pairs": one.returned.n,
             **_ends("returned", one.returned)} for one in found.swaps
        ],
        "inflated_parts": [
            {"cause": one.cause, "blocks": one.blocks, **_ends("seconds", one.seconds)} for one in found.inflated
        ],
        "notes": ledger.notes,
    }  # fmt: skip
    return Result.model_validate(made).model_dump(mode="json")


def _row(row: LedgerRow, ledger: Ledger, found: Explanation) -> Mapping[str, Any]:
    return {
        "seconds": ledger.rows[row],
        "source": row.source if row is LedgerRow.UNATTRIBUTED or not ledger.by_kernel else KERNEL,
        "share": ledger.rows[row] / ledger.total if ledger.total else 0.0,
        "sampled": _interval("seconds", ledger.allocating if row is LedgerRow.ALLOCATING else None),
        "beyond_one_thread": _interval("seconds", ledger.beyond.get(row)),
        "sites": found.sites.get(row, ()),
    }


def _interval(name: str, found: Interval | None) -> Mapping[str, Any] | None:
    return None if found is None else {**_ends(name, found), "n": found.n}


def _ends(name: str, found: Interval) -> Mapping[str, Any]:
    """The estimate under its name, and both ends; both are None unless both are finite, because JSON has no
    infinity."""
    known = all(end is not None and math.isfinite(end) for end in (found.low, found.high))
    return {name: found.estimate, "low": found.low if known else None, "high": found.high if known else None}
