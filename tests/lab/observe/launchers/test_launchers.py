# SPDX-License-Identifier: Apache-2.0
"""Every launcher meets the contract; what is special to each."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corescale.declare import plan
from corescale.declare.experiment import Experiment
from corescale.declare.grid import baseline, configurations
from corescale.declare.metric_sources import METRIC_SOURCES, UNKEYED
from corescale.declare.plan import Block
from corescale.declare.request import RunRequest
from corescale.errors import CorescaleError, StoreError, UnavailableError, UsageError
from corescale.machine import Machine
from corescale.observe import launchers, ranks, sources, store
from corescale.observe.launchers.direct import Direct
from corescale.observe.launchers.fake import Fake
from corescale.observe.launchers.landscape import (
    Landscape,
)
from corescale.observe.launchers.spawning import SpawningLauncher
from corescale.observe.run import run
from corescale.observe.scratch import Scratch
from corescale.observe.spawn import SpawnReport, SpawnRequest
from corescale.records import Layout, Record
from support import simgrid
from support.policies import blocks

Make = Callable[..., Experiment]


@pytest.fixture
def landscape_file(tmp_path: Path) -> Path:
    path = tmp_path / "landscape.toml"
    path.write_text("base = 0.5\nserial = 0.2\nnoise = { kind = 'normal', size = 0.01 }\n")
    return path


class Wrapped(SpawningLauncher):
    """Starts each rank by a script of the site's own, all at once."""

    name = "wrapped"
    starts_ranks = True

    @classmethod
    def cannot(cls, layout: Layout) -> str | None:
        return "starts ranks on one node" if layout.nodes > 1 else None

    def through(self, request: SpawnRequest, layout: Layout, scratch: Scratch) -> SpawnRequest:
        script = scratch.folder / "start"
        leaf = ranks.leaf(request, scratch, [()] * layout.ranks_per_node, numbered=("PMI_RANK",))
        script.write_text(
            f"#!/bin/sh\nwrong=0\nfor rank in $(seq 0 {layout.ranks_per_node - 1})\n"
            f'do PMI_RANK=$rank {leaf} & started="$started $!"; done\n'
            "for one in $started; do wait $one || wrong=1; done\nexit $wrong\n"
        )
        script.chmod(0o755)
        return replace(request, argv=(str(script),), environment={}, prove=False)

    def ended(self, report: SpawnReport, scratch: Scratch) -> tuple[SpawnReport, Mapping[int, SpawnReport]]:
        return ranks.ended(report, scratch)


@pytest.fixture
def wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a site adds: a file, which is the class above, and a line."""
    monkeypatch.setitem(launchers.LAUNCHERS, "wrapped", Wrapped)


SHAPES = (Layout(1), Layout(2), Layout(1, 2), Layout(1, 2, 2))


def test_what_a_launcher_takes_is_given_to_it() -> None:
    taken = {kind.takes for kind in launchers.LAUNCHERS.values() if kind.takes}
    given: dict[str, Any] = dict.fromkeys(taken, "x")
    assert RunRequest(**given).launching.keys() == taken


@pytest.mark.usefixtures("wrapped")
@pytest.mark.parametrize("name", [*launchers.LAUNCHERS, "wrapped"])
def test_every_launcher_meets_the_contract(
    name: str, experiment: Make, two_cores: Machine, landscape_file: Path, tmp_path: Path
) -> None:
    kind = launchers.LAUNCHERS[name]
    assert kind.starts_ranks or kind.virtual or kind.cannot(Layout(1, 2)), "it puts something before the command"
    given = {"fake": {"landscape": str(landscape_file)}, "simgrid": {"platform": str(simgrid.platform(tmp_path))}}
    layouts = [layout for layout in SHAPES if kind.cannot(layout) is None]
    if kind.takes and name not in given:
        pytest.skip(f"needs --{kind.takes}: test_{name}.py")
    if name not in ("direct", "fake", "wrapped") and not layouts:
        pytest.skip(str(kind.cannot(Layout())))
    assert layouts, f"it can start nothing: {kind.cannot(Layout())}"
    command = (simgrid.compiled(tmp_path), "pass") if name == "simgrid" else ("sleep", "0.05")
    e = experiment(*command, levels={"layout": [str(layout) for layout in layouts]})
    launcher = launchers.create(name, e, two_cores, given.get(name, {}))
    launcher.open(lambda _: None)
    launcher.recall(())
    assert "sources" in launcher.subject()
    assert all(launcher.line(c) for c in configurations(e))
    made = plan.invocations(Block("measure", configurations(e)), 4, 2, baseline(e), 77)
    records = sorted(launcher.launch(made), key=lambda r: r.order)
    launcher.close()
    launcher.cancel()
    assert [r.configuration for r in records] == [i.configuration for i in made]
    assert {(r.plan, r.block, r.attempt, r.seed, r.phase, r.status) for r in records} == {
        (e.hash, 4, 2, 77, "measure", "ok")
    }
    assert [r.order for r in records] == list(range(len(layouts)))
    assert {r.origin for r in records} == {kind.origin}
    assert all(r.wall > 0 and r.started > 0 for r in records)
    if name not in given:
        seen = {str(r.configuration.layout): {p.rank for p in r.processes} for r in records}
        assert seen == {str(layout): set(range(layout.ranks_per_node)) for layout in layouts}


@pytest.mark.parametrize("name", [name for name in launchers.LAUNCHERS if name != "fake"])
def test_a_layout_that_a_launcher_cannot_start_is_refused_by_it(
    name: str, experiment: Make, two_cores: Machine
) -> None:
    for layout in SHAPES:
        if why := launchers.LAUNCHERS[name].cannot(layout):
            with pytest.raises(UsageError, match=f"the {name} launcher {re.escape(why)} .asked: "):
                launchers.create(name, experiment(levels={"layout": (str(layout),)}), two_cores)


def test_a_launcher_that_loses_a_record_is_an_error(experiment: Make) -> None:
    class Losing(Fake):
        def launch(self, block: Sequence[plan.Invocation]) -> Iterator[Record]:
            return itertools.islice(super().launch(block), 1)

    e = experiment()
    with pytest.raises(CorescaleError, match=r"fake-.*: 1 records of 2 launches"):
        run(e, store.Memory(), Losing(e, Landscape()), blocks(e, 1))


def test_an_unknown_launcher_and_a_missing_landscape_are_usage_errors(experiment: Make, two_cores: Machine) -> None:
    with pytest.raises(UsageError, match=r"no launcher 'slurmy'; one of direct, .*fake"):
        launchers.create("slurmy", experiment(), two_cores)
    with pytest.raises(UsageError, match="add --landscape FILE"):
        launchers.create("fake", experiment(), two_cores)
    with pytest.raises(UsageError, match="add --on fake"):
        launchers.create("direct", experiment(), two_cores, {"landscape": "x.toml"})


def test_what_several_sources_find_is_joined() -> None:
    def source(name: str, **found: Any) -> sources.Source:
        return sources.Source(name, lambda _: True, lambda _: {}, lambda _: sources.Found(**found))

    first = source("a", fields={"metrics": {"x": 1}, "regions": (1,)}, warnings=("a",))
    second = source("b", fields={"reads": ("b",)}, processes={7: {"rank": 3}}, warnings=("b",))
    with Scratch() as held:
        found = sources.read([first, second], held, succeeded=True)
    assert found.fields == {"metrics": {"x": 1}, "regions": (1,), "reads": ("b",)}
    assert (found.processes, found.warnings) == ({7: {"rank": 3}}, ("a", "b"))


def test_everything_that_a_metric_can_be_declared_as_is_given(experiment: Make, two_cores: Machine) -> None:
    given = {name for source in sources.SOURCES for name in source.gives}
    assert given == set(METRIC_SOURCES) - set(UNKEYED)
    metrics = {name: name for name in UNKEYED} | {"own": "output:size"}
    e = experiment("echo", '{"size": 7}').model_copy(update={"metrics": metrics})
    (made,) = run(e, store.Memory(), Direct(e, two_cores), blocks(e, 1))[:1]
    assert made.metrics["own"] == 7
    assert made.metrics["stdout-size"] == len('{"size": 7}\n')
    assert {name for name, value in made.metrics.items() if value >= 0} >= set(metrics)


def test_a_new_source_is_one_entry_of_the_table(
    experiment: Make, two_cores: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its variable reaches the program, its fields the record, and its name keeps runs apart."""

    def read(held: Scratch) -> sources.Found:
        text = (held.of("clock") / "said").read_text()
        return sources.Found({"metrics": {"said": float(text)}})

    clock = sources.Source("clock", lambda _: True, lambda held: {"CLOCK": str(held.of("clock"))}, read)
    monkeypatch.setattr(sources, "SOURCES", (*sources.SOURCES, clock))
    e = experiment("sh", "-c", 'echo 42 > "$CLOCK/said"')
    with store.open_run(e, two_cores, tmp_path) as folder:
        run(e, folder, Direct(e, two_cores), blocks(e, 1))
        (folder.path / "finished").unlink()
        made = store.load(folder.path)
    told = [("clock" in r.sources, r.metrics["said"]) for r in made.records]
    assert told == [(True, 42.0)] * 2
    monkeypatch.undo()
    with (
        store.open_run(e, two_cores, tmp_path, continued=True) as folder,
        pytest.raises(StoreError, match=r"was .*'clock'., is"),
    ):
        run(e, folder, Direct(e, two_cores), blocks(e, 2))


@pytest.mark.usefixtures("wrapped")
def test_a_new_source_gets_the_output_and_a_folder_for_each_rank_where_it_asks_for_them(
    experiment: Make, two_cores: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(held: Scratch) -> sources.Found:
        text = " ".join(sorted(path.parent.name + path.read_text() for path in held.of("place").rglob("said")))
        return sources.Found(warnings=(text, held.said(4)))

    place = sources.Source(
        "place", lambda _: True, lambda held: {"PLACE": str(held.of("place"))}, read, by_rank=("PLACE",),
        reads_output=lambda _: True,
    )  # fmt: skip
    monkeypatch.setattr(sources, "SOURCES", (*sources.SOURCES, place))
    e = experiment("sh", "-c", 'printf :$PMI_RANK > "$PLACE/said"; echo out', levels={"layout": ["1x2x1"]})
    (made,) = run(e, store.Memory(), launchers.create("wrapped", e, two_cores), blocks(e, 1))
    assert made.warnings[-2:] == ("0:0 1:1", "out\n")  # behind those of other programs


def test_a_folder_of_launches_that_cannot_be_made_is_one_line() -> None:
    said = "^/proc: cannot be written: .*; start in a folder that you can write to"
    with pytest.raises(UnavailableError, match=said), Scratch(place=Path("/proc")):
        pass
