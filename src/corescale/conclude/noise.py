# SPDX-License-Identifier: Apache-2.0
"""What makes a launch or an experiment doubtful: fixed rules on what the machine did, never on how long it took.

Leaving out launches because they were slow biases every time towards the fast mode; leaving out those during which
others took the cores does not, unless one configuration draws that upon itself. Both results are shown, with and
without flagged blocks.
"""

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corescale.conclude.response import median
from corescale.conclude.stats import Floats, rankdata


@dataclass(frozen=True, slots=True, eq=False)
class Launches:
    """Columns of equal length, one row for each launch; in seconds unless another unit is given."""

    block: npt.NDArray[np.int64]
    configuration: npt.NDArray[np.int64]
    """a number for each"""
    cpu: Floats
    """user and system time of the program"""
    steal: Floats
    """time of all cores that the hypervisor took during the launch"""
    foreign: Floats
    """time of other programs on the CPUs that the launch might use"""
    capacity: Floats
    """time of these CPUs during the launch, used or not; 0 where unknown"""
    throttled: Floats
    involuntary_switches: Floats
    """count"""
    runqueue_wait: Floats
    on_cpu: Floats
    """running time of the threads whose waiting that is; all of `cpu` where it is unknown"""
    oversubscribed: npt.NDArray[np.bool_]
    """more threads than cores were asked for: it then waits for itself, and the rules on waiting say nothing"""


@dataclass(frozen=True, slots=True)
class Rule:
    """A launch whose number exceeds the threshold is flagged."""

    number: Callable[[Launches], Floats]
    threshold: float
    form: str
    """format of the number, with its unit"""
    says: str
    """what is true of the worst launch, whose number replaces `{}`"""
    from_outside: bool = False
    """It comes from other programs or machines, so its blocks may be excluded where it does not go with a
    configuration: more threads gather more steal, as an idle CPU cannot be robbed, and what they write is written by
    the kernel's. What a configuration causes is part of what it costs."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One launch that broke one rule."""

    rule: str
    launch: int
    """row of the launch"""
    block: int
    number: float
    threshold: float


def _share(part: Floats, rest: Floats) -> Floats:
    whole = part + rest
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)


def _foreign(launches: Launches) -> Floats:
    known = launches.capacity > 0
    share = np.divide(launches.foreign, launches.capacity, out=np.zeros_like(launches.foreign), where=known)
    return np.minimum(share, 1.0)  # ticks of the clock are coarser than a short launch


def _switches(launches: Launches) -> Floats:
    """Switches per CPU-second; below 0.1 CPU-seconds as if it were 0.1, so that one in a short launch is no flag."""
    rate = launches.involuntary_switches / np.maximum(launches.cpu, 0.1)
    return np.where(launches.oversubscribed, 0.0, rate)


def _waiting(launches: Launches) -> Floats:
    """Share of the time that threads were ready to run, of those that were seen: samples miss as much of the one time
    as of the other. The same floor of CPU time, by what part of it was seen.
    """
    seen = np.divide(launches.on_cpu, launches.cpu, out=np.ones_like(launches.cpu), where=launches.cpu > 0)
    floor = 0.1 * np.minimum(1.0, seen)
    return np.where(launches.oversubscribed, 0.0, _share(launches.runqueue_wait, np.maximum(launches.on_cpu, floor)))


RULES: dict[str, Rule] = {
    "foreign": Rule(_foreign, 0.05, "{:.1%}", "other programs used up to {} of the CPUs", True),
    "steal": Rule(
        lambda x: _share(x.steal, x.cpu), 0.02, "{:.1%}", "the hypervisor took up to {} of the CPU time", True
    ),
    "throttled": Rule(lambda x: x.throttled, 0.0, "{:.2g} s", "the CPU quota held it back for up to {}"),
    "switches": Rule(_switches, 100.0, "{:.0f}", "launches were displaced by other tasks up to {} times a CPU-second"),
    "waiting": Rule(_waiting, 0.05, "{:.1%}", "no core for up to {} of its threads' time"),
}
"""Thresholds: 2% stolen moves a time by about the default width; 5% foreign is beyond what an idle system runs; a quota
that bites at all changes the machine under test; one displacement per 10 ms means a second busy task on the core, where
an idle Linux core has 1 to 10 a second."""


def flag_launches(launches: Launches) -> tuple[Flag, ...]:
    """Every broken rule, by rule and then by launch."""
    return tuple(flag for name, rule in RULES.items() for flag in _flags(name, rule, launches))


def _flags(name: str, rule: Rule, launches: Launches) -> Iterable[Flag]:
    numbers = rule.number(launches)
    for row in np.flatnonzero(numbers > rule.threshold):
        yield Flag(name, int(row), int(launches.block[row]), float(numbers[row]), rule.threshold)


GOES_WITH = 0.1
"""Level of the test that flags go with a configuration. Not 5%: what is excluded wrongly misleads, and what is kept
wrongly costs the second analysis alone."""


def to_exclude(launches: Launches, flags: Iterable[Flag]) -> frozenset[str]:
    """Rules whose flags come from outside and hit the configurations equally, so that their blocks may be excluded."""
    rows: dict[str, list[int]] = {}
    for flag in flags:
        rows.setdefault(flag.rule, []).append(flag.launch)
    return frozenset(name for name, hit in rows.items() if RULES[name].from_outside and not _goes_with(launches, hit))


def _goes_with(launches: Launches, hit: list[int]) -> bool:
    """Whether some configuration is hit more often, or less often, than its place in random blocks explains.

    Exact: the order within blocks was drawn, so given how many of a block's launches were hit, which ones is chance
    (the stratified test of Cochran 1954 and Mantel & Haenszel 1959). Bonferroni over configurations and both sides; of
    two configurations one is hit more where the other is hit less, so that one's two sides are all there is to test.
    """
    flagged = np.zeros(launches.block.size, dtype=bool)
    flagged[hit] = True
    which = np.unique(launches.configuration)
    tested = which[:1] if which.size == 2 else which
    return any(_chance(launches, flagged, one) <= GOES_WITH / (2 * tested.size) for one in tested)


def _chance(launches: Launches, flagged: npt.NDArray[np.bool_], configuration: int) -> float:
    """Probability that chance hits as many launches of the configuration or more, or as few or fewer: the smaller."""
    own, distribution = launches.configuration == configuration, np.ones(1)
    for block in np.unique(launches.block[flagged]):
        inside = launches.block == block
        distribution = np.convolve(
            distribution, _draws(int(inside.sum()), int((inside & flagged).sum()), int((inside & own).sum()))
        )
    count = int((own & flagged).sum())
    return float(min(distribution[count:].sum(), distribution[: count + 1].sum()))


@functools.lru_cache(1000)
def _draws(launches: int, hit: int, own: int) -> Floats:
    """Probabilities that 0 to `own` of a block's own launches are among those hit (hypergeometric)."""
    ways = [math.comb(own, x) * math.comb(launches - own, hit - x) if x <= hit else 0 for x in range(own + 1)]
    whole = math.comb(launches, hit)
    return np.array([some / whole for some in ways])  # of whole numbers: beyond 1e308 there is no float


@dataclass(frozen=True, slots=True)
class Finding:
    """A number about the whole experiment, and the threshold above which it is warning to print."""

    rule: str
    number: float
    """a correlation; NaN where there are too few launches for one"""
    threshold: float
    says: str

    @property
    def exceeded(self) -> bool:
        """Whether to print it."""
        return abs(self.number) > self.threshold


FEWEST_FOR_CORRELATION = 8


def drift(log_times: npt.ArrayLike, sequence: npt.ArrayLike) -> tuple[Finding, Finding]:
    """Trend and memory of the launches' residuals (log time less its configuration's median) in the order they ran.

    Both arrays are blocks x configurations; `sequence` counts launches from the start. Random order within blocks keeps
    ratios valid under either; absolute times and their intervals suffer.
    """
    log_times = np.asarray(log_times, dtype=np.float64)
    with np.errstate(all="ignore"):
        residuals = log_times - np.array([median(column.tolist()) for column in log_times.T])
    order = np.argsort(np.asarray(sequence, dtype=np.float64).ravel())
    residual = residuals.ravel()[order]
    residual = residual[np.isfinite(residual)]
    return (
        _finding(
            "drift", rankdata(residual), np.arange(residual.size), "times move in one direction over the experiment"
        ),
        _finding("memory", residual[:-1], residual[1:], "a slow launch tends to follow a slow one"),
    )


def _finding(rule: str, x: npt.NDArray[np.floating], y: npt.NDArray[np.floating | np.integer], says: str) -> Finding:
    """Correlation against three of its standard errors under independence: about 1 false alarm in 400."""
    if x.size < FEWEST_FOR_CORRELATION or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Finding(rule, math.nan, math.inf, says)
    return Finding(rule, float(np.corrcoef(x, y)[0, 1]), min(0.95, 3 / math.sqrt(x.size)), says)
