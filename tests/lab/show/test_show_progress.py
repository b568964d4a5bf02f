# SPDX-License-Identifier: Apache-2.0
"""Progress: on stderr alone, one line a block where nobody watches, and hostile text is text."""

import io
import time
from dataclasses import replace

import pytest
from rich.console import Console

from corescale.conclude.budget import spent
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.declare.plan import Block, invocations
from corescale.declare.stop import Stop
from corescale.observe.watcher import Watcher
from corescale.records import Status
from corescale.show import headline, progress, text
from support import samples


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def play(watcher: Watcher, blocks: int = 8) -> None:
    experiment = samples.scan_experiment(blocks)
    made = samples.records(experiment, samples.amdahl(), blocks)
    block = Block("measure", configurations(experiment))
    for number in range(blocks):
        for invocation in invocations(block, number, 0, baseline(experiment), 1):
            watcher.launching(invocation, f"./solver {samples.HOSTILE}")
        for record in made[4 * number : 4 * number + 4]:
            watcher.launched(record)
        watcher.block_done(number, made[: 4 * number + 4])


def test_quiet_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with progress.create(samples.scan_experiment(8), quiet=True) as watcher:
        play(watcher)
        watcher.note("x")
    assert capfd.readouterr() == ("", "")


def test_plain_lines_go_to_stderr_one_a_block(capfd: pytest.CaptureFixture[str]) -> None:
    with progress.create(samples.scan_experiment(8)) as watcher:
        play(watcher)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 8
    assert lines[-1].startswith("8 of 8 blocks; threads=8 is 4.")
    assert "left" in lines[-1] and "[" in lines[-1] and "[" not in lines[3]


def test_each_line_of_numbers_that_were_not_measured_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    experiment = samples.scan_experiment(2)
    made = samples.records(experiment, samples.amdahl(), 2)
    with progress.create(experiment) as watcher:
        watcher.block_done(0, [replace(record, origin="simulated") for record in made])
        watcher.block_done(1, [replace(record, origin="measured") for record in made])
    simulated, measured = capfd.readouterr().err.splitlines()
    assert " (simulated); " in simulated and "simulated" not in measured


def test_notes_cannot_steer_the_terminal() -> None:
    stream = io.StringIO()
    with progress.create(samples.scan_experiment(8), stream=stream) as watcher:
        watcher.note(samples.HOSTILE)
    assert stream.getvalue() == "note: red [bold]markup[/bold] </script><b>&\\x07 end\n"


def test_live_shows_what_runs_and_leaves_nothing_behind() -> None:
    stream = Terminal()
    with progress.create(samples.scan_experiment(8), stream=stream) as watcher:
        assert isinstance(watcher, progress.Fancy)
        play(watcher)
        console = Console(file=io.StringIO(), width=100, no_color=True, record=True)
        console.print(watcher)
        shown = console.export_text()
    assert "8 of 8 blocks" in shown and "measuring: ./solver" in shown and "so far: threads=8" in shown
    assert "\x07" not in stream.getvalue() and "\x1b[31mred" not in stream.getvalue()


def test_a_line_on_a_terminal_is_replaced_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream, silent = Terminal(), Terminal()
    for said in (f"launch 1 of 8: {samples.HOSTILE}", ""):
        progress.Line(stream=stream)(said)
        progress.Line(stream=silent, quiet=True)(said)
    shown = stream.getvalue()
    assert "launch 1 of 8" in shown and "\n" not in shown and "\x07" not in shown
    assert shown.endswith("\r\x1b[2K")
    assert silent.getvalue() == ""
    progress.Line(stream=(piped := io.StringIO()))("launch 1 of 8")
    assert piped.getvalue() == ""


def test_the_budget_bounds_the_time_left() -> None:
    experiment = samples.tune_experiment()
    limited = experiment.model_copy(update={"stop": experiment.stop.model_copy(update={"budget": 10.0})})
    state = progress.State(limited)
    made = samples.records(limited, samples.amdahl(), 1)
    for record in made:
        state.launched(record)
    state.block_done(made)
    assert state.left == "at most 0 s left"


def test_the_time_left_falls_within_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of a thousand configurations takes minutes: its launches count too, and no proof before them."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    state = progress.State(samples.scan_experiment(8))
    state.experiment = state.experiment.model_copy(
        update={"stop": state.experiment.stop.model_copy(update={"min_blocks": 2, "max_blocks": 2, "budget": None})}
    )
    assert state.left == "time left unknown"
    made = samples.records(state.experiment, samples.amdahl(), 1)
    expected = 2 * state.launches_a_block
    now[0] += 300.0
    for count, record in enumerate(made, start=1):
        now[0] += 10.0
        state.launched(replace(record, wall=10.0))
        assert state.left == f"at most {text.duration(10.0 * (expected - count))} left"


def test_failed_launches_are_counted_and_never_best() -> None:
    result = samples.failing_tune()
    said = progress.best_so_far(result.records, result.experiment)
    assert said.startswith("threads=8 allocator=mimalloc is 1.1")


def test_a_launch_that_was_stopped_since_it_had_lost_is_no_failure() -> None:
    experiment = samples.tune_experiment(stop=Stop(rule="replicates", min_blocks=12, max_blocks=12))
    state = progress.State(experiment)
    ended: list[Status] = ["ok", "capped", "capped", "signal"]
    for record, status in zip(samples.records(experiment, samples.amdahl(), 1), ended, strict=False):
        state.launched(replace(record, status=status))
    assert state.amount.endswith(", 1 of 4 launches failed, 2 of 4 launches capped")
    state.failures = 0
    assert state.amount.endswith(", 2 of 4 launches capped")
    state.capped = 0
    assert state.amount.endswith(" blocks")


def racing(**stop: object) -> Experiment:
    experiment = samples.tune_experiment()
    return experiment.model_copy(
        update={"stop": experiment.stop.model_copy(update={"rule": "race", "within": 0.02, **stop})}
    )


def test_a_race_counts_launches_and_what_it_may_still_spend() -> None:
    """It has no number of blocks to go to: the budget alone bounds it."""
    experiment = racing(budget=1000.0, launches=None)
    state = progress.State(experiment)
    assert state.best == "nothing measured yet" and state.amount == "0 launches"
    made = samples.records(experiment, samples.amdahl(), 2)
    for record in made:
        state.launched(record)
    state.block_done(made)
    assert state.amount == f"{len(made)} launches"
    assert state.left == f"at most {text.duration(1000 - spent(made, experiment))} left"
    assert state.done == pytest.approx(spent(made, experiment) / 1000)
    assert " leads" in state.best and "the best of all that was tried at 95%" in state.best


def test_a_race_bounded_by_launches_or_by_nothing_says_so() -> None:
    made = samples.records(racing(), samples.amdahl(), 2)
    limited, free = (progress.State(racing(budget=None, launches=most)) for most in (100, None))
    limited.block_done(made)
    free.block_done(made)
    assert limited.left == f"at most {100 - len(made)} launches left"
    assert free.left == "until 2% is proved" and free.done is None


def test_baseline_first_launch_is_no_measurement_yet() -> None:
    experiment = racing()
    state = progress.State(experiment)
    first = replace(samples.records(experiment, samples.amdahl(), 1)[0], phase="warmup")
    state.block_done([first])
    assert state.best == "nothing measured yet"


def test_progress_says_of_a_fastest_reference_what_the_first_line_would_say() -> None:
    result = samples.compare_result(20, step=1.25, noise=0.004)
    said = progress.best_so_far(result.records, result.experiment)
    assert "slower than old" in said and headline.headline(result).startswith(said.partition(" [")[0])
