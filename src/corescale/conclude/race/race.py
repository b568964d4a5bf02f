# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one object)
"""The race: launches the configurations that may still win, until one is proved to be within the tolerance of the best,
and then confirms it in pairs.

It accumulates records as they come. Its answers and blocks depend only on the records, so a resumed run continues as if
it had never stopped.
"""

import functools
import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from corescale.conclude import constraints
from corescale.conclude.budget import Budget
from corescale.conclude.race import bounds, confirmation
from corescale.conclude.race.answer import Gain, RaceAnswer, Stopped, Why
from corescale.conclude.race.bounds import Columns
from corescale.conclude.race.confirmation import Plan, Scatter
from corescale.conclude.race.options import OPTIONS, RaceOptions
from corescale.conclude.race.rehearsal import Rehearsal, rehearsed
from corescale.conclude.response import Step, at_least, half_steps, table
from corescale.conclude.stats import Floats, Regret, excess
from corescale.declare.equivalent import detected, distinguishable
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.declare.plan import BASELINE_EVERY, Block, counted_pairs, next_pair
from corescale.records import Configuration, Record

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of the race by its records, without the confirmation pairs. A column is a configuration."""

    rehearsal: Block | Rehearsal | None
    """the next block of the rehearsal, or what it showed"""
    eliminated: Mapping[Configuration, Why]
    entered: Mask
    """configurations in the race: all but those that are the same launch as another, or that the rehearsal left out"""
    raced: Mask
    """entered, and not eliminated"""
    allowed: Mask
    """raced, launched, and not known to break a constraint"""
    fit: bounds.Fit
    rows: Floats
    """log times of the measuring blocks"""
    mean: Floats
    """estimated log times of all configurations, including those never launched"""
    leader: int
    upper: Floats
    """bounds of log(T_leader / T_j)"""
    tail: float

    @property
    def tried(self) -> Mask:
        """Whether a column was launched."""
        return np.asarray(self.fit.launches > 0)


class Race:
    """`add` records of complete blocks, ask for the `next_block`; `answer` at any moment."""

    def __init__(self, experiment: Experiment, options: RaceOptions = OPTIONS) -> None:
        self.experiment, self.options, self.now = experiment, options, baseline(experiment)
        self.budget = Budget(experiment.stop, self.now, anchored=experiment.baseline.returns)
        self.tolerance = math.log1p(experiment.stop.within)
        self.records: list[Record] = []
        self._everyone = configurations(experiment)
        self._columns = {c: k for k, c in enumerate(self._everyone)}
        self._step = Step(experiment)

    @classmethod
    def of(cls, records: Iterable[Record], experiment: Experiment, options: RaceOptions = OPTIONS) -> Self:
        """The race after these records."""
        race = cls(experiment, options)
        for record in records:
            race.add(record)
        return race

    def add(self, record: Record) -> None:
        """Adds a launch."""
        self.budget.add(record)
        self._step.add(record)
        self.records.append(record)
        if record.phase != "confirm" or not record.ok or self.experiment.tuning.constraints:
            self.__dict__.pop("standing", None)

    def next_block(self) -> Block | None:
        """What to launch next; None if enough is known, or if the budget is spent."""
        found = self._next()
        return found if isinstance(found, Block) else None

    def _next(self) -> Block | Stopped:
        """The leader's pairs are decided once they have begun. If it was not proved, the race may then go on."""
        ended, paired = self._ended(), {record.configuration for record in self.records if record.phase == "confirm"}
        block = self._confirming() if self.leader() in paired - {self.now} else None
        block = block or (None if ended else self._measuring()) or self._confirming() or self._showing()
        return block or ended or "budget"

    # The state by the measuring blocks

    @functools.cached_property
    def standing(self) -> Standing:
        """What the records so far show; `add` clears the cache."""
        different, eliminated = distinguishable(self.experiment, detected(self.records)), self._eliminated()
        rehearsal = rehearsed(self.records, self.experiment, different, self.options)
        kept = rehearsal.kept if isinstance(rehearsal, Rehearsal) else None
        entered = self._mask(kept or different)
        raced = entered & ~self._mask(eliminated)
        times = table(self.records, self.experiment.response, "measure", at_least)
        known = [k for k, c in enumerate(times.configurations) if c in self._columns]
        rows = np.full((len(times.blocks), len(self._everyone)), np.nan)
        rows[:, [self._columns[times.configurations[k]] for k in known]] = np.log(times.values[:, known])
        fitted = bounds.fit(rows)
        mean = bounds.believe(self._codes, fitted, self.options)
        barred = constraints.broken(self.records, self.experiment)
        allowed = raced & (fitted.launches > 0) & ~self._mask(barred)
        looks = len(bounds.looks(bounds.FIRST_LOOK, self.options.growth))
        tail = (1 - self.experiment.stop.confidence) / (max(int(entered.sum()) - 1, 1) * looks)
        leader = int(np.argmin(np.where(allowed, mean, np.inf))) if allowed.any() else self._columns[self.now]
        upper = np.where(raced, bounds.upper(rows, fitted, leader, tail, self.options), -np.inf)
        return Standing(
            rehearsal, eliminated, entered, raced, allowed, fitted, rows, mean, leader, upper, tail
        )  # fmt: skip

    def _mask(self, some: Iterable[Configuration]) -> Mask:
        mask = np.zeros(len(self._everyone), dtype=np.bool_)
        mask[[self._columns[c] for c in some if c in self._columns]] = True
        return mask

    def _eliminated(self) -> Mapping[Configuration, Why]:
        """The configurations that are not launched again. One slow launch eliminates no configuration, and neither does
        one launch with a metric beyond its limit.

        If launches may fail (-i), a configuration is eliminated only if most of its launches do, and the baseline only
        if all do.
        """
        found: dict[Configuration, Why] = {}
        for c, each in constraints.judged(self.records, self.experiment).items():
            breaks = [one for one in each if one.state == "breaks"]
            if any(one.launches > 1 or math.isnan(one.value.estimate) for one in breaks):
                found[c] = "constraint"
        racing = [r for r in self.records if r.phase == "measure"]
        made = [*racing, *(r for r in self.records if r.phase == "confirm" and r.configuration != self.now)]
        launches = Counter(r.configuration for r in made)

        def often(some: Iterable[Configuration]) -> Iterable[Configuration]:
            return (c for c, n in Counter(some).items() if 1 < n > launches[c] / 2)

        found |= dict.fromkeys(often(r.configuration for r in made if r.status == "capped"), "capped")
        failed = [r.configuration for r in made if not at_least(r, self.experiment.response) > 0]
        if self.experiment.ignore_failure:
            works = any(r.ok and r.configuration == self.now for r in racing)
            failed = [*often(c for c in failed if c != self.now or not works)]
        return found | dict.fromkeys(failed, "failed")

    @functools.cached_property
    def _codes(self) -> bounds.Codes:
        names = list(dict.fromkeys(name for c in self._everyone for name, _ in c.levels)) or [""]
        levels: dict[str, dict[object, int]] = {name: {} for name in names}
        return np.array([[levels[n].setdefault(c.get(n), len(levels[n])) for n in names] for c in self._everyone])

    # What to measure next

    def _ended(self) -> Stopped | None:
        """Why measuring ends, whatever the budget; None to go on."""
        found = self.standing
        if isinstance(found.rehearsal, Block):
            return None
        if found.raced.sum() < 2:
            return "nothing to compare"
        if not self._open.any():
            return "proved"
        return "blocks" if len(found.rows) >= self.experiment.stop.max_blocks else None

    def _measuring(self) -> Block | None:
        block, room = self.standing.rehearsal, self._room()
        if not isinstance(block, Block):
            block = Block("measure", tuple(self._everyone[c] for c in self._chosen(room)))
        fitting = self._fitting(block, room)
        return fitting and replace(fitting, cap=self._cap())

    @property
    def _open(self) -> Mask:
        return self.standing.raced & (self.standing.upper > self.tolerance)

    def _chosen(self, room: int) -> Sequence[int]:
        """The leader and new configurations. Half of these are the most promising. The others have the levels that were
        launched least often.

        Once all have been launched, the leader and all configurations that are still open, the fastest first.
        """
        found = self.standing
        open_ = np.flatnonzero(self._open & (np.arange(found.raced.size) != found.leader))
        left = self.budget.launches(room) - (0 if len(found.rows) else 2 * room)
        order = open_[np.argsort(found.mean[open_], kind="stable")]
        new = order[~found.tried[order]]
        if not new.size:
            return [found.leader, *order[: int(max(1, min(order.size, left - 1)))].tolist()]
        most = BASELINE_EVERY - (found.leader != self._columns[self.now])  # the baseline need not return in it
        many = int(max(1, min(most - 1, left - 1, new.size)))
        hopeful = many - int(self.options.rare_levels * many + self._drawing.random()) if len(found.rows) else 0
        chosen, seen = [found.leader, *self._hopeful(new)[:hopeful].tolist()], np.flatnonzero(found.tried)
        while len(chosen) <= many:
            same = self._codes[new][:, None, :] == self._codes[[*seen, *chosen]][None, :, :]
            cost = same.sum(axis=(1, 2)) + same.sum(axis=2).max(axis=1) / 2 + self._drawing.random(new.size) / 1000
            cost[np.isin(new, chosen)] = np.inf
            chosen.append(int(new[np.argmin(cost)]))
        return chosen

    def _hopeful(self, new: Columns) -> Columns:
        """The new configurations, the most promising first; an overhead model sorts them by threads and ranks."""
        found, layouts = self.standing, [c.layout for c in self._everyone]
        mixed = np.array([(one.threads_per_rank, one.ranks_per_node * one.nodes) for one in layouts], dtype=float)
        trend = bounds.trend(mixed, np.where(found.tried, found.mean, np.nan))
        return new if trend is None else new[np.argsort(trend[new], kind="stable")]

    @property
    def _drawing(self) -> np.random.Generator:
        """A random generator. Its seed follows from the number of records and the seed of the last one."""
        return np.random.default_rng([len(self.records), self.records[-1].seed if self.records else 0])

    # Budget and caps

    def _room(self) -> int:
        """The confirmation pairs for which the budget is kept: the leader's first look, up to a share of it."""
        found, whole = self.standing, self.budget.whole
        if self.experiment.stop.confirm_pairs is not None and not self._never_works:
            return self.experiment.stop.confirm_pairs
        if math.isinf(whole) or self._never_works or (len(found.rows) and found.leader == self._columns[self.now]):
            return 0
        wanted = self.options.fewest_pairs if not found.fit.freedom.sum() else self._first_look(found.leader)
        affordable = (whole - 1 - min(BASELINE_EVERY, len(self._everyone))) // 2  # the first launch and the first block
        most = max(self.options.fewest_pairs, whole * self.options.pairs_share)
        room = int(min(wanted, max(2, min(affordable, most))))
        return room if 2 * room + 3 <= whole else 0  # two launches to compare come first

    def _first_look(self, c: int) -> int:
        """The pairs until the first look, planned from the configuration's lead over the baseline in log time."""
        found, now = self.standing, self._columns[self.now]
        return confirmation.first_look(float(found.mean[now] - found.mean[c]), found.fit.noise, self.options)

    def _fitting(self, block: Block, room: int) -> Block | None:
        """The block, with its last new configurations dropped until it fits the budget; None if nothing fits."""
        new = [c for c in block.configurations[1:] if c not in self.budget.walls]
        while not self.budget.pays_for(block, room):
            if len(block.configurations) == 2 and not len(self.standing.rows) and self.budget.has_launches(block):
                return block
            if not new or len(block.configurations) <= 2 or block.phase != "measure":
                return None
            last = new.pop()
            block = replace(block, configurations=tuple(c for c in block.configurations if c != last))
        return block

    def _cap(self) -> float | None:
        """The time after which a launch is capped: a multiple of the least median of those that meet all constraints.

        None if no launch is shown to meet them, or if the response is not the time. A cap by a baseline that may break
        them would kill the answer if only a much slower configuration meets them.
        """
        if self.experiment.response != "wall":
            return None
        fit = set(self._everyone)
        if self.experiment.tuning.constraints:
            judged = constraints.judged(self.records, self.experiment).items()
            fit = {c for c, each in judged if all(one.state == "meets" for one in each)}
        fit.difference_update(self.standing.eliminated)
        walls = dict[Configuration, list[float]]()
        for record in self.records:
            if record.ok and record.phase != "rehearse" and record.configuration in fit:
                walls.setdefault(record.configuration, []).append(record.wall)
        return self.options.cap * min(map(statistics.median, walls.values())) if walls else None

    # Confirmation

    @property
    def _never_works(self) -> bool:
        """Whether the baseline is known to fail, and has given no time: no pair with it would show a gain."""
        made = (r for r in self.records if r.configuration == self.now)
        failed = self.standing.eliminated.get(self.now) == "failed"
        return failed and not any(at_least(r, self.experiment.response) > 0 for r in made)

    def _confirming(self) -> Block | None:
        leader = self.leader()
        if leader == self.now or self._never_works:
            return None
        gain, made, plan = self.gain(leader)
        known = gain is not None and (gain.verdict is not None or gain.quantised)
        if not plan.looks or made >= plan.looks[-1] or (known and made >= plan.looks[0]):
            return None
        block = next_pair(self.now, leader, self.records, plan.looks[:2])
        return block if self.budget.pays_for(block) else None

    def _showing(self) -> Block | None:
        """More launches of the answer while it is neither shown to meet a constraint nor to break it."""
        found, chosen, now = self.standing, self.leader(), self._columns[self.now]
        gain = self.gain(chosen)[0] if chosen != self.now else None
        if found.allowed[now] and (gain is None or gain.verdict != "faster"):
            chosen = self.now
        if not found.allowed[self._columns[chosen]] or len(found.rows) >= self.experiment.stop.max_blocks:
            return None  # it breaks one, or there are enough blocks
        if not constraints.not_shown(self.records, self.experiment, chosen):
            return None
        relative = any(each.relative for each in self.experiment.tuning.constraints)
        block = Block("measure", tuple(dict.fromkeys((chosen, *[self.now] * relative))), cap=self._cap())
        return block if self.budget.pays_for(block) else None

    def leader(self) -> Configuration:
        """The fastest configuration; if several are proved, the one with the fewest changes from the baseline."""
        found = self.standing
        if self._open.any() or not found.allowed.any():
            return self._everyone[found.leader]
        changes = (self._codes != self._codes[self._columns[self.now]]).sum(axis=1)
        near = np.flatnonzero(found.allowed & (found.mean <= found.mean[found.leader] + 2 * self.tolerance))
        order = [int(c) for c in near[np.lexsort((found.mean[near], changes[near]))]]
        proved = (c for c in order if (self._upper(c) <= self.tolerance)[found.raced].all())
        return self._everyone[next(proved, found.leader)]

    def _upper(self, c: int) -> Floats:
        found = self.standing
        return bounds.upper(found.rows, found.fit, c, found.tail, self.options)

    def gain(self, other: Configuration) -> tuple[Gain | None, int, Plan]:
        """The gain that a configuration's pairs show, the number of pairs that count, and the planned looks."""
        name, now, found = self.experiment.response, self.now, self.standing
        counted = {*counted_pairs(self.records, other)}
        made = [r for r in self.records if r.phase == "confirm" and r.block in counted]
        plan = self._plan(other, made[0].looks if made else (), len(counted))
        times, order = table(made, name, "confirm"), {(r.block, r.configuration): r.order for r in made}
        if not {now, other} <= {*times.configurations}:
            return None, len(counted), plan
        ratios = times.log_ratio(now, other)
        whole = np.isfinite(ratios)
        first = [order[b, now] < order[b, other] for b in itertools.compress(times.blocks, whole)]
        timed = [(r, value) for r in self.records if r.timed and (value := r.response(name)) > 0]
        groups = [[value for r, value in timed if r.configuration == now]]
        groups += [[v for r, v in timed if (r.phase, r.configuration) == (p, other)] for p in ("measure", "confirm")]
        race = Scatter(float(found.fit.freedom.sum()), 2 * found.fit.noise)
        off = float(half_steps(np.log(times.values[whole]), self._step.size).sum()) if whole.any() else 0.0
        stop, single = self.experiment.stop, confirmation.scatter(groups)
        return confirmation.gain(ratios[whole], first, plan, race, single, off, stop, self.options), len(counted), plan

    def _plan(self, other: Configuration, begun: tuple[int, ...], made: int) -> Plan:
        given, error = self.experiment.stop.confirm_pairs, 1 - self.experiment.stop.confidence
        if given is not None:
            return Plan((given,), (error,)) if given else Plan()
        first = begun[0] if begun else self._first_look(self._columns[other])
        return Plan.of(first, len(begun), made + self.budget.pairs(other), error, self.options)

    # The answer

    def answer(self) -> RaceAnswer:
        """The answer if measuring ended now."""
        found, leader, stop = self.standing, self.leader(), self.experiment.stop
        gain, made, _ = self.gain(leader) if leader != self.now else (None, 0, Plan())
        off = half_steps(found.rows, self._step.size, found.fit.variances)  # rounding errors of the reported response
        upper = {int(c): self._upper(int(c)) + off + off[c] for c in np.flatnonzero(found.tried & found.raced)}
        regrets = {}
        for c, of in upper.items():
            of[c] = 0.0
            behind = max(0.0, math.expm1(found.mean[c] - found.mean[found.leader]))
            share = excess(float(of[found.raced].max(initial=0.0)))
            regrets[self._everyone[c]] = Regret(behind, share, int(found.fit.launches[c]))
        bound = regrets[leader].bound if leader in regrets else None
        of = upper.get(self._columns[leader], np.zeros(found.raced.size))
        faster = (int(k) for k in np.argsort(found.mean, kind="stable") if found.raced[k] and of[k] > 0)
        proved = bound is not None and bound <= stop.within * (1 + 1e-9)
        ended = found.allowed.any() and not proved and not self._open.any()
        quantised = gain.quantised if gain is not None and gain.verdict is None else ended
        following, launched = self._next(), {record.configuration for record in self.records if record.timed}
        return RaceAnswer(
            baseline=self.now, leader=leader, bound=bound, confidence=stop.confidence, gain=gain,
            pairs=made, proved=proved, step=self._step.size * quantised,
            tried=int((self._mask(launched) & found.entered).sum()), of=int(found.entered.sum()),
            regrets=regrets, tied=tuple((self._everyone[k], excess(float(of[k]))) for k in faster),
            rehearsal=found.rehearsal if isinstance(found.rehearsal, Rehearsal) else None, eliminated=found.eliminated,
            stopped="interrupted" if isinstance(following, Block) else following,
        )  # fmt: skip
