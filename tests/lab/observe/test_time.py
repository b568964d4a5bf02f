# SPDX-License-Identifier: Apache-2.0
"""What a budget that was typed bounds: warm-ups, hooks, and launches that hang."""

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline
from corescale.declare.stop import Stop
from corescale.errors import AfterwardsError, ExitCode, InconclusiveError, ProgramError
from corescale.machine import Machine
from corescale.observe import store
from corescale.observe.launchers.direct import Direct
from corescale.observe.launchers.fake import Fake
from corescale.observe.launchers.landscape import Landscape
from corescale.observe.run import run
from corescale.observe.timeouts import LEAST, Timeouts
from corescale.observe.watcher import Watcher
from support.play import record
from support.policies import blocks

Make = Callable[..., Experiment]


def typed(budget: float, **more: Any) -> Stop:
    return Stop(budget=budget, binding=True, **more)


class Notes(Watcher):
    """Keeps what it is told to say."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def test_what_is_left_of_a_budget(experiment: Make) -> None:
    clock = [1000.0]
    timeouts = Timeouts(typed(10), lambda: clock[0])
    timeouts.begin(999.0)
    assert timeouts.left == pytest.approx(10 - 1)
    clock[0] += 8
    assert timeouts.left == pytest.approx(10 - 9)
    clock[0] += 100
    assert (timeouts.left, timeouts.whole) == (LEAST, 10)
    timeouts.begin()
    timeouts.recall([record(baseline(experiment()), 4.0)])
    assert timeouts.left == pytest.approx(10 - 4), "an earlier try took its launches"


def test_what_nobody_typed_ends_nothing() -> None:
    for stop in (Stop(budget=10), Stop()):
        timeouts = Timeouts(stop, lambda: 5.0)
        timeouts.begin()
        assert timeouts.left == timeouts.whole == math.inf


@pytest.mark.parametrize("stop", [typed(2000), Stop(budget=2000, rule="race")])
def test_warm_ups_leave_half_of_a_budget(experiment: Make, stop: Stop) -> None:
    e, notes = experiment(warmup=100, stop=stop), Notes()
    records = run(e, store.Memory(), Fake(e, Landscape(base=20)), blocks(e, 2), notes)
    warming = [r.wall for r in records if r.phase == "warmup"]
    assert 900 < sum(warming) <= 1000
    assert len([r for r in records if r.phase == "measure"]) == 4
    made = (len(warming) - (stop.rule == "race")) // 2
    assert f"{made} of 100 warm-ups were made: half of --budget is for measuring" in notes.said


@pytest.mark.parametrize("stop", [Stop(), Stop(budget=2000), typed(1e6)])
def test_warm_ups_are_made_where_there_is_time(experiment: Make, stop: Stop) -> None:
    e = experiment(warmup=60, stop=stop)
    records = run(e, store.Memory(), Fake(e, Landscape(base=20)), blocks(e, 1))
    assert [r.phase for r in records] == ["warmup"] * 120 + ["measure"] * 2


def must_be_gone(pid: int) -> None:
    end = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < end, "what the hook started still runs"
        time.sleep(0.01)


HANGS = "sh -c 'sleep 300 & echo $! > {pid}; {then}wait'"


def test_a_hook_that_hangs_ends_with_the_budget_and_leaves_nothing(
    experiment: Make, two_cores: Machine, tmp_path: Path
) -> None:
    hooks = {"prepare": HANGS.format(pid=tmp_path / "pid", then=""), "cleanup": f"touch {tmp_path / 'clean'}"}
    e = experiment(hooks=hooks, stop=typed(4))
    with pytest.raises(InconclusiveError, match=r"--prepare .* within the budget of .* s; give it more: --budget"):
        run(e, store.Memory(), Direct(e, two_cores), blocks(e, 1))
    must_be_gone(int((tmp_path / "pid").read_text()))
    assert (tmp_path / "clean").exists()


@pytest.mark.parametrize("name", ["prepare", "conclude"])
def test_a_hook_around_a_launch_that_hangs_ends_as_a_launch_would(
    experiment: Make, two_cores: Machine, tmp_path: Path, name: str
) -> None:
    e = experiment(hooks={name: HANGS.format(pid=tmp_path / "pid", then="")}, timeout=3)
    with pytest.raises(ProgramError, match=rf"--{name} .* within 3 s, .*; .*--timeout"):
        run(e, store.Memory(), Direct(e, two_cores), blocks(e, 1))
    must_be_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("name", ["setup", "prepare"])
def test_ctrl_c_ends_all_that_a_hook_started(experiment: Make, two_cores: Machine, tmp_path: Path, name: str) -> None:
    e = experiment(hooks={name: HANGS.format(pid=tmp_path / "pid", then=f"kill -INT {os.getpid()}; ")})
    with pytest.raises(KeyboardInterrupt):
        run(e, store.Memory(), Direct(e, two_cores), blocks(e, 1))
    must_be_gone(int((tmp_path / "pid").read_text()))


def test_a_launch_that_hangs_ends_with_the_budget_and_the_blocks_before_it_count(
    experiment: Make, two_cores: Machine, tmp_path: Path
) -> None:
    script = f"test -e {tmp_path / 'there'} && sleep 300; touch {tmp_path / 'there'}"
    e = experiment("sh", "-c", script, levels={"threads": (1,)}, stop=typed(2))
    assert [r.status for r in run(e, store.Memory(), Direct(e, two_cores), blocks(e, 9))] == ["ok"]


@pytest.mark.parametrize(
    ("cleanup", "stop", "says"),
    [
        ("false", Stop(), "--cleanup false: failed with exit code 1"),
        ("sleep 300", typed(1), r"--cleanup sleep 300: .* within the budget of 1 s; give it more: --budget"),
    ],
)
def test_a_failing_clean_up_comes_when_the_run_is_finished(
    experiment: Make, two_cores: Machine, tmp_path: Path, cleanup: str, stop: Stop, says: str
) -> None:
    e = experiment(hooks={"cleanup": cleanup}, stop=stop)
    with store.open_run(e, two_cores, tmp_path) as folder:
        with pytest.raises(AfterwardsError, match=says) as failed:
            run(e, folder, Direct(e, two_cores), blocks(e, 1))
        assert failed.value.exit_code == ExitCode.PROGRAM
        assert store.load(folder.path).finished
