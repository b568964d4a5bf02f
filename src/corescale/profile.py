# SPDX-License-Identifier: Apache-2.0
"""Profiles of programs, which observe reads and conclude uses. Times are in seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

STATES = (
    "computing",
    "allocating",
    "locking",
    "barrier",
    "joining",
    "blocked",
    "message",
    "spinning",
    "pooled",
    "event",
    "serial",
    "alone",
)
"""The states of a thread; the same as State in probe/profiler/format.hpp."""
SHARES = ("active", "lock", "message", "barrier", "blocked", "join", "absent", "excess")
"""The parts of (processors x wall time); the same as Share in probe/profiler/format.hpp."""


@dataclass(frozen=True, slots=True)
class ThreadTimes:
    """One thread; if there were too many, several threads, one after the other."""

    id: int
    wall: float
    cpu: float
    queued: float
    """time in which it was ready and waited for a CPU"""
    spent: Mapping[str, float]
    """wall time in each state of waiting"""
    burnt: Mapping[str, float]
    """the part of that time on a CPU, in spinning"""
    calls: Mapping[str, int]
    allocations: int
    frees: int
    """an estimate from the timed calls, like `allocations`"""
    allocating: float
    """seconds in the malloc family, and in first touches of pages"""
    ticks: int
    started: float = 0.0
    """from the start of its program"""


@dataclass(frozen=True, slots=True)
class StackTimes:
    """One place in the code, with the innermost address first, and the seconds in each state there."""

    frames: tuple[int, ...]
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Event:
    """A thread was in a state until `ended`, for `length` in total; times are from the start of its program."""

    thread: int
    state: str
    ended: float
    length: float
    frames: tuple[int, ...] = ()
    """the stack, innermost address first; empty if it is not known"""


@dataclass(frozen=True, slots=True)
class Place:
    """The place in the code that an address belongs to."""

    function: str
    file: str = ""
    line: int = 0
    module: str = ""

    @property
    def in_words(self) -> str:
        """As `merge.cpp:15 merge()`."""
        return f"{PurePath(self.file).name}:{self.line} {self.function}" if self.file else self.function


@dataclass(frozen=True, slots=True)
class RegionTimes:
    """One parallel region of OpenMP, over its calls."""

    function: int
    calls: int
    threads: float
    wall: float
    body: float
    longest: float
    capacity: float
    inside: float = 0.0
    """the part of `waited` that threads spent at barriers of the body, or on regions within it"""

    @property
    def balance(self) -> float:
        """Load balance: the mean time of the body over threads, divided by the longest, weighted by time."""
        return self.body / (self.longest * self.threads) if self.longest else 1.0

    @property
    def waited(self) -> float:
        """Thread-seconds that threads of the region spent outside its body."""
        return max(0.0, self.capacity - self.body)


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which a thread was in a region that its program names (region.h)."""

    region: str
    process: int
    thread: int
    began: float
    """by the same clock as `ended` and a profile's `started`"""
    ended: float


@dataclass(frozen=True, slots=True)
class MessageTimes:
    """The calls of one function of MPI with one partner."""

    call: str
    partner: int | None
    """rank in the call's communicator: the sender, the receiver, or the root; None if the call names none. A negative
    number is a constant of MPI's, such as any source"""
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class BlocksOfSize:
    """Allocated blocks of one size class: at most `most` bytes, and more than half of that."""

    most: int
    calls: int
    """calls that allocated one; an estimate, like a thread's `allocations`"""
    watched: int
    """randomly chosen blocks that the profiler followed until they were freed"""
    freed: int
    """followed blocks that were freed before the profiler gave up"""
    elsewhere: int
    """followed blocks that were freed by a thread other than the allocating one"""


STALE = 0.01
"""seconds of CPU time between two readings of a thread's clock"""


@dataclass(frozen=True, slots=True)
class Profile:
    """One program of one process, from its start to its end."""

    process: int
    executable: str
    processors: int
    wall: float
    finished: bool
    """whether it ended normally; if not, its last data are at most STALE of CPU time old"""
    shares: Mapping[str, float]
    threads: tuple[ThreadTimes, ...]
    lost_threads: int
    stacks: tuple[StackTimes, ...] = field(repr=False)
    regions: tuple[RegionTimes, ...] = ()
    messages: tuple[MessageTimes, ...] = ()
    """the longest first"""
    blocks: tuple[BlocksOfSize, ...] = ()
    """by size, the smallest first"""
    started: float = 0.0
    """by a clock that all processes of the machine share"""
    busy: tuple[float, ...] = field(default=(), repr=False)
    """CPUs in use in each `busy_length` from the start"""
    busy_length: float = 0.01
    modules: str = field(default="", repr=False)
    """executable mappings, as observe/symbols.py reads them"""
    events: tuple[Event, ...] = field(default=(), repr=False)
    is_rank: bool = False
    """whether it called MPI"""
    rank: int | None = None
    """its number, if the starter of ranks gives one"""
    alone: float = 0.0
    """time in which exactly one of its threads computed"""
    lost_timers: int = 0
    """number of threads that got no timer, and therefore have no stacks"""
    unticked: int = 0
    """number of threads that used much CPU time to their end without a tick, which therefore has no stack"""
    confined: bool = False
    """whether the profile ends early because the program forbade itself system calls (seccomp)"""
    full: bool = False
    """whether a part of its profile is missing because the disk was full"""
    unread: float = 0.0
    """seconds for which its threads may have computed since their clocks were read last"""
    unqueued: bool = False
    """whether time in run queues is missing because the program had no file descriptor left"""

    @property
    def cpu(self) -> float:
        """CPU time of all threads."""
        return sum(thread.cpu for thread in self.threads)
