# SPDX-License-Identifier: Apache-2.0
"""How a program scales: time, speedup, efficiency, overhead and cores really used, per parallelism p.

Definitions (Qiu et al. 2010): e = p_ref T(p_ref) / (p T(p)); f = 1/e - 1, linear in T. In weak scaling the work grows
with p, so e = T(p_ref) / T(p), and the speedup is that of the work done per second (Gustafson 1988).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from corescale.conclude import stats
from corescale.conclude.answers.timing import Timing, timing
from corescale.conclude.answers.weak_scaling import WeakScaling, weak
from corescale.conclude.models import MODELS, Choice, Fit, choose, overhead_factors
from corescale.conclude.models.overhead_factors import Measured, OverheadChoice
from corescale.conclude.response import Step, Table, median, table, widened
from corescale.conclude.stats import Floats, Interval
from corescale.conclude.warnings import memory_kind
from corescale.declare.equivalent import Unread, detected, unread
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.declare.metric_sources import UNKEYED
from corescale.endings import outcome
from corescale.records import Configuration, Level, Record


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration of a scan. Intervals come from within-block log-ratios against `reference`."""

    configuration: Configuration
    reference: Configuration
    p: int
    time: Interval
    """median of the response; seconds if the response is a time"""
    speedup: Interval
    efficiency: Interval
    """NaN, as is the overhead, if p is not known, or if the response is a CPU time, a memory or a size"""
    overhead: Interval
    effective_cores: float
    """median CPU time / wall time; NaN if unknown, or if every launch failed"""
    peak_memory: int
    """bytes, the largest of all launches"""
    launches: int
    failures: int
    oversubscribed: bool
    wanted_cores: float = math.nan
    """median of CPU time over wall time; time that threads waited for a core counts, too"""
    running: float = math.nan
    """median number of threads that ran or waited for a core: a lower bound"""
    timing: Timing | None = None
    """mean, spread and range of the launches"""
    counted: bool = True
    """whether p is known, because a factor makes it; otherwise the program may use any number of threads"""
    ended: str = ""
    """how every launch ended, such as `failed with exit code 1`; empty if they ended in different ways, or if one
    succeeded
    """

    @property
    def idle(self) -> bool:
        """Whether the program used clearly fewer cores than it was offered: at least half a core and a quarter of p.

        Cores that it wanted while other programs had them count as used. One thread is never idle.
        """
        wanted = min(self.wanted_cores, self.p) if self.wanted_cores > 0 else 0.0
        return self.p > 1 and self.p - max(self.effective_cores, wanted) >= self._clear

    @property
    def beyond(self) -> bool:
        """Whether clearly more threads ran or waited for a core than were asked for, by the same margin."""
        return self.counted and max(self.effective_cores, self.running) - self.p >= self._clear

    @property
    def _clear(self) -> float:
        return max(0.5, 0.25 * self.p)


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of the scaling chart: every p at the same levels of all other factors."""

    levels: tuple[tuple[str, Level], ...]
    rows: tuple[Row, ...]
    choice: Choice | None
    """the fits of all models to the levels of p that are not oversubscribed; None if weak or below two levels"""
    overhead: OverheadChoice | None = None
    """fits of overhead, f = a p and f = a p + b p^2, to the same levels; None if `choice` is None"""

    @property
    def fits(self) -> tuple[Fit, ...]:
        """The fits of all models, in MODELS' order; the shown model's intervals also cover its rivals."""
        best = self.choice.best if self.choice else None
        fits = self.choice.fits.values() if self.choice else ()
        return tuple(best if best and best.model == fit.model else fit for fit in fits)

    @property
    def tests_models(self) -> bool:
        """Whether there are enough levels of p to test a model; every model fits two."""
        return len({row.p for row in self.rows}) > 2

    @property
    def label(self) -> str:
        """`allocator=mimalloc`, or empty if only threads are varied."""
        return " ".join(f"{name}={level}" for name, level in self.levels)


@dataclass(frozen=True, slots=True)
class Scan:
    """All curves of a scan; `baseline` says what speedup 1 is."""

    response: str
    baseline: str
    p_ref: int
    curves: tuple[Curve, ...]
    weak: WeakScaling | None = None
    """the answer about weak scaling, if that was asked for"""
    serial: Row | None = None
    """the serial program, if its speedup is 1"""
    unread: Unread = ""
    """`threads` or `ranks`, if nothing reads it or passes it on; not `threads` if several threads ran"""
    levels: tuple[Row, ...] = ()
    """the other configurations compared with the baseline at the same p, if p has one level or reaches no program"""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of every curve."""
        return tuple(row for curve in self.curves for row in curve.rows)

    @property
    def best(self) -> Row | None:
        """The row that the headline is about: the fastest relative to its reference; None if no reference ran."""
        others = [row for row in self._beside if row.speedup.estimate > 0]
        return max(others, key=lambda row: row.speedup.estimate, default=None)

    @property
    def never_faster(self) -> bool:
        """Whether the interval of every row shows that it is not faster than its reference."""
        return all(row.speedup.high is not None and row.speedup.high <= 1 for row in self._beside)

    @property
    def worst(self) -> Row | None:
        """The row of the headline of weak scaling: the least efficient at the largest p; None if nothing ran."""
        ran = [row for row in self.rows if row.speedup.estimate > 0]
        most = max((row.p for row in ran), default=0)
        return min((r for r in ran if r.p == most), key=lambda row: row.efficiency.estimate, default=None)

    @property
    def unsure(self) -> bool:
        """Whether the best row has no interval; without a reference, whether any of several timed rows has none."""
        row = self.best if self.weak is None else self.worst
        if row is None and len(self.rows) > 1:
            return any(row.time.estimate > 0 and row.time.low is None for row in self.rows)
        return row is not None and row.configuration != row.reference and row.speedup.low is None

    @property
    def _beside(self) -> list[Row]:
        return [row for row in self.levels or self.rows if row.configuration != row.reference]


def scan(records: Sequence[Record], experiment: Experiment, *, models: bool = True) -> Scan:
    """The scan that the records hold; rows in order of p, curves in order of the factors' levels.

    `models`: whether to fit models of strong scaling, which takes a good part of a second for each curve.
    """
    times = table(records, experiment.response)
    groups: dict[tuple[tuple[str, Level], ...], list[Configuration]] = {}
    for configuration in configurations(experiment):
        if configuration in times.places and not experiment.is_serial(configuration):
            groups.setdefault(experiment.beside_p(configuration), []).append(configuration)
    serial = next((c for c in times.configurations if experiment.is_serial(c)), None)
    seen = Seen.of(records, times, experiment)
    curves = [
        _curve(seen, levels, sorted(group, key=lambda c: c.layout.p), serial, models)
        for levels, group in groups.items()
    ]
    p_ref = min((row.reference.layout.p for curve in curves for row in curve.rows), default=1)
    not_read = unread(experiment, detected(records))
    first = f"serial: {' '.join(experiment.command(serial).argv)}" if serial else f"p = {p_ref}"
    return Scan(
        response=experiment.response,
        baseline=first,
        p_ref=p_ref,
        curves=tuple(curves),
        weak=weak(records, experiment, experiment.scaling.weak) if experiment.scaling.weak else None,
        serial=row(seen, serial, serial) if serial else None,
        unread=not_read,
        levels=_levels(seen, not_read) if not (serial or experiment.scaling.weak) and experiment.scans else (),
    )


def _levels(seen: "Seen", not_read: Unread) -> tuple[Row, ...]:
    """See Scan.levels."""
    now, launched = baseline(seen.experiment), seen.times.configurations
    if now not in launched or (not_read != "threads" and len({c.layout.p for c in launched}) > 1):
        return ()
    return tuple(row(seen, c, now) for c in launched if c != now and c.layout.p == now.layout.p)


@dataclass(frozen=True, slots=True)
class Seen:
    """What every row of a scan is made from."""

    experiment: Experiment
    times: Table
    launches: Mapping[Configuration, Sequence[Record]]
    step: float
    memory: str
    """kind of peak memory that is shown"""

    @classmethod
    def of(cls, records: Sequence[Record], times: Table, experiment: Experiment) -> Self:
        """The launches that were measured, by configuration."""
        launches: dict[Configuration, list[Record]] = {c: [] for c in times.configurations}
        for record in records:
            if record.phase == "measure":
                launches[record.configuration].append(record)
        return cls(experiment, times, launches, Step.of(records, experiment), memory_kind(records))


def row(seen: Seen, configuration: Configuration, reference: Configuration) -> Row:
    """One configuration against its reference, both of the table."""
    experiment, times, launches = seen.experiment, seen.times, seen.launches[configuration]
    p, p_ref = configuration.layout.p, reference.layout.p
    ratio = stats.hodges_lehmann(times.log_ratio(reference, configuration), experiment.stop.reading_confidence)
    if reference != configuration:
        ratio = widened(ratio, times, reference, configuration, seen.step)
    grows = math.log(p / p_ref) if experiment.scaling.weak else 0.0
    counted, unknown = bool(experiment.makes_p), Interval(math.nan, None, None, None, 0)
    elapses = counted and experiment.metrics.get(experiment.response.removeprefix("metric:")) not in UNKEYED
    ratio, ways = ratio.map(lambda r: r + grows), {outcome(record) for record in launches}
    return Row(
        configuration=configuration,
        reference=reference,
        p=p,
        time=stats.median_interval(times.column(configuration), experiment.stop.confidence),
        speedup=stats.speedup(ratio),
        efficiency=stats.efficiency(ratio, p_ref, p) if elapses else unknown,
        overhead=stats.overhead(ratio, p_ref, p) if elapses else unknown,
        counted=counted,
        effective_cores=median([record.effective_cores for record in launches if record.ok]),
        peak_memory=max((each.peak_memory for each in launches if each.peak_memory_kind == seen.memory), default=0),
        launches=len(launches),
        failures=sum(not record.ok for record in launches),
        oversubscribed=any(record.oversubscribed for record in launches),
        wanted_cores=median([_wanted(record) for record in launches if record.ok]),
        running=median([_running(record) for record in launches if record.ok]),
        timing=timing(launches, configuration, experiment),
        ended=ways.pop() if len(ways) == 1 and not any(record.ok for record in launches) else "",
    )


def _wanted(record: Record) -> float:
    """The cores that the launch used, plus those that may have stayed idle because a thread waited for a core.

    While one thread waits for a core that another task or the hypervisor has, all other threads may wait for it at a
    barrier.
    """
    cpu, noise = record.cpu, record.noise
    # Samples miss the same share of waiting as of running.
    waited = noise.runqueue_wait * (cpu / noise.on_cpu if noise.sampled and noise.on_cpu else 1.0) + noise.steal
    return record.effective_cores + (record.configuration.layout.p * waited / record.wall if record.wall > 0 else 0.0)


def _running(record: Record) -> float:
    """The mean number of threads that ran or waited. Only observed waiting counts, so that no thread counts twice."""
    return record.effective_cores + (record.noise.runqueue_wait / record.wall if record.wall > 0 else 0.0)


def _curve(
    seen: Seen,
    levels: tuple[tuple[str, Level], ...],
    group: Sequence[Configuration],
    serial: Configuration | None,
    models: bool,
) -> Curve:
    experiment, times = seen.experiment, seen.times
    reference = serial or next((c for c in group if c.layout.p == experiment.scaling.p_ref), group[0])
    rows = tuple(row(seen, configuration, reference) for configuration in group)
    fitted = [c for c, one in zip(group, rows, strict=True) if not one.oversubscribed]
    ran = {c.layout.p: c for c in fitted if np.isfinite(times.column(c)).any()}
    if not models or experiment.scaling.weak is not None or len(ran) < 2:
        return Curve(levels, rows, None)
    matrix = np.column_stack([times.column(c) for c in ran.values()])
    choice = choose(MODELS, list(ran), np.log(matrix), experiment.stop.confidence)
    return Curve(levels, rows, choice, _overhead(list(ran), matrix, reference.layout.p, experiment))


def _overhead(levels: Sequence[int], times: Floats, p_ref: int, experiment: Experiment) -> OverheadChoice:
    p = np.array(levels, dtype=np.float64)
    reference = levels.index(p_ref) if p_ref in levels else 0
    measured = Measured(times, p, np.full(p.size, reference, dtype=np.intp))
    factors = {"p": p, "p^2": p**2}
    return overhead_factors.choose(measured, factors, [("p",), ("p", "p^2")], experiment.stop.confidence)
