# SPDX-License-Identifier: Apache-2.0
"""Counters of the kernel and the processor, read by perf_event_open: `--metric faults=counter:page-faults`.

An event is opened for this thread, and starts to count when one of its children executes a program. So it counts the
whole launch, including the program that starts it.
"""

import ctypes
import os
import platform
import struct
from collections.abc import Mapping
from pathlib import Path

from corescale.declare.experiment import Experiment
from corescale.errors import UnavailableError, UsageError
from corescale.observe.scratch import Scratch
from corescale.observe.sources.source import Found, Source

PREFIX = "counter:"
EVENTS = {
    "cycles": (0, 0),
    "instructions": (0, 1),
    "cache-references": (0, 2),
    "cache-misses": (0, 3),
    "branches": (0, 4),
    "branch-misses": (0, 5),
    "page-faults": (1, 2),
    "context-switches": (1, 3),
    "cpu-migrations": (1, 4),
}
"""Type and number of each event in linux/perf_event.h; type 0, the processor's, is counted outside the kernel"""

_CALLS = {"x86_64": 298, "aarch64": 241}
"""number of perf_event_open"""
_SIZE = 64
"""bytes of the first version of struct perf_event_attr"""
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR, _ENABLE_ON_EXEC = (1 << bit for bit in (0, 1, 5, 6, 12))
_TIMES, _CLOSE_ON_EXEC, _ANY_CPU, _NO_GROUP = 3, 8, -1, -1
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


def _asked(metrics: Mapping[str, str]) -> list[str]:
    return sorted({source.removeprefix(PREFIX) for source in metrics.values() if source.startswith(PREFIX)})


def opened(event: str) -> int:
    """A descriptor that counts the event in the next children. Raises UnavailableError, or UsageError."""
    if event not in EVENTS:
        raise UsageError(f"no counter {event!r}", where="--metric", remedy=f"write one of {', '.join(EVENTS)}")
    kind, number = EVENTS[event]
    flags = _DISABLED | _INHERIT | _ENABLE_ON_EXEC
    if kind == 0 or event == "page-faults":
        flags |= _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR
    attributes = struct.pack("=IIQQQQQ", kind, _SIZE, number, 0, 0, _TIMES, flags).ljust(_SIZE, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    call = _CALLS.get(platform.machine())
    found = libc.syscall(call, attributes, 0, _ANY_CPU, _NO_GROUP, _CLOSE_ON_EXEC) if call else -1
    if found < 0:
        what = f"the kernel gives no counter {event!r} here: {_why(ctypes.get_errno(), call)}"
        raise UnavailableError(what, where="--metric", remedy="leave that metric out")
    return int(found)


def _why(error: int, call: int | None) -> str:
    if call is None:
        return f"corescale knows no way to it on {platform.machine()}"
    if error in (1, 13):  # EPERM, EACCES
        level = _PARANOID.read_text().strip() if _PARANOID.is_file() else "unknown"
        return f"{_PARANOID} is {level}; 1 or less allows it"
    if error == 2:  # ENOENT
        return "the processor, or the virtual machine, does not have it"
    return os.strerror(error)


def _wanted(experiment: Experiment) -> bool:
    """Whether counters are wanted; raises UnavailableError, before anything is launched, if they do not work here."""
    for event in (asked := _asked(experiment.metrics)):
        os.close(opened(event))
    return bool(asked)


def _environment(scratch: Scratch) -> Mapping[str, str]:
    for event in _asked(scratch.metrics):
        scratch.counters[event] = opened(event)
    return {}


def _read(scratch: Scratch) -> Found:
    """The counts. If events had to share the processor's counters, counts are extrapolated to the whole time."""
    found = {}
    for event, descriptor in scratch.counters.items():
        count, enabled, running = struct.unpack("=QQQ", os.read(descriptor, 24))
        if running:
            found[PREFIX + event] = count * enabled / running
    return Found(measured=found)


SOURCE = Source("counters", _wanted, _environment, _read, gives=("counter",))
