# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: the layout of a file, and what its numbers mean)
"""The profiler (probe/profiler/): sets its variables in a launch, and reads its files as profiles."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corescale import native
from corescale.errors import UnavailableError
from corescale.observe import timeline
from corescale.observe.timeline import seconds
from corescale.profile import (
    SHARES,
    STALE,
    STATES,
    BlocksOfSize,
    MessageTimes,
    Profile,
    RegionTimes,
    StackTimes,
    ThreadTimes,
)

LIBRARY = "libcorescale_profiler.so"
FOLDER = "CORESCALE_PROFILER"
"""The variable with the folder into which the profiler writes."""
THREADS = "CORESCALE_PROFILER_THREADS"
"""The variable with the number of threads of the launch that count."""
FORMAT = 8
BUCKET = 10_000_000
"""nanoseconds of each interval in which CPUs in use are counted"""

MOST_THREADS = 15_000
"""most threads of one program in a profile"""
_MOST_STACKS, _MOST_REGIONS, _MOST_MESSAGES, _DEEPEST = 16384, 1024, 4096, 30
_MOST_BUCKETS, _MODULE_BYTES, _PAGE = 360_000, 1 << 18, 4096
_MOST_SIZES = 40
_COUNTS = ("active", "lock", "message", "barrier", "blocked", "join")
_TIME_BITS, _WIDTH, _OFFSET, _STEP = 44, 14, 1024, 8


def _all(kind: str, names: str) -> list[Any]:
    """Fields of one type."""
    return [(name, kind) for name in names.split()]


_BLOCKS = np.dtype(_all("i8", "calls watched freed elsewhere"))
_HEADER = np.dtype(
    [
        ("signature", "S8"),
        *_all("u4", "version bytes"),
        *_all("i4", "process parent"),
        *_all("u4", "processors threads"),
        *_all("i8", "started ended finished"),
        *_all("u4", "lost_stacks lost_timers modules_length lost_threads"),
        *_all("u8", "first_cycle last_cycle"),
        *_all("u4", "cycles_of_a_call is_rank confined full"),
        *(("rank", "i4"), ("cycles_of_a_fault", "u4"), ("executable", "S512"), ("still", "i8"), ("idle", "i4")),
        *(("unqueued", "u4"), ("census", "u8", 2), ("alone", "i8"), ("unticked", "u4"), ("tail", "V36")),
        ("size", _BLOCKS, _MOST_SIZES),
    ]
)
_REGION = np.dtype(_all("i8", "function calls threads wall body longest capacity inside"))
_STACK = np.dtype([("key", "u8"), ("depth", "u8"), ("weight", "i8", len(STATES)), ("frame", "u8", _DEEPEST)])
_MESSAGES = np.dtype([("key", "u8"), *_all("i8", "partner calls spent"), ("call", "S32")])
_EVERYONE = -1000
"""the partner number of a call that names no partner"""
_THREAD = np.dtype(
    [
        ("id", "i4"),
        *_all("u4", "state pool others"),
        *_all("i8", "started ended since cpu queued"),
        *((name, "i8", len(STATES)) for name in ("spent", "burnt", "calls")),
        ("share", "i8", len(SHARES)),
        *_all("i8", "allocations frees allocating ticks"),
        *(("start", "u8"), ("lately", "i8", len(STATES))),
        *_all("i8", "cpu_since ticked last_yield"),
        ("argument", "u8"),
        *_all("i8", "cpu_before queued_before timer faults faults_before faults_timed place"),
        ("schedstat", "V24"),
    ]
)


def _after(offset: int, size: int) -> int:
    return -(-(offset + size) // _PAGE) * _PAGE


_MODULES_AT = _PAGE
_REGIONS_AT = _after(_MODULES_AT, _MODULE_BYTES)
_MESSAGES_AT = _after(_REGIONS_AT, _MOST_REGIONS * _REGION.itemsize)
_BUSY_AT = _after(_MESSAGES_AT, _MOST_MESSAGES * _MESSAGES.itemsize)
_STACKS_AT = _after(_BUSY_AT, _MOST_BUCKETS * 8)
_THREADS_AT = _after(_STACKS_AT, _MOST_STACKS * _STACK.itemsize)
_BYTES = _after(_THREADS_AT, MOST_THREADS * _THREAD.itemsize)


def environment(folder: Path, processors: int, preload: str | None) -> dict[str, str]:
    """The variables of a launch with the profiler, which is preloaded before all libraries of `preload`."""
    first = str(native.library(LIBRARY))
    return {
        "LD_PRELOAD": f"{first}:{preload}" if preload else first,
        FOLDER: str(folder),
        THREADS: str(processors),
    }


def read(folder: Path, killed: float = 0.0) -> tuple[tuple[Profile, ...], int]:
    """The profiles in a folder, and the number of programs whose profile is missing or incomplete because the disk was
    full.

    `killed`: as for `profiles`. Raises UnavailableError if the library is of another version.
    """
    files = tuple(folder.glob("profile-*"))
    for path in files:
        _must_be_of_this_version(path)
    written = [path for path in files if path.stat().st_size >= _BYTES]
    begun = [path for path in written if _header(path)["signature"]]  # the others were killed too early
    found = profiles(begun, killed)
    return found, len(tuple(folder.glob("full-*"))) + sum(profile.full for profile in found)


def profiles(files: Sequence[Path], killed: float = 0.0) -> tuple[Profile, ...]:
    """The profile of each program, the one with the most CPU time first.

    `killed`: if a signal ended the launch, seconds from the first start until the programs were killed. A thread that
    waited until then has written nothing about that wait.
    """
    headers = [_header(path) for path in files]
    first = min((int(header["started"]) for header in headers), default=0)
    # If a process executes another program, the first program ends without writing so.
    ends = [min((int(then["started"]) for then in headers if _follows(header, then)), default=0) for header in headers]
    found = [_profile(path, end, first + int(killed * 1e9)) for path, end in zip(files, ends, strict=True)]
    return tuple(sorted(found, key=lambda profile: (-profile.cpu, profile.process)))


def _must_be_of_this_version(path: Path) -> None:
    """Raises UnavailableError if the library that wrote the file is of another version. A file that found no room is
    empty, and a program that was killed early left no signature."""
    header = _area(path, 0, _HEADER, 1)
    if len(header) and header[0]["signature"] and tuple(header[0])[:3] != (b"coreprof", FORMAT, _BYTES):
        where = str(native.library(LIBRARY))
        raise UnavailableError("is of another version of corescale", where=where, remedy=native.again())


def _follows(header: Any, other: Any) -> bool:
    """Whether the other is a later program of the same process."""
    return bool(header["process"] == other["process"] and header["started"] < other["started"])


def _header(path: Path) -> Any:
    return _area(path, 0, _HEADER, 1)[0]


def _profile(path: Path, replaced: int, killed: int) -> Profile:
    header = _header(path)
    threads = _area(path, _THREADS_AT, _THREAD, min(int(header["threads"]), MOST_THREADS))
    threads = threads[threads["id"] > 0]
    last = (int(header["census"][0]) & ((1 << _TIME_BITS) - 1)) * _STEP + int(header["started"])  # change of a state
    end = int(max(header["ended"], last, threads["ended"].max(initial=0), threads["since"].max(initial=0)))
    if not header["finished"]:
        end = replaced or max(end, killed)
    stacks = _area(path, _STACKS_AT, _STACK, _MOST_STACKS)
    waits = threads[(threads["ended"] == 0) & (threads["state"] != 0) & (threads["place"] > 0)]  # still at the end
    np.add.at(stacks["weight"], (waits["place"] - 1, waits["state"]), np.maximum(0, end - waits["since"]))
    regions = _area(path, _REGIONS_AT, _REGION, _MOST_REGIONS)
    length = min(_MOST_BUCKETS, (end - int(header["started"])) // BUCKET + 1)
    shares = _shares(header, threads, max(0, end - last))
    cut = threads[(threads["ended"] == 0) & (threads["state"] == 0)] if not (header["finished"] or replaced) else ()
    return Profile(
        process=int(header["process"]),
        executable=bytes(header["executable"]).decode(errors="replace"),
        processors=int(header["processors"]),
        wall=seconds(end - int(header["started"])),
        finished=bool(header["finished"] or replaced),
        shares=shares,
        threads=tuple(_thread(one, int(header["started"]), end, _costs(header)) for one in threads),
        lost_threads=int(header["lost_threads"]),
        stacks=tuple(StackTimes(timeline.frames(one), _by_state(one["weight"])) for one in stacks[stacks["depth"] > 0]),
        regions=tuple(_region(one) for one in regions[regions["calls"] > 0]),
        messages=_messages(_area(path, _MESSAGES_AT, _MESSAGES, _MOST_MESSAGES)) if header["is_rank"] else (),
        blocks=tuple(_blocks(header)),
        started=seconds(header["started"]),
        busy_length=seconds(BUCKET),
        busy=tuple((_area(path, _BUSY_AT, np.dtype("i8"), length) / BUCKET).tolist()),
        modules=_area(path, _MODULES_AT, np.uint8, int(header["modules_length"])).tobytes().decode(errors="replace"),
        events=tuple(timeline.events(path, header, threads, stacks, end)),
        is_rank=bool(header["is_rank"]),
        rank=None if header["rank"] < 0 else int(header["rank"]),
        alone=shares.pop("alone"),
        lost_timers=int(header["lost_timers"]),
        unticked=int(header["unticked"]),
        confined=bool(header["confined"]),
        full=bool(header["full"]),
        unread=sum(min(STALE, seconds(end - int(one["started"]))) for one in cut),
        unqueued=bool(header["unqueued"]),
    )


def _area(path: Path, offset: int, kind: Any, count: int) -> Any:
    """Reads an area of the file. It is not mapped, because on a full disk a hole of the file has no pages to map."""
    return np.fromfile(path, kind, count, offset=offset)


def _shares(header: Any, threads: Any, unbooked: int) -> dict[str, float]:
    """The shares that threads booked, what a killed program could no longer book, and `alone`, which overlaps."""
    sums = threads["share"].sum(axis=0)
    found = {name: seconds(value) for name, value in zip(SHARES, sums, strict=True)}
    word = int(header["census"][0]) | int(header["census"][1]) << 64
    rest, free = seconds(unbooked), int(header["processors"])
    there = [max(0, (word >> (_TIME_BITS + _WIDTH * k) & ((1 << _WIDTH) - 1)) - _OFFSET) for k in range(len(_COUNTS))]
    found["alone"] = seconds(header["alone"]) + rest * (there[0] == 1)
    found["excess"] += rest * max(0, there[0] - free)
    for name, count in zip(_COUNTS, there, strict=True):
        found[name] += rest * min(count, free)
        free -= min(count, free)
    waits = not there[0] and (there[_COUNTS.index("blocked")] or int(header["idle"]) > 0)
    found["blocked" if waits else "absent"] += rest * free
    return found


def _by_state(values: Sequence[Any]) -> Mapping[str, float]:
    return {state: seconds(value) for state, value in zip(STATES, values, strict=True) if value}


def _costs(header: Any) -> tuple[float, int, float]:
    """Seconds of a cycle, cycles that the profiler added to each call, and seconds of a page's first touch."""
    cycles = int(header["last_cycle"]) - int(header["first_cycle"])
    length = seconds(header["ended"] - header["started"]) / cycles if cycles > 0 else 0.0
    return length, int(header["cycles_of_a_call"]), length * int(header["cycles_of_a_fault"])


def _thread(one: Any, begun: int, end: int, costs: tuple[float, int, float]) -> ThreadTimes:
    cycle, added, fault = costs
    touched = max(0, int(one["faults"] - one["faults_timed"]))
    spent, burnt = _by_state(one["spent"]), _by_state(one["burnt"])
    if not one["ended"] and one["state"] != 0:  # it was still waiting at the end
        state = STATES[int(one["state"])]
        used = int(one["cpu"]) + int(one["cpu_before"]) - int(one["cpu_since"])
        spent = {**spent, state: spent.get(state, 0.0) + seconds(max(0, end - int(one["since"])))}
        burnt = {**burnt, state: burnt.get(state, 0.0) + seconds(max(0, used))}
    return ThreadTimes(
        id=int(one["id"]),
        wall=seconds((int(one["ended"]) or end) - int(one["started"])),
        cpu=seconds(one["cpu"]),
        queued=seconds(one["queued"]),
        spent=spent,
        burnt=burnt,
        calls={state: int(value) for state, value in zip(STATES, one["calls"], strict=True) if value},
        allocations=int(one["allocations"]),
        frees=int(one["frees"]),
        allocating=(int(one["allocating"]) + added * int(one["allocations"] + one["frees"])) * cycle + touched * fault,
        ticks=int(one["ticks"]),
        started=seconds(one["started"] - begun),
    )


def _messages(area: Any) -> tuple[MessageTimes, ...]:
    found = [
        MessageTimes(
            call=bytes(one["call"]).decode(errors="replace"),
            partner=None if one["partner"] == _EVERYONE else int(one["partner"]),
            calls=int(one["calls"]),
            seconds=seconds(one["spent"]),
        )
        for one in area[area["calls"] > 0]
    ]
    return tuple(sorted(found, key=lambda one: -one.seconds))


def _blocks(header: Any) -> Iterator[BlocksOfSize]:
    for power, one in enumerate(header["size"]):
        if one["calls"]:
            yield BlocksOfSize(1 << power, *(int(one[name]) for name in ("calls", "watched", "freed", "elsewhere")))


def _region(one: Any) -> RegionTimes:
    calls = int(one["calls"])
    return RegionTimes(
        function=int(one["function"]),
        calls=calls,
        threads=int(one["threads"]) / calls,
        wall=seconds(one["wall"]),
        body=seconds(one["body"]),
        longest=seconds(one["longest"]),
        capacity=seconds(one["capacity"]),
        inside=seconds(one["inside"]),
    )
