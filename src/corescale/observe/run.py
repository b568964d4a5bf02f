# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one loop, with all that ends it)
"""The loop: asks the policy for the next block, launches it and keeps its records, until the policy has enough."""

import contextlib
import itertools
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from corescale.declare import metric_sources, plan
from corescale.declare.equivalent import detected, distinguishable, reads_show_p, unread
from corescale.declare.experiment import SHOWN, Experiment
from corescale.declare.factors import no_range
from corescale.declare.grid import baseline, configurations, first, reference, untyped
from corescale.declare.plan import Block, Invocation
from corescale.declare.stop import CONFIRM_BLOCKS
from corescale.endings import CONTINUE, ending, names_error, not_started, too_short, unwritten
from corescale.errors import (
    AfterwardsError,
    BudgetEndedError,
    CorescaleError,
    ExitCode,
    InconclusiveError,
    ProgramError,
    UsageError,
)
from corescale.observe.launchers import Launcher
from corescale.observe.preload import MOST_TRACES
from corescale.observe.store import Store
from corescale.observe.watcher import Watcher
from corescale.records import COMMAND, Configuration, Level, Record

TELLING = 4
"""launches of each configuration with which a race at 1% noise usually distinguishes them"""

SET = re.compile(r"(?<!\S)env (-u \S+ |[A-Za-z_]\w*=\S* )+")
"""matches the variables that a launch line sets"""

ROOT = "--allow-run-as-root"
"""option of Open MPI's mpirun, which names it when it refuses to run"""


class Budget(Protocol):
    """The rest of the budget, as the policy counts it (conclude/budget.py)."""

    @property
    def seconds(self) -> float:
        """Seconds that are left."""

    def begin(self, elapsed: Callable[[], float], untimed: Callable[[Sequence[Configuration]], int]) -> None:
        """Starts the clock `elapsed` of this part of the run. `untimed`: the proofs that some launches need."""

    def takes(self, configurations: Sequence[Configuration]) -> float:
        """Seconds that launches of these take, with their proofs."""


class Policy(Protocol):
    """Decides about the next block (conclude/policy.py)."""

    @property
    def budget(self) -> Budget:
        """The budget from which it counts its launches."""

    def add(self, record: Record) -> None:
        """Takes note of one launch of a complete block."""

    def next_block(self) -> Block | None:
        """The next block; None once enough was measured."""


def run(
    experiment: Experiment,
    store: Store,
    launcher: Launcher,
    policy: Policy,
    watcher: Watcher | None = None,
    fresh_seed: Callable[[], int] = plan.fresh_seed,
    began: float | None = None,
    quiet: Callable[[float], float] = lambda _: 0.0,
    first: Callable[[], None] = lambda: None,
) -> tuple[Record, ...]:
    """Launches the blocks that `policy` asks for, continuing where `store` ended, and keeps their records. Returns
    the records of complete blocks.

    On any error, and on Ctrl-C, no process of the program is left running, the current block is abandoned, and the
    records so far are kept. Raises ProgramError if every launch of the first block fails, if the baseline fails there
    (except in a study), or if a program is removed. Raises AfterwardsError if, after all was measured, the clean-up
    fails, a program has changed, or the run folder is gone. `began`: start of the budget, by the monotonic clock.
    `quiet` waits before each block. `first` is called before the first launch that counts.
    """
    began, watcher = time.monotonic() if began is None else began, watcher or Watcher()
    try:
        launcher.open(watcher.note, began)
        subject = launcher.subject()
        store.start(subject)
        launcher.recall(store.records)
        if not store.records:
            first()
        try:
            _Loop(experiment, store, launcher, policy, watcher, fresh_seed, began, quiet, subject).go()
        finally:
            changed = _changed(launcher, subject)
            store.note_changed(changed)
    except BaseException:
        launcher.cancel()
        with contextlib.suppress(CorescaleError):
            launcher.close()
        raise
    try:
        with contextlib.closing(launcher):
            store.finish()
    except CorescaleError as error:
        raise AfterwardsError(str(error), error.exit_code) from error
    if changed:
        what = f"{' and '.join(changed)} changed while it was measured: its launches are not all of one build"
        raise AfterwardsError(what, ExitCode.INCONCLUSIVE)
    return tuple(store.records)


def _changed(launcher: Launcher, before: Mapping[str, Any]) -> Sequence[str]:
    """The programs and libraries that have another content than before; none if one of them is gone."""
    try:
        was, now = (each.get("programs", {}) for each in (before, launcher.subject()))
    except (ProgramError, OSError):
        return ()
    return sorted(name for name in {*was} & {*now} if was[name] != now[name])  # other libraries: of another program


def _states(subject: Mapping[str, Any]) -> Mapping[str, tuple[int, int, int] | None]:
    """What tells at once that a file of the subject may have changed: its inode, size and time."""
    found = dict[str, tuple[int, int, int] | None]()
    for path in [each["path"] for each in subject.get("programs", {}).values() if "path" in each]:
        found[path] = None
        with contextlib.suppress(OSError):
            seen = Path(path).stat()
            found[path] = (seen.st_ino, seen.st_size, seen.st_mtime_ns)
    return found


@dataclass
class _Loop:
    experiment: Experiment
    store: Store
    launcher: Launcher
    policy: Policy
    watcher: Watcher
    seed: Callable[[], int]
    start: float
    quiet: Callable[[float], float]
    subject: Mapping[str, Any]

    def __post_init__(self) -> None:
        store, launcher, policy = self.store, self.launcher, self.policy
        self.budget, self.baseline = policy.budget, baseline(self.experiment)
        self.earlier = sum(record.of_budget for record in store.records)
        """seconds of the budget that earlier parts of this run took"""
        self.short_noted = False
        for record in store.records:
            policy.add(record)
        if not launcher.virtual:
            self.budget.begin(self.clock, launcher.untimed)
        self.booked = 0.0
        """seconds by `clock` at the end of the last launch"""

    def clock(self) -> float:
        """Seconds of the budget that this part of the run took, without waiting in a queue."""
        return time.monotonic() - self.start - self.launcher.waited

    def go(self) -> None:
        block = self.policy.next_block()
        before = len(self.store.records)
        most, choice = self.experiment.stop.launches, len(configurations(self.experiment)) > 1
        if block is None and not before and most is not None and choice:
            raise InconclusiveError(f"{most}x is less than one block", where="--budget", remedy="name more launches")
        alone = not before and begins_alone(self.experiment, virtual=self.launcher.virtual)  # also with nothing to race
        for warming in self.warm_ups() if block is not None or alone else ():
            if not self.makes(warming):
                return
        if len(self.store.records) > before:
            block = self.policy.next_block()
        states = _states(self.subject)
        while block is not None and self.makes(block):
            block = self.policy.next_block()
            if (now := _states(self.subject)) != states and _changed(self.launcher, self.subject):
                return
            states = now

    def makes(self, block: Block) -> bool:
        """Makes the block; returns whether the time sufficed. Raises BudgetEndedError if the first lacked time."""
        try:
            self.make(block)
        except BudgetEndedError:
            if not any(record.timed for record in self.store.records):
                raise
            return False
        return True

    def say_what_it_buys(self, each: float) -> None:
        """Prints a note after the first launch if the budget is probably too small: what it buys, and which budget
        would decide.

        `each`: seconds of a launch, including hooks and everything else between two launches.
        """
        stop, records = self.experiment.stop, self.store.records
        others = len(distinguishable(self.experiment, detected(records))) - 1
        if stop.rule != "race" or stop.budget is None or not others or not each > 0:
            return
        buys = int(max(0.0, self.budget.seconds) / each)
        wanted = TELLING * (others + 1) + 2 * (CONFIRM_BLOCKS if stop.confirm_pairs is None else stop.confirm_pairs)
        if buys < wanted:
            self.watcher.note(
                f"a launch takes {each:.3g} s in all, so the rest of --budget {stop.budget:g}s buys about {buys}"
                f" launch{'es' * (buys != 1)}; {others + 1} configurations need about {wanted}:"
                f" --budget {math.ceil(wanted * each / 60)}m"
            )

    def warm_ups(self) -> Iterator[Block]:
        """The blocks to warm up, also when a run is resumed, because caches are cold then. They leave half of a budget.

        The very first launch (see `begins_alone`) is the configuration that all others are compared with, or the
        baseline if nothing counts unless the baseline works.
        """
        everyone, wanted = configurations(self.experiment), self.experiment.warmup
        began, before = self.clock(), len(self.store.records)
        if begins_alone(self.experiment, virtual=self.launcher.virtual) and not before:
            alone = self.baseline if self.experiment.same_output else first(self.experiment)
            for chosen in self.until_one_succeeds(alone):
                left, launches = self.budget.seconds, 1 + self.launcher.untimed((chosen,))
                yield Block("warmup", (chosen,))
                self.say_what_it_buys((left - self.budget.seconds) / launches)
        stop = self.experiment.stop
        if stop.rule == "race":
            everyone = distinguishable(self.experiment, detected(self.store.records))
            wanted = wanted if len(everyone) > 1 else 0
        bounded = stop.budget if stop.binding or stop.rule == "race" else None
        most = math.inf if bounded is None else (bounded - self.earlier) / 2
        for made in range(wanted):
            took = self.clock() - began
            if self.launcher.virtual:
                took = sum(record.wall for record in self.store.records[before:])
            if self.store.records and took + self.budget.takes(everyone) > most:
                self.watcher.note(f"{made} of {wanted} warm-ups were made: half of --budget is for measuring")
                return
            yield Block("warmup", everyone)

    def until_one_succeeds(self, alone: Configuration) -> Iterator[Configuration]:
        """Configurations to launch first, as only a launch that succeeds shows what the program reads (-i lets others
        fail). They differ in more than p, and are few."""
        by_others = dict[tuple[tuple[str, Level], ...], Configuration]()
        for each in (alone, *configurations(self.experiment)):
            by_others.setdefault(self.experiment.beside_p(each), each)
        for chosen in itertools.islice(by_others.values(), MOST_TRACES):
            yield chosen
            if any(record.ok for record in self.store.records):
                return

    def make(self, block: Block) -> None:
        """Makes all launches of a block; if it fails, none of them count."""
        self.wait()
        number, attempt = self.store.begin()
        since = plan.since_baseline(self.store.records, self.baseline) if self.experiment.baseline.returns else None
        launches = plan.invocations(block, number, attempt, self.baseline, self.seed(), since)
        try:
            made = self.launch(launches)
            if block.phase != "warmup" or not self.experiment.ignore_failure:
                self.must_have_succeeded(made)
        except BaseException:
            self.launcher.cancel()
            self.store.abandon()
            raise
        self.store.complete()
        for record in made:
            self.policy.add(record)
        self.watcher.block_done(number, self.store.records)

    def wait(self) -> None:
        """Waits for quiet CPUs. This counts for a typed budget, and for no other."""
        typed = self.experiment.stop.binding
        waited = self.quiet(self.budget.seconds if typed else math.inf)
        if not typed:
            self.start += waited
        elif waited and self.budget.seconds <= 0:
            remedy = "give it more time by a larger --budget, or leave --wait-quiet out"
            raise BudgetEndedError("the machine was not quiet in time", where="--budget", remedy=remedy)

    def launch(self, launches: Sequence[Invocation]) -> list[Record]:
        made: list[Record] = []
        begun = self.launcher.launch(launches)
        self.announce(launches[:1])
        for record in map(self.paid, begun):
            self.store.append(record)
            made.append(record)
            self.watcher.launched(record)
            self.check(record)
            self.must_fit(made, launches)
            self.announce(launches[len(made) : len(made) + 1])
        if sorted(record.order for record in made) != list(range(len(launches))):
            raise CorescaleError(f"{len(made)} records of {len(launches)} launches", where=self.launcher.name)
        return made

    def paid(self, record: Record) -> Record:
        """The record with its part of the budget, by the clock that counts the budget."""
        if self.launcher.virtual:
            return record
        before, self.booked = self.booked, self.clock()
        return replace(record, paid=max(0.0, self.booked - before))

    def must_fit(self, made: Sequence[Record], launches: Sequence[Invocation]) -> None:
        """Raises BudgetEndedError if a typed budget has no time for the next launch of the block."""
        stop, each = self.experiment.stop, _by_themselves(made) / len(made)
        virtual = self.launcher.virtual
        if not stop.binding or stop.rule == "race" or stop.budget is None or virtual or len(made) == len(launches):
            return
        left = self.budget.seconds
        if each > left:
            self.must_have_succeeded(made)
            took, spent = _by_themselves((*self.store.records, *made)), stop.budget - left
            rest = max(0.0, spent - took)
            reached, wanted = (len({one.configuration for one in some}) for some in (made, launches))
            what = f"{stop.budget:g} s sufficed for {reached} of {wanted} configurations:"
            what += f" launches took {took:.2g} s, and start, hooks, proofs and the like {rest:.2g} s"
            enough = math.ceil(spent * len(launches) / len(made))
            fewer = "commands" if [each.name for each in self.experiment.factors] == [COMMAND] else "levels"
            raise BudgetEndedError(what, where="--budget", remedy=f"give it {enough}s, or name fewer {fewer}")

    def announce(self, launches: Sequence[Invocation]) -> None:
        for invocation in launches:
            self.watcher.launching(invocation, self.launcher.line(invocation.configuration))

    def check(self, record: Record) -> None:
        may_fail = self.experiment.ignore_failure or self.experiment.finds
        needed = (reference(self.experiment), first(self.experiment))
        if not record.ok and record.configuration in needed and not may_fail:
            self.must_be_later(record)
        self.must_start(record)
        if record.ok and record.origin != "simulated" and not self.short_noted and (said := too_short(record.wall)):
            self.short_noted = True
            self.watcher.note(said)

    def must_start(self, record: Record) -> None:
        """Raises ProgramError for a launch that cannot be started any more, because the program was removed.

        A shell or another program that starts it says so by its exit code; with -i, that is a failure like others.
        """
        same = (earlier for earlier in self.store.records if earlier.configuration == record.configuration)
        lost = record.status == "not-started" or (not_started(record) and not self.experiment.ignore_failure)
        if lost and not all(not_started(earlier) for earlier in same):
            what = f"{self.called(record)} {ending(record)}, and it was started before"
            remedy = "put it back, and the same command continues; corescale report shows what was measured until then"
            raise ProgramError(what, remedy=remedy + self._launched(record))

    def must_be_later(self, record: Record) -> None:
        """Raises an error if the baseline never succeeded, so that nothing can be compared with it."""
        if not any(earlier.ok and earlier.configuration == record.configuration for earlier in self.store.records):
            work = f"make it work, or add {self.experiment.typed('-i')}: launches may fail then"
            otherwise = "correct the command" if not_started(record) else work
            remedy = self._remedy(record, otherwise) + self._launched(record)
            raise self._lost(record)(f"{self.called(record)} {ending(record)}", remedy=remedy)

    def called(self, record: Record) -> str:
        """The name of the baseline; for a verb without one, the command or the level."""
        if self.experiment.is_serial(record.configuration):
            return "the serial program"
        if not (self.experiment.scans or self.experiment.compares):
            levels = untyped(self.experiment)
            return Configuration(levels).label if levels else "your current launch"
        alone = len(configurations(self.experiment)) == 1
        return "the program" if alone else record.configuration.label

    def must_have_succeeded(self, made: Sequence[Record]) -> None:
        """Raises ProgramError if no launch succeeded, and UsageError if none that counts gave the response."""
        name = self.experiment.response
        if any(math.isfinite(record.response(name)) for record in itertools.chain(made, self.store.records)):
            return
        if not any(record.ok for record in itertools.chain(made, self.store.records)):
            remedy = self._remedy(made[-1], "make the program work") + self._launched(made[-1])
            every, tried = configurations(self.experiment), {record.configuration for record in self.store.records}
            left = len(set(every) - tried - {record.configuration for record in made})
            none = (
                f"{left} of {len(every)} configurations were not launched, and no other" if left else "no configuration"
            )
            raise self._lost(made[-1])(f"{none} succeeded; the last one {ending(made[-1])}", remedy=remedy)
        if made[0].timed:
            given = {f"metric:{key}" for record in made for key in record.metrics}
            given |= {f"region:{region.name}" for record in made for region in record.regions}
            source = self.experiment.metrics.get(name.removeprefix("metric:"), "")
            said = [warning for record in made for warning in record.warnings]
            adds = f"{self.experiment.typed('--metric')} adds one"
            declared = metric_sources.given_by(source, said) if source else adds
            usual = "region.h adds one" if name.startswith("region:") else declared
            gives = next((each for record in made for each in unwritten(record.tail)), usual)
            remedy = f"the program gives {', '.join(sorted(given)) or 'none'}; {gives} (docs/region.md)"
            raise UsageError("no launch gave it", where=name, remedy=remedy)

    def _lost(self, record: Record) -> type[CorescaleError]:
        """The type of error for a failed launch; one that a typed budget killed says nothing about the program."""
        return BudgetEndedError if record.status == "timeout" and self._budget_kills() else ProgramError

    def _budget_kills(self) -> bool:
        """Whether a launch is killed when a typed budget ends, and not earlier."""
        stop = self.experiment.stop
        return stop.binding and stop.budget == self.experiment.timeout

    def _remedy(self, record: Record, otherwise: str) -> str:
        """What to do about a launch that failed."""
        if record.status == "unproved":
            return "leave this level out"
        if record.status == "output-differs":
            return f"leave out {self.experiment.typed('--same-output')} if each level or launch writes another"
        if ROOT in record.tail:
            return f"add {ROOT} to the command, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
        if record.status == "timeout":
            limit = "--budget" if self._budget_kills() else self.experiment.typed("--timeout")
            return CONTINUE if record.halted else f"give it more time by a larger {limit}, or less work"
        parameters = (factor.name for factor in self.experiment.factors if factor.kind == "parameter")
        ranges = (no_range(name, record.configuration.get(name)) for name in parameters)
        if meant := next(filter(None, ranges), ""):
            return meant
        known = record.status == "not-started" or names_error(record.tail) or self.experiment.output == SHOWN
        return otherwise if known else f"{otherwise}; {self.experiment.typed('--show-output')} shows what it wrote"

    def _launched(self, record: Record) -> str:
        """The command as messages show it, without the variables set for it or its ranks."""
        line = self.launcher.line(record.configuration)
        return f" (the command: {SET.sub('', line)})"


def _by_themselves(made: Sequence[Record]) -> float:
    """Seconds of the budget that these launches took, without what came between them."""
    return sum(min(record.wall, record.of_budget) for record in made)


def begins_alone(experiment: Experiment, *, virtual: bool) -> bool:
    """Whether a single launch comes before all others. It may have three purposes: an output to compare with, a time
    that shows which launches are far too slow, and a check that p reaches the program. The check is made only if there
    are no warm-ups. Virtual launches cannot show that."""
    by_variables = experiment.compares and unread(experiment, ()) == "threads"
    unknown = by_variables or (experiment.scans and reads_show_p(experiment))
    asks_reads = unknown and not virtual and not experiment.warmup
    return experiment.same_output or experiment.stop.rule == "race" or asks_reads
