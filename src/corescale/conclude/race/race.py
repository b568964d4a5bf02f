# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one object)
"""The race: launch what may still win, until one is proved to be within the tolerance; then confirm it in pairs.

It folds records as they come. What it says and asks for follows from the records alone, so a run that is resumed goes
on as if it had never stopped.
"""

import bisect
import functools
import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from corescale.conclude import constraints
from corescale.conclude.budget import Budget
from corescale.conclude.race import bounds, mixes, pairs, rehearsal
from corescale.conclude.race.answer import Gain, RaceAnswer, Stopped, Why
from corescale.conclude.race.bounds import Columns
from corescale.conclude.race.options import OPTIONS, RaceOptions
from corescale.conclude.race.pairs import Plan, Scatter
from corescale.conclude.response import Step, Table, at_least, half_steps, table
from corescale.conclude.stats import Floats, Regret, excess
from corescale.declare.equivalent import detected, distinguishable
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.declare.plan import BASELINE_EVERY, Block, counted_pairs, next_pair
from corescale.records import Configuration, Record

MANY = BASELINE_EVERY - 1  # configurations of a block of the opening: the baseline need not return in it


@dataclass(frozen=True, slots=True)
class Standing:
    """What the measuring blocks say. A column is a configuration."""

    raced: npt.NDArray[np.bool_]
    allowed: npt.NDArray[np.bool_]
    """raced, launched, and not known to break a constraint"""
    fit: bounds.Fit
    rows: Floats
    mean: Floats
    """log times as believed, also of what was never launched"""
    leader: int
    upper: Floats
    """bounds of log(T_leader / T_j)"""
    tail: float

    @property
    def tried(self) -> npt.NDArray[np.bool_]:
        """Whether a column was launched."""
        return np.asarray(self.fit.launches > 0)


Tied = tuple[tuple[Configuration, float | None], ...]


class Race:
    """`add` records of complete blocks, ask for the `next_block`; `answer` at any moment."""

    def __init__(self, experiment: Experiment, options: RaceOptions = OPTIONS, budget: Budget | None = None) -> None:
        self.experiment, self.options, self.now = experiment, options, baseline(experiment)
        self.budget = budget or Budget(experiment.stop, self.now, anchored=experiment.baseline.returns)
        self.records: list[Record] = []
        self._everyone = configurations(experiment)
        self._columns = {c: k for k, c in enumerate(self._everyone)}
        self._walls: dict[Configuration, list[float]] = {}
        self._failed: set[Configuration] = set()
        self._timed, self._capped = Counter[Configuration](), Counter[Configuration]()
        self._affordable: dict[Configuration, float] = {}
        self._bounds = bounds.Bounds(options)
        self._step = Step(experiment.response)
        self._known: Standing | None = None

    @classmethod
    def of(cls, records: Iterable[Record], experiment: Experiment, options: RaceOptions = OPTIONS) -> Self:
        """The race after these records."""
        race = cls(experiment, options)
        for record in records:
            race.add(record)
        return race

    def add(self, record: Record) -> None:
        """One more launch."""
        c = record.configuration
        if record.phase == "confirm" and c != self.now and c not in self._affordable:
            self._affordable[c] = self.budget.pairs(c) + 0.5  # the baseline's launch of this pair may be counted
        self.budget.add(record)
        self._step.add(record)
        self.records.append(record)
        if record.phase == "measure" or not record.ok or self.experiment.tuning.constraints:
            self._known = None
        if record.ok and record.phase != "rehearse":
            bisect.insort(self._walls.setdefault(c, []), record.wall)
        if record.phase == "measure" or (record.phase == "confirm" and c != self.now):
            self._timed[c] += 1
            self._capped[c] += record.status == "capped"
            if not at_least(record, self.experiment.response) > 0:
                self._failed.add(c)

    def next_block(self) -> Block | None:
        """What to launch next; None where enough is known, or the budget is spent."""
        found = self._next()
        return found if isinstance(found, Block) else None

    def _next(self) -> Block | Stopped:
        confirming = any(record.phase == "confirm" for record in reversed(self.records))
        found = self._ended()
        if found is None:
            block = None if confirming else self._measuring()
            if block is not None:
                return block
            found = Stopped.BUDGET
        return self._confirming() or found

    # What the measuring blocks say

    @property
    def standing(self) -> Standing | None:
        """None before the first measuring block."""
        if self._known is None:
            times = table(self.records, self.experiment.response, "measure", at_least)
            self._known = self._stands(times) if times.blocks else None
        return self._known

    @property
    def tolerance(self) -> float:
        """As a log ratio."""
        return math.log1p(self.experiment.stop.within)

    def _stands(self, times: Table) -> Standing:
        known = [k for k, c in enumerate(times.configurations) if c in self._columns]
        rows = np.full((len(times.blocks), len(self._everyone)), np.nan)
        rows[:, [self._columns[times.configurations[k]] for k in known]] = np.log(times.values[:, known])
        entered, raced = self._raced()
        fitted, matrix, right = bounds.fit(rows)
        mean = bounds.believe(self._codes, matrix, right, self.options)
        barred = constraints.broken(self.records, self.experiment)
        allowed = raced & (fitted.launches > 0) & ~self._mask(barred)
        looks = len(bounds.looks(bounds.FIRST_LOOK, self.options.growth))
        tail = (1 - self.experiment.stop.confidence) / (max(entered - 1, 1) * looks)
        leader = int(np.argmin(np.where(allowed, mean, np.inf))) if allowed.any() else self._columns[self.now]
        upper = np.where(raced, self._bounds.of(rows, fitted, leader, tail), -np.inf)
        return Standing(raced, allowed, fitted, rows, mean, leader, upper, tail)

    def _raced(self) -> tuple[int, npt.NDArray[np.bool_]]:
        """How many entered the race, and the columns that are still in it."""
        entered = (
            distinguishable(self.experiment, detected(self.records)) if self.rehearsal is None else self.rehearsal.kept
        )
        return len(entered), self._mask(entered) & ~self._mask(self.eliminated)

    def _mask(self, some: Iterable[Configuration]) -> npt.NDArray[np.bool_]:
        mask = np.zeros(len(self._everyone), dtype=np.bool_)
        mask[[self._columns[c] for c in some if c in self._columns]] = True
        return mask

    @property
    def rehearsal(self) -> rehearsal.Rehearsal | None:
        """What a smaller input showed."""
        return rehearsal.rehearsed(self.records, self.experiment, self.options)

    @property
    def eliminated(self) -> dict[Configuration, Why]:
        """What is launched no more: not for one burst, nor for one launch that reports a metric beyond its limit."""
        judged = constraints.judged(self.records, self.experiment).items()
        bad = {c: Why.CONSTRAINT for c, each in judged if any(map(_for_good, each))}
        capped = {c: Why.CAPPED for c, count in self._capped.items() if 1 < count > self._timed[c] / 2}
        return bad | capped | dict.fromkeys(self._failed, Why.FAILED)

    @functools.cached_property
    def _codes(self) -> bounds.Codes:
        names = list(dict.fromkeys(name for c in self._everyone for name, _ in c.levels)) or [""]
        levels: dict[str, dict[object, int]] = {name: {} for name in names}
        return np.array([[levels[n].setdefault(c.get(n), len(levels[n])) for n in names] for c in self._everyone])

    # What to measure next

    def _ended(self) -> Stopped | None:
        """Why measuring ends, whatever the budget; None to go on."""
        found = self.standing
        if rehearsal.next_block(self.records, self.experiment, self.options) is not None:
            return None
        if found is None or found.raced.sum() < 2:
            return Stopped.NOTHING if self._raced()[1].sum() < 2 else None
        if not self._open(found).any():
            return Stopped.PROVED
        return Stopped.BLOCKS if len(found.rows) >= self.experiment.stop.max_blocks else None

    def _measuring(self) -> Block | None:
        block, found = rehearsal.next_block(self.records, self.experiment, self.options), self.standing
        if block is None:
            chosen = self._first() if found is None else self._chosen(found)
            block = Block("measure", tuple(self._everyone[c] for c in chosen))
        fitting = self._fitting(block, self._room(found))
        return fitting and replace(fitting, cap=self._cap())

    def _open(self, found: Standing) -> npt.NDArray[np.bool_]:
        return found.raced & (found.upper > self.tolerance)

    def _first(self) -> Sequence[int]:
        """All, if a block has room for them; else the baseline and others, levels about equally often."""
        _, raced = self._raced()
        most = int(max(2, min(BASELINE_EVERY, raced.sum(), self.budget.launches() - 2 * self._room(None))))
        chosen = [self._columns[self.now]]
        while len(chosen) < most:
            same = self._codes[:, None, :] == self._codes[chosen][None, :, :]
            cost = same.sum(axis=(1, 2)) + same.sum(axis=2).max(axis=1) / 2 + self._drawing.random(len(raced)) / 1000
            cost[chosen] = np.inf
            chosen.append(int(np.argmin(np.where(raced, cost, np.inf))))
        return chosen

    def _chosen(self, found: Standing) -> Sequence[int]:
        """The leader, with new ones, half of them drawn; then with all that is open, the fastest first."""
        open_ = np.flatnonzero(self._open(found) & (np.arange(found.raced.size) != found.leader))
        order, left = open_[np.argsort(found.mean[open_], kind="stable")], self.budget.launches(self._room(found))
        new = order[~found.tried[order]]
        if not new.size:
            return [found.leader, *order[: int(max(1, min(order.size, left - 1)))].tolist()]
        new, many = self._hopeful(found, new), int(max(1, min(MANY - 1, left - 1, new.size)))
        first = many - int(self.options.drawn * many + self._drawing.random())
        drawn = self._drawing.permutation(new[first:])[: many - first]
        return [found.leader, *new[:first].tolist(), *drawn.tolist()]

    def _hopeful(self, found: Standing, new: Columns) -> Columns:
        """The new ones in the order of belief; of threads x ranks by the overhead model where it can be fitted."""
        layouts = np.array(
            [(c.layout.threads_per_rank, c.layout.ranks_per_node * c.layout.nodes) for c in self._everyone], dtype=float
        )
        if min(np.unique(column).size for column in layouts.T) < 2:
            return new
        trend = mixes.trend(layouts, np.where(found.tried, found.mean, np.nan))
        return new if trend is None else new[np.argsort(trend[new], kind="stable")]

    @property
    def _drawing(self) -> np.random.Generator:
        """By the seed that the loop drew for the last block."""
        return np.random.default_rng([len(self.records), self.records[-1].seed if self.records else 0])

    # Budget and caps

    def _room(self, found: Standing | None) -> int:
        """Pairs that a budget keeps room for: a share of it where the leader's first look needs as many."""
        stop = self.experiment.stop
        if stop.confirm_pairs is not None:
            return stop.confirm_pairs
        whole = self.budget.whole
        if math.isinf(whole):
            return 0
        if found is not None and found.leader == self._columns[self.now]:
            return 0
        wanted = self.options.least
        if found is not None and found.fit.freedom.sum():
            wanted = pairs.first_look(self._lead(found, found.leader), found.fit.noise, self.options)
        behind = (whole - 1 - min(BASELINE_EVERY, len(self._everyone))) // 2  # the first launch and the first block
        least = max(2, min(self.options.least, behind))
        room = int(min(wanted, least if least < self.options.least else max(least, whole * self.options.room)))
        return room if 2 * room + 3 <= whole else 0  # two launches to compare come first

    def _lead(self, found: Standing, c: int) -> float:
        """Log time behind which the baseline is."""
        return float(found.mean[self._columns[self.now]] - found.mean[c])

    def _fitting(self, block: Block, room: int) -> Block | None:
        """The block without the last of what is new, as far as the budget asks for it; None for nothing."""
        while not self.budget.pays_for(block, room):
            new = [c for c in block.configurations[1:] if c not in self._walls]
            if not new or len(block.configurations) <= 2 or block.phase != "measure":
                whole = self.standing is not None or not self.budget.has_launches(block)
                return None if whole or len(block.configurations) > 2 else block
            block = replace(block, configurations=tuple(c for c in block.configurations if c != new[-1]))
        return block

    def _cap(self) -> float | None:
        """The time after which a launch is capped; only where that is the response."""
        if self.experiment.response != "wall":
            return None
        out = self.eliminated
        each = [walls for c, walls in self._walls.items() if c not in out]
        multiple = self.options.first_cap, self.options.cap
        return min((multiple[len(walls) > 1] * statistics.median(walls) for walls in each), default=None)

    # Confirmation

    def _confirming(self) -> Block | None:
        leader = self.leader()
        if leader == self.now:
            return None
        gain, made, plan = self.gain(leader)
        looked = gain is not None and plan.looks and made >= plan.looks[0] and gain.verdict is not None
        if not plan.looks or made >= plan.looks[-1] or looked:
            return None
        block = next_pair(self.now, leader, self.records, plan.looks[:2])
        return block if self.budget.pays_for(block) else None

    def leader(self) -> Configuration:
        """The fastest; of those proved, the one with the fewest changes from the baseline."""
        found = self.standing
        if found is None or not found.allowed.any():
            return self.now
        if self._open(found).any():
            return self._everyone[found.leader]
        changes = (self._codes != self._codes[self._columns[self.now]]).sum(axis=1)
        near = np.flatnonzero(found.allowed & (found.mean <= found.mean[found.leader] + 2 * self.tolerance))
        order = [int(c) for c in near[np.lexsort((found.mean[near], changes[near]))]]
        proved = (c for c in order if (self._upper(found, c) <= self.tolerance)[found.raced].all())
        return self._everyone[next(proved, found.leader)]

    def _upper(self, found: Standing, c: int) -> Floats:
        return self._bounds.of(found.rows, found.fit, c, found.tail)

    def gain(self, other: Configuration) -> tuple[Gain | None, int, Plan]:
        """What the pairs of a configuration show, how many count, and when one looks."""
        name, now, stop = self.experiment.response, self.now, self.experiment.stop
        counted = {*counted_pairs(self.records, other)}
        made = [r for r in self.records if r.phase == "confirm" and r.block in counted]
        plan = self._plan(other, next((r.looks for r in made), ()), 1 - stop.confidence)
        times, order = table(made, name, "confirm"), {(r.block, r.configuration): r.order for r in made}
        ratios = times.log_ratio(now, other) if {now, other} <= {*times.configurations} else np.zeros(0)
        whole = np.isfinite(ratios)
        first = [order[b, now] < order[b, other] for b in itertools.compress(times.blocks, whole)]
        found = self.standing
        race = Scatter(0, 0) if found is None else Scatter(float(found.fit.freedom.sum()), 2 * found.fit.noise)
        timed = [r for r in self.records if r.timed and r.response(name) > 0]
        groups = [[r for r in timed if r.configuration == now]]
        groups += [[r for r in timed if (r.phase, r.configuration) == (p, other)] for p in ("measure", "confirm")]
        single = Scatter.of([[r.response(name) for r in group] for group in groups])
        off = float(half_steps(np.log(times.values[whole]), self._step.size).sum()) if whole.any() else 0.0
        return pairs.gain(ratios[whole], first, plan, race, single, off, stop, self.options), len(counted), plan

    def _plan(self, other: Configuration, begun: tuple[int, ...], error: float) -> Plan:
        given = self.experiment.stop.confirm_pairs
        if given is not None:
            return Plan((given,), (error,)) if given else Plan()
        affordable = self._affordable.get(other) or self.budget.pairs(other)
        found = self.standing
        lead = self._lead(found, self._columns[other]) if found is not None else 0.0
        first = begun[0] if begun else pairs.first_look(lead, found.fit.noise if found else 0.0, self.options)
        return Plan.of(first, len(begun), affordable, error, self.options)

    # The answer

    def answer(self) -> RaceAnswer:
        """The answer if measuring ended now."""
        found, leader, stop = self.standing, self.leader(), self.experiment.stop
        gain, made, _ = self.gain(leader) if leader != self.now else (None, 0, Plan())
        entered, raced = self._raced()
        regrets, tied = ({}, ()) if found is None else self._bounded(found, self._columns[leader])
        bound = regrets[leader].bound if leader in regrets else None
        following = self._next()
        return RaceAnswer(
            baseline=self.now, leader=leader, bound=bound, confidence=stop.confidence, gain=gain,
            pairs=made, proved=bound is not None and bound <= stop.within * (1 + 1e-9),
            tried=0 if found is None else int((found.tried & raced).sum()), of=int(raced.sum()) or entered,
            regrets=regrets, tied=tied, rehearsal=self.rehearsal, eliminated=self.eliminated,
            stopped=following if isinstance(following, Stopped) else Stopped.INTERRUPTED,
        )  # fmt: skip

    def _bounded(self, found: Standing, leader: int) -> tuple[dict[Configuration, Regret], Tied]:
        """The regret of each that was launched, and what may be faster than the leader.

        Wider by what the digits leave open in which the response is reported.
        """
        off = half_steps(found.rows, self._step.size, found.fit.variances)
        upper = {int(c): self._upper(found, int(c)) + off + off[c] for c in np.flatnonzero(found.tried & found.raced)}
        regrets = {}
        for c, of in upper.items():
            of[c] = 0.0
            behind = max(0.0, math.expm1(found.mean[c] - found.mean[found.leader]))
            share = excess(float(of[found.raced].max(initial=0.0)))
            regrets[self._everyone[c]] = Regret(behind, share, int(found.fit.launches[c]))
        of = upper.get(leader, np.zeros(0))
        order = [int(k) for k in np.argsort(found.mean, kind="stable") if found.raced[k] and of.size and of[k] > 0]
        return regrets, tuple((self._everyone[k], excess(float(of[k]))) for k in order)


def _for_good(found: constraints.Judged) -> bool:
    return found.state == "breaks" and (found.launches > 1 or math.isnan(found.value.estimate))
