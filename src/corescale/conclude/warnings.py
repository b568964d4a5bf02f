# SPDX-License-Identifier: Apache-2.0
"""The warnings to print next to the numbers: noisy launches, drift, times too short to trust, metrics that disagree."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from corescale.conclude import noise
from corescale.conclude.response import Step, median
from corescale.conclude.two_samples import unpaired_ratio
from corescale.declare import grid
from corescale.declare.equivalent import detected, ineffective
from corescale.declare.experiment import Experiment
from corescale.declare.metric_sources import given_by
from corescale.endings import left_running, outcome, too_short
from corescale.records import Configuration, Level, Record


@dataclass(frozen=True, slots=True)
class Warnings:
    """Warnings, one line each, and the launches that are flagged as noisy."""

    lines: tuple[str, ...]
    noisy: frozenset[int]
    """positions in the records"""
    undisturbed: tuple[Record, ...]
    """the records without the blocks in which every launch was flagged for a disturbance from outside"""


def warnings(records: Sequence[Record], experiment: Experiment, width: float | None = None) -> Warnings:
    """Warnings by rules fixed beforehand, on what the machine did; never on how long a launch took.

    `width`: relative half width of the widest interval, or None.
    """
    places = [k for k, record in enumerate(records) if record.timed]
    timed = [records[k] for k in places]
    flags = noise.flag_launches(timed)
    bad = noise.disturbed(timed, flags)
    undisturbed = tuple(record for record in records if not record.timed or record.block not in bad)
    busy, noisy = _flagged(flags, timed, width, ineffective(experiment, detected(records)))
    told = timed or records  # a race with nothing to compare has only launches that precede its blocks
    failing, recorded = _recorded(told, experiment)
    wall = median([record.wall for record in timed if record.ok and record.origin != "simulated"])
    lines = [
        *failing,
        *_unreported(told, experiment),
        *_quantised(timed, experiment),
        *(said for each in agreements(records, experiment) for said in each.broken),
        *filter(None, [left_running(told)]),
        *busy,
        *_drift(records, experiment),
        *_nodes(records, experiment),
        *filter(None, [too_short(wall)]),
        *other_memory(timed),
        *recorded,
        *noisy,
    ]
    return Warnings(tuple(lines), frozenset(places[flag.launch] for flag in flags), undisturbed)


def _unreported(records: Sequence[Record], experiment: Experiment) -> Iterator[str]:
    """The metrics that no launch gave. Missing responses and bounded metrics are reported elsewhere."""
    reported = {experiment.response.partition(":")[2], *(each.metric for each in experiment.tuning.constraints)}
    good = [record for record in records if record.ok]
    for name, source in experiment.metrics.items():
        if good and name not in reported and not any(name in record.metrics for record in good):
            said = [warning for record in good for warning in record.warnings]
            yield f"metric {name}={source}: no launch gave it; {given_by(source, said)}"


def _recorded(records: Sequence[Record], experiment: Experiment) -> tuple[list[str], list[str]]:
    """The warnings that records carry, in two lists: of launches that failed and still count, and of all launches."""
    failed = [(experiment.command(record.configuration).name, outcome(record)) for record in records if record.let_fail]
    failing = Counter(f"{name} {said}, and counts: -i" for name, said in failed).items()
    recorded = Counter(said for record in records for said in record.warnings).items()
    lines = [[f"{said} (in {n} of {len(records)} launches)" for said, n in counts] for counts in (failing, recorded)]
    return lines[0], lines[1]


def _quantised(records: Sequence[Record], experiment: Experiment) -> list[str]:
    """A warning if the response is quantised in steps larger than the difference asked for."""
    step = Step.of(records, experiment)
    typical = median([record.response(experiment.response) for record in records])
    if not (typical > 0 and step > experiment.stop.within * typical):
        return []
    name = "the time" if experiment.response == "wall" else experiment.response
    key, source = name.partition(":")[2], experiment.metrics.get(name.partition(":")[2], "")
    count = f"; if it is an exact count: {experiment.typed('--metric')} {key}=count:{source.partition(':')[2]}"
    said = f"{name} is quantised in steps of {step:g}, {step / typical:.2g} of its median: what is less cannot be seen"
    return [said + (count if source.startswith("output:") and step >= 1 else "")]


def _flagged(
    flags: Sequence[noise.Flag], timed: Sequence[Record], width: float | None, without: Collection[str]
) -> tuple[list[str], list[str]]:
    """A sentence on the first broken rule, which says what differences can still be seen; and a line for each rule.
    `without`: factors that names leave out."""
    blocks = len({record.block for record in timed})
    busy, lines = list[str](), list[str]()
    for name in dict.fromkeys(flag.rule for flag in flags):
        of_rule = [flag for flag in flags if flag.rule == name]
        rule, hit = noise.RULES[name], len({flag.block for flag in of_rule})
        says, limit = rule.says.format(rule.form.format(max(flag.number for flag in of_rule))), rule.threshold
        if not busy:
            unseen = "" if not width else f"; differences below {float(f'{100 * width:.2g}'):g}% mean nothing now"
            busy.append(f"machine busy: {says} ({hit} of {blocks} blocks){unseen}")
        above = f"(above {rule.form.format(limit)}){_whose(of_rule, timed, without)}"
        lines.append(f"noise: {name}: {says}, in {hit} of {blocks} blocks {above}")
    return busy, lines


def _whose(flags: Sequence[noise.Flag], timed: Sequence[Record], without: Collection[str]) -> str:
    """The configuration with the largest share of flagged launches compared with the others: it may cause the flags."""
    launches = Counter(record.configuration for record in timed)
    hit = Counter(timed[flag.launch].configuration for flag in flags)
    most = max(hit, key=lambda c: hit[c] / launches[c])
    others = len(timed) - launches[most]
    if not others or not most.label:
        return ""
    name = Configuration(tuple(pair for pair in most.levels if pair[0] not in without)).label or most.label
    rest = f"{sum(hit.values()) - hit[most]} of {others} of the others"
    return f"; in {hit[most]} of {launches[most]} launches of {name}, {rest}"


def _drift(records: Sequence[Record], experiment: Experiment) -> Iterator[str]:
    measured = [record for record in records if record.phase == "measure" and record.ok]
    numbers = {c: k for k, c in enumerate(dict.fromkeys(record.configuration for record in measured))}
    column = [numbers[record.configuration] for record in measured]
    values = [record.response(experiment.response) for record in measured]
    times = [math.log(value) if value > 0 else math.nan for value in values]
    if (found := noise.carry_over(times, column)) is not None:
        more = f"{100 * abs(found.effect):.3g}% {'longer' if found.effect > 0 else 'shorter'}"
        yield (
            f"carry-over: a launch right behind {[*numbers][found.predecessor].label} takes {more};"
            f" up to {100 * abs(found.effect) * found.spoils:.3g}% is in a ratio; --prepare 'sleep 1' may part them"
        )
    for finding in noise.drift(times, column):
        if finding.exceeded:
            yield f"{finding.rule}: {finding.says} (correlation {finding.number:.2f})"


def _nodes(records: Sequence[Record], experiment: Experiment) -> Iterator[str]:
    """Warnings about nodes that are certainly slower or faster than the others; each block counts as one value."""
    logs: dict[Configuration, list[float]] = {}
    placed: list[tuple[str, int, Configuration, float]] = []
    for record in records:
        nodes = {process.node for process in record.processes if process.node}
        value = record.response(experiment.response)
        if record.phase == "measure" and record.ok and len(nodes) == 1 and value > 0:
            logs.setdefault(record.configuration, []).append(math.log(value))
            placed.append((nodes.pop(), record.block, record.configuration, math.log(value)))
    usual = {chosen: float(np.median(values)) for chosen, values in logs.items()}
    by_node: dict[str, dict[int, list[float]]] = {}
    for node, block, chosen, value in placed:
        by_node.setdefault(node, {}).setdefault(block, []).append(value - usual[chosen])
    times = {node: [math.exp(fmean(each)) for each in blocks.values()] for node, blocks in by_node.items()}
    for node in times if len(times) > 1 else ():
        others = [value for name, values in times.items() if name != node for value in values]
        found = unpaired_ratio(times[node], others, 1 - (1 - experiment.stop.confidence) / len(times))
        if found.low is not None and found.high is not None and not found.low <= 1 <= found.high:
            ends = f"{found.estimate:.2f} [{found.low:.2f}, {found.high:.2f}] times"
            yield f"node {node}: launches take {ends} what they take on other nodes ({len(times[node])} blocks there)"


def memory_kind(records: Sequence[Record]) -> str:
    """The kind of peak memory that most launches have. Other kinds, which cannot be compared, are left out."""
    known = Counter(record.peak_memory_kind for record in records if record.peak_memory_kind != "none")
    return next((of for of, _ in known.most_common(1)), "none")


def other_memory(records: Sequence[Record]) -> list[str]:
    """A line that says that some launches' figures of memory are left out; none if all are used."""
    wanted = memory_kind(records)
    others = Counter(record.peak_memory_kind for record in records if record.peak_memory_kind not in (wanted, "none"))
    if not others:
        return []
    of = f"{others.total()} of {len(records)} launches"
    return [f"peak memory leaves out {of}, whose figures are of another kind: {', '.join(others)}, not {wanted}"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether all successful launches report the same value of a metric."""

    metric: str
    by: tuple[str, ...]
    """the columns; launches with equal levels in all of them must report one value"""
    launches: int
    groups: int
    broken: tuple[str, ...]
    """a sentence for each group of launches that reports several values"""

    def __str__(self) -> str:
        if self.broken:
            return "; ".join(self.broken)
        where = f" with equal {' and '.join(self.by)}" if self.by else ""
        values = "1 value" if self.groups == 1 else f"{self.groups} values"
        return f"{self.metric} is the same in all launches{where} ({self.launches} launches, {values})"


def agreements(records: Sequence[Record], experiment: Experiment) -> tuple[Agreement, ...]:
    """The agreement of each declared metric, among the launches that report it."""
    found = (_agreement(metric, tuple(by), records, experiment) for metric, by in experiment.study.agree.items())
    return tuple(each for each in found if each.launches)


def _agreement(metric: str, by: tuple[str, ...], records: Sequence[Record], experiment: Experiment) -> Agreement:
    groups: dict[tuple[Level, ...], list[Record]] = {}
    for record in records:
        if record.ok and record.timed and metric in record.metrics:
            values = grid.parameters(experiment, record.configuration)
            groups.setdefault(tuple(values[name] for name in by), []).append(record)
    broken = tuple(said for at, of in groups.items() for said in _broken(metric, dict(zip(by, at, strict=True)), of))
    return Agreement(metric, by, sum(map(len, groups.values())), len(groups), broken)


def _broken(metric: str, at: dict[str, Level], of: Sequence[Record]) -> Iterator[str]:
    counts = Counter(record.metrics[metric] for record in of)
    usual = counts.most_common(1)[0][0]
    others = dict.fromkeys(record.configuration.label for record in of if record.metrics[metric] != usual)
    if others:
        where = "".join(f" {name}={level}" for name, level in at.items())
        count = sum(counts.values()) - counts[usual]
        yield f"{metric} differs{' at' if at else ''}{where} in {count} of {len(of)} launches: {', '.join(others)}"
