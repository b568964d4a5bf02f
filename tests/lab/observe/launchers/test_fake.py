# SPDX-License-Identifier: Apache-2.0
"""The fake launcher: what it records follows from its landscape, noise and all."""

import itertools
import math
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corescale.declare import plan
from corescale.declare.base import Model
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.declare.plan import Block
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.observe import store
from corescale.observe.launchers.fake import Fake
from corescale.observe.launchers.landscape import (
    CarryOver,
    Disturbance,
    Failure,
    Interaction,
    Landscape,
    Metric,
    Own,
    Period,
)
from corescale.observe.run import run
from support.policies import blocks

Make = Callable[..., Experiment]


# ---- fake


def logs(landscape: Landscape, e: Experiment, count: int) -> list[float]:
    records = run(e, store.Memory(), Fake(e, landscape), blocks(e, count))
    return [math.log(r.wall / landscape.truth(r.configuration)) for r in records]


def test_the_truth_is_model_times_levels_times_interactions(experiment: Make) -> None:
    e = experiment(levels={"threads": (1, 4), "level": (3, 9)})
    landscape = Landscape(
        base=10,
        serial=0.2,
        times={"level": {"3": 1.0, "9": 2.0}},
        interactions=(Interaction(levels={"threads": 4, "level": 9}, times=1.5),),
        metrics={"bytes": Metric(base=100, times={"level": {"3": 1.0, "9": 0.8}})},
        noise=Disturbance(kind="none"),
    )
    records = run(e, store.Memory(), Fake(e, landscape), blocks(e, 1))
    found = {tuple(level for _, level in r.configuration.levels): (r.wall, r.metrics["bytes"]) for r in records}
    four = 0.2 + 0.8 / 4
    expected = {(1, 3): (10, 100), (4, 3): (10 * four, 100), (1, 9): (20, 80), (4, 9): (30 * four, 80)}
    assert found.keys() == expected.keys()
    assert all(found[key] == pytest.approx(expected[key]) for key in expected)


@pytest.mark.parametrize("kind", ["normal", "lognormal", "ar1"])
def test_noise_has_the_size_it_was_given(experiment: Make, kind: Any) -> None:
    scatter = logs(Landscape(noise=Disturbance(kind=kind, size=0.03)), experiment(), 4000)
    assert statistics.fmean(scatter) == pytest.approx(0, abs=0.004)
    assert statistics.stdev(scatter) == pytest.approx(0.03, rel=0.06)


def test_ar1_remembers_and_the_others_do_not(experiment: Make) -> None:
    def memory(noise: Disturbance) -> float:
        scatter = logs(Landscape(noise=noise), experiment(), 4000)
        return statistics.correlation(scatter[1:], scatter[:-1])

    assert memory(Disturbance(kind="ar1", memory=0.6)) == pytest.approx(0.6, abs=0.05)
    assert memory(Disturbance(kind="lognormal")) == pytest.approx(0, abs=0.05)


def test_two_modes_and_bursts_take_their_share(experiment: Make) -> None:
    two = logs(Landscape(noise=Disturbance(kind="bimodal", size=0.01, gap=0.2, share=0.3)), experiment(), 3000)
    assert sum(x > 0.1 for x in two) / len(two) == pytest.approx(0.3, abs=0.03)
    burst = Disturbance(kind="bursts", size=0.01, gap=0.2, share=0.02, memory=0.9)
    slow = [x > 0.1 for x in logs(Landscape(noise=burst), experiment(), 5000)]
    assert sum(slow) / len(slow) == pytest.approx(0.02 / (0.02 + 0.1), abs=0.05)
    starts = sum(now and not before for before, now in itertools.pairwise(slow))
    assert sum(slow) / starts == pytest.approx(10, rel=0.4)


def test_drift_moves_times_with_the_virtual_clock(experiment: Make) -> None:
    e = experiment()
    records = run(
        e, store.Memory(), Fake(e, Landscape(base=60, drift=0.6, noise=Disturbance(kind="none"))), blocks(e, 30)
    )
    hour = (records[-1].started - records[0].started) / 3600
    assert math.log(records[-1].wall / records[0].wall) == pytest.approx(0.6 * hour)


def test_a_configuration_may_have_noise_and_drift_of_its_own(experiment: Make) -> None:
    own = Own(levels={"threads": 2}, noise=Disturbance(size=0.1), drift=0.36)
    e, land = experiment(), Landscape(noise=Disturbance(kind="none"), own=(own,))
    records = run(e, store.Memory(), Fake(e, land), blocks(e, 400))
    of = {t: [math.log(r.wall) for r in records if r.configuration["threads"] == t] for t in (1, 2)}
    assert set(of[1]) == {0.0}
    hours = [(r.started - records[0].started) / 3600 for r in records if r.configuration["threads"] == 2]
    rest = [x - 0.36 * hour for x, hour in zip(of[2], hours, strict=True)]
    assert statistics.stdev(rest) == pytest.approx(0.1, rel=0.1)


def test_the_first_in_a_block_what_came_before_and_the_time_of_day_change_a_time(experiment: Make) -> None:
    quiet, e = Disturbance(kind="none"), experiment()
    after = CarryOver(after={"threads": 2}, adds=0.01)
    records = run(e, store.Memory(), Fake(e, Landscape(noise=quiet, first_in_block=0.1, carry_over=(after,))),
                  blocks(e, 30))  # fmt: skip
    assert any(r.configuration["threads"] == 2 and r.order == 0 for r in records)
    for before, now in itertools.pairwise(records):
        expected = 0.1 * (now.order == 0) + 0.01 * (before.configuration["threads"] == 2)
        assert math.log(now.wall) == pytest.approx(expected)
    swing = Landscape(noise=quiet, period=Period(seconds=4, height=0.2))
    logs = [math.log(r.wall) for r in run(e, store.Memory(), Fake(e, swing), blocks(e, 20))]
    assert max(logs) > 0.1 and min(logs) < -0.1


def test_a_slow_launch_may_be_recorded_as_stolen_and_a_metric_may_scatter(experiment: Make) -> None:
    e = experiment()
    land = Landscape(
        noise=Disturbance(kind="bursts", size=0, gap=0.5, steal=0.2), metrics={"bytes": Metric(base=100, size=0.05)}
    )
    records = run(e, store.Memory(), Fake(e, land), blocks(e, 500))
    share = {r.wall > 1.2: r.noise.steal / (r.noise.steal + r.user) for r in records}
    assert share == {False: 0.0, True: pytest.approx(0.2)}
    assert statistics.stdev([math.log(r.metrics["bytes"]) for r in records]) == pytest.approx(0.05, rel=0.1)


def test_a_fake_time_out_takes_the_time_out(experiment: Make) -> None:
    e = experiment(timeout=3.0)
    landscape = Landscape(failures=(Failure(levels={"threads": 1}, status="timeout"),))
    records = run(e, store.Memory(), Fake(e, landscape), blocks(e, 1))
    assert [(r.status, r.wall) for r in records if r.configuration["threads"] == 1] == [("timeout", 3.0)]


def test_a_resumed_simulation_does_not_repeat_its_noise(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    e = experiment()
    walls = []
    for count in (2, 4):
        with store.open_run(e, two_cores, tmp_path, "fake") as folder:
            records = run(e, folder, Fake(e, Landscape()), blocks(e, count))
            (folder.path / "finished").unlink()
            walls = [r.wall for r in records]
    assert len(set(walls)) == 8


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("base = 0", "base: should be greater than 0"),
        ("bose = 1", "bose: unknown key 'bose'; did you mean base?"),
        ("base = ", "not TOML"),
        ("[times.thread]\n1 = 2.0", "factor 'thread' is not in the experiment; factors: threads"),
        ("[times.threads]\n1 = 2.0", "factor 'threads' has no entry for level '2'"),
        ("[[failures]]\nlevels = { nodes = 1 }", "factor 'nodes' is not in the experiment"),
        ("[times.threads]\n1 = 1.0\n2 = -1.0", "times.threads.2: should be greater than 0"),
        ("noise = { kind = 'pink' }", "noise.kind: should be 'none', 'normal'"),
    ],
)
def test_a_wrong_landscape_is_named(experiment: Make, tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "landscape.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        Fake(experiment(), Landscape.read(path))
    assert says in str(refused.value)


def test_the_page_on_landscapes_has_every_key_and_can_be_run(experiment: Make, tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "fake.md").read_text()
    whole, commands = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    path = tmp_path / "landscape.toml"
    path.write_text(commands)
    assert set(Landscape.read(path).times) == {"command"}
    path.write_text(whole)
    landscape = Landscape.read(path)
    assert landscape.period is not None
    parts: list[Model] = [landscape, landscape.noise, landscape.rehearsal, landscape.period]
    parts += [*landscape.interactions, *landscape.failures, *landscape.own, *landscape.carry_over]
    parts += landscape.metrics.values()
    assert [sorted(type(part).model_fields) for part in parts] == [sorted(part.model_fields_set) for part in parts]
    levels: dict[str, tuple[int | str, ...]] = {"threads": (1, 2, 4), "alloc": ("a", "b")}
    e = experiment("x", "{alloc}", levels=levels)
    assert {r.origin for r in run(e, store.Memory(), Fake(e, landscape), blocks(e, 2))} == {"fake"}


def test_another_landscape_has_another_name(experiment: Make) -> None:
    e = experiment()
    assert Fake(e, Landscape()).name == Fake(e, Landscape()).name != Fake(e, Landscape(base=2)).name


def test_fake_launches_are_instant(experiment: Make) -> None:
    """Over 100,000 a second on a quiet core; a tenth of that must hold on a busy one."""
    e = experiment(levels={"threads": (1, 2, 4, 8)})
    fake = Fake(e, Landscape(serial=0.1))
    made = [plan.invocations(Block("measure", configurations(e)), k, 0, baseline(e), k) for k in range(2000)]
    start = time.process_time()
    assert sum(len(list(fake.launch(block))) for block in made) == 8000
    assert 8000 / (time.process_time() - start) > 10_000
