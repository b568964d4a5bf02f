# SPDX-License-Identifier: Apache-2.0
"""Reads the timeline that the profiler writes next to a profile: what each thread did when."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from corescale.profile import STATES, Event

_LINE = np.dtype([("process", "i4"), ("version", "u4"), ("started", "i8"), ("count", "u8"), ("reserved", "u8")])
_EVENT = np.dtype([("time", "i8"), ("length", "i8"), ("thread", "i4"), ("state", "u4"), ("place", "u8")])
_MOST_EVENTS = 65536


def events(path: Path, header: Any, threads: Any, stacks: Any, end: int) -> Iterator[Event]:
    """The events of the timeline of a profile, and the waits in which threads were at its end.

    `threads` and `stacks` are areas of the profile. `end`: the end of the program, by its clock.
    """
    places = {int(one["key"]): frames(one) for one in stacks[stacks["depth"] > 0]}
    begun = int(header["started"])
    for file in path.parent.glob(f"timeline-{header['process']}-*"):
        if file.stat().st_size < _LINE.itemsize + _MOST_EVENTS * _EVENT.itemsize:
            continue  # the disk was full
        data = np.fromfile(file, np.uint8, _LINE.itemsize + _MOST_EVENTS * _EVENT.itemsize)  # a map's holes need room
        line = data[: _LINE.itemsize].view(_LINE)[0]
        if (int(line["process"]), int(line["started"])) != (int(header["process"]), begun):
            continue
        made = data[_LINE.itemsize :].view(_EVENT)[: int(line["count"])]
        for one in made[made["length"] > 0]:
            ended, length = seconds(int(one["time"]) - begun), seconds(one["length"])
            place = places.get(int(one["place"]), ())
            yield Event(int(one["thread"]), STATES[int(one["state"])], ended, length, place)
    for one in threads[(threads["ended"] == 0) & (threads["state"] != 0)]:
        since = int(one["since"])
        length = seconds(max(0, end - since))
        place = frames(stacks[one["place"] - 1]) if one["place"] else ()
        yield Event(int(one["id"]), STATES[int(one["state"])], seconds(end - begun), length, place)


def frames(stack: Any) -> tuple[int, ...]:
    """The addresses of a stack of the profile."""
    return tuple(map(int, stack["frame"][: int(stack["depth"])]))


def seconds(nanoseconds: Any) -> float:
    """Converts the profiler's nanoseconds to seconds."""
    return float(nanoseconds) * 1e-9
