# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one object)
"""The race: launch what may still win, until one is proved to be within the tolerance; then confirm it in pairs.

It folds records as they come. What it says and asks for follows from the records alone, so a run that is resumed goes
on as if it had never stopped.
"""

import functools
import math
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
from corescale.conclude.response import at_least, half_steps, median, response, step
from corescale.conclude.stats import Floats, Regret, excess
from corescale.declare.equivalent import detected, distinguishable
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations, one_at_a_time, plain
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


class Race:
    """`add` records of complete blocks, ask for the `next_block`; `answer` at any moment."""

    def __init__(self, experiment: Experiment, options: RaceOptions = OPTIONS, budget: Budget | None = None) -> None:
        self.experiment, self.options, self.now = experiment, options, baseline(experiment)
        self.budget = budget or Budget(experiment.stop, self.now, anchored=experiment.baseline.returns)
        self.records: list[Record] = []
        self._everyone = configurations(experiment)
        self._columns = {c: k for k, c in enumerate(self._everyone)}
        self._sums, self._counts = np.zeros((2, 16, len(self._everyone)))
        self._blocks: dict[int, int] = {}
        self._walls: dict[Configuration, list[float]] = {}
        self._failed: set[Configuration] = set()
        self._timed, self._capped = Counter[Configuration](), Counter[Configuration]()
        self._affordable: dict[Configuration, float] = {}
        self._bounds = bounds.Bounds(options)
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
        self.records.append(record)
        if record.phase == "measure" or not record.ok or self.experiment.tuning.constraints:
            self._known = None
        if record.ok and record.phase != "rehearse":
            self._walls.setdefault(c, []).append(record.wall)
        if record.phase == "measure" and c in self._columns:
            self._measured(record)
        if record.phase == "measure" or (record.phase == "confirm" and c != self.now):
            self._timed[c] += 1
            self._capped[c] += record.status == "capped"
            if not at_least(record, self.experiment.response) > 0:
                self._failed.add(c)

    def _measured(self, record: Record) -> None:
        row = self._blocks.setdefault(record.block, len(self._blocks))
        if row == len(self._sums):
            self._sums, self._counts = (np.vstack([one, np.zeros_like(one)]) for one in (self._sums, self._counts))
        value = at_least(record, self.experiment.response)
        column = self._columns[record.configuration]
        self._sums[row, column] += math.log(value) if value > 0 else math.nan
        self._counts[row, column] += 1

    def next_block(self) -> Block | None:
        """What to launch next; None where enough is known, or the budget is spent."""
        found = self._next()
        return found if isinstance(found, Block) else None

    def _next(self) -> Block | Stopped:
        confirming = any(record.phase == "confirm" for record in reversed(self.records))
        found = Stopped.BUDGET if confirming else self._measuring()
        if isinstance(found, Block):
            return found
        if confirming and self.standing is not None:
            found = self._ended()
        confirmation = self._confirming()
        return confirmation or found

    # What the measuring blocks say

    @property
    def standing(self) -> Standing | None:
        """None before the first measuring block."""
        if self._known is None and self._blocks:
            self._known = self._stands()
        return self._known

    @property
    def tolerance(self) -> float:
        """As a log ratio."""
        return math.log1p(self.experiment.stop.within)

    def _stands(self) -> Standing:
        made, stop = self._counts[: len(self._blocks)], self.experiment.stop
        rows = np.where(made > 0, self._sums[: len(self._blocks)] / np.maximum(made, 1), np.nan)
        entered, raced = self._raced()
        fitted, matrix, right = bounds.fit(rows)
        mean = bounds.believe(self._codes, matrix, right, self.options)
        barred = constraints.broken(self.records, self.experiment)
        allowed = raced & (fitted.launches > 0) & ~self._mask(barred)
        looks = len(bounds.looks(bounds.FIRST_LOOK, self.options.growth))
        tail = (1 - stop.confidence) / (max(entered - 1, 1) * looks)
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

    def _measuring(self) -> Block | Stopped:
        block = rehearsal.next_block(self.records, self.experiment, self.options)
        found = self.standing
        if block is None:
            if self._raced()[1].sum() < 2:
                return Stopped.NOTHING
            if len(self._blocks) >= self.experiment.stop.max_blocks:
                return Stopped.BLOCKS
            if found is not None and not self._open(found).any():
                return Stopped.PROVED
            chosen = self._first() if found is None else self._chosen(found)
            block = Block("measure", tuple(self._everyone[c] for c in chosen), anchored=self._pays_for_all())
        fitting = self._fitting(block, self._room(found))
        return Stopped.BUDGET if fitting is None else replace(fitting, cap=self._cap())

    def _ended(self) -> Stopped:
        found = self.standing
        if found is not None and not self._open(found).any():
            return Stopped.PROVED
        return Stopped.BLOCKS if len(self._blocks) >= self.experiment.stop.max_blocks else Stopped.BUDGET

    def _open(self, found: Standing) -> npt.NDArray[np.bool_]:
        return found.raced & (found.upper > self.tolerance)

    def _first(self) -> Sequence[int]:
        """All, if a block has room for them; else the baseline, one change alone, then levels about equally often."""
        _, raced = self._raced()
        worth = raced & self._plain if (raced & self._plain).sum() > 1 else raced
        most = int(max(2, min(BASELINE_EVERY, worth.sum(), self.budget.launches() - 2 * self._room(None))))
        now, alone = self._columns[self.now], [self._columns[c] for c in one_at_a_time(self.experiment)]
        chosen = [now, *(c for c in alone if worth[c])][:most]
        while len(chosen) < most:
            same = self._codes[:, None, :] == self._codes[chosen][None, :, :]
            cost = same.sum(axis=(1, 2)) + same.sum(axis=2).max(axis=1) / 2 + self._drawing.random(len(raced)) / 1000
            cost[chosen] = np.inf
            chosen.append(int(np.argmin(np.where(worth, cost, np.inf))))
        return chosen

    def _chosen(self, found: Standing) -> Sequence[int]:
        """The leader, with new ones, half of them drawn; then with all that is open, or the faster half of it."""
        open_ = np.flatnonzero(self._open(found) & (np.arange(found.raced.size) != found.leader))
        order, left = open_[np.argsort(found.mean[open_], kind="stable")], self.budget.launches(self._room(found))
        new = order[~found.tried[order]]
        if new.size:
            worth = self._worth_trying(found)[new]
            new = self._hopeful(found, new[worth] if worth.any() else new)
            many = int(max(1, min(MANY - 1, left - 1, new.size)))
            first = many - int(self.options.drawn * many + self._drawing.random())
            drawn = self._drawing.permutation(new[first:])[: many - first]
            return [found.leader, *new[:first].tolist(), *drawn.tolist()]
        if left >= 2 * (1 + order.size):
            return [found.leader, *order.tolist()]
        return [found.leader, *order[: int(max(1, min(math.ceil(order.size / 2), left - 1)))].tolist()]

    def _hopeful(self, found: Standing, new: Columns) -> Columns:
        """The new ones in the order of belief; of threads x ranks by the overhead model where it can be fitted."""
        layouts = np.array(
            [(c.layout.threads_per_rank, c.layout.ranks_per_node * c.layout.nodes) for c in self._everyone], dtype=float
        )
        if min(np.unique(column).size for column in layouts.T) < 2:
            return new
        trend = mixes.trend(layouts, np.where(found.tried, found.mean, np.nan))
        return new if trend is None else new[np.argsort(trend[new], kind="stable")]

    @functools.cached_property
    def _plain(self) -> npt.NDArray[np.bool_]:
        """Whether a column has no settings of an allocator."""
        return np.array([without == c for c, without in plain(self.experiment).items()])

    def _worth_trying(self, found: Standing) -> npt.NDArray[np.bool_]:
        """All but settings of an allocator that, without them, neither leads nor ties."""
        near = found.allowed & (found.mean <= found.mean[found.leader] + self._uncertain(found))
        without = [self._columns[c] for c in plain(self.experiment).values()]
        return np.asarray(self._plain | near[without])

    def _uncertain(self, found: Standing) -> float:
        """By how much one may lead by luck: a standard error of a ratio, the tolerance at least."""
        made = max(1, int(found.fit.launches[found.leader]))
        return max(self.tolerance, math.sqrt(2 * found.fit.noise / made))

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

    def _pays_for_all(self) -> bool:
        """Whether the budget has a launch for each that is new, with those of the baseline among them."""
        new = len(self._everyone) if self.standing is None else int((~self.standing.tried & self.standing.raced).sum())
        return new * BASELINE_EVERY / (BASELINE_EVERY - 1) <= self.budget.launches(self._room(self.standing))

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
        return min((multiple[len(walls) > 1] * median(walls) for walls in each), default=None)

    # Confirmation

    def _confirming(self) -> Block | None:
        candidate = self.candidate()
        if candidate == self.now:
            return None
        gain, made, plan = self.gain(candidate)
        looked = gain is not None and plan.looks and made >= plan.looks[0] and gain.verdict is not None
        if not plan.looks or made >= plan.looks[-1] or looked:
            return None
        block = next_pair(self.now, candidate, self.records, plan.looks[:2])
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
        proved = (c for c in order if self._regret(found, c) <= self.tolerance)
        return self._everyone[next(proved, found.leader)]

    def _regret(self, found: Standing, c: int, off: Floats | None = None) -> float:
        upper = self._bounds.of(found.rows, found.fit, c, found.tail)
        if off is not None:
            upper = upper + np.where(np.arange(off.size) == c, 0.0, off + off[c])
        return float(upper[found.raced].max(initial=0.0))

    def candidate(self) -> Configuration:
        """The leader; the next best, once, where pairs refute it. After failures of the baseline there is no other."""
        leader = self.leader()
        if leader == self.now:
            return leader
        gain, made, plan = self.gain(leader)
        refuted = gain is not None and gain.verdict == "not faster" and plan.looks and made >= plan.looks[0]
        if not refuted or self.failures()[0]:
            return leader
        return self._next_best(leader) or leader

    def _next_best(self, leader: Configuration) -> Configuration | None:
        found = self.standing
        if found is None:
            return None
        faster = found.allowed & (found.mean < found.mean[self._columns[self.now]] - self.tolerance)
        order = [self._everyone[c] for c in np.argsort(found.mean, kind="stable") if faster[c]]
        return next((c for c in order if c != leader), None)

    def gain(self, other: Configuration) -> tuple[Gain | None, int, Plan]:
        """What the pairs of a configuration show, how many count, and when one looks."""
        name, now, error = self.experiment.response, self.now, 1 - self.experiment.stop.confidence
        counted = {*counted_pairs(self.records, other)}
        of_pairs = [r for r in self.records if r.phase == "confirm" and r.configuration in (now, other)]
        blocks: dict[int, dict[Configuration, Record]] = {}
        for record in of_pairs:
            if record.block in counted:
                blocks.setdefault(record.block, {})[record.configuration] = record
        whole = [b for b in blocks.values() if len(b) == 2 and all(response(r, name) > 0 for r in b.values())]
        ratios = [math.log(response(b[now], name) / response(b[other], name)) for b in whole]
        first = [b[now].order < b[other].order for b in whole]
        plan = self._plan(other, next((r.looks for r in of_pairs if r.configuration == other), ()), error)
        found = self.standing
        race = Scatter(0, 0) if found is None else Scatter(float(found.fit.freedom.sum()), 2 * found.fit.noise)
        groups = [[r for r in self.records if r.timed and r.configuration == now]]
        groups += [
            [r for r in self.records if (r.phase, r.configuration) == (p, other)] for p in ("measure", "confirm")
        ]
        single = Scatter.of([[x for r in group if (x := response(r, name)) > 0] for group in groups])
        logs = np.log([[response(b[c], name) for c in (now, other)] for b in whole]) if whole else np.zeros((0, 2))
        variances = logs.var(axis=0, ddof=1) if len(logs) > 1 else np.zeros(2)
        off = float(half_steps(logs, variances, step(self.records, name)).sum()) if whole else 0.0
        return (
            pairs.gain(ratios, first, plan, race, single, off, self.experiment.stop, self.options),
            len(counted),
            plan,
        )

    def _plan(self, other: Configuration, begun: tuple[int, ...], error: float) -> Plan:
        given = self.experiment.stop.confirm_pairs
        if given is not None:
            return Plan((given,), (error,)) if given else Plan()
        affordable = self._affordable.get(other) or self.budget.pairs(other)
        found = self.standing
        lead = self._lead(found, self._columns[other]) if found is not None else 0.0
        first = begun[0] if begun else pairs.first_look(lead, found.fit.noise if found else 0.0, self.options)
        return Plan.of(first, len(begun), affordable, error, self.options)

    # Failures

    def failures(self) -> tuple[int, int]:
        """Failed launches of the baseline, and all of them that count."""
        made = [record.ok for record in self.records if record.timed and record.configuration == self.now]
        return made.count(False), len(made)

    def launches(self, other: Configuration) -> int:
        """Launches of a configuration that count."""
        return sum(record.timed and record.configuration == other for record in self.records)

    def by_chance(self, other: Configuration) -> bool:
        """Whether the baseline's failures are not shown to be more than those of another, which never failed.

        Fisher's exact test, and Bonferroni over those that failed and were passed over for it.
        """
        (bad, made), count = self.failures(), self.launches(other)
        equal = math.comb(made, bad) / math.comb(made + count, bad)
        passed = {r.configuration for r in self.records if r.timed and not r.ok and r.status != "capped"} - {self.now}
        return bad > 0 and equal * (1 + len(passed)) > 1 - self.experiment.stop.confidence

    # The answer

    def answer(self) -> RaceAnswer:
        """The answer if measuring ended now."""
        found, leader, stop = self.standing, self.leader(), self.experiment.stop
        candidate = self.candidate()
        gain, made, _ = self.gain(candidate) if candidate != self.now else (None, 0, Plan())
        regrets: dict[Configuration, Regret] = {}
        tied: tuple[tuple[Configuration, float | None], ...] = ()
        entered, raced = self._raced()
        bound = None
        if found is not None:
            off = self._off(found)
            for c in np.flatnonzero(found.tried & found.raced):
                behind = max(0.0, math.expm1(found.mean[c] - found.mean[found.leader]))
                share = excess(self._regret(found, int(c), off))
                regrets[self._everyone[c]] = Regret(behind, share, int(found.fit.launches[c]))
            bound = regrets[leader].bound if leader in regrets else None
            tied = self._tied(found, leader, off)
        following = self._next()
        return RaceAnswer(
            baseline=self.now, leader=leader, bound=bound, confidence=stop.confidence, candidate=candidate, gain=gain,
            pairs=made, proved=bound is not None and bound <= stop.within * (1 + 1e-9),
            tried=0 if found is None else int((found.tried & raced).sum()), of=int(raced.sum()) or entered,
            regrets=regrets, tied=tied, rehearsal=self.rehearsal, eliminated=self.eliminated,
            failures=self.failures()[0], launches=self.failures()[1], of_candidate=self.launches(candidate),
            by_chance=candidate != self.now and self.by_chance(candidate),
            stopped=following if isinstance(following, Stopped) else Stopped.INTERRUPTED,
        )  # fmt: skip

    def _off(self, found: Standing) -> Floats:
        """By how much the log times of each may be off for the digits in which they are reported."""
        variances = np.divide(
            found.fit.squares, found.fit.freedom, out=np.zeros(found.raced.size), where=found.fit.freedom > 0
        )
        return half_steps(found.rows, variances, step(self.records, self.experiment.response))

    def _tied(
        self, found: Standing, leader: Configuration, off: Floats
    ) -> tuple[tuple[Configuration, float | None], ...]:
        c = self._columns[leader]
        upper = self._bounds.of(found.rows, found.fit, c, found.tail) + off + off[c]
        order = [int(k) for k in np.argsort(found.mean, kind="stable") if found.raced[k] and k != c and upper[k] > 0]
        return tuple((self._everyone[k], excess(float(upper[k]))) for k in order)


def _for_good(found: constraints.Judged) -> bool:
    return found.state == "breaks" and (found.launches > 1 or math.isnan(found.value.estimate))
