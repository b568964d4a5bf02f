# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one loop)
"""The loop, against the fake launcher: what is launched, what is kept, what ends it."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.declare.plan import Block, Invocation
from corescale.declare.stop import Stop
from corescale.errors import AfterwardsError, BudgetEndedError, CorescaleError, InconclusiveError, ProgramError
from corescale.machine import Machine
from corescale.observe import store
from corescale.observe.launchers.fake import Fake
from corescale.observe.launchers.landscape import Failure, Landscape
from corescale.observe.run import run
from corescale.observe.watcher import Watcher
from corescale.records import Record
from support.policies import Asking, blocks

Make = Callable[..., Experiment]


class Watch(Watcher):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Any]] = []

    def launching(self, invocation: Invocation, line: str) -> None:
        self.said.append(("launching", (invocation.order, line)))

    def launched(self, record: Record) -> None:
        self.said.append(("launched", record.order))

    def block_done(self, number: int, records: Sequence[Record]) -> None:
        self.said.append(("block", (number, len(records))))

    def note(self, text: str) -> None:
        self.said.append(("note", text))

    def of(self, kind: str) -> list[Any]:
        return [what for name, what in self.said if name == kind]


class Cancellable(Fake):
    """Fails at its n-th launch as told, and remembers whether it was cancelled and closed."""

    def fail_at(self, launch: int, error: BaseException) -> "Cancellable":
        self.launch_number, self.error = launch, error
        self.ends: list[str] = []
        return self

    def launch(self, block: Sequence[Invocation]) -> Iterator[Record]:
        for record in super().launch(block):
            self.launch_number -= 1
            if self.launch_number < 0:
                raise self.error
            yield record

    def cancel(self) -> None:
        self.ends.append("cancelled")

    def close(self) -> None:
        self.ends.append("closed")


@pytest.fixture(params=["memory", "folder"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, two_cores: Machine) -> Callable[[Experiment], Any]:
    """A store of either kind, opened again each time."""
    memory = store.Memory()

    class Held:
        def __init__(self, experiment: Experiment) -> None:
            self.experiment = experiment

        def __enter__(self) -> store.Store:
            if request.param == "memory":
                return memory
            self.context = store.open_run(self.experiment, two_cores, tmp_path / "runs", "fake")
            return self.context.__enter__()

        def __exit__(self, *error: Any) -> None:
            if request.param == "folder":
                self.context.__exit__(*error)

    return Held


class Rebuilt(Cancellable):
    """Another build each time that it is looked at."""

    builds = 0

    def subject(self) -> dict[str, Any]:
        self.builds += 1
        library = {f"lib{self.builds}.so": {"size": 1}}  # which only this build is linked with
        return {"programs": {"./kept": {"size": 1}, "./p": {"size": self.builds}, **library}}


@pytest.mark.parametrize(("launches", "error"), [(10, KeyboardInterrupt), (12, AfterwardsError)])
def test_a_changed_program_is_named_in_the_run_however_it_ends(
    launches: int, error: type[BaseException], experiment: Make, two_cores: Machine, tmp_path: Path
) -> None:
    e = experiment(levels={"threads": (1, 2)})
    with store.open_run(e, two_cores, tmp_path, "fake") as held:
        with pytest.raises(error):
            run(e, held, Rebuilt(e, Landscape(serial=0.1)).fail_at(launches, KeyboardInterrupt()), blocks(e, 6))
        assert held.finished().environment["changed"] == ["./p"]
    assert store.load(held.path).environment["changed"] == ["./p"]


def test_every_block_is_complete_in_a_fresh_order_with_its_seed(opened: Any, experiment: Make) -> None:
    e = experiment(levels={"threads": (1, 2, 4, 8)})
    watch = Watch()
    with opened(e) as held:
        records = run(e, held, Fake(e, Landscape(serial=0.1)), blocks(e, 30), watch)
    assert [len(list(group)) for _, group in itertools.groupby(records, lambda r: r.block)] == [4] * 30
    by_block = [[r.configuration for r in group] for _, group in itertools.groupby(records, lambda r: r.block)]
    assert all(set(order) == set(configurations(e)) for order in by_block)
    assert len({tuple(order) for order in by_block}) > 10
    assert len({r.seed for r in records}) == 30
    assert watch.of("block") == [(k, 4 * (k + 1)) for k in range(30)]
    kinds = [kind for kind, _ in watch.said if kind != "note"]
    assert kinds == (["launching", "launched"] * 4 + ["block"]) * 30


def test_a_machine_that_is_lost_in_a_later_block_ends_no_run(opened: Any, experiment: Make) -> None:
    """Only the end of the budget is an end: the run stays open, and goes on where it was."""
    e = experiment()
    with opened(e) as held:
        fails = Cancellable(e, Landscape()).fail_at(5, InconclusiveError("a node was lost"))
        with pytest.raises(InconclusiveError, match="a node was lost"):
            run(e, held, fails, blocks(e, 4))
    with opened(e) as held:
        assert len(run(e, held, Fake(e, Landscape()), blocks(e, 4))) == 8
    with opened(e) as held:
        ends = Cancellable(e, Landscape()).fail_at(5, BudgetEndedError("no time is left"))
        run(e, held, ends, blocks(e, 8))


def test_what_a_launch_waited_for_is_not_paid(opened: Any, experiment: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block waits 1,000 s for its nodes, and each of its launches then takes 2 s here, whatever its wall is."""
    now = 0.0

    class Queues(Fake):
        virtual = False

        def launch(self, block: Sequence[Invocation]) -> Iterator[Record]:
            nonlocal now
            now += 1000
            self.waited += 1000
            for record in super().launch(block):
                now += 2
                yield record

    monkeypatch.setattr("corescale.observe.run.time", SimpleNamespace(monotonic=lambda: now))
    e = experiment()
    with opened(e) as held:
        records = run(e, held, Queues(e, Landscape()), blocks(e, 3))
    assert [record.paid for record in records] == [2.0] * 6


def test_warm_ups_come_first_and_are_recorded(opened: Any, experiment: Make) -> None:
    e = experiment(warmup=2)
    with opened(e) as held:
        records = run(e, held, Fake(e, Landscape()), blocks(e, 1))
    assert [r.phase for r in records] == ["warmup"] * 4 + ["measure"] * 2
    assert [r.block for r in records] == [0, 0, 1, 1, 2, 2]


def test_a_policy_that_has_enough_at_once_launches_nothing(opened: Any, experiment: Make) -> None:
    e = experiment(warmup=2)
    with opened(e) as held:
        assert run(e, held, Fake(e, Landscape()), Asking(e, lambda _: None)) == ()


def test_same_output_has_the_baseline_first(opened: Any, experiment: Make) -> None:
    e = experiment(same_output=True)
    with opened(e) as held:
        records = run(e, held, Fake(e, Landscape()), blocks(e, 1))
    assert (records[0].phase, records[0].configuration) == ("warmup", baseline(e))
    assert len(records) == 3


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ProgramError("broken"), RuntimeError()])
def test_an_interruption_keeps_complete_blocks_cancels_and_is_gone_on_with(
    opened: Any, experiment: Make, error: BaseException
) -> None:
    e = experiment(levels={"threads": (1, 2, 3)})
    launcher = Cancellable(e, Landscape()).fail_at(7, error)
    with opened(e) as held, pytest.raises(type(error)):
        run(e, held, launcher, blocks(e, 4))
    assert "cancelled" in launcher.ends
    assert launcher.ends[-1] == "closed"
    with opened(e) as held:
        assert len(held.records) == 6
        records = run(e, held, Fake(e, Landscape()), blocks(e, 4))
    assert [(r.block, r.attempt) for r in records] == [(0, 0)] * 3 + [(1, 0)] * 3 + [(2, 1)] * 3 + [(3, 0)] * 3


def test_an_interrupted_run_is_unlocked_and_its_partial_records_are_marked(
    experiment: Make, two_cores: Machine, tmp_path: Path
) -> None:
    e = experiment(levels={"threads": (1, 2, 3)})
    with pytest.raises(KeyboardInterrupt), store.open_run(e, two_cores, tmp_path, "fake") as folder:
        run(e, folder, Cancellable(e, Landscape()).fail_at(7, KeyboardInterrupt()), blocks(e, 4))
    kept = store.load(folder.path)
    assert (len(kept.records), len(kept.all_records), kept.finished) == (6, 7, False)
    assert '"event":"block-abandoned","block":2,"attempt":0' in (folder.path / "records.jsonl").read_text()


def test_resuming_gives_the_policy_all_complete_records(opened: Any, experiment: Make) -> None:
    e = experiment()
    with opened(e) as held, pytest.raises(KeyboardInterrupt):
        run(e, held, Cancellable(e, Landscape()).fail_at(5, KeyboardInterrupt()), blocks(e, 9))
    seen: list[int] = []

    def once(records: Sequence[Record]) -> Block | None:
        seen.append(len(records))
        return None

    with opened(e) as held:
        run(e, held, Fake(e, Landscape()), Asking(e, once))
    assert seen == [4]


FAILS = Landscape(failures=(Failure(status="failed", exit_code=3, tail="reading\nno such table: x\n"),))


def test_a_failing_launch_of_baseline_is_an_error_with_what_it_said(opened: Any, experiment: Make) -> None:
    e = experiment()
    with opened(e) as held, pytest.raises(ProgramError) as failed:
        run(e, held, Fake(e, FAILS), blocks(e, 3))
    assert "threads=2 failed with exit code 3: no such table: x" in str(failed.value)
    assert "add -i" in str(failed.value)


def test_when_nothing_succeeds_it_is_an_error_even_if_failures_are_ignored(opened: Any, experiment: Make) -> None:
    e = experiment(ignore_failure=True)
    with opened(e) as held, pytest.raises(ProgramError, match="no configuration succeeded; the last one failed with"):
        run(e, held, Fake(e, FAILS), blocks(e, 3))
    with opened(e) as held:
        assert len(held.records) == 0, "the block does not count, so that a mended program starts afresh"
        assert len(run(e, held, Fake(e, Landscape()), blocks(e, 3))) == 6


@pytest.mark.parametrize(
    ("status", "says"), [("signal", "was killed by SIGSEGV"), ("check", "broke its own check landscape")]
)
def test_how_baseline_failed_is_named(opened: Any, experiment: Make, status: Any, says: str) -> None:
    e = experiment()
    with opened(e) as held, pytest.raises(ProgramError, match=says):
        run(e, held, Fake(e, Landscape(failures=(Failure(status=status),))), blocks(e, 3))


def test_a_timeout_of_baseline_is_named(opened: Any, experiment: Make) -> None:
    e = experiment(timeout=0.5)
    with opened(e) as held, pytest.raises(ProgramError, match=r"did not end, and was killed after 0\.5 s"):
        run(e, held, Fake(e, Landscape(base=2)), blocks(e, 3))


def test_a_failing_configuration_is_a_result(opened: Any, experiment: Make) -> None:
    e = experiment()
    landscape = Landscape(failures=(Failure(levels={"threads": 1}, status="failed", exit_code=9),))
    with opened(e) as held:
        records = run(e, held, Fake(e, landscape), blocks(e, 3))
    assert [(r.status, r.exit_code) for r in records if r.configuration["threads"] == 1] == [("failed", 9)] * 3
    assert all(r.ok for r in records if r.configuration["threads"] == 2)


def test_a_late_failure_of_baseline_is_a_result(opened: Any, experiment: Make) -> None:
    e = experiment()
    landscape = Landscape(failures=(Failure(levels={"threads": 2}, probability=0.3),), seed=3)
    with opened(e) as held:
        records = run(e, held, Fake(e, landscape), blocks(e, 20))
    assert {r.status for r in records} == {"ok", "failed"}


def test_short_launches_are_noted_once(opened: Any, experiment: Make) -> None:
    e = experiment()
    watch = Watch()
    with opened(e) as held:
        run(e, held, Fake(e, Landscape(base=0.002)), blocks(e, 5), watch)
    assert len([note for note in watch.of("note") if "below 10 ms" in note]) == 1


def test_seeds_can_be_given_so_that_a_simulation_repeats(experiment: Make) -> None:
    e = experiment(levels={"threads": (1, 2, 4, 8)})
    made = [run(e, store.Memory(), Fake(e, Landscape()), blocks(e, 9), None, itertools.count().__next__) for _ in "ab"]
    assert made[0] == made[1]


def test_a_failing_open_closes_the_launcher(opened: Any, experiment: Make) -> None:
    e = experiment()

    class Unopened(Cancellable):
        def open(self, note: Any, began: float | None = None) -> None:
            raise CorescaleError("no")

    launcher = Unopened(e, Landscape()).fail_at(0, RuntimeError())
    with opened(e) as held, pytest.raises(CorescaleError):
        run(e, held, launcher, blocks(e, 1))
    assert launcher.ends == ["cancelled", "closed"]


@pytest.mark.parametrize(("verb", "rule", "recorded"), [("tune", "race", True), ("scan", "replicates", False)])
def test_a_tune_begins_with_the_baseline_whatever_ends_it(
    opened: Any, experiment: Make, verb: Any, rule: Any, recorded: bool
) -> None:
    """What a program reads is detected while it warms up; where {threads} says how many there are, no scan needs it."""
    e = experiment(verb=verb, stop=Stop(rule=rule))
    with opened(e) as held:
        records = run(e, held, Fake(e, Landscape()), blocks(e, 1))
    assert [r.configuration for r in records if r.phase == "warmup"] == [baseline(e)] * recorded
