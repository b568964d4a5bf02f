# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: the record, and what is in one)
"""The record of one launch of one configuration. Everything else is computed from records.

Records are immutable, and each is one canonical JSON line. Readers refuse unknown formats.

Format history
    1  the first.
    2  `doubts` are `warnings`; readers translate the names of format 1 (format_1.py).
"""

import dataclasses
import functools
import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, PositiveInt, TypeAdapter, ValidationError

from corescale import format_1
from corescale.errors import StoreError

FORMAT = 2

Level = int | float | str
"""One setting of one factor."""

COMMAND = "command"
"""the factor of a comparison, whose levels are the names of its commands"""

INHERITED = "inherited"
"""The level at which a variable, or the allocator, stays as it is in the shell."""

Bound = Literal["lower", "upper", "estimate"]
Origin = Literal["measured", "simulated", "fake", "extrapolated"]
Phase = Literal["warmup", "rehearse", "measure", "confirm"]
Status = Literal["ok", "failed", "signal", "timeout", "not-started", "check", "output-differs", "capped", "unproved"]
"""How a launch ended. `failed` is a non-zero exit, `check` a check the program itself reported as broken, `capped` one
that had already lost a race and was killed: its time is at least `wall`. `unproved`: the launch succeeded, but the
libraries of its configuration were missing from a program in which they had been detected before."""


@dataclass(frozen=True, slots=True)
class Layout:
    """t threads in each of m ranks on each of n nodes (Qiu et al. 2010)."""

    threads_per_rank: int = 1
    ranks_per_node: int = 1
    nodes: int = 1

    @property
    def p(self) -> int:
        """The parallelism t*m*n."""
        return self.threads_per_rank * self.ranks_per_node * self.nodes

    @property
    def of_node(self) -> int:
        """Threads on one node, t*m; the node is oversubscribed if they exceed its cores."""
        return self.threads_per_rank * self.ranks_per_node

    def __str__(self) -> str:
        return f"{self.threads_per_rank}x{self.ranks_per_node}x{self.nodes}"


@dataclass(frozen=True, slots=True)
class Configuration:
    """One level of each factor, in the experiment's factor order, and the layout that follows from them."""

    levels: tuple[tuple[str, Level], ...] = ()
    layout: Layout = Layout()

    def __hash__(self) -> int:
        return hash(self.levels)  # the layout follows from them; every table of records asks for each launch

    def __getitem__(self, factor: str) -> Level:
        return dict(self.levels)[factor]

    def get(self, factor: str) -> Level | None:
        """The level of `factor`, or None if the experiment has no such factor."""
        return dict(self.levels).get(factor)

    @property
    def label(self) -> str:
        """The configuration's name in tables and messages, such as `threads=2 allocator=mimalloc`.

        A command is named first, with its `{n}` filled in. Inherited levels are left out.
        """
        said = dict([pair for pair in self.levels if pair[1] != INHERITED] or self.levels)
        words = str(said.pop(COMMAND, ""))
        for name in [name for name in said if f"{{{name}}}" in words]:
            words = words.replace(f"{{{name}}}", str(said.pop(name)))
        return " ".join(filter(None, [words, *(f"{name}={level}" for name, level in said.items())])) or "as given"


@dataclass(frozen=True, slots=True)
class Process:
    """One process of the launch that the spawner reaped; its figures include the descendants that it reaped itself."""

    executable: str
    user: float
    """seconds"""
    system: float
    """seconds"""
    peak_memory: int
    """bytes"""
    rank: int = 0
    node: str = ""
    affinity: tuple[int, ...] = ()
    preload: tuple[str, ...] | None = None
    """Libraries of the configuration found inside; None if nothing had to be proved."""


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the program that it timed itself, through corescale/region.h."""

    name: str
    rank: int
    thread: int
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Noise:
    """What the machine did during the launch. Fixed rules flag noisy launches by it (conclude/noise.py)."""

    steal: float = 0.0
    """seconds of all cores taken by the hypervisor during the launch"""
    throttled: float = 0.0
    """seconds that the cgroup's CPU quota held the program back"""
    involuntary_switches: int = 0
    runqueue_wait: float = 0.0
    """seconds that the program's threads waited for a core (schedstat): a lower bound if `sampled`"""
    on_cpu: float | None = None
    """seconds that the same threads ran, in the same samples. They waited for a share of
    runqueue_wait / (runqueue_wait + on_cpu). None if the kernel does not report it, and in earlier versions"""
    sampled: bool = False
    """whether a thread ran on after its last sample, so that both times lack its last part"""
    foreign: float | None = None
    """estimated seconds that other programs and the kernel ran on the CPUs that the launch could use. None in earlier
    versions, and if the time of the launch, or of one of these CPUs, is not known"""
    cpus: int | None = None
    """the number of these CPUs; None in earlier versions"""


def _growing(looks: tuple[int, ...]) -> tuple[int, ...]:
    """The numbers of blocks at the looks, checked to ascend; raises ValueError."""
    if any(later <= one for one, later in itertools.pairwise(looks)):
        raise ValueError("looks should be at more blocks each")
    return looks


@dataclass(frozen=True, slots=True)
class Record:
    """One launch. Times in seconds, memory in bytes."""

    plan: str
    """hash of the plan it belongs to"""
    configuration: Configuration
    phase: Phase
    block: int
    attempt: int
    """number of the attempt at this block; only the records of the complete attempt count"""
    order: int
    """position within the block, from 0"""
    seed: int
    """the seed that drew the order of the block"""
    started: float
    """seconds since the epoch"""
    wall: float
    """exec to exit; for status `timeout` and `capped` the time until it was killed"""
    status: Status
    exit_code: int
    paid: float | None = None
    """its part of a budget: seconds from the end of the launch before to its own end, by this machine's clock. Waiting
    for nodes is not counted. Waiting for quiet CPUs is counted only if a budget was typed. None if the clock is
    virtual, and in earlier versions"""
    wall_kind: Literal["launcher", "rank"] = "launcher"
    """whose time `wall` is: the program started here, or the slowest rank if the starter of ranks may queue"""
    let_fail: bool = False
    """whether the launch counts although it failed (option -i)"""
    user: float = 0.0
    system: float = 0.0
    peak_memory: int = 0
    peak_memory_kind: Literal["anonymous", "anonymous-sum", "process", "none", "cgroup", "sampled"] = "none"
    """Kinds are never compared with each other. `process`: ru_maxrss of the largest process, as in GNU time. `sampled`:
    a lower bound of that. The other kinds are sampled sums over the tree, by earlier versions."""
    tree_memory: int = 0
    """largest sampled anonymous memory of all processes together"""
    tree_memory_kind: Literal["group", "sum", "none"] = "none"
    """`group`: each page counts once. `sum`: a sum over processes, in which a page shared by a fork counts in each"""
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    """Figures that are bounds or estimates, by name: `user`, `noise.steal`."""
    cpu_kind: Literal["group", "reaped", "sampled", "none", ""] = ""
    """Kind of `user` and `system`. `group`: of the control group, which no process of the tree was seen to leave.
    `reaped`: of the processes whose parents waited for them. `sampled`: a lower bound. `none`: simulated, so that they
    are unknown. Empty: the kind is not known, in earlier versions."""
    processes: tuple[Process, ...] = ()
    proved: tuple[tuple[str, str], ...] = ()
    """programs in which the libraries must be detected, as before: the executable, and its name at its end"""
    threads_asked: int = 1
    """p of the layout"""
    regions: tuple[Region, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    checks: Mapping[str, bool] = field(default_factory=dict)
    work: float | None = None
    output_hash: str | None = None
    tail: str = ""
    """the end of what the launch wrote to stderr (and to stdout, unless a metric, check or hash reads that)"""
    noise: Noise = Noise()
    origin: Origin = "measured"
    oversubscribed: bool = False
    sources: tuple[str, ...] = ()
    """the active probes; records with different probes are never mixed"""
    reads: tuple[str, ...] | None = None
    """known variables that its programs read; None if nothing recorded env reads"""
    leftovers: int = 0
    """processes that outlived the main one and were killed"""
    halted: int = 0
    """processes that a signal had stopped at the time limit"""
    looks: Annotated[tuple[PositiveInt, ...], AfterValidator(_growing)] = ()
    """numbers of confirmation pairs at the first two looks, as planned before the first pair; one for one look"""
    warnings: tuple[str, ...] = ()
    """circumstances of the launch that no other field shows, a sentence each"""
    format: int = FORMAT

    @property
    def of_budget(self) -> float:
        """Seconds of a budget that it took."""
        return self.wall if self.paid is None else self.paid

    @property
    def ok(self) -> bool:
        """Whether its time may be used."""
        return self.status == "ok" or self.let_fail

    @property
    def timed(self) -> bool:
        """Whether its time counts: it ran the program as asked, and was neither a warm-up nor a rehearsal."""
        return self.phase in ("measure", "confirm")

    def response(self, name: str) -> float:
        """The declared response of this launch, NaN if it failed or does not report it.

        `cpu` is CPU time, `memory` the peak in bytes; a lower bound of them counts as not reported. `region:NAME` is
        the largest total of any thread of any rank, for which the other threads have to wait.
        """
        if not self.ok:
            return math.nan
        source, _, key = name.partition(":")
        if source == "wall":
            return self.wall
        if source == "cpu":
            return math.nan if self.bounds.get("user") == "lower" else self.cpu
        if source == "memory":
            return math.nan if self.bounds.get("peak_memory") == "lower" else float(self.peak_memory)
        if source == "metric":
            return self.metrics.get(key, math.nan)
        return max((region.seconds for region in self.regions if region.name == key), default=math.nan)

    @property
    def cpu(self) -> float:
        """CPU seconds; NaN for a simulation, which does not know them (earlier versions recorded a guess)."""
        return math.nan if self.origin == "simulated" else self.user + self.system

    @property
    def effective_cores(self) -> float:
        """CPU time over wall time: the number of cores that were really used; NaN if that is unknown."""
        return self.cpu / self.wall if self.wall > 0 else 0.0


def origins(records: Iterable[Record]) -> tuple[str, ...]:
    """The origins of the numbers other than a measurement; output shows them next to each number."""
    return tuple(sorted({record.origin for record in records} - {"measured"}))


def canonical(value: object) -> str:
    """The canonical JSON text of a value: sorted keys, no spaces, no NaN. Equal values give equal bytes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return escaped(text)


def escaped(text: str) -> str:
    """JSON text that UTF-8 can carry: bytes of an argument that are not UTF-8 are written as `\\udc80` to `\\udcff`,
    and reading gives the argument back.
    """
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def encode(record: Record) -> str:
    """The record as one canonical JSON line, without its line end."""
    return canonical(to_dict(record))


def to_dict(record: Record) -> dict[str, Any]:
    """The record as JSON values; levels become an object, whose order is the experiment's."""
    values = dataclasses.asdict(record)
    values["configuration"]["levels"] = [list(pair) for pair in record.configuration.levels]
    return values


REMEDY = "restore the file, or leave that run out"


def from_dict(values: object) -> Record:
    """The record of JSON values, as `to_dict` gives them or as format 1 had them; raises StoreError."""
    if isinstance(values, dict) and values.get("format") == 1:
        values = {**format_1.record(values), "format": FORMAT}
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        found = values.get("format") if isinstance(values, dict) else None
        raise StoreError(
            f"record format {found}, but this version reads {FORMAT}", remedy="use the version that wrote it"
        )
    try:
        return _adapter().validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        what = f"not a record: {'.'.join(map(str, first['loc']))}: {first['msg'].lower()}"
        raise StoreError(what, remedy=REMEDY) from error


@functools.cache
def _adapter() -> TypeAdapter[Record]:
    return TypeAdapter(Record)
