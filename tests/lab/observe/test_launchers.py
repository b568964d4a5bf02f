# SPDX-License-Identifier: Apache-2.0
"""Every launcher meets the contract; what is special to each."""

import itertools
import math
import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corescale.declare import plan
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations, today
from corescale.declare.model import Model
from corescale.declare.plan import Block
from corescale.errors import CorescaleError, ProgramError, StoreError, UsageError
from corescale.machine import Machine
from corescale.observe import launchers, ranks, scratch, sources, store
from corescale.observe.launchers.direct import Direct
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
from corescale.observe.launchers.local import Local
from corescale.observe.run import run
from corescale.observe.scratch import Scratch
from corescale.observe.spawn import SpawnReport, SpawnRequest
from corescale.observe.watcher import Watcher
from corescale.records import Layout, Record
from support.policies import blocks

Make = Callable[..., Experiment]


@pytest.fixture
def landscape_file(tmp_path: Path) -> Path:
    path = tmp_path / "landscape.toml"
    path.write_text("base = 0.5\nserial = 0.2\nnoise = { kind = 'normal', size = 0.01 }\n")
    return path


class Wrapped(Local):
    """Starts each rank by a script of the site's own, all at once."""

    name = "wrapped"
    summary = "ranks, by a script"

    @classmethod
    def cannot(cls, layout: Layout) -> str | None:
        return "starts ranks on one node" if layout.nodes > 1 else None

    def through(self, request: SpawnRequest, layout: Layout, scratch: Scratch) -> SpawnRequest:
        script = scratch.folder / "start"
        leaf = ranks.leaf(request, scratch, [()] * layout.ranks_per_node)
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


@pytest.mark.usefixtures("wrapped")
@pytest.mark.parametrize("name", [*launchers.LAUNCHERS, "wrapped"])
def test_every_launcher_meets_the_contract(
    name: str, experiment: Make, two_cores: Machine, landscape_file: Path
) -> None:
    kind = launchers.LAUNCHERS[name]
    layouts = [layout for layout in SHAPES if kind.cannot(layout) is None]
    assert layouts, f"it can start nothing: {kind.cannot(Layout())}"
    e = experiment("sleep", "0.05", levels={"layout": [str(layout) for layout in layouts]})
    launcher = launchers.create(name, e, two_cores, landscape_file if name == "fake" else None)
    launcher.open((), lambda _: None, store.Memory().keep)
    assert "sources" in launcher.subject()
    assert all(launcher.line(c) for c in configurations(e))
    made = plan.invocations(Block("measure", configurations(e)), 4, 2, today(e), 77)
    records = sorted(launcher.launch(made), key=lambda r: r.order)
    launcher.close()
    launcher.cancel()
    assert [r.configuration for r in records] == [i.configuration for i in made]
    assert {(r.plan, r.block, r.attempt, r.seed, r.phase, r.status) for r in records} == {
        (e.hash, 4, 2, 77, "measure", "ok")
    }
    assert [r.order for r in records] == list(range(len(layouts)))
    assert {r.origin for r in records} == {"fake" if name == "fake" else "measured"}
    assert all(r.wall > 0 and r.started > 0 for r in records)
    if name != "fake":
        seen = {str(r.configuration.layout): {p.rank for p in r.processes} for r in records}
        assert seen == {str(layout): set(range(layout.ranks_per_node)) for layout in layouts}


@pytest.mark.parametrize("name", [name for name in launchers.LAUNCHERS if name != "fake"])
def test_a_layout_that_a_launcher_cannot_start_is_refused_by_it(
    name: str, experiment: Make, two_cores: Machine
) -> None:
    for layout in SHAPES:
        if why := launchers.LAUNCHERS[name].cannot(layout):
            with pytest.raises(UsageError, match=f"the {name} launcher {re.escape(why)} .asked: {layout}."):
                launchers.create(name, experiment(levels={"layout": (str(layout),)}), two_cores)


def test_several_launches_at_once_end_in_any_order(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    """The loop announces as many as may run, and takes records as they come."""

    class Backwards(Fake):
        at_once = 2

        def launch(self, block: Sequence[plan.Invocation]) -> Iterator[Record]:
            return iter(list(super().launch(block))[::-1])

    class Counting(Watcher):
        running = most = 0

        def launching(self, invocation: plan.Invocation, line: str) -> None:
            self.running += 1
            self.most = max(self.most, self.running)

        def launched(self, record: Record) -> None:
            self.running -= 1

    e, watch = experiment(levels={"threads": (1, 2, 4)}), Counting()
    with store.open_run(e, two_cores, tmp_path, "fake") as folder:
        records = run(e, folder, Backwards(e, Landscape()), blocks(e, 2), watch)
    assert [r.order for r in records] == [2, 1, 0] * 2
    assert (watch.most, watch.running) == (2, 0)


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
        launchers.create("direct", experiment(), two_cores, "x.toml")


def test_what_several_sources_find_is_joined() -> None:
    def source(name: str, **found: Any) -> sources.Source:
        return sources.Source(name, lambda _: True, lambda _: {}, lambda _: sources.Found(**found))

    first = source("a", fields={"metrics": {"x": 1}, "regions": (1,)}, processes={7: {"node": "a"}}, blobs={"p": b"1"})
    second = source("b", fields={"metrics": {"y": 2}, "regions": (2,)}, processes={7: {"rank": 3}}, blobs={"q": b"2"})
    with Scratch() as held:
        found = sources.read([first, second], held, succeeded=True)
    assert found.fields == {"metrics": {"x": 1, "y": 2}, "regions": (1, 2)}
    assert found.processes == {7: {"node": "a", "rank": 3}}
    assert found.blobs == {"p": b"1", "q": b"2"}


def test_a_new_source_is_one_entry_of_the_table(
    experiment: Make, two_cores: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its variable reaches the program, its fields and blobs the record, and its name keeps runs apart."""

    def read(held: Scratch) -> sources.Found:
        text = (held.of("clock") / "said").read_bytes()
        return sources.Found({"metrics": {"said": float(text)}}, blobs={"said": text})

    clock = sources.Source("clock", lambda _: True, lambda held: {"CLOCK": str(held.of("clock"))}, read)
    monkeypatch.setattr(sources, "SOURCES", (*sources.SOURCES, clock))
    e = experiment("sh", "-c", 'echo 42 > "$CLOCK/said"')
    with store.open_run(e, two_cores, tmp_path) as folder:
        run(e, folder, Direct(e, two_cores), blocks(e, 1))
        (folder.path / "finished").unlink()
        made = store.load(folder.path)
    told = [("clock" in r.sources, r.metrics["said"], made.sidecar(r, "said")) for r in made.records]
    assert told == [(True, 42.0, b"42\n")] * 2
    monkeypatch.undo()
    with (
        store.open_run(e, two_cores, tmp_path) as folder,
        pytest.raises(StoreError, match=r"was .*'clock'., is"),
    ):
        run(e, folder, Direct(e, two_cores), blocks(e, 2))


@pytest.mark.usefixtures("wrapped")
def test_a_new_source_gets_the_output_and_a_folder_for_each_rank_where_it_asks_for_them(
    experiment: Make, two_cores: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(held: Scratch) -> sources.Found:
        text = " ".join(sorted(path.parent.name + path.read_text() for path in held.of("place").rglob("said")))
        return sources.Found(blobs={"said": text.encode(), "output": held.said(4).encode()})

    place = sources.Source(
        "place", lambda _: True, lambda held: {"PLACE": str(held.of("place"))}, read, by_rank=("PLACE",),
        reads_output=lambda _: True,
    )  # fmt: skip
    monkeypatch.setattr(sources, "SOURCES", (*sources.SOURCES, place))
    e = experiment("sh", "-c", 'printf :$PMI_RANK > "$PLACE/said"; echo out', levels={"layout": ["1x2x1"]})
    memory = store.Memory()
    (made,) = run(e, memory, launchers.create("wrapped", e, two_cores), blocks(e, 1))
    assert memory.blobs[made.sidecars["said"]] == b"0:0 1:1"
    assert memory.blobs[made.sidecars["output"]] == b"out\n"


# ---- direct


def direct(e: Experiment, machine: Machine, count: int = 1, notes: list[str] | None = None) -> Sequence[Record]:
    return run(e, store.Memory(), Direct(e, machine), blocks(e, count))


def test_a_command_that_is_not_found_says_where_it_was_looked_for(experiment: Make, two_cores: Machine) -> None:
    with pytest.raises(ProgramError, match="no folder of PATH has it: check the spelling, or give its path"):
        direct(experiment("no-such-program"), two_cores)
    with pytest.raises(ProgramError, match=r"\./nothing: no such file; looked from"):
        direct(experiment("./nothing"), two_cores)
    with pytest.raises(ProgramError, match="/etc/passwd: may not be executed; chmod"):
        direct(experiment("/etc/passwd"), two_cores)
    with pytest.raises(ProgramError, match="is a folder"):
        direct(experiment("/etc"), two_cores)


def test_metrics_come_from_outside_and_from_the_programs_json_line(
    experiment: Make, two_cores: Machine, python: Any
) -> None:
    program = python("print('noise'); print('{\"length\": 7.5, \"good\": true}')")
    metrics = {"bytes": "stdout-size", "memory": "peak-memory", "cpu": "cpu-time", "l": "output:length"}
    records = direct(experiment(program, metrics=metrics), two_cores)
    assert len(records) == 2
    for record in records:
        assert record.metrics["bytes"] == len('noise\n{"length": 7.5, "good": true}\n')
        assert record.metrics["memory"] == record.peak_memory > 1 << 20
        assert record.metrics["cpu"] == record.user + record.system > 0
        assert record.metrics["l"] == record.metrics["length"] == 7.5
        assert record.checks == {"good": True}


def test_standard_output_is_left_alone_unless_something_wants_it(
    experiment: Make, two_cores: Machine, python: Any
) -> None:
    program = python("import os, sys; sys.exit(0 if os.fstat(1).st_rdev == os.stat('/dev/null').st_rdev else 9)")
    assert {r.status for r in direct(experiment(program), two_cores)} == {"ok"}
    assert {r.status for r in direct(experiment(program, output="null"), two_cores)} == {"ok"}


def test_output_goes_to_a_file_and_input_comes_from_one(
    experiment: Make, two_cores: Machine, tmp_path: Path, python: Any
) -> None:
    (tmp_path / "in").write_text("what was put in")
    e = experiment("cat", input=str(tmp_path / "in"), output=str(tmp_path / "out"), metrics={"n": "stdout-size"})
    records = direct(e, two_cores)
    assert (tmp_path / "out").read_text() == "what was put in"
    assert [r.metrics["n"] for r in records] == [15, 15]
    with pytest.raises(ProgramError, match="--input /nowhere: no such file"):
        direct(experiment("cat", input="/nowhere"), two_cores)


def test_without_input_a_program_that_asks_ends(experiment: Make, two_cores: Machine) -> None:
    assert {r.status for r in direct(experiment("cat"), two_cores)} == {"ok"}


def test_each_launch_has_a_result_folder_of_its_own_that_is_gone_afterwards(
    experiment: Make, two_cores: Machine, python: Any, tmp_path: Path
) -> None:
    program = python(
        "import os, pathlib\n"
        "folder = pathlib.Path(os.environ['CORESCALE_RESULT'])\n"
        "assert not list(folder.iterdir())\n"
        f"open({str(tmp_path / 'folders')!r}, 'a').write(str(folder) + '\\n')\n"
        "(folder / 'x').write_text('')\n"
    )
    assert {r.status for r in direct(experiment(program), two_cores, 3)} == {"ok"}
    folders = (tmp_path / "folders").read_text().splitlines()
    assert len(set(folders)) == 6
    assert not any(Path(folder).parent.exists() for folder in folders)


def test_what_a_killed_run_left_is_swept_away_and_what_is_in_use_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, fresh = (tmp_path / f"{scratch.PREFIX}{name}" for name in ("left", "fresh"))
    (left / "result").mkdir(parents=True)
    fresh.mkdir()
    other = tmp_path / "other"
    other.mkdir()
    with scratch.Scratch() as held:
        for folder in (left, held.folder, other):
            os.utime(folder, (0, 0))
        scratch.sweep()
        assert set(tmp_path.iterdir()) == {fresh, held.folder, other}
    assert not held.folder.exists()


def test_regions_through_the_library_of_the_program(experiment: Make, two_cores: Machine, python: Any) -> None:
    source = Path(__file__).parents[3] / "src"
    program = python(
        f"import sys; sys.path.insert(0, {str(source)!r})\n"
        "from corescale.region import region, work\n"
        "with region('solve'): pass\n"
        "work(12)\n"
    )
    records = direct(experiment(program), two_cores)
    assert len(records) == 2
    for record in records:
        assert [(r.name, r.calls) for r in record.regions] == [("solve", 1)]
        assert record.work == 12


def test_failures_time_outs_and_signals_are_results(experiment: Make, two_cores: Machine) -> None:
    script = "case $0 in 1) exit 7;; 2) kill -SEGV $$;; 3) sleep 60;; 4) echo lost >&2; exit 1;; esac"
    e = experiment("sh", "-c", script, "{kind}", levels={"kind": (0, 1, 2, 3, 4)}, timeout=0.3)
    found = {r.configuration["kind"]: (r.status, r.exit_code) for r in direct(e, two_cores)}
    assert found == {0: ("ok", 0), 1: ("failed", 7), 2: ("signal", -11), 3: ("timeout", -9), 4: ("failed", 1)}
    assert next(r for r in direct(e, two_cores) if r.configuration["kind"] == 4).tail == "lost\n"


def test_a_check_that_the_program_reports_as_broken(experiment: Make, two_cores: Machine) -> None:
    script = 'echo "{\\"right\\": $0}"'
    e = experiment("sh", "-c", script, "{right}", levels={"right": ("true", "false")}, metrics={"m": "output:m"})
    assert {r.configuration["right"]: r.status for r in direct(e, two_cores)} == {"true": "ok", "false": "check"}


def test_another_output_than_todays_is_a_failure(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    e = experiment("echo", "{word}", levels={"word": ("today", "other")}, same_output=True)
    with store.open_run(e, two_cores, tmp_path) as folder:
        records = run(e, folder, Direct(e, two_cores), blocks(e, 2))
        wanted = {"today": {"ok"}, "other": {"output-differs"}}
        assert {w: {r.status for r in records if r.configuration["word"] == w} for w in wanted} == wanted
        assert len({r.output_hash for r in records}) == 2


def test_hooks_run_when_they_should_with_their_placeholders(
    experiment: Make, two_cores: Machine, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    hooks = {
        "setup": f"sh -c 'echo setup >> {log}'",
        "prepare": f"sh -c 'echo prepare $0 >> {log}' {{threads}}",
        "conclude": f"sh -c 'echo conclude $0 >> {log}' {{threads}}",
        "cleanup": f"sh -c 'echo cleanup >> {log}'",
    }
    records = direct(experiment("sh", "-c", f"echo run $0 >> {log}", "{threads}", hooks=hooks), two_cores, 2)
    launches = [f"{what} {r.configuration['threads']}" for r in records for what in ("prepare", "run", "conclude")]
    assert log.read_text().splitlines() == ["setup", *launches, "cleanup"]


@pytest.mark.parametrize("hook", ["echo x >>log", "true && false", "cat a | wc", "sleep 1 &"])
def test_a_hook_that_wants_a_shell_is_refused_where_there_is_none(
    experiment: Make, two_cores: Machine, tmp_path: Path, hook: str
) -> None:
    """Else `>> log` would be two more arguments, and nobody would know."""
    with pytest.raises(UsageError, match=r"--prepare: .* no shell is used; write sh -c "):
        Direct(experiment(hooks={"prepare": hook}), two_cores)
    Direct(experiment(hooks={"prepare": f"sh -c '{hook}'"}), two_cores)


def test_a_failing_hook_is_named_and_cleanup_still_runs(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    hooks = {"prepare": "sh -c 'echo oh no >&2; exit 4'", "cleanup": f"touch {tmp_path / 'clean'}"}
    with pytest.raises(ProgramError, match=r"--prepare .* failed with exit code 4: oh no"):
        direct(experiment(hooks=hooks), two_cores)
    assert (tmp_path / "clean").exists()
    with pytest.raises(ProgramError, match="--setup no-such-hook: cannot be started"):
        direct(experiment(hooks={"setup": "no-such-hook"}), two_cores)
    with pytest.raises(UsageError, match="unknown placeholder"):
        direct(experiment(hooks={"prepare": "echo {thread}"}), two_cores)


def test_a_shell_runs_what_a_shell_should(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    out = tmp_path / "out"
    direct(experiment(f"echo a | cat >> {out} && true", shell=True, hooks={"prepare": f"echo b >> {out}"}), two_cores)
    assert out.read_text().splitlines() == ["b", "a"] * 2


def test_more_threads_than_the_machine_has_are_labelled(experiment: Make, two_cores: Machine) -> None:
    records = direct(experiment(levels={"threads": (2, 3)}), two_cores)
    assert {r.configuration["threads"]: r.oversubscribed for r in records} == {2: False, 3: True}
    assert {r.threads_asked for r in records} == {2, 3}


def test_the_environment_and_the_program_are_what_the_configuration_says(
    experiment: Make, two_cores: Machine, python: Any
) -> None:
    program = python("import os; print('{\"n\": %s}' % os.environ['OMP_NUM_THREADS'])")
    records = direct(experiment(program, metrics={"n": "output:n"}), two_cores)
    assert {r.configuration["threads"]: r.metrics["n"] for r in records} == {1: 1, 2: 2}


def test_the_subject_names_every_program_by_content(experiment: Make, two_cores: Machine, python: Any) -> None:
    program = python("")
    subject = Direct(experiment("taskset", "-c", "0", program), two_cores).subject()
    before = subject["programs"]
    assert set(before) == {"taskset", program}
    Path(program).write_text("#!/bin/sh\n")
    after = Direct(experiment("taskset", "-c", "0", program), two_cores).subject()["programs"]
    assert before["taskset"] == after["taskset"]
    assert before[program]["sha256"] != after[program]["sha256"]


def test_a_cancelled_launcher_launches_nothing_more(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    e = experiment("touch", str(tmp_path / "launched"))
    launcher = Direct(e, two_cores)
    launcher.open((), lambda _: None, store.Memory().keep)
    launcher.cancel()
    with pytest.raises(KeyboardInterrupt):
        list(launcher.launch(plan.invocations(Block("measure", configurations(e)), 0, 0, today(e), 1)))
    assert not (tmp_path / "launched").exists()


# ---- fake


def logs(landscape: Landscape, e: Experiment, count: int) -> list[float]:
    records = run(e, store.Memory(), Fake(e, landscape), blocks(e, count))
    return [math.log(r.wall / Fake(e, landscape).truth(r.configuration)) for r in records]


def test_the_truth_is_law_times_levels_times_interactions(experiment: Make) -> None:
    e = experiment(levels={"threads": (1, 4), "level": (3, 9)})
    landscape = Landscape(
        base=10,
        serial=0.2,
        crosstalk=0.01,
        times={"level": {"3": 1.0, "9": 2.0}},
        interactions=(Interaction(levels={"threads": 4, "level": 9}, times=1.5),),
        metrics={"bytes": Metric(base=100, times={"level": {"3": 1.0, "9": 0.8}})},
        noise=Disturbance(kind="none"),
    )
    records = run(e, store.Memory(), Fake(e, landscape), blocks(e, 1))
    found = {tuple(level for _, level in r.configuration.levels): (r.wall, r.metrics["bytes"]) for r in records}
    four = 0.2 + 0.8 / 4 + 0.03
    expected = {(1, 3): (10, 100), (4, 3): (10 * four, 100), (1, 9): (20, 80), (4, 9): (30 * four, 80)}
    assert found.keys() == expected.keys()
    assert all(found[key] == pytest.approx(expected[key]) for key in expected)
    assert Fake(e, landscape).best().levels == (("threads", 4), ("level", 3))


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
        ("base = 0", "base: Input should be greater than 0"),
        ("bose = 1", "bose: no such key; docs/fake.md lists all"),
        ("base = ", "not TOML"),
        ("[times.thread]\n1 = 2.0", "factor 'thread' is not in the experiment; factors: threads"),
        ("[times.threads]\n1 = 2.0", "factor 'threads' has no entry for level '2'"),
        ("[[failures]]\nlevels = { nodes = 1 }", "factor 'nodes' is not in the experiment"),
        ("[times.threads]\n1 = 1.0\n2 = -1.0", "times.threads.2: Input should be greater than 0"),
        ("noise = { kind = 'pink' }", "noise.kind: Input should be 'none', 'normal'"),
    ],
)
def test_a_wrong_landscape_is_named(experiment: Make, tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "landscape.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        Fake(experiment(), Landscape.read(path))
    assert says in str(refused.value)


def test_what_a_landscape_says_of_levels_that_are_not_here_is_told(experiment: Make) -> None:
    said: list[str] = []
    here = Failure(levels={"threads": 2}, probability=0.0)
    other = Interaction(levels={"threads": 64}, times=2.0)
    Fake(experiment(), Landscape(failures=(here,), interactions=(other,))).open([], said.append, store.Memory().keep)
    assert said[1:] == ["landscape interactions: threads=64 is no configuration here, so it changes nothing"]


def test_the_page_on_landscapes_has_every_key_and_can_be_run(experiment: Make, tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "fake.md").read_text()
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
    made = [plan.invocations(Block("measure", configurations(e)), k, 0, today(e), k) for k in range(2000)]
    start = time.process_time()
    assert sum(len(list(fake.launch(block))) for block in made) == 8000
    assert 8000 / (time.process_time() - start) > 10_000
