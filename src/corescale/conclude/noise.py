# SPDX-License-Identifier: Apache-2.0
"""Flags noisy launches and experiments, by fixed rules on what the machine did, never on how long a launch took.

Leaving out slow launches biases every time towards the fast mode. Leaving out launches during which others took the
cores does not, unless one configuration attracts such disturbances. Results are shown both with and without the
disturbed blocks.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from corescale.conclude.response import median
from corescale.conclude.stats import Floats, rankdata
from corescale.records import Record


@dataclass(frozen=True, slots=True)
class Rule:
    """A launch whose number exceeds the threshold is flagged."""

    number: Callable[[Record], float]
    threshold: float
    form: str
    """format of the number, with its unit"""
    says: str
    """the sentence about the worst launch, whose number replaces `{}`"""
    from_outside: bool = False
    """Whether the disturbance comes from other programs or machines, so that a block may be excluded if all its
    launches were affected. A disturbance that a configuration itself causes is part of its cost: for example, more
    threads have more steal, because the host takes nothing from an idle CPU."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One launch that broke one rule."""

    rule: str
    launch: int
    """position of the launch"""
    block: int
    number: float


def _share(part: float, rest: float) -> float:
    return part / (part + rest) if part + rest > 0 else 0.0


def _foreign(record: Record) -> float:
    capacity = record.wall * (record.noise.cpus or 0)
    return min(1.0, (record.noise.foreign or 0.0) / capacity) if capacity > 0 else 0.0  # at most 1, as ticks are coarse


FULL = 0.9
"""if a program used at least this share of its CPUs' time, its threads waited for each other, not for others"""


def _waits_for_itself(record: Record) -> bool:
    """Whether it ran more threads than it had CPUs, counting the threads that ran and not only those asked for."""
    cpus = {(process.node, cpu) for process in record.processes for cpu in process.affinity}
    return record.oversubscribed or (bool(cpus) and record.effective_cores >= FULL * len(cpus))


def _switches(record: Record) -> float:
    """Switches per CPU-second, or per 0.1 of one if there is less, so that one switch raises no flag."""
    rate = record.noise.involuntary_switches / max(record.user + record.system, 0.1)
    return 0.0 if _waits_for_itself(record) else rate


def _waiting(record: Record) -> float:
    """Waiting as a share of the time in which threads wanted a core. Both times include only sampled threads, so the
    floor of CPU time is scaled by the share of the CPU time that was sampled.
    """
    cpu = record.user + record.system
    seen = cpu if record.noise.on_cpu is None else record.noise.on_cpu
    floor = 0.1 * min(1.0, seen / cpu if cpu > 0 else 1.0)
    return 0.0 if _waits_for_itself(record) else _share(record.noise.runqueue_wait, max(seen, floor))


RULES: dict[str, Rule] = {
    "foreign": Rule(_foreign, 0.05, "{:.1%}", "other programs used up to {} of the CPUs", True),
    "steal": Rule(
        lambda x: _share(x.noise.steal, x.user + x.system),
        0.02,
        "{:.1%}",
        "the hypervisor took up to {} of the CPU time",
        True,
    ),
    "throttled": Rule(lambda x: x.noise.throttled, 0.0, "{:.2g} s", "the CPU quota held it back for up to {}"),
    "switches": Rule(_switches, 100.0, "{:.0f}", "launches were displaced by other tasks up to {} times a CPU-second"),
    "waiting": Rule(_waiting, 0.05, "{:.1%}", "no core for up to {} of its threads' time"),
}
"""Thresholds: 2% steal moves a time by about the default width. 5% foreign time is more than an idle system runs. A
quota that throttles at all changes the machine under test. One switch per 10 ms means a second busy task on the core;
an idle Linux core has 1 to 10 a second."""


def flag_launches(records: Sequence[Record]) -> tuple[Flag, ...]:
    """Every broken rule, by rule and then by launch."""
    numbers = (
        (name, k, record.block, rule.number(record)) for name, rule in RULES.items() for k, record in enumerate(records)
    )
    return tuple(Flag(name, k, block, number) for name, k, block, number in numbers if number > RULES[name].threshold)


def disturbed(records: Sequence[Record], flags: Iterable[Flag]) -> frozenset[int]:
    """The blocks in which every launch that started was flagged for a disturbance from outside.

    If a single flagged launch removed its block, a configuration that attracts flags would lose its slow launches.
    Intervals computed like that covered the truth in as little as 6% of experiments (scripts/bench coverage
    undisturbed).
    """
    hit = {flag.launch for flag in flags if RULES[flag.rule].from_outside}
    calm = {one.block for k, one in enumerate(records) if k not in hit and one.status != "not-started"}
    return frozenset({records[k].block for k in hit} - calm)


@dataclass(frozen=True, slots=True)
class Finding:
    """A number about the whole experiment, and the threshold above which a warning is printed."""

    rule: str
    number: float
    """a correlation; NaN if there are too few launches for one"""
    threshold: float
    says: str

    @property
    def exceeded(self) -> bool:
        """Whether to print it."""
        return abs(self.number) > self.threshold


FEWEST_FOR_CORRELATION = 8


def drift(log_times: npt.ArrayLike, configurations: npt.ArrayLike) -> tuple[Finding, Finding]:
    """Trend and autocorrelation of the launches' residuals (log time less its configuration's median), in the order in
    which they ran.

    `configurations`: a number for the configuration of each launch. Ratios stay valid under both, because the order
    within blocks is random; absolute times and their intervals do not.
    """
    residual, _ = _residuals(log_times, configurations)
    ranks, moves = rankdata(residual), "times move in one direction over the experiment"
    trend = _finding("drift", ranks, np.arange(residual.size), moves)
    return trend, _finding("memory", residual[:-1], residual[1:], "a slow launch tends to follow a slow one")


@dataclass(frozen=True, slots=True)
class CarryOver:
    """The extra time of launches right after one configuration, as a share of their time."""

    predecessor: int
    """number of that configuration"""
    effect: float
    spoils: float
    """Largest share of the effect that biases a ratio with another configuration: how much more often that one's
    launches came right after this configuration than its own did."""


def carry_over(log_times: npt.ArrayLike, configurations: npt.ArrayLike) -> CarryOver | None:
    """The configuration whose successors differ most from other launches of the same configurations, if that is not
    chance.

    Random order makes predecessors a random factor, so a rank correlation tests them: one false alarm in 100
    experiments, by Bonferroni over the configurations. No interval includes this effect. Arrays as of `drift`.
    """
    residual, column = _residuals(log_times, configurations)
    if residual.size < FEWEST_FOR_CORRELATION or np.ptp(residual) == 0:
        return None
    ranks, own, before = rankdata(residual[1:]), column[1:], column[:-1]
    size = 1 + int(column.max())
    launches = np.bincount(own, minlength=size)
    ranks = ranks - (np.bincount(own, ranks, size) / np.maximum(launches, 1))[own]
    tests = 1 if size == 2 else size
    limit = float(scipy.special.ndtri(1 - 0.01 / tests / 2)) / math.sqrt(residual.size)
    found: CarryOver | None = None
    for predecessor in np.unique(before):
        after = (before == predecessor).astype(np.float64)
        apart = after - (np.bincount(own, after, size) / np.maximum(launches, 1))[own]
        scale = math.sqrt(float((ranks**2).sum() * (apart**2).sum()))
        strength = abs(float((ranks * apart).sum())) / scale if scale else 0.0
        if strength > limit:
            limit = strength
            gaps = [_gap(residual[1:][own == c], after[own == c] > 0) for c in np.unique(own)]
            shares = np.bincount(own, after, size) / np.maximum(launches, 1)
            spoils = float(np.abs(shares - shares[predecessor]).max())
            found = CarryOver(int(predecessor), math.expm1(float(np.nanmean(gaps))), spoils)
    return found


def _gap(residual: Floats, after: npt.NDArray[np.bool_]) -> float:
    """Median right after a configuration, less the median after others; NaN if one is missing."""
    if after.all() or not after.any():
        return math.nan
    return float(np.median(residual[after]) - np.median(residual[~after]))


def _residuals(log_times: npt.ArrayLike, configurations: npt.ArrayLike) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Residuals of the launches that have a time, and their configurations."""
    times, column = np.asarray(log_times, dtype=np.float64), np.asarray(configurations, dtype=np.intp)
    known = np.isfinite(times)
    times, column = times[known], column[known]
    typical = [median(times[column == c].tolist()) for c in range(column.max(initial=-1) + 1)]
    return times - np.array(typical)[column], column


def _finding(rule: str, x: npt.NDArray[np.floating], y: npt.NDArray[np.floating | np.integer], says: str) -> Finding:
    """Compares the correlation with three of its standard errors under independence: about 1 false alarm in 400."""
    if x.size < FEWEST_FOR_CORRELATION or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Finding(rule, math.nan, math.inf, says)
    return Finding(rule, float(np.corrcoef(x, y)[0, 1]), min(0.95, 3 / math.sqrt(x.size)), says)
